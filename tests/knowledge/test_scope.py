"""For whom an entry is written: an answer for others covers a question word by word and still misleads."""

import pytest

from agent.knowledge.common_words import is_light
from agent.knowledge.scope import is_out_of_scope, scope_of


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("what counts as a fever in a baby", "What counts as a fever in an adult?"),
        ("מה נחשב חום לתינוק", "מאיזו טמפרטורה זה נחשב חום אצל מבוגר?"),
        ("herbal supplements in pregnancy?", "Are herbal teas and supplements fine while nursing?"),
        ("ותוספי צמחים?", "תה צמחים ותוספים מתאימים בזמן הנקה?"),
        ("so how many hours before eat", "Does it matter at what hours I take an antibiotic?"),
    ],
)
def test_an_entry_for_others_is_out_of_scope(text: str, question: str) -> None:
    assert is_out_of_scope(text, question)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("fever in my newborn", "My baby has a fever. When is it urgent?"),
        ("is honey good for a cough", "Can I give my toddler a cough and cold syrup?"),
        ("do i have to finish antibotics", "Do I have to finish the antibiotics if I already feel well?"),
        ("אני מניקה, אפשר לקחת תרופות?", "אני מניקה. חייבים להפסיק הנקה כדי לקחת תרופה?"),
        ("why take folic acid", "Why is folic acid recommended to women who plan a pregnancy?"),
    ],
)
def test_an_entry_for_the_same_people_or_for_all_is_not(text: str, question: str) -> None:
    assert not is_out_of_scope(text, question)


def test_scope_names_people_and_kinds_of_medicine() -> None:
    assert scope_of("אפשר לתת לתינוק אנטיביוטיקה?") == {"young", "antibiotic"}
    assert scope_of("where are you?") == frozenset()


def test_a_light_word_is_light_with_and_before_it() -> None:
    assert is_light("ואמ") and is_light("if") and not is_light("וקפה")

"""Names of medicines and phones of branches reach a language model as the customer wrote them; people's names do not."""

import re
from itertools import product

import pytest
from llm.personal_corpus import samples
from llm.test_placeholders import DAVID, _seen
from sampling import sampled
from scripted_model import ScriptedModel, forever, says
from talking import Talk, sent_to

from agent.llm.offline.reading.recognise import recognise
from agent.llm.public_names import public_in
from agent.safety.privacy.placeholders import Placeholders
from agent.safety.privacy.public import Public
from inventory.models import Ingredient, Medication
from stores.models import Store

FRAMES = {
    "en": [
        "it is registered under the name {}", "is it registered under the name of {}?", "my name is on the {} prescription",
        "the prescription in the name of {}", "the full name is {}", "its full name: {}", "the name is {}", "its name is {}", "it's called {}",
        "the box says {}, is it the same?", "I'm on {}", "I am taking {}", "this is {}, right?", "it's {}", "for {} please", "from {}", "thanks, {} please",
        "hi {} in stock?", "my mother takes {}", "my son had {} syrup", "do you have {} here?", "a friend named {} as his medicine", "{}",
    ],
    "he": [
        "רשום בשם {}", "התרופה רשומה על שם {}", "השם המלא {}", "השם המלא הוא {}", "שם מלא: {}", "השם של התרופה {}", "שם התרופה: {}", "זה נקרא {}",
        "קוראים לזה {}", "זה {}?", "אני על {}", "תודה, {} בבקשה", "יש לכם {} כאן?", "אני לוקחת {}", "לאמא שלי {}", "הבן שלי קיבל {}", "ל{} יש תחליף?", "{}",
    ],
}  # fmt: skip
PHONE_FRAMES = [
    "call me at {}", "is {} the number of the branch?", "I called {} and nobody answered", "your number is {}?", "{}", "phone: {}.",
    "הטלפון {} של הסניף", "תתקשרו ל-{}", "התקשרתי ל{} ואף אחד לא ענה",
]  # fmt: skip


def _names(language: str) -> list[str]:
    rows = Medication.objects.all()
    found = {
        name
        for row in rows
        for name in (row.name_en, row.name_he, *(alias.text for alias in row.aliases.all()))
    }
    found |= {name for row in Ingredient.objects.all() for name in (row.name_en, row.name_he)}
    return sorted(name for name in found if name and bool(re.search("[א-ת]", name)) == (language == "he"))


def _hidden(text: str, known: dict[str, list[str]] | None = None) -> str:
    placeholders = Placeholders(known or {})
    placeholders.publish(public_in([text]))
    return placeholders.hide(text)


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.usefixtures("demo")
def test_no_name_of_the_catalogue_is_taken_for_a_persons(language: str) -> None:
    names = _names(language)
    assert len(names) > 60
    for number, frame in enumerate(FRAMES[language]):
        for name in sampled(names, one_in=5, start=number):
            for written in {name, name.lower()}:
                text = frame.format(written)
                assert _hidden(text) == text
                assert _hidden(text, DAVID) == text


@pytest.mark.usefixtures("demo")
def test_no_phone_of_a_branch_is_taken_for_the_customers() -> None:
    phones = [store.phone for store in Store.objects.all() if store.phone]
    assert len(phones) >= 4
    for frame, phone in product(PHONE_FRAMES, phones):
        for written in (
            str(phone),
            phone.as_national,
            phone.as_national.replace("-", ""),
            phone.as_international,
        ):
            text = frame.format(written)
            assert _hidden(text) == text
            assert _hidden(text, DAVID) == text
            assert not recognise(text).contacts


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("my name is Dana Levi, is it under the name Cetirizine?", "my name is [[NAME_1]], is it under the name Cetirizine?"),
        ("registered under the name Dana Levi", "registered under the name [[NAME_1]]"),
        ("the Advil is for Dana Acamol", "the Advil is for [[NAME_1]] Acamol"),
        ("my name is Dana Levi Acamol please", "my name is [[NAME_1]] Acamol please"),
        ("המרשם על שם דנה לוי, יש צטיריזין?", "המרשם על שם [[NAME_1]], יש צטיריזין?"),
        ("קוראים לי דנה ואני צריכה אקמול", "קוראים לי [[NAME_1]] ואני צריכה אקמול"),
        ("call me at 052-7654321, not 03-555-0101", "call me at [[PHONE_1]], not 03-555-0101"),
        ("03-555-01012", "[[ID_1]]"),
        ("054-035550101", "[[ID_1]]"),
        ("my number is 03-555-9999", "my number is [[PHONE_1]]"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("demo")
def test_what_is_the_customers_own_is_hidden_beside_them(text: str, hidden: str) -> None:
    assert _hidden(text) == hidden


LIKE_PEOPLE = Public.of(["Noa", "Tamar", "תמר"], ["+97235550101"])


@pytest.mark.parametrize(
    ("text", "is_person"),
    [
        ("my name is Noa", True), ("I'm Noa", True), ("hi, this is Noa speaking", True), ("call me Tamar", True), ("my daughter Tamar", True),
        ("Thanks, Noa", True), ("prescription in the name of Tamar", True), ("for Tamar Levi", True), ("קוראים לי תמר", True), ("אני תמר", True),
        ("שלום, מדברת תמר", True), ("do you have Noa?", False), ("what is the price for Tamar?", False), ("it's called Noa", False),
        ("the name is Tamar", False), ("do you have Tamar here?", False), ("כמה עולה תמר?", False), ("זה תמר?", False),
    ],
)  # fmt: skip
def test_a_medicine_called_like_a_person_is_hidden_where_it_stands_for_one(
    text: str, is_person: bool
) -> None:
    placeholders = Placeholders()
    placeholders.publish(LIKE_PEOPLE)
    assert ("[[NAME_1]]" in placeholders.hide(text)) == is_person, placeholders.hide(text)


def test_the_patients_own_phone_is_hidden_even_if_a_branch_has_it() -> None:
    placeholders = Placeholders({"PHONE": ["+97235550101"]})
    placeholders.publish(LIKE_PEOPLE)
    assert placeholders.hide("call 03-555-0101") == "call [[PHONE_1]]"


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.usefixtures("demo")
def test_people_are_found_as_before_with_the_whole_catalogue_on_file(language: str) -> None:
    public = Public.of([*_names("en"), *_names("he")], [str(store.phone) for store in Store.objects.all()])
    corpus = samples(language, 500)
    missed = []
    for text, pieces in corpus:
        placeholders = Placeholders()
        placeholders.publish(public)
        missed += [text] if _seen(placeholders.hide(text), pieces) else []
    assert len(missed) <= len(corpus) // 100, missed


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "it is registered under the name Cetirizine, I called 03-555-0101"),
        ("he", "זה רשום בשם צטיריזין, התקשרתי ל-03-555-0101"),
    ],
)
@pytest.mark.usefixtures("tireless")
def test_they_reach_the_model(tireless: ScriptedModel, language: str, text: str) -> None:
    tireless.script(forever(says("[hello]")))
    talk = Talk(language)
    talk.say(text)
    talk.say("and my name is Dana Levi" if language == "en" else "וקוראים לי דנה לוי")
    sent = sent_to(tireless)
    assert text in sent and "Dana" not in sent and "דנה" not in sent

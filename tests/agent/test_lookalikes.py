"""Names that look or sound alike: whoever asks for one that we do not list never silently gets the other (T32)."""

import pytest
from talking import Talk

from inventory.index import index_rebuild
from inventory.models import Medication, MedicationTerm

# (asked for, listed instead)
PAIRS = [
    ("hydroxyzine", "Hydralazine"),
    ("prednisone", "Prednisolone"),
    ("clonidine", "Clonazepam"),
    ("chlorpropamide", "Chlorpromazine"),
    ("vinblastine", "Vincristine"),
    ("lamivudine", "Lamotrigine"),
    ("celexa", "Celebrex"),
    ("zantac", "Xanax"),
    ("losex", "Losec"),
    ("metformine", "Metronidazole"),
    ("tramadol", "Trazodone"),
    ("פרדניזון", "פרדניזולון"),
    ("קלונידין", "קלונקס"),
    ("לוסק", "לסיקס"),
]


QUESTIONS = ["tell me about {}", "do you have {} in stock?", "does {} need a prescription?"]


@pytest.mark.parametrize(
    ("asked", "listed", "question"), [(*pair, QUESTIONS[at % 3]) for at, pair in enumerate(PAIRS)]
)
def test_a_similar_name_is_offered_but_never_silently_substituted(
    demo_committed: None, asked: str, listed: str, question: str
) -> None:
    other, _ = Medication.objects.get_or_create(
        name_en=listed, defaults={"name_he": listed, "form": "tablet"}
    )
    index_rebuild([other.pk])
    assert MedicationTerm.objects.filter(medication=other).exists()  # it can be found, so it could be given
    said = Talk().say(question.format(asked))
    facts = any(
        sign in said
        for sign in ("contains the active", "units", "requires a", "not require", "מכיל", "יחידות")
    )
    offered = any(sign in said for sign in ("Did you mean", "Do you mean", "Which one", "התכוונתם"))
    if listed.casefold() in said.casefold():
        assert offered and not facts

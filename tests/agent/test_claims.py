"""Claims without figures: numbers in words, yes and no, what needs a prescription."""

import pytest

from agent.safety.claims import contradicts_prescription, counts_unproven, figures, is_verdict


def test_numbers_in_words_become_figures() -> None:
    assert figures("You have two refills, and one of them …") == "You have 2 refills, and one of them …"
    assert figures("ſix, nıne, nİne") == "6, 9, 9"  # letters that match when case is ignored
    assert figures("נותרו שלושה ניפוקים, אחד פג") == "נותרו 3 ניפוקים, אחד פג"
    assert figures("Often weighty, tense: no number") == "Often weighty, tense: no number"


@pytest.mark.parametrize(
    "text", ["Yes.", "Yes, that works", "no!", "Sure - ", "כן, אפשר", "לא.", "Absolutely"]
)
def test_a_plain_yes_or_no_is_a_verdict(text: str) -> None:
    assert is_verdict(text)


@pytest.mark.parametrize(
    "text",
    [
        "No prescription is needed.",
        "לא נדרש מרשם.",
        "Yesterday it was there.",
        "Nothing is listed.",
        "According to the leaflet: no driving.",
        "לאחר",
        "Notes",
    ],
)
def test_another_beginning_is_no_verdict(text: str) -> None:
    assert not is_verdict(text)


@pytest.mark.parametrize(
    ("text", "required", "is_wrong"),
    [
        ("No prescription is needed.", [True], True),
        ("It is available over the counter.", [True, True], True),
        ("You don't need a prescription for it.", [True], True),
        ("ניתן לקנות ללא מרשם.", [True], True),
        ("It requires a prescription.", [False], True),
        ("נדרש מרשם.", [False], True),
        ("No prescription is needed.", [False], False),
        ("It requires a prescription.", [True], False),
        ("It does not require a prescription.", [False], False),
        ("Advil needs no prescription, Warfarin requires a prescription.", [True, False], False),
        ("Florentin has 3 packs.", [True], False),
        ("No prescription is needed.", [], False),
    ],
)
def test_a_wrong_claim_about_a_prescription_is_found(text: str, required: list[bool], is_wrong: bool) -> None:
    assert contradicts_prescription(text, required) is is_wrong


STOCK = {
    "result": {"requestedStore": {"qty": 3}},
    "facts": {"medication": {"strength": "200 mg", "pack_size": 20}},
}
REFILLS = {"result": {"prescription": {"refills_left": 2, "med_id": 7}}}


@pytest.mark.parametrize(
    ("text", "facts", "is_unproven"),
    [
        ("Florentin has 3 packs of it.", STOCK, False),
        ("Florentin has three packs of it.", STOCK, False),
        ("Florentin has 200 packs of it.", STOCK, True),
        ("יש 200 אריזות בפלורנטין", STOCK, True),
        ("יש 3 אריזות בפלורנטין", STOCK, False),
        ("It has 20 tablets of 200 mg.", STOCK, False),
        ("You have 2 refills left.", REFILLS, False),
        ("You have seven refills left.", REFILLS, True),
        ("Florentin has 3 packs of it.", {"result": {"stores": []}}, True),
    ],
)
def test_a_quantity_is_proven_only_by_a_quantity(text: str, facts: object, is_unproven: bool) -> None:
    assert counts_unproven(text, facts) is is_unproven

"""A refill whose wish or medicine is unclear: asked back, matched with the customer's own file, handed over; in both languages."""

from typing import Any

import pytest
from talking import Talk

from inventory.index import index_rebuild
from inventory.models import Medication
from prescriptions.models import Handoff, Patient, Prescription, RefillRequest

pytestmark = pytest.mark.usefixtures("demo_committed")
DAVID, AMIT, JOHN, LEAH = "10000101", "10000107", "10000123", "10000124"


def pending(talk: Talk) -> str:
    talk.conversation.refresh_from_db()
    return str((talk.conversation.state.get("pending") or {}).get("kind", ""))


def card(talk: Talk) -> list[list[str]]:
    """The rows of the last card that asks for a yes."""
    rows = [event["summary"]["rows"] for event in talk.page if event["type"] == "confirm.requested"][-1]
    return [[name, text.strip("\u2068\u2069").replace("\u2069", "")] for name, text in rows]


def quantities(talk: Talk) -> list[str]:
    return [text.split(",")[0] for name, text in card(talk) if name in ("Quantity", "כמות")]


def prescribe(mrn: str, name: str, **product: Any) -> Prescription:
    """Give a patient one more prescription like one of theirs, of a product that differs as given."""
    row = Prescription.objects.get(patient__mrn=mrn, medication__name_en=name)
    medication = Medication.objects.get(pk=row.medication_id)
    contents = list(medication.contents.all())
    medication.pk, medication.external_id = None, None
    for field, value in product.items():
        setattr(medication, field, value)
    medication.save()
    for content in contents:
        content.pk, content.medication = None, medication
        content.save()
    index_rebuild([medication.pk])
    row.pk, row.medication = None, medication
    row.save()
    return row


# -- Whether a refill is wanted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("language", "text", "asked", "yes"),
    [
        ("en", "maybe refill my metformin", "Do you want to refill Metformin?", "yes"),
        ("en", "my metformin ran out", "Do you want to refill Metformin?", "yes please"),
        ("en", "I don't want to refill metformin", "Do you want to refill Metformin?", "yes"),
        ("he", "אולי לנפק מטפורמין", "לנפק מטפורמין?", "כן"),
        ("he", "המטפורמין שלי נגמר", "לנפק מטפורמין?", "כן"),
    ],
)
def test_a_doubtful_wish_is_asked_about_and_a_yes_goes_on(
    language: str, text: str, asked: str, yes: str
) -> None:
    talk = Talk(language, DAVID)
    assert talk.say(text) == asked and pending(talk) == "refill_wanted"
    assert not RefillRequest.objects.exists()
    talk.say(yes)
    assert RefillRequest.objects.get().prescription_id == 2 and pending(talk) == "pickup"


@pytest.mark.parametrize(
    ("language", "text", "no"),
    [("en", "don't refill my metformin", "no"), ("he", "אולי לנפק מטפורמין", "לא")],
)
def test_a_no_begins_nothing(language: str, text: str, no: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(text)
    talk.say(no)
    assert not pending(talk) and not RefillRequest.objects.exists() and not Handoff.objects.exists()


def test_the_yes_may_say_how_much_and_where() -> None:
    talk = Talk(patient=DAVID)
    talk.say("maybe refill my metformin")
    talk.say("yes, 15 tablets from the online store")
    assert quantities(talk) == ["15 units"]


def test_nobody_identified_is_asked_first_and_only_then_for_an_identifier() -> None:
    talk = Talk()
    for text in ("maybe refill my metformin", "refill blorp the snark gleeb metformin wuzz"):
        assert talk.say(text) == "Do you want to refill Metformin?"
    assert "email or phone" in talk.say("yes") and not Handoff.objects.exists()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "refill blorp the snark gleeb metformin wuzz"),
        ("he", "לנפק שרגבוט בלומפוז מטפורמין גרנדשוק פליפטון"),
    ],
)
def test_a_request_that_was_hardly_understood_goes_to_a_person_as_breaker_1(language: str, text: str) -> None:
    talk = Talk(language, DAVID)
    said = talk.say(text)
    assert ("not certain that I understood" if language == "en" else "לא ברור לי אם הבנתי") in said
    request = RefillRequest.objects.get()
    assert (request.prescription_id, request.is_confirmed, request.reason) == (2, True, "low_confidence")
    assert request.handoff is not None and request.handoff.package["request"]["reason"] == "low_confidence"


@pytest.mark.parametrize(
    ("language", "texts", "said"),
    [
        ("en", ("maybe refill my metformin", "hm", "dunno", "grmf"), "not certain that I understood"),
        ("he", ("אולי לנפק מטפורמין", "אההה", "בלבל", "שטויות"), "לא ברור לי אם הבנתי"),
    ],
)
def test_three_turns_without_a_yes_or_no_hand_the_request_over(
    language: str, texts: tuple[str, ...], said: str
) -> None:
    talk = Talk(language, DAVID)
    for text in texts[:-1]:
        talk.say(text)
        assert pending(talk) == "refill_wanted" and not Handoff.objects.exists()
    assert said in talk.say(texts[-1])
    assert RefillRequest.objects.get().reason == "max_attempts" and Handoff.objects.count() == 1


# -- Which prescription is meant -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("language", "text", "asked", "yes"),
    [
        ("en", "refill my metfornin", "Did you mean Metformin 500 mg?", "yes"),
        ("en", "refill my metfromin please", "Did you mean Metformin 500 mg?", "the first one"),
        ("en", "refill my metfornin", "Did you mean Metformin 500 mg?", "metformin"),
        ("he", "לנפק לי מטפורמן", "מטפורמין 500", "כן"),
        ("he", "ניפוק למטפורמן", "מטפורמין 500", "מטפורמין"),
    ],
)
def test_a_misspelt_name_is_looked_for_on_the_customers_own_file(
    language: str, text: str, asked: str, yes: str
) -> None:
    talk = Talk(language, DAVID)
    assert asked in talk.say(text) and pending(talk) == "which_offered"
    assert not RefillRequest.objects.exists()
    talk.say(yes)
    assert RefillRequest.objects.get().prescription_id == 2 and pending(talk) == "pickup"


def test_what_was_said_with_a_misspelt_name_is_kept() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill my metfornin, 15 tablets, from the online store")
    talk.say("yes")
    assert quantities(talk) == ["15 units"] and ["Pick-up", "Online store"] in card(talk)


def test_a_product_of_the_catalogue_does_not_take_the_place_of_ones_own() -> None:
    other = Medication.objects.create(name_en="Metfornin", name_he="מטפורנין", strength="10 mg")
    index_rebuild([other.pk])
    talk = Talk(patient=DAVID)
    assert "Did you mean Metformin 500 mg?" in talk.say("refill my metfornin")


def test_the_own_brand_is_meant_where_the_catalogue_has_another_product_of_that_ingredient() -> None:
    row = Prescription.objects.get(pk=2)
    row.delete()
    brand = prescribe(JOHN, "Metformin", name_en="Glumetza", name_he="גלומצה", strength="850 mg")
    Prescription.objects.filter(pk=brand.pk).update(patient=Patient.objects.get(mrn=DAVID))
    talk = Talk(patient=DAVID)
    talk.say("refill my metformin")
    assert RefillRequest.objects.get().prescription_id == brand.pk


@pytest.mark.parametrize(
    ("language", "text", "answer"),
    [
        ("en", "refill my lisinopril", "the 20 mg one"),
        ("en", "refill my lisinopril", "Lisinopril 20 mg"),
        ("en", "refill my lisinopril", "the second"),
        ("he", "לנפק ליסינופריל", "20 מג"),
    ],
)
def test_of_two_strengths_the_customer_chooses(language: str, text: str, answer: str) -> None:
    other = prescribe(JOHN, "Lisinopril", strength="20 mg")
    talk = Talk(language, JOHN)
    asked = talk.ask(text)
    chips = (
        ["Lisinopril 10 mg", "Lisinopril 20 mg"]
        if language == "en"
        else ["ליסינופריל 10 מ״ג", "ליסינופריל 20 מ״ג"]
    )
    assert asked["suggestions"][:2] == chips and not RefillRequest.objects.exists()
    talk.say(answer)
    assert RefillRequest.objects.get().prescription_id == other.pk


def test_at_most_three_are_offered_and_a_chip_chooses() -> None:
    for name in ("Metforman", "Metformon", "Metformun"):
        prescribe(DAVID, "Metformin", name_en=name, generic_name_en=name, name_he=name, generic_name_he=name)
    talk = Talk(patient=DAVID)
    asked = talk.ask("refill my metformxn")
    assert len(asked["suggestions"]) == 3 and all("500 mg" in chip for chip in asked["suggestions"])
    talk.say(asked["suggestions"][1])
    assert RefillRequest.objects.count() == 1


def test_a_part_of_a_combination_alone_is_not_taken_for_it() -> None:
    talk = Talk(patient=JOHN)
    assert "Did you mean Codeine + Paracetamol" in talk.say("refill paracetamol")
    assert not RefillRequest.objects.exists()


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ("refill my metfornin", "blah", "flurb", "grmf")),
        ("he", ("לנפק מטפורמן", "אההה", "בלבל", "שטויות")),
    ],
)
def test_three_turns_that_choose_nothing_hand_the_conversation_over(
    language: str, texts: tuple[str, ...]
) -> None:
    talk = Talk(language, DAVID)
    for text in texts[:-1]:
        talk.say(text)
        assert pending(talk) == "which_offered" and not Handoff.objects.exists()
    talk.say(texts[-1])
    handoff = Handoff.objects.get()
    assert handoff.reason == "refill" and handoff.number in talk.payload["text"]
    assert handoff.conversation_id == talk.conversation.pk and handoff.patient == Patient.objects.get(
        mrn=DAVID
    )
    assert ("three turns without a result" if language == "en" else "שלושה ניסיונות") in handoff.summary
    assert not RefillRequest.objects.exists() and not pending(talk)


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [("en", "refill my zorbaflexin", "zorbaflexin"), ("he", "לנפק זורבפלקסין", "זורבפלקסין")],
)
def test_a_name_that_is_like_nothing_goes_to_a_pharmacist(language: str, text: str, name: str) -> None:
    talk = Talk(language, DAVID)
    said = talk.say(text)
    handoff = Handoff.objects.get()
    assert name in said and handoff.number in said and handoff.reason == "refill" and name in handoff.summary


@pytest.mark.parametrize("text", ["refill my ibuprofen", "refill my ibuprofn", "refill my atorvastatin"])
def test_a_medicine_that_is_not_ones_own_is_said_to_be_not_on_file(text: str) -> None:
    talk = Talk(patient=DAVID)
    said = talk.ask(text)
    assert "no prescription" in said["text"] or "does not need a prescription" in said["text"]
    assert "Talk to a pharmacist" in said["suggestions"]
    assert not Handoff.objects.exists() and not RefillRequest.objects.exists()


@pytest.mark.parametrize("text", ["refill my heart medication", "refill now bro", "refill my pills"])
def test_ordinary_words_are_no_name_and_open_no_hand_off(text: str) -> None:
    talk = Talk(patient=DAVID)
    talk.say(text)
    assert not Handoff.objects.exists() and pending(talk) == "which_prescription"


@pytest.mark.parametrize(("language", "no", "yes"), [("en", "no", "yes"), ("he", "לא", "כן")])
def test_whoever_means_none_of_them_is_offered_a_pharmacist(language: str, no: str, yes: str) -> None:
    talk = Talk(language, DAVID)
    talk.say("refill my metfornin" if language == "en" else "לנפק מטפורמן")
    talk.say(no)
    assert not Handoff.objects.exists()
    talk.say(yes)
    assert Handoff.objects.get().reason == "refill"


def test_another_question_is_answered_and_is_no_failed_turn() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill my metfornin")
    assert "Florentin" in talk.say("when is Florentin open?")
    assert talk.say("never mind") and not Handoff.objects.exists()


def test_several_misspelt_names_get_one_question() -> None:
    talk = Talk(patient=JOHN)
    said = talk.say("refill 15 lisinoprl and 30 metfornin")
    assert "Did you mean Lisinopril and Metformin?" in said and not RefillRequest.objects.exists()
    talk.say("yes, from the online store")
    assert quantities(talk) == ["15 units", "30 units"]


def test_whether_a_misspelt_one_can_be_refilled_is_asked_back_too() -> None:
    talk = Talk(patient=DAVID)
    assert "Did you mean Metformin 500 mg?" in talk.say("can I refill my metfornin?")
    assert "eligible for refill" in talk.say("yes") and not RefillRequest.objects.exists()


DENIALS = [
    ("en", "stop refilling my metformin"),
    ("en", "I did not ask for a metformin refill"),
    ("en", "I never asked for a refill"),
    ("he", "אל תנפיקו מטפורמין"),
    ("he", "אל תנפיק"),
    ("he", "לא ביקשתי ניפוק"),
]


@pytest.mark.parametrize(("language", "text"), DENIALS)
def test_a_denial_begins_nothing_without_asking(language: str, text: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(text)
    assert pending(talk) == "refill_wanted" and not RefillRequest.objects.exists()


@pytest.mark.parametrize(("language", "text"), DENIALS)
def test_a_denial_of_what_is_being_requested_takes_it_back(language: str, text: str) -> None:
    talk = Talk(language, DAVID)
    talk.say({"en": "refill metformin", "he": "לנפק מטפורמין"}[language])
    assert {"en": "was cancelled", "he": "בוטלה"}[language] in talk.say(text)
    assert RefillRequest.objects.count() == 1 and not pending(talk)


def test_a_denial_of_another_medicine_leaves_what_is_being_requested() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill amoxicillin")
    assert "cancelled" not in talk.say("stop refilling my metformin")
    assert RefillRequest.objects.count() == 1


# -- How much of which -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "refill 15 metformin and 20 atorvastatin", ["15 units", "20 units"]),
        ("en", "refill 15 tablets of metformin and 20 of the atorvastatin", ["15 units", "20 units"]),
        ("en", "refill metformin 15 tablets and atorvastatin 20 tablets", ["15 units", "20 units"]),
        ("en", "refill 15 metformin, and 20 atorvastatin", ["15 units", "20 units"]),
        ("en", "refill metformin and 20 atorvastatin", ["60 units", "20 units"]),
        ("en", "refill metformin and atorvastatin, 15 tablets", ["60 units", "15 units"]),
        ("en", "refill metformin and atorvastatin, 15 tablets each", ["15 units", "15 units"]),
        ("en", "refill metformin 500 mg and atorvastatin 20 mg", ["60 units", "30 units"]),
        ("en", "refill metformin 15 tablets, atorvastatin 20 tablets", ["15 units", "20 units"]),
        ("en", "refill metformin 15 tablets\natorvastatin 20 tablets", ["15 units", "20 units"]),
        ("en", "refill metformin 15 tablets my atorvastatin 20 tablets", ["15 units", "20 units"]),
        ("en", "refill metformin 2 packs atorvastatin 1 pack", ["120 units", "30 units"]),
        ("en", "refill 15 tablets metformin 20 tablets atorvastatin", ["15 units", "20 units"]),
        ("en", "refill metformin, 20 tablets of atorvastatin", ["60 units", "20 units"]),
        ("he", "לנפק 15 מטפורמין ו-20 אטורבסטטין", ["15 יחידות", "20 יחידות"]),
        ("he", "לנפק 15 כדורים של מטפורמין ו20 טבליות אטורבסטטין", ["15 יחידות", "20 יחידות"]),
        ("he", "לנפק מטפורמין ו-20 אטורבסטטין", ["60 יחידות", "20 יחידות"]),
        ("he", "לנפק מטפורמין ואטורבסטטין, 15 טבליות מכל אחד", ["15 יחידות", "15 יחידות"]),
        ("he", "לנפק מטפורמין 15 כדורים, אטורבסטטין 20 כדורים", ["15 יחידות", "20 יחידות"]),
        ("he", "לנפק מטפורמין 15 כדורים ואטורבסטטין 20 כדורים", ["15 יחידות", "20 יחידות"]),
        ("he", "לנפק מטפורמין 15 כדורים אטורבסטטין 20 כדורים", ["15 יחידות", "20 יחידות"]),
        ("he", "לנפק מטפורמין ו20 כדורים אטורבסטטין", ["60 יחידות", "20 יחידות"]),
    ],
)
def test_each_medicine_gets_its_own_amount(language: str, text: str, expected: list[str]) -> None:
    talk = Talk(language, JOHN)
    talk.say(text)
    talk.say("online store" if language == "en" else "החנות המקוונת")
    assert quantities(talk) == expected


@pytest.mark.parametrize(
    ("language", "text", "asks", "answer", "expected"),
    [
        ("en", "I want 15 tablets, please refill metformin and atorvastatin", "for which medicine", "15 tablets of metformin", ["15 units", "30 units"]),
        ("he", "15 כדורים, אני רוצה לנפק מטפורמין ואטורבסטטין", "לאיזו תרופה", "15 כדורים של אטורבסטטין", ["60 יחידות", "15 יחידות"]),
        ("en", "refill metformin, 15 tablets, atorvastatin", "for which medicine", "15 tablets of metformin", ["15 units", "30 units"]),
        ("he", "לנפק מטפורמין 15 כדורים, אטורבסטטין", "לאיזו תרופה", "15 כדורים של אטורבסטטין", ["60 יחידות", "15 יחידות"]),
        ("en", "refill metformin and atorvastatin 15 tablets 20 tablets", "for which medicine", "15 tablets of metformin", ["15 units", "30 units"]),
        ("he", "לנפק מטפורמין ואטורבסטטין 15 כדורים 20 כדורים", "לאיזו תרופה", "15 כדורים של מטפורמין", ["15 יחידות", "30 יחידות"]),
    ],
)  # fmt: skip
def test_an_amount_without_an_owner_is_asked_about_and_never_given_to_all(
    language: str, text: str, asks: str, answer: str, expected: list[str]
) -> None:
    talk = Talk(language, JOHN)
    assert asks in talk.say(text)
    assert set(RefillRequest.objects.values_list("quantity", flat=True)) == {60, 30}
    talk.say(answer)
    talk.say("online store" if language == "en" else "החנות המקוונת")
    assert quantities(talk) == expected


def test_amounts_are_changed_one_by_one_once_the_card_is_open() -> None:
    talk = Talk(patient=JOHN)
    talk.say("refill metformin and atorvastatin from the online store")
    assert "for which medicine" in talk.say("15 tablets") and quantities(talk) == ["60 units", "30 units"]
    talk.say("20 tablets of atorvastatin")
    assert quantities(talk) == ["60 units", "20 units"]
    talk.say("30 tablets of metformin")
    assert quantities(talk) == ["30 units", "20 units"]


@pytest.mark.parametrize(
    ("language", "first", "then"),
    [
        ("en", "refill metformin from the online store", "actually 15 tablets is enough"),
        ("en", "refill metformin from the online store", "15 pills instead of 60"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "בעצם 15 כדורים זה מספיק"),
        ("he", "לנפק מטפורמין מהחנות המקוונת", "15 כדורים במקום 60"),
    ],
)
def test_a_changed_amount_is_no_emergency(language: str, first: str, then: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(first)
    talk.say(then)
    assert quantities(talk) == ["15 units" if language == "en" else "15 יחידות"]
    talk.conversation.refresh_from_db()
    assert not talk.conversation.state.get("emergency")

"""Several medicines in one request for a refill: each gets its outcome, all are checked together, one card asks for the yes."""

import re
from typing import Any

import pytest
from scripted_model import ScriptedModel, calls, chooses
from talking import Talk

from agent.conversation import confirmations
from agent.inference.openai import Call
from agent.llm.functions import frame_of, procedure_of
from agent.llm.offline.reading.patient_intents import patient_frame
from agent.llm.offline.reading.recognise import recognise
from agent.models import Confirmation
from prescriptions.models import Allergy, Handoff, Patient, Prescription

pytestmark = pytest.mark.usefixtures("demo_committed")
DAVID, SARAH, RACHEL, JOHN, LEAH = "10000101", "10000102", "10000104", "10000123", "10000124"
AVOID = "cannot be taken together according to our data"
AVOID_HE = "אסור ליטול יחד את"


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


def _asked(talk: Talk) -> list[dict[str, Any]]:
    """The cards that ask for a yes."""
    return [frame for frame in talk.page if frame["type"] == "confirm.requested"]


def _waiting() -> list[list[int]]:
    rows = Confirmation.objects.filter(state=Confirmation.State.OPEN)
    return [row.payload["prescriptions"] for row in rows]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("refill my metformin and the amoxicillin", ["Metformin", "Amoxicillin"]),
        ("can I refill warfarin, ibuprofen and simvastatin?", ["Warfarin", "Ibuprofen", "Simvastatin"]),
        ("refill metformin 500 mg plus amoxicillin please", ["Metformin", "Amoxicillin"]),
        ("please refill my zorbaflexin and metformin", ["Metformin", "zorbaflexin"]),
        ("refill my metformin and zorbaflexin", ["Metformin", "zorbaflexin"]),
        ("refill amoxicillin instead of metformin", ["Amoxicillin"]),
        ("refill amoxicillin, not metformin", ["Amoxicillin"]),
        ("can I refill amoxicillin while I take warfarin?", ["Amoxicillin"]),
        ("refill metformin asap bro", ["Metformin"]),
        ("ניפוק לקומדין ולאיבופרופן", ["Warfarin", "Ibuprofen"]),
        ("אני רוצה ניפוק של מטפורמין ואמוקסיצילין", ["Metformin", "Amoxicillin"]),
        ("אפשר לנפק את הקומדין וגם את המטפורמין?", ["Warfarin", "Metformin"]),
        ("ניפוק של מטפורמין וזורבפלקסין", ["Metformin", "זורבפלקסין"]),
    ],
)
def test_the_medicines_of_a_refill_are_recognised(text: str, names: list[str]) -> None:
    [clause] = recognise(text).clauses
    frame = patient_frame(clause, {})
    assert frame and [one.get("en") or one.get("query") for one in frame.medicines] == names


def test_each_medicine_gets_its_outcome_and_one_card_names_all() -> None:
    talk = Talk(patient=DAVID)
    text = _bare(talk.say("refill my metformin and the amoxicillin"))
    assert (
        "Your prescription for Metformin is valid and eligible for a refill. You have 5 refills remaining."
        in text
    )
    assert (
        "Your prescription for Amoxicillin is valid and eligible for a refill. You have 2 refills remaining."
        in text
    )
    assert "Amoxicillin is currently out of stock." in text
    assert "For Metformin and Amoxicillin our data lists no interaction" in text
    assert "pass on your request for Metformin and Amoxicillin" in text
    [card] = _asked(talk)
    assert "these refill requests" in card["summary"]["title"]
    values = [value for _label, value in card["summary"]["rows"]]
    assert values == ["Metformin 500 mg", "5", "Amoxicillin 500 mg", "2"]


def test_hebrew_gets_its_outcomes_in_hebrew() -> None:
    talk = Talk("he", LEAH)
    text = _bare(talk.say("אני רוצה ניפוק של קומדין ואיבופרופן וזורבפלקסין"))
    assert "המרשם שלכם לוורפרין בתוקף וניתן לנפק אותו" in text
    assert "איבופרופן נמכר ללא מרשם, ולכן אין צורך בניפוק" in text
    assert "לא מצאתי ברשומות שלכם מרשם לזורבפלקסין" in text
    assert f"{AVOID_HE} וורפרין ואת איבופרופן" in text
    assert "אעביר את הבקשה עבור וורפרין." in text
    [card] = _asked(talk)
    assert card["summary"]["rows"][0][1].startswith("וורפרין")


def test_one_that_cannot_be_refilled_is_said_and_not_on_the_card() -> None:
    text = Talk(patient=JOHN).say("refill my oxycodone, lisinopril and warfarin")
    assert "Oxycodone is a controlled medicine: your doctor must issue a new prescription." in text
    assert "Your prescription for Lisinopril is valid" in text
    assert "There is no prescription for Warfarin on your file." in text
    lisinopril = Prescription.objects.get(patient__mrn=JOHN, medication__name_en="Lisinopril")
    assert _waiting() == [[lisinopril.pk]] and "request for Lisinopril on" not in text


def test_nothing_is_asked_when_none_can_be_refilled() -> None:
    talk = Talk(patient=SARAH)
    text = talk.say("refill amoxicillin and warfarin")
    assert "can't go on with a refill of Amoxicillin" in text and "no prescription for Warfarin" in text
    assert not _asked(talk) and not _waiting()


@pytest.mark.parametrize(
    ("text", "language", "warning"),
    [
        ("refill my warfarin", "en", f"Warfarin and Ibuprofen {AVOID}"),
        ("can I refill warfarin?", "en", f"Warfarin and Ibuprofen {AVOID}"),
        ("can I refill warfarin and ibuprofen?", "en", f"Warfarin and Ibuprofen {AVOID}"),
        ("ניפוק לקומדין ולאיבופרופן", "he", f"{AVOID_HE} וורפרין ואת איבופרופן"),
        ("אפשר לנפק קומדין?", "he", f"{AVOID_HE} וורפרין ואת איבופרופן"),
    ],
)
def test_they_are_checked_with_each_other_and_the_rest_of_the_list(
    text: str, language: str, warning: str
) -> None:
    assert _bare(Talk(language, LEAH).say(text)).count(warning) == 1


def test_what_is_taken_beside_it_is_checked_too() -> None:
    text = Talk(patient=DAVID).say("I take warfarin, can I refill my amoxicillin and metformin?")
    assert "Warfarin and Amoxicillin: our data lists a caution." in text
    assert "your Amoxicillin prescription" in text and "your Metformin prescription" in text


@pytest.mark.parametrize(
    "text", ["refill metformin and amoxicillin", "can I refill metformin and amoxicillin?"]
)
def test_allergies_on_file_are_checked_for_every_medicine(text: str) -> None:
    Allergy.objects.create(
        patient=Patient.objects.get(mrn=DAVID), drug_class="penicillins", severity="severe"
    )
    assert "is on your file. Amoxicillin belongs to that group." in Talk(patient=DAVID).say(text)


def test_allergies_are_checked_for_the_other_medicines_of_the_list_too() -> None:
    text = Talk(patient=JOHN).say("refill lisinopril and metformin")
    assert "Sulfamethoxazole + Trimethoprim belongs to that group." in text


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("what prescriptions do I have?", "refill all of them"),
        ("what prescriptions do I have?", "refill both"),
        ("what prescriptions do I have?", "refill the first and the second"),
        ("hello", "refill metformin. refill amoxicillin"),
        ("hello", "can you refill all my prescriptions"),
    ],
)
def test_all_and_several_of_a_list_are_taken_up(first: str, then: str) -> None:
    talk = Talk(patient=DAVID)
    talk.say(first)
    talk.say(then)
    assert sorted(_waiting()[0]) == [1, 2]


def test_a_list_of_seven_stays_within_the_turn() -> None:
    talk = Talk(patient=JOHN)
    text = talk.say("refill all my prescriptions")
    for name in (
        "Lisinopril",
        "Metformin",
        "Atorvastatin",
        "Sulfamethoxazole",
        "Codeine",
        "Adalimumab",
        "Oxycodone",
    ):
        assert name in text
    assert f"Codeine + Paracetamol and Oxycodone {AVOID}" in _bare(text) and len(_waiting()[0]) == 6


@pytest.mark.parametrize(("language", "asks", "yes"), [("en", "refill metformin", "yes please"), ("he", "ניפוק מטפורמין", "כן"), ("en", "refill metformin and amoxicillin", "yes"), ("he", "ניפוק של מטפורמין ואמוקסיצילין", "כן")])  # fmt: skip
def test_a_typed_yes_points_to_the_card(language: str, asks: str, yes: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    for _ in range(2):
        assert ("card above" if language == "en" else "בכרטיס שלמעלה") in talk.say(yes)
    assert not Handoff.objects.exists() and len(_waiting()) == 1
    assert not re.search("passed|העברתי", talk.say("no" if language == "en" else "לא"))


def test_the_pressed_card_passes_all_of_them_on_once() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin and amoxicillin")
    [card] = _asked(talk)
    confirmations.confirmation_answer(
        conversation_id=talk.conversation.pk,
        key=talk.conversation.secret_hash,
        confirm_id=card["confirm_id"],
        decision="yes",
        address="192.0.2.1",
    )
    talk.answer()
    assert "passed your request on" in talk.payload["text"]
    [handoff] = Handoff.objects.all()
    assert (handoff.reason, handoff.summary) == ("refill", "Rx 2, 1")


def test_one_of_somebody_else_among_them_asks_for_nothing() -> None:
    talk = Talk(patient=DAVID)
    talk.say("hello")
    others = Prescription.objects.exclude(patient__mrn=DAVID).first()
    assert others and confirmations.refill_ask(talk.run, 1, others.pk) is None and not _waiting()


def test_a_customer_who_is_not_identified_is_asked_who_they_are_and_all_are_remembered() -> None:
    talk = Talk()
    assert "email or phone" in talk.say("refill my metformin and the amoxicillin")
    assert (
        len(talk.conversation.__class__.objects.get(pk=talk.conversation.pk).state["waiting"]["medicines"])
        == 2
    )


@pytest.mark.usefixtures("tireless")
class TestLanguageModel:
    """The same whatever the model does."""

    def test_a_procedure_takes_all_names(self) -> None:
        for name, ids in (
            ("Metformin and Amoxicillin", [4, 2]),
            ("Metformin, Amoxicillin", [4, 2]),
            ("מטפורמין ואמוקסיצילין", [4, 2]),
        ):
            call = Call("1", "patient_matter", {"matter": "refill", "medication_name": name})
            procedure = procedure_of([call])
            assert procedure and [one["id"] for one in frame_of(procedure).medicines] == ids

    @pytest.mark.parametrize("named", ["Metformin, Amoxicillin", "Metformin", None])
    def test_none_is_dropped_whatever_the_model_names(
        self, tireless: ScriptedModel, named: str | None
    ) -> None:
        tireless.script(calls(("patient_matter", {"matter": "refill", "medication_name": named})))
        text = Talk(patient=DAVID).say("refill my metformin and the amoxicillin")
        assert "Metformin is valid and eligible" in text and "Amoxicillin is valid and eligible" in text
        assert sorted(_waiting()[0]) == [1, 2]

    def test_a_request_that_only_the_model_understands(self, tireless: ScriptedModel) -> None:
        both = {"matter": "refill", "medication_name": "Metformin, Amoxicillin"}
        tireless.script(calls(("patient_matter", both)))
        talk = Talk("he", DAVID)
        text = _bare(talk.say("נגמרו לי המטפורמין והאמוקסיצילין, תארגנו לי שוב"))
        assert "למטפורמין בתוקף" in text and "לאמוקסיצילין בתוקף" in text and len(_waiting()[0]) == 2

    def test_an_answer_that_leaves_one_out_is_replaced(self, tireless: ScriptedModel) -> None:
        listed = (
            "prescription_management",
            {"user_identifier": "[[EMAIL_1]]", "action": "LIST", "prescription_id": None},
        )
        tireless.script(calls(listed), chooses("{refill|Metformin}"))
        text = Talk(patient=DAVID).say("can I refill my metformin and amoxicillin?")
        assert "your Metformin prescription" in text and "your Amoxicillin prescription" in text

    def test_an_answer_with_all_of_them_stays(self, tireless: ScriptedModel) -> None:
        listed = (
            "prescription_management",
            {"user_identifier": "[[EMAIL_1]]", "action": "LIST", "prescription_id": None},
        )
        tireless.script(calls(listed), chooses("Happy to check. {refill|Metformin} {refill|Amoxicillin}"))
        text = Talk(patient=DAVID).say("can I refill my metformin and amoxicillin?")
        assert text.startswith("Happy to check.")

    def test_what_is_refilled_is_checked_against_the_list(self, tireless: ScriptedModel) -> None:
        listed = (
            "prescription_management",
            {"user_identifier": "[[EMAIL_1]]", "action": "LIST", "prescription_id": None},
        )
        tireless.script(calls(listed), chooses("{refill|Warfarin}"))
        text = _bare(Talk(patient=LEAH).say("can I refill my warfarin?"))
        assert text.count(f"Warfarin and Ibuprofen {AVOID}") == 1

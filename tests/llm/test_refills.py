"""Several medicines in one request for a refill: each gets its outcome, all are checked together, one card asks for the yes."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from scripted_model import ScriptedModel, calls, chooses
from talking import Talk

from agent.conversation import confirmations
from agent.inference.base import Step
from agent.inference.openai import Call
from agent.llm.functions import frame_of, procedure_of
from agent.llm.offline.reading.patient_intents import patient_frame
from agent.llm.offline.reading.recognise import recognise
from agent.models import Confirmation, Run
from agent.turn.actions import action_run
from prescriptions.models import Allergy, Handoff, Patient, Prescription, RefillRequest

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
    """The prescriptions of the open cards."""
    rows = Confirmation.objects.filter(state=Confirmation.State.OPEN)
    pks = [[pk for pk, _version in row.payload["refills"]] for row in rows]
    requests = RefillRequest.objects.in_bulk()
    return [[requests[pk].prescription_id for pk in each] for each in pks]


def _place(talk: Talk, language: str = "en") -> str:
    """Say where it is picked up; named twice, although that branch has too little of it."""
    said = ""
    for _ in range(2):
        if not _waiting():
            said = talk.say("Dizengoff" if language == "en" else "דיזנגוף")
    return said


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
    assert "Where" in text or "No branch has enough" in text
    assert "check the details of Metformin and Amoxicillin" in _place(talk)
    [card] = _asked(talk)
    assert "Request these refills?" in card["summary"]["title"]
    rows = [
        (label, value) for label, value in card["summary"]["rows"] if label in ("Medicine", "Refills left")
    ]
    assert [value for _label, value in rows] == ["Metformin 500 mg", "5", "Amoxicillin 500 mg", "2"]
    assert ["Pick-up", "Dizengoff, Tel Aviv"] in card["summary"]["rows"]


def test_hebrew_gets_its_outcomes_in_hebrew() -> None:
    talk = Talk("he", LEAH)
    text = _bare(talk.say("אני רוצה ניפוק של קומדין ואיבופרופן וזורבפלקסין"))
    assert "המרשם שלכם לוורפרין בתוקף וניתן לנפק אותו" in text
    assert "המרשם שלכם לאיבופרופן בתוקף וניתן לנפק אותו" in text
    assert "לא מצאתי ברשומות שלכם מרשם לזורבפלקסין" in text
    assert f"{AVOID_HE} וורפרין ואת איבופרופן" in text
    _place(talk, "he")
    [card] = _asked(talk)
    assert card["summary"]["rows"][0][1].startswith("וורפרין")


def test_one_that_cannot_be_refilled_is_said_and_not_on_the_card() -> None:
    talk = Talk(patient=JOHN)
    text = talk.say("refill my oxycodone, lisinopril and warfarin")
    assert "Oxycodone is a controlled medicine: your doctor must issue a new prescription." in text
    assert "Your prescription for Lisinopril is valid" in text
    assert "There is no prescription for Warfarin on your file." in text
    lisinopril = Prescription.objects.get(patient__mrn=JOHN, medication__name_en="Lisinopril")
    _place(talk)
    assert _waiting() == [[lisinopril.pk]]


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
    _place(talk)
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
    _place(talk)
    assert f"Codeine + Paracetamol and Oxycodone {AVOID}" in _bare(text) and len(_waiting()[0]) == 6


@pytest.mark.parametrize(("language", "asks", "yes"), [("en", "refill metformin", "yes please"), ("he", "ניפוק מטפורמין", "כן"), ("en", "refill metformin and amoxicillin", "yes"), ("he", "ניפוק של מטפורמין ואמוקסיצילין", "כן")])  # fmt: skip
def test_a_typed_yes_points_to_the_card(language: str, asks: str, yes: str) -> None:
    talk = Talk(language, DAVID)
    talk.say(asks)
    _place(talk, language)
    for _ in range(2):
        assert ("card above" if language == "en" else "בכרטיס שלמעלה") in talk.say(yes)
    assert not RefillRequest.objects.filter(is_confirmed=True).exists() and len(_waiting()) == 1
    assert not re.search("passed|העברתי", talk.say("no" if language == "en" else "לא"))


def test_the_pressed_card_submits_all_of_them_once() -> None:
    talk = Talk(patient=DAVID)
    talk.say("refill metformin and amoxicillin")
    _place(talk)
    [card] = _asked(talk)
    confirmations.confirmation_answer(
        conversation_id=talk.conversation.pk,
        key=talk.conversation.secret_hash,
        confirm_id=card["confirm_id"],
        decision="yes",
        address="192.0.2.1",
    )
    talk.answer()
    assert talk.payload["text"].count("with a pharmacist") == 2
    requests = RefillRequest.objects.filter(is_confirmed=True)
    assert sorted(requests.values_list("prescription", flat=True)) == [1, 2]
    assert {handoff.reason for handoff in Handoff.objects.all()} == {
        "refill"
    } and Handoff.objects.count() == 2


def test_one_of_somebody_else_among_them_asks_for_nothing() -> None:
    talk = Talk(patient=DAVID)
    talk.say("hello")
    others = Prescription.objects.exclude(patient__mrn=DAVID).first()
    run = Run.objects.select_related("conversation__patient").get(pk=talk.run.pk)
    found = action_run(run, Step("refill.collect", {"prescription_ids": [1, others.pk], "store_id": 1}), "x")
    assert not found.ok and not _waiting()


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
        talk = Talk(patient=DAVID)
        text = talk.say("refill my metformin and the amoxicillin")
        assert "Metformin is valid and eligible" in text and "Amoxicillin is valid and eligible" in text
        _place(talk)
        assert sorted(_waiting()[0]) == [1, 2]

    def test_a_request_that_only_the_model_understands(self, tireless: ScriptedModel) -> None:
        both = {"matter": "refill", "medication_name": "Metformin, Amoxicillin"}
        tireless.script(calls(("patient_matter", both)))
        talk = Talk("he", DAVID)
        text = _bare(talk.say("נגמרו לי המטפורמין והאמוקסיצילין, תארגנו לי שוב"))
        assert "למטפורמין בתוקף" in text and "לאמוקסיצילין בתוקף" in text
        _place(talk, "he")
        assert len(_waiting()[0]) == 2

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
        tireless.script(calls(listed), chooses("[hello] {refill|Metformin} {refill|Amoxicillin}"))
        text = Talk(patient=DAVID).say("can I refill my metformin and amoxicillin?")
        assert text.startswith("Hello!")

    def test_what_is_refilled_is_checked_against_the_list(self, tireless: ScriptedModel) -> None:
        listed = (
            "prescription_management",
            {"user_identifier": "[[EMAIL_1]]", "action": "LIST", "prescription_id": None},
        )
        tireless.script(calls(listed), chooses("{refill|Warfarin}"))
        text = _bare(Talk(patient=LEAH).say("can I refill my warfarin?"))
        assert text.count(f"Warfarin and Ibuprofen {AVOID}") == 1

    @pytest.mark.parametrize(
        ("text", "named", "asked"),
        [
            ("maybe refill my metformin", "Metformin", "Do you want to refill Metformin?"),
            ("refill my metfornin", "Metformin", "Did you mean Metformin 500 mg?"),
            ("the sugar one again, like last month", "Metformin", "Do you want to refill Metformin?"),
            ("I don't want metformin any more", "Metformin", "Do you want to refill Metformin?"),
            ("maybe metformin", "Metformin", "Do you want to refill Metformin?"),
            ("stop my metformin", "Metformin", "Do you want to refill Metformin?"),
            ("אני לא רוצה מטפורמין", "מטפורמין", "לנפק מטפורמין?"),
        ],
    )
    def test_how_sure_it_is_comes_from_our_reading_and_never_from_the_model(
        self, tireless: ScriptedModel, text: str, named: str, asked: str
    ) -> None:
        claimed = {"matter": "refill", "medication_name": named, "confidence": 0.99}
        tireless.script(calls(("patient_matter", claimed)))
        talk = Talk(patient=DAVID)
        assert asked in talk.say(text) and not RefillRequest.objects.exists()
        talk.say("yes")
        assert RefillRequest.objects.get().prescription_id == 2

    def test_each_medicine_gets_the_amount_that_the_customer_wrote(self, tireless: ScriptedModel) -> None:
        both = {"matter": "refill", "medication_name": "Metformin, Atorvastatin"}
        tireless.script(calls(("patient_matter", both)))
        Talk(patient=JOHN).say("refill 15 metformin and 20 atorvastatin")
        assert sorted(RefillRequest.objects.values_list("quantity", flat=True)) == [15, 20]


@pytest.mark.parametrize(
    ("language", "asks", "says", "never"),
    [
        ("en", "can I refill metformin?", "The next refill is due from", "eligible"),
        ("en", "I need my metformin again", "The next refill is due from", "eligible"),
        ("he", "אפשר לנפק מטפורמין?", "אפשר לנפק שוב החל מ", "ניתן לנפק"),
    ],
)
def test_what_was_filled_just_now_is_not_called_eligible(
    language: str, asks: str, says: str, never: str
) -> None:
    Prescription.objects.filter(pk=2).update(last_filled_on=timezone.localdate())
    text = Talk(language, DAVID).say(asks)
    assert says in text and never not in text
    Prescription.objects.filter(pk=2).update(last_filled_on=timezone.localdate() - timedelta(days=23))
    assert says not in Talk(language, DAVID).say(asks)

"""A model that asks for other people's data gets none of it, and every try is written down (T6)."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from scripted_model import ScriptedModel, by, calls, forever, says
from talking import Talk, once, sent_to

from agent.models import Run
from prescriptions.models import AuditEvent, Patient, Prescription

OWN, MAIL = "10000101", "david.cohen@example.com"
ASKS = "hello there, what else is new?"
ANSWER = says("[hello]")
OTHER_PEOPLE = [
    "sarah.levi@example.com", "SARAH.LEVI@EXAMPLE.COM", "+972522345678", "0522345678", "10000102", "Sarah Levi",
    "שרה לוי", "david.cohen@example.com, sarah.levi@example.com", "david.cohen@example.com\nsarah.levi@example.com",
    "sarah.levi@example.com ", "%", "*", "", "' OR 1=1 --", "[[PATIENT]]", "[[EMAIL_2]]", "١٠٠٠٠١٠٢", "１００００１０２",
    "david.cohen@example.com.evil", "me", "null", "x" * 600, 10000102, ["sarah.levi@example.com"], {"$ne": ""}, True, 1.5,
]  # fmt: skip
OTHER_IDS = [
    3, 4, 5, 6, 7, 8, 999_999, 0, -3, 2**63, -(2**63) - 1, 2**63 - 1, 3.0, 3.5, "3", "٣", "３", "3 OR 1=1", [3], [1, 3],
    {"id": 3}, True, "x", "[[ID_1]]", 10**30,
]  # fmt: skip


def _management(identifier: Any, prescription: Any, action: str) -> tuple[str, dict[str, Any]]:
    asked = {"user_identifier": identifier, "action": action, "prescription_id": prescription}
    return "prescription_management", asked


def _hostile() -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that each ask for somebody else's data, over and over."""
    while True:
        for identifier in OTHER_PEOPLE:
            yield _management(identifier, None, "LIST")
            yield _management(identifier, 3, "REFILL_STATUS")
            asked = {"patient_id": identifier, "med_id": "2", "intent": "refill", "language": "en"}
            yield "prescription_verify", asked
        for number in OTHER_IDS:
            yield _management(MAIL, number, "REFILL_STATUS")


def _denied() -> int:
    return AuditEvent.objects.filter(what="authz_denied").count()


def _reads_of_others() -> int:
    """Lines about anybody but the customer who was verified."""
    return AuditEvent.objects.exclude(patient=None).exclude(patient__mrn=OWN).count()


def _names_others(text: str) -> list[str]:
    """What a text tells of other patients."""
    people = Patient.objects.exclude(mrn=OWN)
    values = [
        value for person in people for value in (person.name_en, person.name_he, person.born.isoformat())
    ]
    return [value for value in values if value in text]


@pytest.mark.parametrize("patient", [OWN, ""], ids=["verified", "nobody"])
def test_calls_for_other_patients_data_read_nothing(tireless: ScriptedModel, patient: str) -> None:
    hostile, before, reads = _hostile(), _denied(), _reads_of_others()
    number = 2 * 112 if patient else 112  # every kind of call at least once
    talk = Talk(patient=patient or None)
    for _ in range(number // 8):
        tireless.reset()
        tireless.script(calls(*itertools.islice(hostile, 8)), forever(ANSWER))
        talk.say(ASKS)
        assert talk.run.state == Run.State.DONE
        results = [json.loads(m["content"]) for m in tireless.last.messages if m["role"] == "tool"]
        assert len(results) == 8
        assert not [result for result in results if result["ok"]], results
        asked_for = json.dumps(
            [m for m in tireless.last.messages if m["role"] == "assistant"], ensure_ascii=False
        )
        heard = [name for name in _names_others(sent_to(tireless)) if name not in asked_for]
        assert not heard, heard
        assert not _names_others(json.dumps(talk.payload, ensure_ascii=False))
    assert _denied() - before == number
    assert _reads_of_others() == reads


def test_a_foreign_and_an_unknown_prescription_get_the_same_answer(tireless: ScriptedModel) -> None:
    heard = []
    for number in (3, 987_654):
        once(tireless, ASKS, calls(_management(MAIL, number, "REFILL_STATUS")), ANSWER, patient=OWN)
        heard.append(tireless.last.messages[-1]["content"].replace(str(number), "#"))
    assert heard[0] == heard[1]


def test_the_patients_own_data_is_found_by_their_placeholder(tireless: ScriptedModel) -> None:
    """So the refusals above are refusals, not a door that is shut for everybody."""

    def own(request: dict[str, Any]) -> Any:
        known = json.loads(request["messages"][1]["content"])
        return calls(_management(known["user_identifier"], None, "LIST"))

    before = _denied()
    once(tireless, "which prescriptions do I have?", by(own), says("[anything_else]"), patient=OWN)
    listed = json.loads(tireless.last.messages[-1]["content"])["ids"]
    ids = {row["prescription_id"] for row in listed}
    assert ids == set(Prescription.objects.filter(patient__mrn=OWN).values_list("pk", flat=True))
    assert _denied() == before


def test_an_invented_name_opens_no_confirmation_for_others(tireless: ScriptedModel) -> None:
    """Somebody else's medicine: the customer has no prescription of it, so there is nothing to confirm."""
    talk = once(
        tireless,
        ASKS,
        calls(("patient_matter", {"matter": "refill", "medication_name": "Warfarin"})),
        patient=OWN,
    )
    assert talk.run.state == Run.State.DONE
    assert not [card for card in talk.payload["cards"] if card["kind"] == "confirm"]
    assert not talk.conversation.confirmations.exists()


@pytest.mark.parametrize(
    "placeholder", ["[[EMAIL_1]]", "[[EMAIL_9]]", "[[PATIENT]]", "[[ID_1]]", "[[PHONE_1]]"]
)
def test_without_a_verified_patient_a_placeholder_opens_no_data(
    tireless: ScriptedModel, placeholder: str
) -> None:
    """Also that of the e-mail that the customer typed: typing it proves nothing."""
    talk = once(tireless, "my e-mail is sarah.levi@example.com")  # a code is on its way to her
    before, reads = _denied(), _reads_of_others()
    for placeholder in ("[[EMAIL_1]]", "[[EMAIL_9]]", "[[PATIENT]]", "[[ID_1]]", "[[PHONE_1]]"):
        asked = {"patient_id": placeholder, "med_id": "2", "intent": "refill", "language": "en"}
        tireless.reset()
        tireless.script(calls(_management(placeholder, None, "LIST"), ("prescription_verify", asked)), ANSWER)
        talk.say(ASKS)
        assert talk.run.state == Run.State.DONE
    assert (_denied() - before, _reads_of_others() - reads) == (10, 0)

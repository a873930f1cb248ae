"""Canary persons through whole conversations: what is personal is in the tables of patients and of the talk alone (T7)."""

import json
import logging
import os
from typing import Any

import pytest
from django.db import connection
from scripted_model import ScriptedModel, by, calls, chooses, forever, says
from talking import Talk, once, sent_to

from agent.models import Event, Run
from prescriptions.models import Patient, Prescription

CANARY = {
    "name": "Zephyrina Quillfeather", "first": "Zephyrina", "last": "Quillfeather", "he": "זפירינה קווילפדר",
    "he_first": "זפירינה", "he_last": "קווילפדר", "email": "zq.canary.7731@example.com", "phone": "+972559917731",
    "typed phone": "055-991-7731", "born": "1961-11-23", "mrn": "77310042", "id": "319482761",
}  # fmt: skip
SPELLED = ["0559917731", "055 991 7731", "23/11/1961", "November 23, 1961", "319-482-761"]
HOLDS = {
    "prescriptions_patient",
    "prescriptions_notification",
    "agent_event",
}  # persons, where a code goes, the transcript


@pytest.fixture
def canary(tireless: ScriptedModel) -> Patient:
    like = Patient.objects.get(mrn="10000101")
    person = Patient.objects.get(pk=like.pk)
    person.pk, person._state.adding = None, True
    person.mrn, person.email, person.phone = CANARY["mrn"], CANARY["email"], CANARY["phone"]
    person.name_en, person.name_he, person.born = CANARY["name"], CANARY["he"], CANARY["born"]
    person.save(force_insert=True)
    for row in Prescription.objects.filter(patient=like):
        row.pk, row._state.adding, row.patient = None, True, person
        row.save(force_insert=True)
    return person


TALK = {
    "en": [
        "hello, I am Zephyrina Quillfeather, what else is new?",
        "my number is 055-991-7731 and my ID is 319482761, do you have Advil?",
        "I was born on 23/11/1961, is Advil in Florentin?",
        "write to zq.canary.7731@example.com when Advil is back",
        "which prescriptions do I have?",
        "and what is my name?",
        "thank you, Zephyrina",
    ],
    "he": [
        "שלום, מה חדש אצלכם?",
        "הטלפון שלי 055-991-7731 ותעודת הזהות 319482761, יש אדוויל?",
        "נולדתי ב-23/11/1961, יש אדוויל בפלורנטין?",
        "כתבו ל-zq.canary.7731@example.com כשאדוויל חוזר",
        "אילו מרשמים יש לי?",
        "ומה השם שלי?",
        "תודה, זפירינה",
    ],
}


def _curious(request: dict[str, Any]) -> Any:
    """A model that puts all that it was sent about the customer into calls, and repeats it."""
    known = json.loads(request["messages"][1]["content"])
    if request["messages"][-1]["role"] == "tool":
        return says("Hello [[PATIENT]]." if known["customer_identified"] else "That is what is on file.")
    identifier = known.get("user_identifier") or "[[EMAIL_1]]"
    return calls(
        (
            "prescription_management",
            {"user_identifier": identifier, "action": "LIST", "prescription_id": None},
        ),
        ("get_medication_info", {"query": "[[PHONE_1]] [[EMAIL_1]] [[ID_1]]"}),
        ("store_info", {"query": "[[PATIENT]]"}),
    )


@pytest.fixture
def talks(tireless: ScriptedModel, canary: Patient, caplog: pytest.LogCaptureFixture) -> list[Talk]:
    """Both languages, first as anybody, then verified."""
    caplog.set_level(logging.DEBUG)
    tireless.script(forever(by(_curious)))
    found = []
    for language, texts in TALK.items():
        for verified in (False, True) if language == "en" else (True,):
            talk = Talk(language, patient=CANARY["mrn"] if verified else None)
            for text in texts:
                if verified:  # what ends a proof is not the matter here
                    talk.verify(canary.mrn)
                talk.say(text)
                assert talk.run.state == Run.State.DONE
            found.append(talk)
    return found


def _hits(text: str) -> list[str]:
    return [value for value in [*CANARY.values(), *SPELLED] if value.casefold() in text.casefold()]


def _cells() -> dict[str, set[str]]:
    """The tables that hold any of them, with the columns."""
    found: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            names = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                for name, value in zip(names, row, strict=True):
                    text = (
                        value
                        if isinstance(value, str)
                        else json.dumps(value, default=str, ensure_ascii=False)
                    )
                    if "\\u" in text:
                        text = text.encode("latin-1", "ignore").decode("unicode_escape", "ignore")
                    if _hits(text):
                        found.setdefault(table, set()).add(f"{name}")
    return found


def _in_redis() -> list[str]:
    if not (url := os.environ.get("REDIS_URL")):
        return []
    import redis

    client = redis.Redis.from_url(url)
    keys = client.scan_iter("*")
    return [hit for key in keys for hit in _hits((key + (client.dump(key) or b"")).decode("utf-8", "ignore"))]


def test_conversations_leave_personal_data_only_where_it_belongs(
    tireless: ScriptedModel, talks: list[Talk], caplog: pytest.LogCaptureFixture
) -> None:
    """One test, because the conversations take longer than looking at what they left."""
    assert len(tireless.requests) > 20 and "[[PATIENT]]" in sent_to(tireless)
    assert _hits(sent_to(tireless)) == [], "what the model was told"

    records = [*caplog.get_records("setup"), *caplog.records]
    lines = [f"{record.name}: {record.getMessage()} {record.exc_text or ''}" for record in records]
    assert lines and [line for line in lines if _hits(line)] == [], "the log"
    assert _in_redis() == [], "Redis"

    found = _cells()
    assert set(found) >= HOLDS  # so that this test sees what is there
    assert {table: columns for table, columns in found.items() if table not in HOLDS} == {}, "other tables"

    for language, asked in (("en", "what is my name? which prescriptions do I have?"), ("he", "מה השם שלי?")):
        for patient in (None, "10000102"):
            tireless.reset()
            tireless.script(forever(by(_curious)))
            other = Talk(language, patient=patient)
            other.say(asked)
            assert _hits(other.frames_text) == [] and _hits(sent_to(tireless)) == [], "another conversation"

    talk = talks[1]
    talk.forget()
    tireless.reset()
    tireless.script(forever(says("[hello]")))
    talk.say("hello there, what else is new?")
    events = Event.objects.filter(conversation=talk.conversation, type="message.completed")
    personal = [
        payload["text"] for payload in events.values_list("payload", flat=True) if payload.get("personal")
    ]
    assert personal and not [text for text in personal if text in sent_to(tireless)], (
        "after the proof has ended"
    )
    assert _hits(sent_to(tireless)) == []


def test_a_patients_name_in_a_call_is_not_stored(tireless: ScriptedModel, canary: Patient) -> None:
    named = [
        ("get_medication_by_name", {"medication_name": value}) for value in ("[[PATIENT]]", "[[DATE_1]]")
    ]
    once(
        tireless,
        "I was born on 23/11/1961, what else is new?",
        calls(*named),
        says("[apologise] [not_on_file]"),
        patient=CANARY["mrn"],
    )
    assert "agent_toolcall" not in _cells()


def test_an_answer_that_repeats_personal_data_is_marked_personal(
    tireless: ScriptedModel, canary: Patient
) -> None:
    talk = Talk(patient=CANARY["mrn"])
    asked = {"user_identifier": "[[EMAIL_1]]", "action": "LIST", "prescription_id": None}
    tireless.script(
        calls(("prescription_management", asked)),
        chooses("[hello] {prescription_state|Metformin}"),
    )
    talk.say("which prescriptions do I have?")
    assert talk.payload.get("personal")
    tireless.script(forever(says("[ask_what]")))
    talk.say("how was that again, please?")
    assert talk.payload["text"] == "What would you like to know?" and talk.payload.get("personal")


def test_the_model_gets_nothing_of_one_patient_while_another_is_verified(
    tireless: ScriptedModel, canary: Patient
) -> None:
    talk = Talk(patient="10000101")
    asked = {"user_identifier": "[[EMAIL_1]]", "action": "LIST", "prescription_id": None}
    tireless.script(
        calls(("prescription_management", asked)),
        chooses("[hello] {prescription_state|Metformin}"),
    )
    assert "5 refills remaining" in talk.say("which prescriptions do I have?")
    talk.verify(CANARY["mrn"])
    tireless.script(forever(says("[hello]")))
    talk.say("hello again, what else is new?")
    told = str(tireless.last.messages)
    assert "David" not in told and "דוד" not in told and "refills remaining" not in told

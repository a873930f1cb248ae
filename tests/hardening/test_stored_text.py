"""What customers type is stored without what is personal in it, and the turn that answers it works as before."""

import json
from datetime import date
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from random_text import without_random
from talking import Talk

from agent.conversation import accept, events
from agent.conversation.feedback import feedback_save
from agent.conversation.resume import conversation_resume
from agent.inference.base import Step
from agent.models import Conversation, Event, Feedback, Run, ToolCall
from agent.safety.privacy.storing import Value, storable, without
from agent.tools.base import redact
from agent.turn.actions import action_run
from agent.web.handoff_resources import handoff_case
from prescriptions.births import birth_typed
from prescriptions.masking import MASK
from prescriptions.models import Challenge, Handoff, Patient

TODAY = date(2026, 11, 25)
DAVID = "david.cohen@example.com"
TABLES = (
    "agent_conversation",
    "agent_event",
    "agent_run",
    "agent_toolcall",
    "agent_feedback",
    "prescriptions_handoff",
)


def database_text() -> str:
    """The texts in the tables of the chat and of hand-offs, as the database returns them, without numbers and identifiers."""
    found = []
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT * FROM {table}")
            found += [str(value) for row in cursor.fetchall() for value in row if not isinstance(value, int)]
    return without_random("\n".join(found))


PERSONAL = {
    "my e-mail is dana.levi@example.com": ["dana.levi"],
    "call me at 050-123-4567 please": ["4567"],
    "call me at 050 123 4567": ["123 4567"],
    "+972-50-1234567 is my number": ["1234567"],
    "המספר שלי 052-765 4321": ["4321"],
    "my number in London is +44 20 7946 0958": ["7946"],
    "(415) 555-0134 is where I am": ["0134"],
    "482193": ["482193"],
    "my code is 482 193": ["482", "193"],
    "the code I got: 48-21-93": ["48-21"],
    "הקוד שלי הוא 482193": ["482193"],
    "I was sent 482193, is that right?": ["482193"],
    "Do you have Zorbatrix 482193?": ["482193"],
    "What is high blood pressure? my code is 482193": ["482193"],
    "born 2.5.1980": ["1980"],
    "the second of May 1980": ["1980", "second"],
    "I was born on the second of May": ["second", "May"],
    "I was born May 2nd": ["May"],
    "my birthday is 2/5": ["2/5"],
    "ב-2 במאי 1980": ["1980", "מאי"],
    "נולדתי בשני במאי": ["שני", "מאי"],
    "יום ההולדת שלי ב-2 במאי": ["מאי"],
    "תאריך הלידה שלי 02.05.80": ["02.05"],
}  # fmt: skip
PLAIN = (
    "Do you have Acamol 500 mg, 2 x 20 tablets?",
    "I take 050 mg twice a day, 1/2 tablet at 08:00",
    "what does 2 x 20 cost, 49.90 ILS?",
    "prescription number 1000042",
    "the status of refill R-1000042 and H-1042",
    "the order 1000042 of 2.5.2026",
    "Augmentin 875/125 mg at store 101, open 08:00-19:00?",
    "יש לכם אקמול 500 מ\"ג בסניף 101?",
    "המרשם שלי 1000042",
)  # fmt: skip


@pytest.mark.parametrize("text", PERSONAL)
def test_what_is_personal_is_masked(text: str) -> None:
    shown = storable(text, today=TODAY).text
    assert MASK in shown
    assert not [secret for secret in PERSONAL[text] if secret in shown]


@pytest.mark.parametrize("text", PLAIN)
def test_medicines_doses_amounts_prices_and_our_own_numbers_stay(text: str) -> None:
    assert storable(text, today=TODAY).text == text


@pytest.mark.parametrize("policy", ["otp", "dob"])
@pytest.mark.parametrize("text", PERSONAL)
def test_no_table_holds_it_after_the_answer_nor_before(
    demo_committed: None, settings: Any, text: str, policy: str
) -> None:
    settings.CHAT_IDENTITY = policy
    talk = Talk("he" if "א" <= text.strip("-+ 0123456789")[:1] <= "ת" else "en")
    talk.send(text)
    before = Run.objects.get()
    stored = Event.objects.get(type="message.completed").payload["text"]
    claim = talk.claim()
    waiting = without_random(json.dumps([before.input, claim.run.input], ensure_ascii=False))
    assert not [secret for secret in PERSONAL[text] if secret in stored or secret in waiting]
    talk.answer(claim)
    held = database_text()
    assert not [secret for secret in PERSONAL[text] if len(secret) > 3 and secret in held]
    assert "typed" not in Run.objects.get().input
    # What somebody who comes back is sent.
    conversation = Conversation.objects.get()
    page = json.dumps(conversation_resume(conversation, 0).missed, ensure_ascii=False, default=str)
    assert not [secret for secret in PERSONAL[text] if len(secret) > 3 and secret in without_random(page)]


@pytest.mark.parametrize(
    "contact", [DAVID, f"it is {DAVID}, thanks", "050-1234567", "+972 50 123 4567", "my phone: 050 1234567"]
)
def test_a_masked_contact_still_says_whom_to_send_a_code_to(demo_committed: None, contact: str) -> None:
    talk = Talk()
    talk.say("What prescriptions do I have?")
    talk.say(contact)
    assert Challenge.objects.get().patient == Patient.objects.get(email=DAVID)
    assert [card["kind"] for card in talk.payload["cards"]] == ["identity"]
    assert "david" not in database_text().lower() and "1234567" not in database_text()


def test_a_run_that_another_process_takes_up_reads_what_was_typed(demo_committed: None) -> None:
    talk = Talk()
    talk.say("What prescriptions do I have?")
    talk.send(DAVID)
    Run.objects.filter(pk=talk.claim().run.pk).update(state=Run.State.PENDING)
    talk.answer()
    assert Challenge.objects.get().patient == Patient.objects.get(email=DAVID)


def test_another_secret_key_reads_the_stored_message(demo_committed: None, settings: Any) -> None:
    talk = Talk()
    talk.say("What prescriptions do I have?")
    talk.send(DAVID)
    settings.SECRET_KEY = "another"
    talk.answer()
    assert talk.payload["text"] and not Challenge.objects.exists()


def test_a_cancelled_run_forgets_what_was_typed(demo_committed: None) -> None:
    talk = Talk()
    talk.send(DAVID)
    assert "typed" in Run.objects.get().input
    accept.run_cancel(conversation_id=talk.conversation.pk)
    assert "typed" not in Run.objects.get().input


def test_a_code_is_checked_where_one_is_awaited_and_masked_where_none_is(
    demo_committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prescriptions.identity.secrets.randbelow", lambda below: 482193)
    talk = Talk()
    talk.say("What prescriptions do I have?")
    talk.say(DAVID)
    assert "Metformin" in talk.say("my code is 482 193")
    Challenge.objects.all().delete()
    talk.forget()
    talk.say("What prescriptions do I have?")
    assert "expired" in talk.say("482193").lower() or "code" in talk.payload["text"].lower()
    assert "482193" not in database_text() and "482 193" not in database_text()


@pytest.mark.parametrize(
    ("text", "born"),
    [
        ("the second of May 1980", date(1980, 5, 2)),
        ("May the 2nd, nineteen eighty", date(1980, 5, 2)),
        ("the twenty-third of December nineteen eighty-five", date(1985, 12, 23)),
        ("the first of June two thousand and five", date(2005, 6, 1)),
        ("נולדתי בשני במאי 1980", date(1980, 5, 2)),
        ("עשרים ושלושה במאי 1980", date(1980, 5, 23)),
        ("ב-2 במאי 1980", date(1980, 5, 2)),
        ("the second of May", None),
        ("second of may twenty pills", None),
        ("the thirty-first of February 1980", None),
    ],
)
def test_a_date_of_birth_is_read_in_words(text: str, born: date | None) -> None:
    assert birth_typed(text, today=TODAY).born == born


def test_a_date_of_birth_in_words_proves_who_asks_and_is_stored_nowhere(
    demo_committed: None, settings: Any
) -> None:
    settings.CHAT_IDENTITY = "dob"
    talk = Talk()
    talk.say("What prescriptions do I have?")
    talk.say(DAVID)
    assert "Metformin" in talk.say("the eleventh of June 1978")
    held = database_text()
    assert "eleventh" not in held and "1978" not in held


# -- Contacts for a hand-off -----------------------------------------------------------------------------------
def pharmacist() -> tuple[Client, User]:
    user = User.objects.create_user("dana", "dana@pharmacy.example", is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    client = Client()
    client.force_login(user)
    return client, user


def test_a_phone_for_a_hand_off_reaches_whoever_claims_it_and_nobody_else(demo_committed: None) -> None:
    talk = Talk()
    talk.say("I want to talk to a person")
    handoff = Handoff.objects.get()
    talk.say("please call me at 052-765-4321, or write to somebody@example.org")
    handoff.refresh_from_db()
    assert handoff.contacts_left == ["052-765-4321", "somebody@example.org"]
    said = Event.objects.filter(type="message.completed", payload__role="user").last()
    assert said is not None and "4321" not in said.payload["text"]
    client, user = pharmacist()
    page = f"/admin/prescriptions/handoff/{handoff.pk}/change/"
    assert "052-765-4321" not in client.get(page).content.decode()
    Handoff.objects.filter(pk=handoff.pk).update(
        state="claimed", claimed_by=user, claimed_at=handoff.created_at
    )
    assert "052-765-4321" in client.get(page).content.decode()
    row = Handoff.objects.get()
    assert handoff_case(row, user).contacts_left == handoff.contacts_left
    row.claimed_by = None
    assert handoff_case(row, user).contacts_left == []


def test_a_phone_that_was_written_before_is_left_with_the_hand_off_that_comes_later(
    demo_committed: None,
) -> None:
    talk = Talk()
    talk.say("Please have a person call me at 052-7654321")
    talk.say("Do you have Acamol?")
    assert "7654321" not in database_text()
    talk.say("I want to talk to a person")
    assert Handoff.objects.get().contacts_left == ["052-7654321"]


def test_contacts_of_one_patient_are_not_left_for_another(demo_committed: None) -> None:
    talk = Talk(patient="10000101")
    talk.say("Please have somebody call me at 052-7654321")
    talk.verify("10000102")
    talk.say("Do you have Acamol?")
    talk.say("I want to talk to a person")
    assert Handoff.objects.get().contacts_left == []


def test_what_is_written_to_a_person_at_work_is_left_too(demo_committed: None) -> None:
    talk = Talk()
    talk.say("I want to talk to a person")
    Conversation.objects.update(mode=Conversation.Mode.HUMAN)
    talk.say("my phone is 052-7654321")
    assert Handoff.objects.get().contacts_left == ["052-7654321"]
    assert "7654321" not in str(list(Event.objects.values_list("payload", flat=True)))


def test_an_identifier_is_no_contact_for_staff_and_at_most_five_are_kept(demo_committed: None) -> None:
    talk = Talk()
    talk.say("I want to talk to a person")
    talk.say("What prescriptions do I have?")
    talk.say(DAVID)
    assert Challenge.objects.count() == 1
    assert Handoff.objects.get().contacts_left == []
    for number in range(7):
        talk.say(f"my phone is 052-765432{number}")
    left = Handoff.objects.get().contacts_left
    assert left == [f"052-765432{number}" for number in range(2, 7)]


# -- Everything else that stores words -----------------------------------------------------------------------------
def test_a_branchs_phone_stays_in_our_answer_also_when_it_was_typed(demo_committed: None) -> None:
    talk = Talk()
    phone = next(part for part in talk.say("What is the phone of the Dizengoff branch?").split() if part.count("-") and part[0] == "0").strip(".,")  # fmt: skip
    answer = talk.say(f"is {phone} the phone of the Dizengoff branch?")
    assert phone in answer
    assert phone in Event.objects.get(pk=talk.event.pk).payload["text"]


def test_comments_arguments_and_summaries_are_masked(demo_committed: None) -> None:
    talk = Talk()
    talk.say("Do you have Acamol?")
    assert feedback_save(
        conversation_id=talk.conversation.pk,
        key=Conversation.objects.get().secret_hash,
        seq=talk.event.seq,
        rating=-1,
        comment="wrong, call 052-7654321, code 482193, born on the second of May",
    )
    comment = Feedback.objects.get().comment
    assert "7654321" not in comment and "482193" not in comment and "second" not in comment
    shown = redact({"q": "Acamol 500 mg for dana@example.com born on the second of May", "n": 2})
    assert "Acamol 500 mg" in shown["q"] and "dana" not in shown["q"] and "second" not in shown["q"]
    talk.say("Do you have 0527654321 or dana@example.com?")
    assert "7654321" not in str(list(ToolCall.objects.values_list("arguments", flat=True)))


def test_a_models_summary_for_staff_is_masked(demo_committed: None) -> None:
    talk = Talk()
    talk.send("I want to talk to a person")
    summary = "Wants Acamol 500 mg; call 052-7654321, born on the second of May"
    action_run(talk.claim().run, Step("handoff.open", {"reason": "stock", "summary": summary}), "192.0.2.1")
    assert Handoff.objects.get().summary == f"Wants Acamol 500 mg; call {MASK}, born on the {MASK}"


def test_typed_values_are_found_however_they_are_written_again() -> None:
    values = (Value("PHONE", "052-765 4321"), Value("EMAIL", "Dana@Example.com"))
    again = without(
        {"text": "0527654321, dana@example.com; R-052765432", "list": ["(052) 765-4321", 5]}, values
    )
    assert again == {"text": f"{MASK}, {MASK}; R-052765432", "list": [MASK, 5]} or again["list"] == [
        f"({MASK}",
        5,
    ]


def test_the_language_of_the_message_is_read_from_what_was_typed(db: None) -> None:
    conversation, secret = events.conversation_begin(language="he")
    accept.message_accept(
        conversation_id=conversation.pk,
        client_msg_id=uuid4(),
        text="write to dana@example.com please",
        address="x",
    )
    assert Event.objects.get().payload["lang"] == "en" and secret

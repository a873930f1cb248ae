"""What customers do besides writing: confirm, rate, delete, share a place; and how long conversations are stored."""

import asyncio
import json
import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone
from talking import Talk
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from agent.conversation import accept, events, retention
from agent.conversation.handoff import hand_over
from agent.conversation.identity import identity_end
from agent.conversation.resume import conversation_resume
from agent.models import Conversation, Event, Run, ToolCall
from evaluation.chat import Chat
from evaluation.customer import demo_code
from prescriptions.audit import Access
from prescriptions.handoffs.services import handoff_close, handoff_open
from prescriptions.models import AuditEvent, Handoff, Patient
from stores.models import Store


def message(text: str) -> dict[str, Any]:
    return {"type": "message.send", "client_msg_id": str(uuid.uuid4()), "text": text}


async def log_of(site: Any, secret: str) -> list[dict[str, Any]]:
    async with connect(site.ws_url, origin=site.url) as socket:
        await socket.send(json.dumps({"v": 1, "type": "hello", "conversation": secret}))
        return list(json.loads(await socket.recv())["events"])


async def refill_asked(
    site: Any,
    chat: Chat,
    text: str = "refill my warfarin from the online store",
    email: str = "leah.barak@example.com",
) -> dict[str, Any]:
    """A customer asks for a refill, as themselves; returns the confirmation that waits for their answer."""
    await chat.ask(message(text))
    await chat.ask(message(email))
    await chat.send(
        {"type": "identity.code", "code": await demo_code(site.url, chat.secret, seen=0, seconds=15)}
    )
    asked = await chat.receive("confirm.requested")
    await chat.receive("run.completed")
    return asked


# -- Confirmations -------------------------------------------------------------------------------------------
def test_a_confirmed_refill_is_dispensed_exactly_once(chat_server: Any) -> None:
    async def run() -> None:
        async with Chat(chat_server.ws_url, chat_server.url, "en") as chat:
            wish = "I'd like to refill my metformin from the online store"
            asked = await refill_asked(chat_server, chat, wish, "amit.peretz@example.com")
            assert asked["action"] == "refill.submit"
            assert "Metformin" in asked["summary"]["rows"][0][1]
            answer = {"type": "confirm.answer", "confirm_id": asked["confirm_id"], "decision": "yes"}
            # Somebody else's conversation cannot answer it, and neither can a wrong id.
            async with Chat(chat_server.ws_url, chat_server.url, "en") as other:
                assert (await other.ask(answer)).error == "expired"
            assert (await chat.ask(answer | {"confirm_id": str(uuid.uuid4())})).error == "expired"
            assert (await chat.ask(answer | {"decision": "maybe"})).error == "bad_frame"
            said = await chat.ask(answer)
            assert "refill.updated" in said.events and "R-" in said.text
            assert (await chat.ask(answer)).error == "expired"
            log = await log_of(chat_server, chat.secret)
            assert log[-1]["confirm_id"] == asked["confirm_id"]
            states = [
                event["state"] for event in log if event["type"] == "refill.updated" and "card" in event
            ]
            assert states == ["Collect_Refill_Request", "Refill_Dispensed"]
            # Other tests use this site: the refill is given back.
            await chat.ask(message("cancel my refill"))
            cancelling = await log_of(chat_server, chat.secret)
            [card] = [event for event in cancelling if event.get("action") == "refill.cancel"]
            answer = {"type": "confirm.answer", "confirm_id": card["confirm_id"], "decision": "yes"}
            assert "was cancelled" in (await chat.ask(answer)).text

    asyncio.run(run())


def test_a_declined_refill_is_not_requested(chat_server: Any) -> None:
    async def run() -> None:
        async with Chat(chat_server.ws_url, chat_server.url, "he") as chat:
            asked = await refill_asked(chat_server, chat)
            answer = {"type": "confirm.answer", "confirm_id": asked["confirm_id"], "decision": "no"}
            assert "was not requested" in (await chat.ask(answer)).text
            assert (await chat.ask(answer | {"decision": "yes"})).error == "expired"
            log = await log_of(chat_server, chat.secret)
            # What the customer requested earlier came along when they were identified.
            later = [event for event in log if event["seq"] > asked["seq"]]
            assert later and not any(event["type"] == "refill.updated" for event in later)

    asyncio.run(run())


def test_a_customer_who_logged_out_cannot_confirm(chat_server: Any) -> None:
    async def run() -> None:
        async with Chat(chat_server.ws_url, chat_server.url, "en") as chat:
            asked = await refill_asked(chat_server, chat)
            await chat.ask(message("log me out"))
            answer = {"type": "confirm.answer", "confirm_id": asked["confirm_id"], "decision": "yes"}
            assert (await chat.ask(answer)).error == "expired"

    asyncio.run(run())


# -- Feedback ------------------------------------------------------------------------------------------------
def test_an_answers_rating_can_be_changed(chat_server: Any) -> None:
    async def run() -> None:
        async with Chat(chat_server.ws_url, chat_server.url, "en") as chat:
            await chat.ask(message("Do you have Cetirizine?"))
            await chat.send({"type": "feedback", "seq": 2, "rating": -1, "comment": "born 1965-03-15, wrong"})
            assert (await chat.receive())["type"] == "feedback.saved"
            await chat.send({"type": "feedback", "seq": 2, "rating": 1})
            assert await chat.receive("feedback.saved") == {
                "v": 1,
                "type": "feedback.saved",
                "seq": 2,
                "rating": 1,
            }
            for bad in ({"seq": 1, "rating": 1}, {"seq": 99, "rating": 1}, {"seq": 2, "rating": 0},
                        {"seq": 2, "rating": True}, {"seq": 2, "rating": 1, "comment": 5}):  # fmt: skip
                await chat.send({"type": "feedback", **bad})
                assert (await chat.receive("error"))["code"] == "bad_frame", bad
            await chat.send({"type": "feedback", "seq": 2, "rating": 1, "comment": "x" * 1_001})
            assert (await chat.receive("error"))["code"] == "too_long"

    asyncio.run(run())


@pytest.mark.django_db
def test_a_comment_is_stored_without_personal_data() -> None:
    from agent.conversation import feedback

    conversation, _ = events.conversation_begin(language="en")
    events.event_append(
        conversation_id=conversation.pk, type="message.completed", payload={"role": "assistant", "text": "x"}
    )
    key = conversation.secret_hash
    assert feedback.feedback_save(
        conversation_id=conversation.pk, key=key, seq=1, rating=-1, comment="I was born on 15.03.1965"
    )
    assert "1965" not in conversation.feedback.get().comment


# -- Deleting ------------------------------------------------------------------------------------------------
def test_a_deleted_conversation_disappears_in_every_tab(chat_server: Any) -> None:
    async def run() -> None:
        async with Chat(chat_server.ws_url, chat_server.url, "en") as chat:
            await chat.ask(message("Do you have Cetirizine?"))
            async with connect(chat_server.ws_url, origin=chat_server.url) as tab:
                await tab.send(json.dumps({"v": 1, "type": "hello", "conversation": chat.secret}))
                await tab.recv()
                await chat.send({"type": "conversation.delete"})
                for socket in (chat.socket, tab):
                    assert json.loads(await socket.recv())["type"] == "conversation.deleted"
                    with pytest.raises(ConnectionClosed):
                        await asyncio.wait_for(socket.recv(), 5)
                    assert socket.close_code == 4410
        async with connect(chat_server.ws_url, origin=chat_server.url) as again:
            await again.send(json.dumps({"v": 1, "type": "hello", "conversation": chat.secret}))
            assert json.loads(await again.recv())["code"] == "unknown_conversation"

    asyncio.run(run())


@pytest.mark.django_db
def test_deleting_removes_the_messages_and_leaves_a_line_in_the_audit_log() -> None:
    conversation, _ = events.conversation_begin(language="en")
    accept.message_accept(conversation_id=conversation.pk, client_msg_id=uuid.uuid4(), text="hi", address="")
    with pytest.raises(events.ConversationGone):
        retention.conversation_delete(conversation.pk, "0" * 64)
    retention.conversation_delete(conversation.pk, conversation.secret_hash)
    assert not Conversation.objects.exists() and not Event.objects.exists() and not Run.objects.exists()
    line = AuditEvent.objects.get(what="conversation_deleted")
    assert (line.who, line.why) == (f"chat:{conversation.pk}", "customer_asked")
    with pytest.raises(events.ConversationGone):
        accept.message_accept(
            conversation_id=conversation.pk,
            key=conversation.secret_hash,
            client_msg_id=uuid.uuid4(),
            text="still there?",
            address="",
        )


@pytest.mark.django_db
def test_conversations_are_deleted_after_the_retention_time() -> None:
    with time_machine.travel(timezone.now() - timedelta(days=31), tick=False):
        _old, _ = events.conversation_begin(language="en")
    with time_machine.travel(timezone.now() - timedelta(days=29), tick=False):
        young, _ = events.conversation_begin(language="en")
    assert retention.conversations_expire() == 1
    assert list(Conversation.objects.all()) == [young]
    assert AuditEvent.objects.get(what="conversation_deleted").why == "retention"
    call_command("verify_audit")


# -- Places --------------------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_shared_location_is_kept_until_the_customer_removes_it() -> None:
    conversation, _ = events.conversation_begin(language="en")

    def place(**given: Any) -> tuple[float | None, float | None]:
        accept.message_accept(
            conversation_id=conversation.pk, client_msg_id=uuid.uuid4(), text="hi", address="", **given
        )
        conversation.refresh_from_db()
        return conversation.latitude, conversation.longitude

    assert place() == (None, None)
    assert place(location=(32.05, 34.75)) == (32.05, 34.75)
    assert place() == (32.05, 34.75)
    assert place(location=None) == (None, None)


# -- Hand-offs that staff close --------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_hand_off_that_staff_close_is_shown_in_the_conversation() -> None:
    conversation, _ = events.conversation_begin(language="he")
    opened = handoff_open(conversation_id=conversation.pk, reason="refill", run_key="x", language="he")
    assert handoff_close(handoff=opened, access=Access("user:1", "admin"))
    told = Event.objects.get(conversation=conversation, type="handoff.updated").payload
    assert (told["number"], told["state"]) == (opened.number, "closed")
    assert not handoff_close(handoff=opened, access=Access("user:1", "admin"))
    assert Event.objects.exclude(type="mode.changed").count() == 1 and not ToolCall.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("at", "language", "words"),
    [
        ("2026-06-08T10:00:00+03:00", "en", r"Now; .+, Tel Aviv is open until \d\d:\d\d\."),
        ("2026-06-08T04:44:00+03:00", "en", r"From 0\d:\d\d, when .+ opens; all branches are closed now\."),
        (
            "2026-06-08T23:30:00+03:00",
            "he",
            r"החל מיום שלישי ב-0\d:\d\d, עם פתיחת סניף .+; כל הסניפים סגורים",
        ),
    ],
)
def test_a_hand_off_says_when_somebody_reads_it_and_a_phone(
    demo: None, at: str, language: str, words: str
) -> None:
    conversation, _ = events.conversation_begin(language=language)
    with time_machine.travel(at, tick=False):
        hand_over(conversation, reason="customer_asked", run_key="x")
    told = Event.objects.get(conversation=conversation, type="handoff.updated").payload
    rows = {name: re.sub("[\u2066-\u2069]", "", text) for name, text in told["rows"]}
    assert re.match(words, rows[{"en": "A person answers", "he": "מענה אנושי"}[language]])
    assert re.search(r"03-555-\d{4}$", rows[{"en": "By phone", "he": "בטלפון"}[language]])
    assert rows[{"en": "What happens next", "he": "מה קורה עכשיו"}[language]]
    assert {"en": "You may close this page", "he": "אפשר לסגור את הדף"}[language] in told["message"]
    assert told["contact"][1] == {"en": "In this chat", "he": "בשיחה הזאת"}[language]


@pytest.mark.django_db
def test_a_hand_off_names_the_branch_talked_about_while_that_is_open(demo: None) -> None:
    jaffa = Store.objects.get(name_en="Jaffa, Tel Aviv")
    for at, named in (("2026-06-08T10:00:00+03:00", True), ("2026-06-08T04:44:00+03:00", False)):
        conversation, _ = events.conversation_begin(language="en")
        conversation.state = {"place": {"store": jaffa.pk}}
        with time_machine.travel(at, tick=False):
            hand_over(conversation, reason="customer_asked", run_key=at)
        told = Event.objects.get(conversation=conversation, type="handoff.updated").payload
        assert ("Jaffa" in dict(told["rows"])["A person answers"]) is named


def test_a_hand_off_is_in_the_language_of_the_message_that_asked_for_it(demo_committed: None) -> None:
    talk = Talk("en")
    talk.ask("אני רוצה לדבר עם נציג")
    [opened] = talk.conversation.events.filter(type="handoff.updated")
    assert opened.payload["lang"] == "he"
    assert opened.payload["queue"] == "ממתינה, הבאה בתור"
    assert dict(opened.payload["rows"])["סיבה"] == "ביקשתם לדבר עם אדם"
    # What comes later stays in that language, whatever the customer has written since.
    talk.ask("Do you have Advil?")
    handoff_close(handoff=Handoff.objects.get(), access=Access("user:1", "admin"))
    closed = talk.conversation.events.filter(type="handoff.updated").last()
    assert closed is not None
    assert closed.payload["lang"] == "he"
    assert closed.payload["message"].startswith("הפנייה נסגרה ולא קיבלתם תשובה.")


@pytest.mark.django_db
def test_a_hand_off_shows_the_masked_address_only_to_its_patient(demo: None) -> None:
    david = Patient.objects.get(email="david.cohen@example.com")
    conversation, secret = events.conversation_begin(language="en")
    Conversation.objects.filter(pk=conversation.pk).update(patient=david, verified_at=timezone.now())
    hand_over(conversation, reason="refill", run_key="x", patient=david)

    def shown() -> str:
        found = events.conversation_find(secret)
        assert found is not None
        return json.dumps(conversation_resume(found, 0).missed, ensure_ascii=False)

    assert "by email to d…\u2060@example.com" in shown()
    identity_end(conversation.pk)
    assert "example.com" not in shown()
    assert "H-1" in shown() and "What happens next" in shown()


@pytest.mark.django_db
def test_the_place_in_the_queue_counts_older_requests_and_all_emergencies(demo: None) -> None:
    opened = [events.conversation_begin(language=language)[0] for language in ("en", "he", "en")]
    for conversation in opened[:2]:
        hand_over(conversation, reason="customer_asked", run_key=str(conversation.pk))
    opened[2].emergency_open = True
    hand_over(opened[2], reason="extra_dose", run_key="urgent")

    def places() -> list[str]:
        return [row["queue"] for each in opened for row in conversation_resume(each, 0).queue]

    assert places() == ["Waiting, 1 before you", "ממתינה, שתי פניות לפניכם", "Waiting, you are next"]
    handoff_close(handoff=Handoff.objects.get(conversation_id=opened[2].pk), access=Access("user:1", "admin"))
    assert places() == ["Waiting, you are next", "ממתינה, פנייה אחת לפניכם"]


# -- Who comes back ----------------------------------------------------------------------------------------------
def test_patient_data_is_replayed_only_while_the_patient_is_verified(chat_server: Any) -> None:
    async def run() -> None:
        async with Chat(chat_server.ws_url, chat_server.url, "en") as chat:
            await chat.ask(message("Do you have Cetirizine?"))
            await refill_asked(chat_server, chat)
            seen = await log_of(chat_server, chat.secret)
            assert "Warfarin" in seen[-1]["text"] and seen[-1]["personal"]
            await chat.ask(message("log me out"))
            hidden = await log_of(chat_server, chat.secret)
            assert [event["seq"] for event in hidden] == list(range(1, len(hidden) + 1))
            told = [event for event in hidden if event.get("role") != "user"]
            assert "Warfarin" not in json.dumps(told)
            assert "Cetirizine" in json.dumps(told)  # which is nobody's secret

    asyncio.run(run())

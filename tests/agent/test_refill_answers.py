"""A customer's answer to a question of staff: stored once, shown to staff and passed on; questions are answered as well."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connections
from talking import Talk

from agent.answers.render import say
from agent.conversation.staff import staff_reply
from agent.models import Run
from prescriptions.audit import Access
from prescriptions.cases.refill_page import refill_page
from prescriptions.errors import RefillChangedMeanwhile
from prescriptions.handoffs.services import handoff_claim
from prescriptions.models import AuditEvent, Notification, Patient, RefillRequest, RefillTransition
from prescriptions.refill import services
from prescriptions.refill.questions import questions_of
from prescriptions.refill.selectors import question_open
from stores.models import Store

pytestmark = pytest.mark.usefixtures("demo_committed")
LEAH, DAVID = "10000124", "10000101"
LEAHS_IBUPROFEN = 17


@pytest.fixture
def dana(demo_committed: None) -> User:
    """The pharmacist who asks."""
    user = User.objects.create_user("dana", email="dana@example.com", is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    return user


def waiting(talk: Talk) -> RefillRequest:
    """Leah's request that waits for a pharmacist, made in this conversation."""
    return services.refill_submit(
        patient=Patient.objects.get(mrn=LEAH),
        prescription_id=LEAHS_IBUPROFEN,
        store=Store.objects.get(pk=103),
        access=Access(who="chat:1", where="chat"),
        language="en",
        conversation_id=talk.conversation.pk,
    )


def ask(request: RefillRequest, by: User, question: str = "When did you last take it?") -> None:
    request.refresh_from_db()
    access = Access(who=f"user:{by.pk}", where="admin")
    services.refill_decide(request, "ask", access=access, role="pharmacist", question=question)


def passed_on(request: RefillRequest, language: Any = "en") -> str:
    return say("staff_answered", language, numbers=request.number)


def notices() -> list[str]:
    rows = Notification.objects.filter(kind="handoff_answered", channel="email")
    return sorted(rows.values_list("recipient", flat=True))


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "Three weeks ago"),
        ("en", "No, I stopped it in March"),
        ("en", "yes"),
        ("en", "Good morning, twice a day"),
        ("he", "לפני שלושה שבועות"),
        ("he", "לא, הפסקתי במרץ"),
    ],
)
def test_the_next_message_is_the_answer_and_is_passed_on_once(dana: User, language: str, answer: str) -> None:
    talk = Talk(language, LEAH)
    request = waiting(talk)
    ask(request, dana)
    assert talk.say(answer) == passed_on(request, language)
    [row] = questions_of(request)
    assert (row["question"], row["answer"]) == ("When did you last take it?", answer)
    request.refresh_from_db()
    assert request.handoff is not None and request.handoff.package["questions"] == [row]
    [shown] = refill_page(request, "en", with_patient=True).questions
    assert (shown.question, shown.answer) == ("When did you last take it?", answer)
    assert notices() == ["dana@example.com"]
    assert question_open(request) == ""
    # The card no longer asks, and what comes next is no answer.
    last = [event for event in talk.page if event["type"] == "refill.updated"][-1]
    assert "last take" not in last["message"]
    assert passed_on(request, language) not in talk.say("thanks" if language == "en" else "תודה")
    assert RefillTransition.objects.filter(request=request, event="answered").count() == 1
    assert AuditEvent.objects.filter(what="refill_answered").count() == 1


@pytest.mark.parametrize(
    ("language", "before", "answer"),
    [
        ("en", "show my prescriptions", "three weeks ago"),
        ("en", "refill my warfarin", "last Tuesday, two tablets"),
        ("he", "מה המרשמים שלי", "ביום שלישי שעבר"),
        ("he", "ניפוק לוורפרין", "הרופא אמר שזה בסדר"),
    ],
)
def test_what_was_talked_about_before_makes_no_question_of_an_answer(
    dana: User, language: str, before: str, answer: str
) -> None:
    talk = Talk(language, LEAH)
    request = waiting(talk)
    talk.say(before)
    ask(request, dana)
    assert talk.say(answer) == passed_on(request, language)
    assert questions_of(request)[0]["answer"] == answer


@pytest.mark.parametrize(
    ("language", "asks", "said"),
    [
        ("en", "do you have nurofen?", "Nurofen is out of stock in our online store"),
        ("he", "יש לכם נורופן?", "נורופן אינו במלאי בחנות המקוונת"),
        (
            "en",
            "should I take two of them?",
            "I can't give medical advice. Our staff will read your question here",
        ),
    ],
)
def test_a_question_is_answered_as_usual_and_passed_on(
    dana: User, language: str, asks: str, said: str
) -> None:
    talk = Talk(language, LEAH)
    request = waiting(talk)
    ask(request, dana)
    text = talk.say(asks)
    assert said in text and text.endswith(passed_on(request, language)), text
    assert questions_of(request)[0]["answer"] == asks


def test_an_emergency_comes_first_and_leaves_the_question_open(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    text = talk.say("I can't breathe, my throat is closing")
    assert "101" in text and passed_on(request) not in text
    assert questions_of(request)[0]["answer"] is None and not notices()


def test_somebody_else_does_not_answer(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    for mrn in (DAVID, None):
        talk.verify(mrn)
        assert passed_on(request) not in talk.say("three weeks ago")
    assert questions_of(request)[0]["answer"] is None


def test_what_was_written_before_the_question_is_no_answer(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    talk.send("hello")
    ask(request, dana)
    talk.answer()
    assert talk.payload["text"] != passed_on(request) and questions_of(request)[0]["answer"] is None


def test_a_run_that_is_taken_up_again_stores_it_once(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    talk.say("three weeks ago")
    Run.objects.filter(pk=talk.run.pk).update(state="pending", answer_seq=None)
    talk.answer()
    assert talk.payload["text"] == passed_on(request)
    assert RefillTransition.objects.filter(request=request, event="answered").count() == 1
    assert notices() == ["dana@example.com"]


def test_a_second_question_has_an_answer_of_its_own(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    talk.say("three weeks ago")
    ask(request, dana, "And how much?")
    talk.say("one a day")
    assert [row["answer"] for row in questions_of(request)] == ["three weeks ago", "one a day"]


def test_whoever_has_the_handoff_hears_of_it_too(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    noa = User.objects.create_user("noa", email="noa@example.com", is_staff=True)
    noa.groups.add(Group.objects.get(name="pharmacist"))
    assert request.handoff is not None
    handoff_claim(request.handoff, noa, access=Access(f"user:{noa.pk}", "admin"))
    talk.say("three weeks ago")
    assert notices() == ["dana@example.com", "noa@example.com"]


def test_secrets_are_stored_masked(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    talk.say("my id number is 123456782")
    answer = questions_of(request)[0]["answer"]
    assert answer and "123456782" not in answer


def test_a_decision_ends_the_question(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    request.refresh_from_db()
    services.refill_decide(
        request, "deny", access=Access(who=f"user:{dana.pk}", where="admin"), role="pharmacist"
    )
    assert passed_on(request) not in talk.say("three weeks ago")
    assert questions_of(request)[0]["answer"] is None


def test_while_a_person_has_the_conversation_it_is_stored_and_nothing_is_said(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    access = Access(who=f"user:{dana.pk}", where="admin")
    assert request.handoff is not None
    handoff_claim(request.handoff, dana, access=access)
    staff_reply(request.handoff, dana, "Hello, this is Dana.", seen_seq=0, access=access)
    ask(request, dana)
    talk.send("three weeks ago")
    run = talk.claim().run
    Run.objects.filter(pk=run.pk).update(state="pending", attempts=0)
    asyncio.run(talk.answering(talk.claim()))
    assert questions_of(request)[0]["answer"] == "three weeks ago"
    run.refresh_from_db()
    assert (run.state, run.answer_seq) == ("done", None)
    assert not [event for event in talk.page if event.get("role") == "assistant"]


def test_while_a_person_is_waited_for_it_is_passed_on_all_the_same(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    talk.say("I want to talk to a person")
    ask(request, dana)
    assert talk.say("three weeks ago") == passed_on(request)
    assert questions_of(request)[0]["answer"] == "three weeks ago"


def test_what_is_passed_on_is_said_also_where_nothing_else_would_be(dana: User) -> None:
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    talk.say("I want to talk to a person")
    talk.say("thanks")
    assert talk.say("is anybody there?") == ""
    ask(request, dana)
    assert talk.say("Hello? Is anybody there?") == passed_on(request)


def test_an_answer_and_a_decision_at_once_do_not_block_each_other(dana: User) -> None:
    """Whoever comes second goes on from what the first did: nothing is lost, and the decider is told."""
    talk = Talk(patient=LEAH)
    request = waiting(talk)
    ask(request, dana)
    talk.send("three weeks ago")
    claim, start = talk.claim(), Barrier(2)
    read = RefillRequest.objects.get(pk=request.pk)

    def answer() -> None:
        try:
            start.wait(5)
            asyncio.run(talk.answering(claim))
        finally:
            connections.close_all()

    def deny() -> str:
        try:
            start.wait(5)
            access = Access(who=f"user:{dana.pk}", where="admin")
            return str(services.refill_decide(read, "deny", access=access, role="pharmacist").outcome)
        except RefillChangedMeanwhile:
            return "changed"
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        answered, denied = pool.submit(answer), pool.submit(deny)
        answered.result()
        outcome = denied.result()
    [row] = questions_of(request)
    assert (outcome, row["answer"]) in {("denied", None), ("changed", "three weeks ago")}
    if Run.objects.get(pk=claim.run.pk).state == "pending":
        talk.answer()  # the denial gave the conversation back to the assistant, which answers anew
    said = Run.objects.get(pk=claim.run.pk)
    assert said.state == "done"
    text = talk.conversation.events.get(seq=said.answer_seq).payload["text"]
    assert (passed_on(request) in text) == (row["answer"] is not None)

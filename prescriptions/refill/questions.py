"""Take what a customer answers to a question of staff about their refill, and show it beside the question.

The customer's next message after a question is the answer, whatever it says: staff judge whether it is one. Question and
answer are steps of the request; its hand-off's package repeats them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypedDict
from uuid import UUID

from django.contrib.auth.models import User

from prescriptions.audit import Access
from prescriptions.errors import RefillChangedMeanwhile
from prescriptions.handoffs.staff_notices import staff_notify
from prescriptions.models import Handoff, Notification, Patient, RefillRequest, RefillTransition
from prescriptions.refill.selectors import question_open
from prescriptions.refill.states import State
from prescriptions.refill.transitions import request_note

ANSWERED: Final = "answered"
_TRIES: Final = 5


class Question(TypedDict):
    """What staff asked the customer, and the answer; None while there is none."""

    question: str
    asked_at: str
    answer: str | None
    answered_at: str | None


def questions_of(request: RefillRequest) -> list[Question]:
    """Return what was asked about a request, oldest first, each with the answer that followed."""
    found: list[Question] = []
    rows = RefillTransition.objects.filter(request=request, event__in=["asked", ANSWERED]).order_by("version")
    for row in rows:
        if row.event == "asked":
            text = str(row.detail.get("question") or "")
            found.append(
                {"question": text, "asked_at": row.at.isoformat(), "answer": None, "answered_at": None}
            )
        elif found:
            found[-1]["answer"] = str(row.detail["answer"])
            found[-1]["answered_at"] = row.at.isoformat()
    return found


@dataclass(frozen=True)
class Written:
    """A customer's message: its number in the conversation, its text, and when it was accepted."""

    conversation_id: UUID
    seq: int
    at: datetime
    text: str = ""


def questions_wait(message: Written, patient: Patient) -> bool:
    """Return whether staff had asked this patient something before this message, or took this very one for the answer."""
    return any(_waits(row, message) or _was_taken(row, message) for row in _asked(message, patient))


def answer_take(message: Written, patient: Patient, *, access: Access) -> list[RefillRequest]:
    """Store a message as the answer to each open question about this patient's requests, and notify whoever asked.

    The same message again is not stored twice. Returns the requests that it answers.
    """
    return [
        row for row in _asked(message, patient) if _was_taken(row, message) or _answer(row, message, access)
    ]


def question_package(request: RefillRequest) -> None:
    """Copy questions and answers into the package of the hand-off that waits; in the transaction of the step."""
    handoff = _handoff_of(request)
    if handoff is not None:
        handoff.package = handoff.package | {"questions": questions_of(request)}
        handoff.save(update_fields=["package"])


def _asked(message: Written, patient: Patient) -> list[RefillRequest]:
    rows = RefillRequest.objects.filter(
        conversation_id=message.conversation_id,
        patient=patient,
        outcome=None,
        state=State.COMPLETE,
        transitions__event="asked",
    )
    return list(rows.distinct().order_by("pk").prefetch_related("transitions"))


def _waits(request: RefillRequest, message: Written) -> bool:
    """Return whether a question is open that was asked before the message was written."""
    asked = [row.at for row in request.transitions.all() if row.event == "asked"]
    return bool(question_open(request)) and max(asked) <= message.at


def _was_taken(request: RefillRequest, message: Written) -> bool:
    taken = (row for row in request.transitions.all() if row.event == ANSWERED)
    return any(row.detail["seq"] == message.seq for row in taken)


def _answer(request: RefillRequest, message: Written, access: Access) -> bool:
    """Record the answer of one request; False when its question is no longer open."""

    def effect(row: RefillRequest) -> None:
        question_package(row)
        _notify(row, message.seq)

    for _ in range(_TRIES):
        if not _waits(request, message):
            return False
        detail = {"answer": message.text, "seq": message.seq}
        try:
            request_note(
                request, ANSWERED, actor=access.who, where=access.where, detail=detail, effect=effect
            )
        except RefillChangedMeanwhile:
            request = RefillRequest.objects.prefetch_related("transitions").get(pk=request.pk)
            continue
        return True
    raise RefillChangedMeanwhile


def _notify(request: RefillRequest, seq: int) -> None:
    """Tell whoever asked and whoever has the hand-off now; when neither can be told, all who would be told of a new one."""
    handoff = _handoff_of(request)
    if handoff is None:
        return
    asked = RefillTransition.objects.filter(request=request, event="asked").order_by("version").last()
    pk = asked.actor.removeprefix("user:") if asked else ""
    numbers = {handoff.claimed_by_id, int(pk) if pk.isdigit() else None} - {None}
    people = User.objects.filter(pk__in=numbers, is_active=True, is_staff=True).exclude(email="")
    kind = Notification.Kind.HANDOFF_ANSWERED
    staff_notify(handoff, kind, again=f"{request.number}:{seq}", to=list(people))


def _handoff_of(request: RefillRequest) -> Handoff | None:
    if request.handoff_id is None:
        return None
    return Handoff.objects.waiting().select_for_update(of=("self",)).filter(pk=request.handoff_id).first()

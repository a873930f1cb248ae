"""Call off or change what a customer is asked about, or waits for, when they say that they do not want it.

Code decides it, before any model and before the classifier of emergencies takes "I don't want it" for distress: a card
that stays open after such a message could still be confirmed. The rules about emergencies come first all the same.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.db.models import QuerySet

from agent.answers.refills import refill_fact
from agent.answers.renderer import Renderer
from agent.conversation import confirmations
from agent.conversation.refills import refill_facts
from agent.inference.base import Reply, Session, Speech, Step, StepResult, Turn
from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.calling_off import CalledOff, Changed, called_off, changed, may_call_off
from agent.llm.offline.reading.message import Medicine
from agent.llm.offline.reading.recognise import recognise
from agent.llm.offline.reading.references import medications_of
from agent.llm.offline.session import OfflineSession
from agent.llm.offline.understand import understand
from agent.models import Confirmation, Conversation, Run
from agent.safety import policy
from agent.safety.emergency import Alarm
from agent.state import ConversationState, RememberedMedication
from agent.turn.context import TurnContext
from agent.turn.refills import is_at_work, refill_access
from agent.turn.steps import ActionResult
from agent.turn.withdrawal import may_withdraw, withdrawal_question
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.text import Language
from prescriptions.eligibility import can_refill
from prescriptions.errors import RefillChangedMeanwhile, RefillRefused
from prescriptions.models import RefillRequest
from prescriptions.refill.collection import collection_withdraw
from prescriptions.selectors import prescriptions_for

_SURE: Final = 0.95
_OF_REFILLS: Final = ("refill", "refill_pickup")
_CHOICES: Final = ("which_prescription", "which_medication", "which_offered", "which_refill", "refill_wanted")
"""Questions of ours that "both" may answer."""
Opening = Callable[[Turn], Awaitable[Session]]
"""Opens the session that answers a turn, after the checks of every message."""


@dataclass(frozen=True)
class Meant:
    """What a message calls off or changes, as what is then done; `rest` is what is left for the model to answer."""

    frame: Frame | None
    """None: whether the hand-off that they wait for is meant is asked."""
    rest: str = ""
    dropped: tuple[int, ...] = ()
    """Medicines whose requests end before."""
    is_alone: bool = True
    """Whether the message says nothing else: only then it may be no emergency although the classifier takes it for one."""


def meant_by(context: TurnContext) -> Meant | None:
    """Return what a message calls off or changes; None when it does neither, or nothing is asked about."""
    turn, run = context.turn, context.run
    if run.kind != Run.Kind.MESSAGE or not turn.text or turn.code or turn.resumed or turn.asked_by_another:
        return None
    if context.conversation.mode == Conversation.Mode.HUMAN or not may_call_off(turn.text):
        return None
    message = recognise(turn.text)
    medicines = [one for clause in message.clauses for one in clause.medicines]
    names = [one.text for one in medicines]
    collected = set(_collected(run).values_list("prescription__medication", flat=True))
    submitted = set(_submitted(run).values_list("prescription__medication", flat=True))
    is_begun = any(clause.has("refill", "needs_again") for clause in message.clauses)
    found, change = called_off(turn.text, names), changed(turn.text, names)
    off = [one for one in medicines if found and one.text in found.names]
    named = {one["id"] for medicine in off for one in medicine.candidates if "id" in one}
    is_of_others = named and submitted and not named & submitted
    if change and change.kind in ("added", "both"):
        if change.is_alone and (collected or submitted):
            return _of_more(context, change, medicines, collected or submitted)
    elif _asks_to_cancel(run) and not is_of_others:
        return _said_beside_cancellation(found)
    elif change and (collected or is_begun) and (meant := _of_change(context, change, medicines, collected)):
        return meant
    if found is None:
        return None
    if collected or _is_asked(context):
        if named and collected and not named & collected:
            return None  # another medicine than those that are asked about
        if named and collected - named:
            dropped = tuple(sorted(collected & named))
            return Meant(Frame("refill_resume", _SURE), dropped=dropped, is_alone=not found.rest)
        return _alone(Frame("cancelled", _SURE), found)
    if _is_said_of_submitted(found) and not is_of_others and (submitted or _waits_unproven(run)):
        return _alone(Frame("refill_cancel", _SURE), found)
    if not found.rest and not found.names and may_withdraw(context, is_outright=found.is_outright):
        # "It" may be the person who is waited for, or more than that: "anymore" leaves an alarm one.
        return Meant(None, is_alone=not found.is_sweeping and not found.is_lasting)
    return None


def session_of(context: TurnContext, meant: Meant, rest_open: Opening, alarms: Sequence[Alarm]) -> Session:
    """Return the session that calls it off; `rest_open` opens the one that answers what the message says besides.

    With `alarms`, which only the classifier raised, the number to call in an emergency is said as well.
    """
    understood = understand(context.turn)
    if meant.frame is None:
        own: Session = withdrawal_question(context)
    else:
        own = OfflineSession(context.turn, replace(understood, frames=(meant.frame,), answers=()))
    numbers = {"medical": settings.EMERGENCY_MEDICAL, "crisis": settings.EMERGENCY_CRISIS}
    key = "withdraw_or_crisis" if meant.frame is None else "urgent_line"
    urgent = understood.renderer.say(key, **numbers) if alarms else ""
    return _InTurn(own, meant, rest_open, understood.renderer, urgent)


def refill_drop(run: Run, step: Step, address: str) -> ActionResult:
    """End the requests for these medicines (`medication_ids`) that are being collected, with the card about them."""
    patient = run.conversation.proven_patient
    if patient is None or not is_at_work(run):
        return ActionResult(step, ok=False)
    rows = _collected(run).filter(prescription__medication__in=step.arguments["medication_ids"])
    ended = []
    for request in rows.order_by("pk"):
        try:
            collection_withdraw(request, access=refill_access(run, "called_off"))
        except (RefillChangedMeanwhile, RefillRefused):
            continue
        confirmations.confirmations_call_off(run, about=request)
        ended.append(refill_facts(request))
    return ActionResult(step, ok=bool(ended), result={"refills": ended}, is_personal=True)


class _InTurn(Session):
    """Calls off first; then asks on about what is left of a request, or lets the model answer the rest of the message."""

    def __init__(
        self, own: Session, meant: Meant, rest_open: Opening, renderer: Renderer, after: str
    ) -> None:
        super().__init__(own.turn)
        self._after = after
        self._own, self._meant, self._rest_open, self._renderer = own, meant, rest_open, renderer
        self._is_dropped = not meant.dropped
        self._before = ""
        self._first: Reply | None = None
        self._inner: Session | None = None
        self._refused = ""

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self._own.language

    @property
    def further_steps(self) -> int:
        """How many steps the turn may take beyond its limit."""
        return 2 + self._own.further_steps + (self._inner.further_steps if self._inner else 0)

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the steps of both parts, then one answer."""
        if not self._is_dropped:
            if not results:
                return [Step("refill.drop", {"medication_ids": list(self._meant.dropped)})]
            ended = results[0].result.get("refills") or ()
            self._before = "\n\n".join(refill_fact(self._renderer, one).text for one in ended)
            self._is_dropped, results = True, ()
        if self._first is None:
            self._own.turn = self.turn
            answered = await self._own.next(results, speech)
            if not isinstance(answered, Reply):
                return answered
            answered = answered.framed(before=self._before, after=self._after)
            if not self._meant.rest:
                return answered
            self._first, results = answered, ()
        if self._inner is None:
            self.turn = replace(self.turn, text=self._meant.rest, state=self._first.state)
            self._inner = await self._rest_open(self.turn)
            self._refused, self.usage = self._inner.turn.refused, self._inner.usage
        # The turn is another one, with the whole message, after a step that changed who is identified.
        self._inner.turn = replace(self.turn, text=self._meant.rest, refused=self._refused)
        answered = await self._inner.next(results, speech)
        return answered.framed(before=self._first.text) if isinstance(answered, Reply) else answered


def _said_beside_cancellation(found: CalledOff | None) -> Meant | None:
    """Return what calls something off while a card asks whether a submitted request shall be cancelled.

    "I don't want it" is answered on the card; "never mind" takes the cancellation back.
    """
    if found and _is_said_of_submitted(found):
        return _alone(Frame("confirm_on_card", _SURE, details={"cancels": True}), found)
    if found and not found.is_outright and not found.rest:
        return _alone(Frame("cancelled", _SURE), found)
    return None


def _is_said_of_submitted(found: CalledOff) -> bool:
    """Return whether a message may mean a submitted request: beside it, it says nothing or asks a question."""
    if not found.is_outright:
        return False
    asked = recognise(found.rest).clauses if found.rest else ()
    is_refused = policy.check_input(found.rest) != policy.InputVerdict.ANSWER
    return not found.rest or is_refused or any(clause.asks for clause in asked)


def _alone(frame: Frame, found: CalledOff) -> Meant:
    """Return what is called off, with what the message says besides."""
    return Meant(frame, found.rest, is_alone=not found.rest and not found.is_sweeping)


def _of_change(
    context: TurnContext, change: Changed, medicines: Sequence[Medicine], collected: set[int]
) -> Meant | None:
    named = [medicine for medicine in medicines if medicine.text == change.name]
    ids = {one["id"] for medicine in named for one in medicine.candidates if "id" in one}
    if change.kind in ("only", "without"):
        dropped = collected - ids if change.kind == "only" else collected & ids
        if not dropped or dropped == collected:
            return None
        dropped_ids = tuple(sorted(dropped))
        return Meant(Frame("refill_resume", _SURE), dropped=dropped_ids, is_alone=change.is_alone)
    before = collected or {
        one["id"] for medicine in medicines for one in medicine.candidates if medicine not in named
    }
    if change.kind == "other":
        wanted = _only_other(context, before)
    elif not ids or ids & before:
        return None
    else:
        wanted = medications_of(named)
    if not before:
        return None
    return Meant(_refill(context, wanted), dropped=tuple(sorted(collected)), is_alone=change.is_alone)


def _of_more(
    context: TurnContext, change: Changed, medicines: Sequence[Medicine], before: set[int]
) -> Meant | None:
    """Return a request for what is collected with the medicine that is added, or, for "both", the customer's one other.

    `before` are the medicines that are collected, else those that are submitted. Which one that is, they are asked where they have several others.
    """
    run, pending = context.run, context.turn.state.get("pending") or {}
    if change.kind == "both" and pending.get("kind") in _CHOICES:
        return None
    ids = {one["id"] for medicine in medicines for one in medicine.candidates if "id" in one}
    kept = _medicines_collected(run)
    if kept and (ids & before or (change.kind == "both" and len(kept) > 1)):
        # They are on the card already: only its button says yes.
        is_open = _open(run).filter(action=confirmations.REFILL).exists()
        return Meant(Frame("confirm_on_card" if is_open else "refill_resume", _SURE))
    wanted = _only_other(context, before) if change.kind == "both" else medications_of(medicines)
    return Meant(_refill(context, (*kept, *wanted) if wanted else ()))


def _refill(context: TurnContext, wanted: Sequence[RememberedMedication]) -> Frame:
    """Return a request for these medicines, at the place that was said of the one before."""
    frame = (context.turn.state.get("pending") or {}).get("frame")
    if not frame or frame["intent"] not in _OF_REFILLS:
        return Frame("refill", _SURE, tuple(wanted))
    waiting = Frame.recalled(frame)
    details = {name: value for name, value in waiting.details.items() if name == "delivery"}
    return Frame("refill", _SURE, tuple(wanted), waiting.place, details=details)


def _medicines_collected(run: Run) -> list[RememberedMedication]:
    rows = _collected(run).select_related("prescription__medication").order_by("pk")
    found: list[RememberedMedication] = []
    for row in rows:
        english, hebrew = both(row.prescription.medication, "name")
        found.append({"id": row.prescription.medication_id, "en": english, "he": hebrew or english})
    return found


def _only_other(context: TurnContext, before: set[int]) -> tuple[RememberedMedication, ...]:
    """Return the customer's one other medicine that can be refilled; nothing when there are several, or nobody is proven."""
    patient = context.run.conversation.proven_patient
    if patient is None:
        return ()
    rows = prescriptions_for(patient, access=refill_access(context.run, "named"))
    others = {row.medication for row in rows if can_refill(row) and row.medication_id not in before}
    if len(others) != 1:
        return ()
    english, _hebrew = both(others.pop(), "name")
    return medications_of([one for clause in recognise(english).clauses for one in clause.medicines])


def _is_asked(context: TurnContext) -> bool:
    """Return whether the customer is asked about a refill, or whether they want a person, so that there is something to call off."""
    state: ConversationState = context.turn.state
    pending = state.get("pending") or {}
    if pending.get("kind") == "offer_person" or state.get("refills"):
        return True
    frames = [pending.get("frame"), state.get("waiting")]
    if any(frame and frame["intent"] in _OF_REFILLS for frame in frames):
        return True
    return _open(context.run).filter(action=confirmations.REFILL).exists() or _collected(context.run).exists()


def _asks_to_cancel(run: Run) -> bool:
    return _open(run).filter(action=confirmations.CANCEL).exists()


def _collected(run: Run) -> QuerySet[RefillRequest]:
    patient = run.conversation.proven_patient
    rows = RefillRequest.objects.filter(conversation_id=run.conversation_id, outcome=None, is_confirmed=False)
    return rows.filter(patient=patient) if patient else rows.none()


def _submitted(run: Run) -> QuerySet[RefillRequest]:
    """Return the customer's requests of this conversation for which they wait."""
    patient = run.conversation.proven_patient
    rows = RefillRequest.objects.filter(conversation_id=run.conversation_id, outcome=None, is_confirmed=True)
    return rows.filter(patient=patient) if patient else rows.none()


def _waits_unproven(run: Run) -> bool:
    """Return whether somebody who is no longer identified waits for a request of this conversation."""
    waiting = RefillRequest.objects.filter(
        conversation_id=run.conversation_id, outcome=None, is_confirmed=True
    )
    return run.conversation.proven_patient is None and waiting.exists()


def _open(run: Run) -> QuerySet[Confirmation]:
    return Confirmation.objects.filter(
        conversation_id=run.conversation_id, state=Confirmation.State.OPEN, expires_at__gt=run.created_at
    )

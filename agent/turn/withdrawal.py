"""Withdraw a customer's hand-offs when they clearly say, while they wait, that they no longer want a person.

Code decides it, so that no language model can end what a customer waits for. Urgent hand-offs stay: the pharmacist looks at
them all the same. So do those of failed verifications, which are about an account and not about a wish, those that staff
have answered, and those of refills, which have a cancellation of their own.

"I don't want it" does not say what: then they are asked, and only a yes withdraws.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from django.db import transaction
from django.db.models import Q

from agent.answers.answer import Answer, compose
from agent.answers.facts.fact import Fact
from agent.answers.render import listed, say
from agent.inference.base import FixedReply, Reply, Session, Speech, Step, StepResult, Turn
from agent.llm.offline.reading.message import Message
from agent.llm.offline.reading.recognise import recognise
from agent.llm.offline.reading.withdrawal import withdraws_handoff
from agent.models import Conversation, Run
from agent.state import ConversationState
from agent.turn.context import TurnContext
from agent.turn.refills import is_at_work, refill_access, refills_cancellable
from agent.turn.steps import ActionResult
from prescriptions.handoffs.selectors import handoffs_waiting
from prescriptions.handoffs.services import handoff_close
from prescriptions.models import Handoff, RefillRequest
from prescriptions.models.handoffs import HandoffQuerySet

WITHDRAW: Final = "withdraw_handoff"
"""The kind of the pending question whether the customer no longer wants a person."""
_SAYS_NO: Final = re.compile(r"\s*(?:no|nope|nah|לא)\s*(?:[,.;:!\u2013\u2014-]|$)", re.IGNORECASE)


def may_withdraw(context: TurnContext, *, is_outright: bool) -> bool:
    """Return whether a message that something unnamed is not wanted may mean the person whom the customer waits for.

    Where that was asked, only an outright one says it again: "no, leave it" keeps the person.
    """
    if withdraws_handoff(recognise(context.turn.text)):
        return False  # it says so itself
    is_said = is_outright and not _SAYS_NO.match(context.turn.text)
    if context.conversation.mode != Conversation.Mode.QUEUED or (_is_asked(context.turn) and not is_said):
        return False
    return _own_waiting(context.run).filter(is_urgent=False).exists()


def withdrawal_question(context: TurnContext) -> Session:
    """Return the session that asks whether the person is meant who is waited for; said again after that, it is a yes."""
    turn = context.turn
    if _is_asked(turn):
        context.in_every_mode = True
        return WithdrawalSession(turn)
    rows = _own_waiting(context.run).filter(is_urgent=False)
    numbers = listed(list(rows.values_list("number", flat=True)), turn.language)
    asked = Answer(
        [say("withdraw_ask", turn.language, numbers=numbers)],
        suggestions=[say("chip_yes", turn.language), say("chip_no", turn.language)],
    )
    state: ConversationState = {**turn.state, "pending": {"kind": WITHDRAW}}
    return FixedReply(turn, compose([asked], turn.language, state, fixed=True))


def withdrawal_session(context: TurnContext) -> Session | None:
    """Return the session that withdraws what the customer waits for; None when they do not clearly say so.

    A cancelled request may also be a refill: then the refill's own cancellation asks on a card.
    """
    turn = context.turn
    message = recognise(turn.text) if turn.text else None
    if message is None or not _own_waiting(context.run).exists():
        return None
    meant = withdraws_handoff(message)
    if _is_asked(turn) and not meant:
        answer = _answer_to_question(message)
        if answer == "no":
            kept = Answer([say("withdraw_kept", turn.language)])
            state: ConversationState = {**turn.state, "pending": None}
            return FixedReply(turn, compose([kept], turn.language, state, fixed=True))
        meant = "person" if answer == "yes" else ""
        if not meant:  # a yes to anything later withdraws nothing
            context.turn = replace(turn, state={**turn.state, "pending": None})
    if not meant:
        return None
    if meant == "request" and (turn.state.get("refills") or refills_cancellable(context.run)):
        return None
    # Closing the last hand-off gives the conversation back to the assistant, in the middle of this turn.
    context.in_every_mode = True
    return WithdrawalSession(turn)


def handoffs_withdraw(run: Run, step: Step, address: str) -> ActionResult:
    """Close the hand-offs that the customer waits for as no longer needed; `kept` are the urgent ones, which stay."""
    withdrawn: list[str] = []
    if not is_at_work(run):
        return ActionResult(step, ok=False, result={"withdrawn": [], "kept": []})
    access = refill_access(run, "withdrawn")
    for pk in list(_own_waiting(run).values_list("pk", flat=True)):
        # One transaction for each: the audit log is locked last in every one.
        with transaction.atomic():
            calm = Handoff.objects.waiting().filter(pk=pk, is_urgent=False, first_reply_at=None)
            row = calm.select_for_update(of=("self",)).first()
            if row and handoff_close(handoff=row, access=access, outcome=Handoff.Outcome.CANCELLED):
                withdrawn.append(row.number)
    kept = list(_own_waiting(run).filter(is_urgent=True).values_list("number", flat=True))
    return ActionResult(step, ok=bool(withdrawn), result={"withdrawn": withdrawn, "kept": kept})


class WithdrawalSession(Session):
    """Withdraws what the customer waits for, then says what was withdrawn and what stays."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Close the hand-offs, then say so."""
        if not results:
            return [Step("handoff.withdraw")]
        turn, found = self.turn, results[0].result
        said = [
            Fact(
                "handoff",
                "",
                say(key, turn.language, numbers=listed(numbers, turn.language)),
                is_lasting=False,
            )
            for key, numbers in (("withdrawn", found["withdrawn"]), ("withdrawn_not", found["kept"]))
            if numbers
        ]
        state: ConversationState = {**turn.state, "misses": 0}
        if (state.get("pending") or {}).get("kind") in ("offer_person", WITHDRAW):
            state["pending"] = None
        if not said:  # staff were faster
            return Reply("", turn.language, turn.state, fixed=True, silent=True)
        return compose([Answer([*said])], turn.language, state)


def _is_asked(turn: Turn) -> bool:
    return (turn.state.get("pending") or {}).get("kind") == WITHDRAW


def _answer_to_question(message: Message) -> str:
    """Return "yes" or "no" for what says one of them and asks nothing, else ""."""
    if not message.clauses or any(clause.asks or clause.medicines for clause in message.clauses):
        return ""
    clause = message.clauses[0]
    if clause.has("yes") == clause.has("no"):
        return ""
    return "yes" if clause.has("yes") else "no"


def _own_waiting(run: Run) -> HandoffQuerySet:
    """Return the open hand-offs of the conversation that its customer may withdraw, with the urgent ones."""
    patient = run.conversation.proven_patient
    of_refills = RefillRequest.objects.filter(handoff__conversation_id=run.conversation_id)
    return (
        handoffs_waiting()
        .filter(
            Q(patient=None) | Q(patient=patient), conversation_id=run.conversation_id, first_reply_at=None
        )
        .exclude(reason__in=[Handoff.Reason.REFILL, Handoff.Reason.IDENTITY_FAILED])
        .exclude(pk__in=of_refills.values("handoff"))
    )

"""Replay a scenario's gold actions through the services, without model or loop, for the state expected at the end."""

from typing import Any
from uuid import uuid4

from agent.conversation import accept, confirmations, events, runs
from agent.inference.base import Step
from agent.models import Confirmation, Conversation, Run
from agent.turn.actions import ACTIONS, action_run
from evaluation.clock import Clock
from evaluation.scenario import Scenario, Turn
from prescriptions import notifications

ADDRESS = "127.0.0.1"


def gold_replay(scenario: Scenario, clock: Clock, *, may: bool) -> None:
    """Do to a fresh copy what an ideal conversation does to it; with `may`, also the optional actions."""
    conversation, secret = events.conversation_begin(language=scenario.lang)
    codes = 0
    for turn in scenario.turns:
        clock.pass_minutes(turn.wait)
        if turn.code_typed:
            code = turn.code_typed
            if code == "demo":
                code = str([m.code for m in notifications.inbox(conversation.pk) if m.code][codes])
                codes += 1
            accept.code_submit(conversation_id=conversation.pk, code=code, address=ADDRESS)
        _act(conversation, turn, may=may)
        if turn.confirm:
            _confirm(conversation, secret, turn)
        Run.objects.filter(conversation=conversation).update(state=Run.State.DONE)


def _act(conversation: Conversation, turn: Turn, *, may: bool) -> None:
    """Do the turn's actions in a run of their own, as the loop does."""
    gold = [*turn.gold, *(turn.may if may else [])]
    calls = [(name, arguments) for call in gold for name, arguments in call.items() if name in ACTIONS]
    if turn.person:
        calls.append(("handoff.open", {"reason": "customer_asked"}))
    if calls:
        Run.objects.filter(conversation=conversation).update(state=Run.State.DONE)
        _run(conversation, calls)


def _run(conversation: Conversation, calls: list[tuple[str, dict[str, Any]]], **fields: Any) -> None:
    row = Run.objects.create(conversation_id=conversation.pk, client_msg_id=uuid4(), input_seq=0, **fields)
    claim = runs.run_claim(conversation.pk)
    assert claim is not None and claim.run.pk == row.pk
    run = claim.run
    for name, arguments in calls:
        action_run(run, Step(name, arguments), ADDRESS)
        run.conversation.refresh_from_db()


def _confirm(conversation: Conversation, secret: str, turn: Turn) -> None:
    """Answer the open question, if there is one, and do what was confirmed."""
    confirmation = Confirmation.objects.filter(
        conversation=conversation, state=Confirmation.State.OPEN
    ).first()
    if confirmation is None:
        return
    Run.objects.filter(conversation=conversation).update(state=Run.State.DONE)
    try:
        confirmations.confirmation_answer(
            conversation_id=conversation.pk,
            key=events.secret_hash(secret),
            confirm_id=confirmation.pk,
            decision="yes" if turn.confirm == "yes" else "no",
            address=ADDRESS,
        )
    except confirmations.ConfirmationExpired:
        return
    claim = runs.run_claim(conversation.pk)
    assert claim is not None
    if turn.confirm == "yes":
        action_run(claim.run, Step("refill.submit"), ADDRESS)

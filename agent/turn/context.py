"""A turn's two transactions: what is read before the model is asked, and what is written when the answer stands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent.answers.render import tool_label
from agent.conversation import events
from agent.conversation.runs import run_done
from agent.inference.base import Reply, Step, StepResult, Turn
from agent.models import Conversation, Run, ToolCall
from agent.safety.grounding import numbers_of
from agent.tools.base import ToolContext, ToolOutcome
from agent.tools.registry import tool_get, toolcall_row
from pharmacy_site.lib.rows import rows_insert
from pharmacy_site.lib.text import as_language, language_of
from prescriptions.models import Handoff, Patient

EARLIER_CALLS = 60  # how far back numbers of earlier answers count as evidence
# Of a conversation's state: whose it is, and whether it is of their data; and what is nobody's, a town and a notice.
_OWNED: Final = frozenset({"patient", "personal"})
_NOBODYS: Final = frozenset({"place", "basic"})


@dataclass
class Work:
    """One run being answered: its rows, the turn as models see it, and what was done so far."""

    run: Run
    conversation: Conversation
    turn: Turn
    patient: Patient | None
    outcomes: list[tuple[Step, ToolOutcome]]  # each step with its arguments as a customer may see them
    began_as: Patient | None = None  # who was proven when the turn began

    def context(self) -> ToolContext:
        """Who calls the tools for this turn: taken from the server's rows, never from a model."""
        return ToolContext(
            actor=f"chat:{self.conversation.pk}",
            channel="chat",
            language=self.turn.language,
            patient=self.patient,
            context_medications=tuple(medicine["id"] for medicine in self.turn.state.get("focus", ())),
            message=self.turn.text,
            origin=self.conversation.location,
            conversation_id=self.conversation.pk,
            run_id=self.run.pk,
        )


def work_of(run: Run) -> Work:
    """A claimed run as it is to be answered."""
    conversation, background = run.conversation, run.background
    patient = verified_patient(conversation)
    text, owner = "", None
    if run.kind == Run.Kind.MESSAGE:
        payload, owner = background.messages.last(run.input_seq)
        text = payload["text"]
    kept = as_language(conversation.language)
    turn = Turn(
        text=text,
        language=language_of(text) or kept,
        state=_state_for(patient, conversation.state),
        now=timezone.localtime(),
        conversation_language=kept,
        earlier=partial(background.messages.before, run.input_seq, patient.pk if patient else None),
        asked_by_another=owner is not None and owner != (patient.pk if patient else None),
        tokens_spent=background.tokens_spent,
        identity_policy=settings.CHAT_IDENTITY,
        identity_elsewhere=conversation.identity_elsewhere,
        challenge_open=settings.CHAT_IDENTITY == "otp" and background.challenge is not None,
        code=run.input.get("code", {}),
        location=conversation.location,
        resumed=run.kind == Run.Kind.RESUME,
    )
    return Work(run, conversation, turn_of(turn, patient), patient, [], began_as=patient)


def _state_for(patient: Patient | None, state: Mapping[str, Any]) -> dict[str, Any]:
    """What the talk is about, for who asks now: what came up while somebody was proven is that patient's alone."""
    owner = state.get("patient")
    if owner is not None and owner != (patient.pk if patient else None):
        return _nobodys(state)
    return {key: value for key, value in state.items() if key not in _OWNED}


def _nobodys(state: Mapping[str, Any]) -> dict[str, Any]:
    """What the next person may find: also what waits for who that is, but not about which medicine."""
    waiting = {"waiting": {"intent": state["waiting"]["intent"]}} if state.get("waiting") else {}
    return {key: state[key] for key in _NOBODYS & state.keys()} | waiting


def _state_kept(work: Work, state: Mapping[str, Any], *, personal: bool) -> dict[str, Any]:
    """What the talk is about from here on, and whose it is."""
    if work.began_as and work.patient != work.began_as:
        return _nobodys(state)
    if work.patient is None:
        return dict(state)
    return {**state, "patient": work.patient.pk, "personal": personal}


def verified_patient(conversation: Conversation) -> Patient | None:
    """Who was verified in this conversation, while the proof holds; nobody on a site that is not ours."""
    return conversation.patient if conversation.is_proven and not conversation.identity_elsewhere else None


def identity_taken(work: Work) -> None:
    """The work goes on for who is proven now: an action of this turn proved it, or ended the proof."""
    work.conversation = work.run.conversation = events.conversation_get(work.conversation.pk)
    work.patient = verified_patient(work.conversation)
    if work.began_as and work.patient != work.began_as:
        work.turn = replace(work.turn, state=_nobodys(work.turn.state), earlier=tuple)
    work.turn = turn_of(work.turn, work.patient)


def turn_of(turn: Turn, patient: Patient | None) -> Turn:
    """The turn with the identity that the server knows."""
    if patient is None:
        return replace(turn, identifier=None, patient_id=None, personal={})
    return replace(turn, identifier=patient.email, patient_id=patient.mrn, personal=_personal(patient))


def _personal(patient: Patient) -> dict[str, list[str]]:
    """A patient's values by kind, as `agent.safety.privacy.placeholders` takes them."""
    return {
        "PATIENT": [name for name in (patient.name_en, patient.name_he) if name],
        "EMAIL": [patient.email],
        "PHONE": [str(patient.phone)] if patient.phone else [],
        "DATE": [patient.born.isoformat()],
        "ID": [patient.mrn],
    }


def numbers_before(work: Work) -> list[str]:
    """The numbers that earlier answers had from tools, and those that messages showed; not those of another patient's."""
    conversation = work.conversation
    owned = conversation.events.filter(patient__isnull=False, run__isnull=False)
    others = owned.exclude(patient=work.patient).values("run") if work.patient else owned.values("run")
    calls = ToolCall.objects.filter(run__conversation=conversation).exclude(run__in=others).order_by("-pk")
    found = [
        number
        for evidence in calls.values_list("evidence", flat=True)[:EARLIER_CALLS]
        for number in evidence.get("numbers", ())
    ]
    handoffs = Handoff.objects.filter(
        Q(patient=None) | Q(patient=work.patient), conversation_id=conversation.pk
    )
    return found + list(handoffs.values_list("number", flat=True))


def work_commit(work: Work, reply: Reply, results: Sequence[StepResult], model: str) -> bool:
    """Writes a run's answer: its event, the tool calls behind it, the conversation's state; once, or not at all.

    False when the run is no longer this process's: cancelled, or taken up by another, whose answer counts.
    """
    calls, payload = list(_calls(work)), _payload(work, reply)
    state = _state_kept(work, reply.state, personal=bool(payload.get("personal")))
    talk = {"state": state, "language": reply.language}
    owner = work.patient or work.began_as  # the answer that ends a proof is still to the patient
    with transaction.atomic():
        # An event's number takes the conversation's row: first, as everywhere, for the other order deadlocks.
        for type, asked in _asked(results):
            events.event_append(
                conversation_id=work.conversation.pk,
                type=type,
                payload=asked,
                run=work.run,
                patient=owner,
            )
        told = events.event_append(
            conversation_id=work.conversation.pk,
            type="message.completed",
            payload=payload,
            run=work.run,
            patient=owner,
            talk=talk,
        )
        rows_insert(calls)
        if not run_done(work.run, told["seq"], _worded_by(work, model), work.turn.account):
            transaction.set_rollback(True)
            return False
    return True


def _asked(results: Sequence[StepResult]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the customer is asked for beside the answer, as types and payloads of events: a code, a yes."""
    for result in results:
        if result.step.name == "identity.code" and "expires_at" in result.result:
            yield "identity.requested", {"expires_at": result.result["expires_at"]}
        if result.step.name == "refill.ask" and result.result:
            yield "confirm.requested", dict(result.result)


def _payload(work: Work, reply: Reply) -> dict[str, Any]:
    """The answer as its event holds it."""
    payload: dict[str, Any] = {
        "role": "assistant",
        "run_id": str(work.run.pk),
        "text": reply.text,
        "lang": reply.language,
        "cards": list(reply.cards),
        "suggestions": list(reply.suggestions),
        "tools": [
            {
                "name": outcome.name,
                "label": tool_label(outcome.name, step.arguments, reply.language),
                "arguments": step.arguments,
                "ok": outcome.ok,
                "duration_ms": outcome.duration_ms,
            }
            for step, outcome in work.outcomes
        ],
    }
    if confirm := work.run.input.get("confirm"):
        payload |= {"confirm_id": confirm["id"], "decision": confirm["decision"]}
    if _is_personal(work):
        payload["personal"] = True
    if reply.phones:
        payload["phones"] = list(reply.phones)
    return payload


def _is_personal(work: Work) -> bool:
    """Whether the answer may hold a patient's data: it was looked up, told to the model, or what the talk was about."""
    state = work.conversation.state
    is_about_them = (
        work.began_as is not None and state.get("patient") == work.began_as.pk and bool(state.get("personal"))
    )
    looked_up = any(tool_get(outcome.name).private for _, outcome in work.outcomes)
    return looked_up or work.turn.account.personal or is_about_them


def _calls(work: Work) -> Iterator[ToolCall]:
    """The rows that record a turn's calls."""
    for _, outcome in work.outcomes:
        row = toolcall_row(outcome, work.context())
        row.evidence = {"facts": row.evidence, "numbers": list(numbers_of(outcome.result, row.evidence))}
        yield row


def _worded_by(work: Work, model: str) -> str:
    account = work.turn.account
    return account.model if account.model and not account.fallback else model

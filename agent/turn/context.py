"""Read what a turn needs before the model is called, and write its answer: two transactions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent.conversation import events
from agent.conversation.records import ConversationChanges, MessagePayload
from agent.conversation.runs import Claim, run_done
from agent.inference.base import Reply, Session, StepResult, Turn, Usage
from agent.models import Conversation, Run, ToolCall
from agent.safety.grounding import numbers_of
from agent.state import ConversationState
from agent.tools.base import ToolContext
from agent.tools.registry import tool_get, toolcall_row
from agent.turn.steps import ActionResult, ToolRun
from pharmacy_site.lib.text import Language, as_language, language_of
from prescriptions.handoffs import handoffs_mark_urgent
from prescriptions.models import Handoff, Patient

EARLIER_CALLS = 60  # how far back numbers of earlier answers count as evidence


@dataclass
class TurnContext:
    """One run being answered: its rows, the turn as models see it, and the results so far."""

    run: Run
    conversation: Conversation
    turn: Turn
    patient: Patient | None
    began_as: Patient | None
    """Who was verified when the turn began."""
    results: list[StepResult] = field(default_factory=list)
    session: Session | None = None
    """What answers the turn, once it is open."""

    @property
    def usage(self) -> Usage:
        """What the turn has used so far."""
        return self.session.usage if self.session else Usage()

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self.session.language if self.session else self.turn.language

    @property
    def tool_runs(self) -> list[ToolRun]:
        """The tool calls among the results."""
        return [result for result in self.results if isinstance(result, ToolRun)]

    def tool_context(self) -> ToolContext:
        """Return who calls the tools for this turn: taken from the server's rows, never from a model."""
        return ToolContext(
            actor=f"chat:{self.conversation.pk}",
            channel="chat",
            language=self.turn.language,
            patient=self.patient,
            context_medications=tuple(medicine["id"] for medicine in self.turn.state.get("focus", ())),
            message=self.turn.text,
            place=(self.turn.state.get("place") or {}).get("query", ""),
            origin=self.conversation.location,
            conversation_id=self.conversation.pk,
            run_id=self.run.pk,
        )


def turn_begin(claim: Claim) -> TurnContext:
    """Return a claimed run as it is to be answered."""
    run, conversation, question = claim.run, claim.conversation, claim.question
    patient = claim.patient
    text = question.payload["text"] if question else ""
    owner = question.patient_id if question else None
    language = as_language(conversation.language)
    turn = Turn(
        text=text,
        language=language_of(text) or language,
        state=_state_for(patient, conversation.state),
        now=timezone.localtime(),
        conversation_language=language,
        earlier=partial(claim.earlier, patient.pk if patient else None),
        asked_by_another=owner is not None and owner != (patient.pk if patient else None),
        tokens_spent=claim.tokens_spent,
        identity_policy=settings.CHAT_IDENTITY,
        identity_elsewhere=claim.identity_elsewhere,
        challenge_open=claim.challenge_open,
        code=run.input.get("code", {}),
        location=conversation.location,
        resumed=run.kind == Run.Kind.RESUME,
    )
    return TurnContext(run, conversation, _identified(turn, patient), patient, began_as=patient)


def _state_for(patient: Patient | None, state: ConversationState) -> ConversationState:
    """Return the state as this patient may find it: what came up while another was verified is left out."""
    owner = state.get("patient")
    if owner is not None and owner != (patient.pk if patient else None):
        return _impersonal(state)
    found = state.copy()
    found.pop("patient", None)
    found.pop("personal", None)
    return found


def _impersonal(state: ConversationState) -> ConversationState:
    """Return what the next person may find: also what waits for their identity, but not about which medicine."""
    found: ConversationState = {}
    if "place" in state:
        found["place"] = state["place"]
    if "basic" in state:
        found["basic"] = state["basic"]
    if "emergency" in state:
        found["emergency"] = state["emergency"]
    if waiting := state.get("waiting"):
        found["waiting"] = {"intent": waiting["intent"]}
    return found


def _state_to_store(context: TurnContext, state: ConversationState, *, personal: bool) -> ConversationState:
    """Return what the conversation is about from here on, marked with whose it is."""
    if context.began_as and context.patient != context.began_as:
        return _impersonal(state)
    if context.patient is None:
        return state
    return {**state, "patient": context.patient.pk, "personal": personal}


def refresh_identity(context: TurnContext) -> None:
    """Read who is identified now: an action of this turn proved it, or ended the proof."""
    context.conversation = context.run.conversation = events.conversation_get(context.conversation.pk)
    context.patient = context.conversation.proven_patient
    turn = context.turn
    if context.began_as and context.patient != context.began_as:
        turn = replace(turn, state=_impersonal(turn.state), earlier=tuple)
    context.turn = _identified(turn, context.patient)
    if context.session:
        context.session.turn = context.turn


def _identified(turn: Turn, patient: Patient | None) -> Turn:
    """Return the turn with the identity that the server knows."""
    if patient is None:
        return replace(turn, identifier=None, patient_id=None, personal={})
    return replace(turn, identifier=patient.email, patient_id=patient.mrn, personal=_personal(patient))


def _personal(patient: Patient) -> dict[str, list[str]]:
    """Return a patient's values by kind, as `agent.safety.privacy.placeholders` takes them."""
    return {
        "PATIENT": [name for name in (patient.name_en, patient.name_he) if name],
        "EMAIL": [patient.email],
        "PHONE": [str(patient.phone)] if patient.phone else [],
        "DATE": [patient.born.isoformat()],
        "ID": [patient.mrn],
    }


def numbers_before(context: TurnContext) -> list[str]:
    """Return the numbers of earlier tool results and messages, without those of another patient."""
    conversation = context.conversation
    owned = conversation.events.filter(patient__isnull=False, run__isnull=False)
    others = owned.exclude(patient=context.patient).values("run") if context.patient else owned.values("run")
    calls = ToolCall.objects.filter(run__conversation=conversation).exclude(run__in=others).order_by("-pk")
    found = [
        number
        for evidence in calls.values_list("evidence", flat=True)[:EARLIER_CALLS]
        for number in evidence.get("numbers", ())
    ]
    handoffs = Handoff.objects.filter(
        Q(patient=None) | Q(patient=context.patient), conversation_id=conversation.pk
    )
    return found + list(handoffs.values_list("number", flat=True))


def turn_commit(context: TurnContext, reply: Reply, model: str) -> bool:
    """Write a run's answer: its event, the tool calls behind it, the conversation's state; once, or not at all.

    False when the run is no longer this process's: cancelled, or taken up by another, whose answer counts.
    """
    calls, payload = list(_calls(context)), _payload(context, reply)
    state = _state_to_store(context, reply.state, personal=bool(payload.get("personal")))
    changes: ConversationChanges = {"state": state, "language": reply.language}
    emergency = state.get("emergency")
    is_new = bool(emergency) and not context.conversation.emergency_open
    if emergency:
        changes["emergency"] = ",".join(emergency["kinds"])
    if bool(emergency) != context.conversation.emergency_open:
        changes["emergency_open"] = bool(emergency)
    owner = context.patient or context.began_as  # the answer that ends a proof is still to the patient
    with transaction.atomic():
        # An event's number locks the conversation's row. That comes first, as everywhere: the other order deadlocks.
        for result in context.results:
            for type, requested in result.events if isinstance(result, ActionResult) else ():
                events.event_append(
                    conversation_id=context.conversation.pk,
                    type=type,
                    payload=requested,
                    run=context.run,
                    patient=owner,
                )
        written = events.event_append(
            conversation_id=context.conversation.pk,
            type="message.completed",
            payload=payload,
            run=context.run,
            patient=owner,
            changes=changes,
        )
        ToolCall.objects.bulk_create(calls)
        if is_new:
            handoffs_mark_urgent(context.conversation.pk)
        if not run_done(context.run, written["seq"], _worded_by(context, model), context.usage):
            transaction.set_rollback(True)
            return False
    return True


def _payload(context: TurnContext, reply: Reply) -> MessagePayload:
    """Return the answer as its event stores it."""
    payload: MessagePayload = {
        "role": "assistant",
        "run_id": str(context.run.pk),
        "text": reply.text,
        "lang": reply.language,
        "cards": list(reply.cards),
        "suggestions": list(reply.suggestions),
        "tools": [
            {
                "name": call.step.name,
                "label": call.label,
                "arguments": call.arguments_shown,
                "ok": call.ok,
                "duration_ms": call.duration_ms,
            }
            for call in context.tool_runs
            if call.outcome
        ],
    }
    # Thumbs belong under facts: not under a greeting, a refusal or a request for a code.
    payload["factual"] = bool(payload["tools"]) or any(
        result.step.name == "store.info" for result in context.results
    )
    if reply.brief:
        payload["brief"] = reply.brief
    if confirm := context.run.input.get("confirm"):
        payload["confirm_id"], payload["decision"] = confirm["id"], confirm["decision"]
    if _is_personal(context):
        payload["personal"] = True
    if context.conversation.location is None and _lists_branches(context, reply):
        payload["locate"] = True
    if reply.phones:
        payload["phones"] = list(reply.phones)
    return payload


def _lists_branches(context: TurnContext, reply: Reply) -> bool:
    """Return whether the answer lists branches, which the customer's location would put in order."""
    described = [result.result for result in context.results if result.step.name == "store.info"]
    return any(len(found.get("stores", ())) > 1 for found in described) or any(
        len(data.get("stores", ())) > 1 for card in reply.cards if isinstance(data := card["data"], Mapping)
    )


def _is_personal(context: TurnContext) -> bool:
    """Return whether the answer may hold a patient's data: looked up, sent to the model, or what the talk was about."""
    state = context.conversation.state
    is_about_them = (
        context.began_as is not None
        and state.get("patient") == context.began_as.pk
        and bool(state.get("personal"))
    )
    looked_up = any(tool_get(call.step.name).private for call in context.tool_runs if call.outcome) or any(
        result.is_personal for result in context.results if isinstance(result, ActionResult)
    )
    return looked_up or context.usage.personal or is_about_them


def _calls(context: TurnContext) -> Iterator[ToolCall]:
    """Yield the rows that record a turn's calls."""
    for outcome in (call.outcome for call in context.tool_runs if call.outcome):
        row = toolcall_row(outcome, context.tool_context())
        row.evidence = {"facts": row.evidence, "numbers": list(numbers_of(outcome.result, row.evidence))}
        yield row


def _worded_by(context: TurnContext, model: str) -> str:
    """Return the model that worded the answer."""
    usage = context.usage
    return usage.model if usage.model and not usage.fallback else model

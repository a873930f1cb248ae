"""Write a turn's answer, or end the turn without one because a person has the conversation: one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

from django.db import transaction

from agent.conversation import events
from agent.conversation.handoff import cards_languages, contacts_leave
from agent.conversation.records import ConversationChanges, MessagePayload
from agent.conversation.runs import run_done, run_release
from agent.conversation.typed import contacts_sealed
from agent.inference.base import Reply
from agent.llm.public_names import public_in
from agent.models import Conversation, ToolCall
from agent.safety.grounding import numbers_of
from agent.safety.privacy.storing import Value, storable, without
from agent.state import ConversationState
from agent.tools.registry import tool_get, toolcall_row
from agent.turn.context import TurnContext, state_to_store
from agent.turn.steps import ActionResult
from pharmacy_site.lib.shadow import Shadow
from prescriptions.handoffs.services import handoffs_mark_urgent
from prescriptions.masking import MASK

_Mode: Final = Conversation.Mode


class Commit(Enum):
    """What became of an answer."""

    WRITTEN = "written"
    WITHHELD = "withheld"
    """A person has taken over, or answers this message: the run is over without an answer."""
    REPEATED = "repeated"
    """The assistant has the conversation back, which is not what the answer was made for: the run is done again."""
    NOT_OURS = "not ours"
    """The run was cancelled, or taken up by another process, whose answer counts."""


def turn_commit(context: TurnContext, reply: Reply, model: str) -> Commit:
    """Write a run's answer: its event, the tool calls behind it, the conversation's state; once, or not at all.

    What the customer typed and is not stored is masked here, too: an answer may repeat it.
    """
    typed = _unpublished(context)
    calls, payload = list(_calls(context, typed)), without(_payload(context, reply), typed)
    contacts = _contacts(context)
    left = state_to_store(context, reply.state, personal=bool(payload.get("personal")))
    state: ConversationState = {
        **without(left, context.typed),
        **_contacts_remembered(context, contacts),
    }
    changes: ConversationChanges = {"state": state, "language": reply.language}
    emergency = state.get("emergency")
    is_new = bool(emergency) and not context.conversation.emergency_open
    if emergency:
        changes["emergency"] = ",".join(emergency["kinds"])
    if bool(emergency) != context.conversation.emergency_open:
        changes["emergency_open"] = bool(emergency)
    owner = context.patient or context.began_as  # the answer that ends a proof is still to the patient
    with transaction.atomic():
        # Hand-offs are locked before their conversation, as everywhere: the other order deadlocks.
        if contacts:
            contacts_leave(context.conversation.pk, contacts, owner)
        if is_new:
            pk = context.conversation.pk
            handoffs_mark_urgent(pk, numbers=cards_languages(pk), patient=owner)
        now = events.conversation_locked(context.conversation.pk)
        if refused := _refused(context, reply, now):
            # Nothing else was written but that a hand-off is urgent.
            return _end_without(context, model, refused)
        if _Mode.HUMAN in (now.mode, context.began_in):
            # Who has a person is not offered one.
            payload["automatic"], payload["suggestions"] = True, []
        elif context.began_in == _Mode.QUEUED:
            payload["automatic"] = True
        for result in context.results:
            for type, requested in result.events if isinstance(result, ActionResult) else ():
                events.event_append(
                    conversation_id=now.pk,
                    type=type,
                    payload=without(requested, typed),
                    run=context.run,
                    patient=owner,
                )
        written = events.event_append(
            conversation_id=now.pk,
            type="message.completed",
            payload=payload,
            run=context.run,
            patient=owner,
            changes=changes,
        )
        ToolCall.objects.bulk_create(calls)
        if not run_done(context.run, written["seq"], _worded_by(context, model), context.usage):
            transaction.set_rollback(True)
            return Commit.NOT_OURS
    return Commit.WRITTEN


def _refused(context: TurnContext, reply: Reply, now: Conversation) -> Commit | None:
    """Return why an answer is not written, given who has the conversation now."""
    is_unchanged = now.ownership == context.ownership
    if reply.silent and is_unchanged:
        return Commit.WITHHELD
    if context.in_every_mode or (is_unchanged and now.mode != _Mode.HUMAN):
        return None
    return Commit.WITHHELD if now.mode == _Mode.HUMAN else Commit.REPEATED


def _end_without(context: TurnContext, model: str, how: Commit) -> Commit:
    """End a run without an answer, or give it back to be done again; call it inside a transaction."""
    if how == Commit.REPEATED:
        run_release(context.run)
        return how
    is_ours = run_done(context.run, None, _worded_by(context, model), context.usage)
    return how if is_ours else Commit.NOT_OURS


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


def _contacts(context: TurnContext) -> list[str]:
    """Return the addresses and phones of the message, unless it only says by which of them its writer can be identified."""
    pending = context.conversation.state.get("pending") or {}
    if pending.get("kind") == "identifier" or storable(context.turn.text).text.strip() == MASK:
        return []
    return [value.typed for value in context.typed if value.is_contact]


def _contacts_remembered(context: TurnContext, contacts: Sequence[str]) -> ConversationState:
    """Return the encrypted contacts of this conversation, for a hand-off that may be opened later; another patient's are left out."""
    if context.began_as and context.patient != context.began_as:
        return {}
    known = context.turn.state.get("contacts", "")
    sealed = contacts_sealed(known, contacts)
    return {"contacts": sealed} if sealed else {}


def _unpublished(context: TurnContext) -> list[Value]:
    """Return the typed values that an answer must not repeat: phones of branches are nobody's secret."""
    if not context.typed:
        return []
    public = public_in([value.typed for value in context.typed])
    return [value for value in context.typed if not any(public.phones_in(Shadow(value.typed).text))]


def _calls(context: TurnContext, typed: Sequence[Value]) -> Iterator[ToolCall]:
    """Yield the rows that record a turn's calls, without these values."""
    for outcome in (call.outcome for call in context.tool_runs if call.outcome):
        row = toolcall_row(outcome, context.tool_context())
        row.arguments = without(row.arguments, typed)
        row.evidence = {"facts": row.evidence, "numbers": list(numbers_of(outcome.result, row.evidence))}
        yield row


def _worded_by(context: TurnContext, model: str) -> str:
    """Return the model that worded the answer."""
    usage = context.usage
    return usage.model if usage.model and not usage.fallback else model

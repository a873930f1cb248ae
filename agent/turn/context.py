"""Read what a turn needs before the model is called."""

from dataclasses import dataclass, field, replace
from functools import partial

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from agent.conversation import events
from agent.conversation.handoff import handoffs_about
from agent.conversation.runs import Claim
from agent.conversation.typed import typed_of
from agent.inference.base import Session, StepResult, Turn, Usage
from agent.models import Conversation, Run, ToolCall
from agent.safety.privacy.storing import Value, storable
from agent.state import ConversationState
from agent.tools.base import ToolContext
from agent.turn.steps import ToolRun
from pharmacy_site.lib.text import Language, as_language, language_of
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
    typed: tuple[Value, ...] = ()
    """What the message had that is not stored."""
    in_every_mode: bool = False
    """Whether the answer is written though a person has the conversation: to an emergency, a button, a code."""

    def __post_init__(self) -> None:
        """Remember who had the conversation when the turn began; the row is read again when identity changes."""
        self.ownership, self.began_in = self.conversation.ownership, self.conversation.mode

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
    typed = typed_of(run)
    text = (question.payload["text"] if typed is None else typed) if question else ""
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
        knowledge_role=knowledge_role(conversation),
    )
    typed_values = () if typed is None else storable(typed).values
    return TurnContext(
        run, conversation, _identified(turn, patient), patient, began_as=patient, typed=typed_values
    )


def knowledge_role(conversation: Conversation) -> str:
    """Return the role whose collection may answer now: none during an emergency, nor while staff has the conversation or is waited for."""
    is_held = conversation.mode in (Conversation.Mode.QUEUED, Conversation.Mode.HUMAN)
    return "" if is_held or conversation.state.get("emergency") else conversation.knowledge_role


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


def state_to_store(context: TurnContext, state: ConversationState, *, personal: bool) -> ConversationState:
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
    return replace(turn, identifier=patient.email, patient_id=patient.mrn, personal=personal_values(patient))


def personal_values(patient: Patient) -> dict[str, list[str]]:
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
        Q(patient=None) | Q(patient=context.patient), handoffs_about(conversation.pk)
    )
    return found + list(handoffs.values_list("number", flat=True))

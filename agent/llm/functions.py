"""Define what a language model may call: tools that read, by what the conversation allows, and our own procedures.

No function writes. A procedure (proving who asks, a refill, a person) hands the turn to the offline model's plan, with its
fixed words, its checks and its confirmation card.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from agent.inference.base import ModelUnavailable, Step, Turn
from agent.inference.openai import Call
from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.recognise import recognise
from agent.safety.emergency import Emergency
from agent.safety.privacy.placeholders import Placeholders
from agent.tools.registry import TOOLS
from agent.tools.schemas import function_definitions
from stores.models import SiteAnswer

STORE_INFO: Final = "store_info"
_TEXT: Final = {"type": "string"}
_TOOLS: Final = frozenset(tool.name for tool in TOOLS)
_PRIVATE: Final = frozenset(tool.name for tool in TOOLS if tool.private)


def _function(name: str, description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters, "strict": True},
    }


_STORE: Final = _function(
    STORE_INFO,
    "Opening hours, address and phone of one branch, of a city's branches, or (query null) of all branches.",
    {"query": {"type": ["string", "null"], "description": "a branch or a city as the customer wrote it"}},
)
_PERSON: Final = _function(
    "offer_person",
    "Offer the customer a pharmacist, when you cannot help or they need a person. Ends your turn.",
    {},
)
EMERGENCIES: Final = {
    "medical": Emergency.MEDICAL,
    "poisoning": Emergency.POISONING,
    "self_harm": Emergency.SELF_HARM,
    "extra_dose": Emergency.EXTRA_DOSE,
    "adverse_reaction": Emergency.ADVERSE,
}
_EMERGENCY: Final = _function(
    "raise_emergency",
    "Somebody may be in danger now, or needs a pharmacist or doctor at once: the system gives the number to call and "
    "answers in your place. When in doubt, call it. Ends your turn.",
    {"kind": {"type": "string", "enum": [*EMERGENCIES]}},
)
SITE_ANSWER: Final = "site_answer"
_SITE: Final = _function(
    SITE_ANSWER,
    "What the pharmacy says about a subject that no other function knows: orders, deliveries, ways to pay, parking, "
    "returns, keeping a pack, complaints, a manager, insurance, digital prescriptions.",
    {
        "topic": {"type": "string", "enum": [*SiteAnswer.Topic.values]},
        "branch": {
            "type": ["string", "null"],
            "description": "the branch that it is about, if one was named",
        },
    },
)
_PURPOSES: Final = ("prescriptions", "refill_status", "refill")
_IDENTIFY: Final = _function(
    "identify_customer",
    "Prescriptions or a refill are asked for and that patient is not identified: the system asks who they are and sends a "
    "code. Ends your turn.",
    {
        "purpose": {"type": "string", "enum": [*_PURPOSES]},
        "medication_name": {"type": ["string", "null"]},
        "for_somebody_else": {"type": "boolean"},
    },
)
_REFILL: Final = _function(
    "start_refill",
    "The identified customer wants a refill of one of their medicines: the system checks stock and prescription and "
    "shows a card to confirm. Ends your turn.",
    {"medication_name": _TEXT},
)
_RENEWAL: Final = _function(
    "new_prescription",
    "A new prescription from a doctor is wanted, or (is_clear false) a renewal that may be that or a refill: the system "
    "answers or asks. Ends your turn.",
    {"is_clear": {"type": "boolean"}},
)
_FORGET: Final = _function("end_identification", "The customer wants to sign out. Ends your turn.", {})
NOTE_TAKEN: Final = "note_medicine_taken"
_TAKEN: Final = _function(
    NOTE_TAKEN,
    "The customer says that they take this medicine. The system checks what comes up against it.",
    {"medication_name": _TEXT},
)


def functions_offered(turn: Turn) -> Sequence[Mapping[str, Any]]:
    """Return the definitions of the functions that this turn's model may call; none that reads while advice is refused."""
    if turn.refused:
        return (_EMERGENCY, _PERSON)
    return _functions_offered(is_identified=bool(turn.identifier))


@cache
def _functions_offered(*, is_identified: bool) -> Sequence[Mapping[str, Any]]:
    tools = [
        definition
        for definition in function_definitions()
        if is_identified or definition["function"]["name"] not in _PRIVATE
    ]
    of_patients = (_IDENTIFY, _REFILL, _FORGET) if is_identified else (_IDENTIFY,)
    return (*tools, _EMERGENCY, _STORE, _SITE, _PERSON, _TAKEN, _RENEWAL, *of_patients)


@dataclass(frozen=True)
class Procedure:
    """What the language model hands to the offline model: an intent, perhaps about a medicine by name."""

    intent: str
    medicine: str = ""
    emergency: Emergency | None = None
    for_somebody_else: bool = False


def procedure_of(calls: Sequence[Call]) -> Procedure | None:
    """Return the procedure among a model's calls, an emergency before any other; None when there is none."""
    for call in calls:
        if call.name == "raise_emergency":
            # A kind that does not exist is an emergency all the same.
            kind = EMERGENCIES.get(str(call.arguments.get("kind")), Emergency.MEDICAL)
            return Procedure("emergency", emergency=kind)
    for call in calls:
        if call.name == "offer_person":
            return Procedure("offer_person")
        if call.name == "identify_customer":
            purpose = call.arguments.get("purpose")
            intent = str(purpose) if purpose in _PURPOSES else "prescriptions"
            is_other = call.arguments.get("for_somebody_else") is True
            return Procedure(intent, _name_in(call), for_somebody_else=is_other)
        if call.name == "start_refill":
            return Procedure("refill", _name_in(call))
        if call.name == "new_prescription":
            return Procedure("renew_doctor" if call.arguments.get("is_clear") is True else "renew")
        if call.name == "end_identification":
            return Procedure("logout")
    return None


def _name_in(call: Call) -> str:
    return str(call.arguments.get("medication_name") or "")[:200]


def frame_of(procedure: Procedure) -> Frame:
    """Return the frame of a procedure with the one product of its name.

    An uncertain name is left out; then the assistant asks the customer, in a sentence of our own.
    """
    named = [medicine for clause in recognise(procedure.medicine).clauses for medicine in clause.medicines]
    certain = len(named) == 1 and len(named[0].candidates) == 1
    details = {"other_person": True} if procedure.for_somebody_else else {}
    return Frame(procedure.intent, 0.95, named[0].candidates if certain else (), details=details)


def steps_of(calls: Sequence[Call]) -> list[Step]:
    """Return the steps that a model's calls ask for. Raises ModelUnavailable for a function that does not exist."""
    return [_step(call) for call in calls]


def _step(call: Call) -> Step:
    if call.name == STORE_INFO:
        return Step("store.info", {"query": call.arguments.get("query")})
    if call.name == SITE_ANSWER:
        arguments = {"topic": str(call.arguments.get("topic")), "branch": call.arguments.get("branch")}
        return Step("site.answer", arguments)
    if call.name == NOTE_TAKEN:
        return Step("medicine.taken", {"medication_name": _name_in(call)})
    if call.name not in _TOOLS:
        raise ModelUnavailable("unknown_tool")
    # Also a patient's tool that was not offered: the door refuses it and writes that down.
    return Step(call.name, dict(call.arguments))


def with_identifiers(step: Step, hidden: Placeholders) -> Step:
    """Return the step with its placeholders restored if it is a patient's tool; nothing else gets a customer's data."""
    return Step(step.name, hidden.restore(step.arguments)) if step.name in _PRIVATE else step

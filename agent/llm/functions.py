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
from agent.llm.offline.frames import REFILLS, Frame
from agent.llm.offline.reading.recognise import recognise
from agent.llm.offline.reading.references import medications_of
from agent.safety.emergency import Emergency
from agent.safety.privacy.placeholders import Placeholders
from agent.state import RememberedMedication
from agent.tools.registry import TOOLS
from agent.tools.schemas import function_definitions
from stores.models import SiteAnswer

_LONGEST_NAMES: Final = 400
STORE_INFO: Final = "store_info"
_TEXT: Final = {"type": "string"}
_TOOLS: Final = frozenset(tool.name for tool in TOOLS)
_PRIVATE: Final = frozenset(tool.name for tool in TOOLS if tool.private)


def function_definition(name: str, description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of a function as it is sent, all of whose properties are required."""
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


_STORE: Final = function_definition(
    STORE_INFO,
    "Hours, address and phone of a branch, of a city's branches (as the customer wrote it), or (query null) of all.",
    {"query": {"type": ["string", "null"]}},
)
_PERSON: Final = function_definition(
    "offer_person",
    "Offer the customer a pharmacist. Ends your turn.",
    {},
)
EMERGENCIES: Final = {
    "medical": Emergency.MEDICAL,
    "poisoning": Emergency.POISONING,
    "self_harm": Emergency.SELF_HARM,
    "extra_dose": Emergency.EXTRA_DOSE,
    "adverse_reaction": Emergency.ADVERSE,
}
_EMERGENCY: Final = function_definition(
    "raise_emergency",
    "Somebody may be in danger now: the system gives the number to call. When in doubt, call it. Ends your turn.",
    {"kind": {"type": "string", "enum": [*EMERGENCIES]}},
)
SITE_ANSWER: Final = "site_answer"
_SITE: Final = function_definition(
    SITE_ANSWER,
    "What the pharmacy says about other subjects (hold: keeping a pack), perhaps of one branch.",
    {"topic": {"type": "string", "enum": [*SiteAnswer.Topic.values]}, "branch": {"type": ["string", "null"]}},
)
ASK_KNOWLEDGE: Final = "ask_knowledge_base"
_KNOWLEDGE: Final = function_definition(
    ASK_KNOWLEDGE,
    "Reviewed answers about health and using medicines in general; question: the whole question.",
    {"question": _TEXT},
)
_MATTERS: Final = {
    "prescriptions": "prescriptions",
    "refill_status": "refill_status",
    "refill": "refill",
    "where_is_my_refill": "refill_progress",
    "cancel_refill": "refill_cancel",
    "doctors_prescription": "renew_doctor",
    "refill_or_doctors_prescription": "renew",
    "sign_out": "logout",
}
"""What customers want in matters of their own, with the intent whose plan answers it."""
_MATTER: Final = function_definition(
    "patient_matter",
    "Prescriptions or a refill: the system asks who they are if it has to, checks, and answers. Ends your turn. "
    "medication_name has every medicine that is meant: 'X, Y and Z'.",
    {
        "matter": {"type": "string", "enum": [*_MATTERS]},
        "medication_name": {"type": ["string", "null"]},
        "for_somebody_else": {"type": "boolean"},
    },
)
NOTE: Final = "note_medicine"
_NOTE: Final = function_definition(
    NOTE,
    "The customer takes this, or is allergic to it: the system checks what comes up against it.",
    {"name": _TEXT, "is_allergy": {"type": "boolean"}},
)


def functions_offered(turn: Turn) -> Sequence[Mapping[str, Any]]:
    """Return the definitions of the functions that this turn's model may call; none that reads while advice is refused."""
    if turn.refused:
        return (_EMERGENCY, _PERSON, _NOTE)
    return _functions_offered(is_identified=bool(turn.identifier), has_knowledge=bool(turn.knowledge_role))


@cache
def _functions_offered(*, is_identified: bool, has_knowledge: bool) -> Sequence[Mapping[str, Any]]:
    tools = [
        definition
        for definition in function_definitions()
        if is_identified or definition["function"]["name"] not in _PRIVATE
    ]
    knowledge = (_KNOWLEDGE,) if has_knowledge else ()
    return (*tools, _EMERGENCY, _STORE, _SITE, *knowledge, _PERSON, _NOTE, _MATTER)


@dataclass(frozen=True)
class Procedure:
    """What the language model hands to the offline model: an intent, perhaps about a medicine by name."""

    intent: str
    medicine: str = ""
    emergency: Emergency | None = None
    for_somebody_else: bool = False
    notes: tuple[Step, ...] = ()
    """What the customer said in passing, which is noted first."""


def notes_of(calls: Sequence[Call]) -> tuple[Step, ...]:
    """Return the steps that note what the customer takes or is allergic to."""
    return tuple(_step(call) for call in calls if call.name == NOTE)


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
        if call.name == "patient_matter":
            intent = _MATTERS.get(str(call.arguments.get("matter")), "prescriptions")
            is_other = call.arguments.get("for_somebody_else") is True
            return Procedure(intent, _name_in(call), for_somebody_else=is_other)
    return None


def _name_in(call: Call) -> str:
    name = call.arguments.get("medication_name")
    return name[:_LONGEST_NAMES] if isinstance(name, str) else ""


def frame_of(procedure: Procedure) -> Frame:
    """Return the frame of a procedure with the product of its name, or with all of several names.

    A single uncertain name is left out; then the assistant asks the customer, in a sentence of our own. Of a refill one that is
    a typo away from a name stays, to be matched with the customer's own prescriptions. Among several an uncertain one stays,
    so that the customer is told what is on file of it.
    """
    details = {"other_person": True} if procedure.for_somebody_else else {}
    return Frame(procedure.intent, 0.95, _medicines_of(procedure), details=details)


def _medicines_of(procedure: Procedure) -> tuple[RememberedMedication, ...]:
    clauses = recognise(procedure.medicine).clauses
    named = [medicine for clause in clauses for medicine in clause.medicines]
    unknown = [name.text for clause in clauses for name in clause.unknown]
    if procedure.intent in REFILLS and named and len(named) + len(unknown) > 1:
        beside: list[RememberedMedication] = [{"query": name} for name in unknown]
        return (*medications_of(named), *beside)
    if len(named) != 1 or len(named[0].candidates) > 1:
        return ()
    if procedure.intent in REFILLS and not named[0].candidates:
        return ({"query": named[0].text},)
    return named[0].candidates


def steps_of(calls: Sequence[Call]) -> list[Step]:
    """Return the steps that a model's calls ask for. Raises ModelUnavailable for a function that does not exist."""
    return [_step(call) for call in calls]


def _step(call: Call) -> Step:
    if call.name == STORE_INFO:
        return Step("store.info", {"query": call.arguments.get("query")})
    if call.name == SITE_ANSWER:
        arguments = {"topic": str(call.arguments.get("topic")), "branch": call.arguments.get("branch")}
        return Step("site.answer", arguments)
    if call.name == NOTE:
        name = str(call.arguments.get("name") or "")[:200]
        if call.arguments.get("is_allergy") is True:
            return Step("allergy.noted", {"allergen": name})
        return Step("medicine.taken", {"medication_name": name})
    if call.name == ASK_KNOWLEDGE:
        question = str(call.arguments.get("question") or "")
        return Step("knowledge.ask", {"question": question, "by_model": True})
    if call.name not in _TOOLS:
        raise ModelUnavailable("unknown_tool")
    # Also a patient's tool that was not offered: the door refuses it and writes that down.
    return Step(call.name, dict(call.arguments))


def with_identifiers(step: Step, hidden: Placeholders) -> Step:
    """Return the step with its placeholders restored if it is a patient's tool; nothing else gets a customer's data."""
    return Step(step.name, hidden.restore(step.arguments)) if step.name in _PRIVATE else step

"""Define what a tool is: its arguments, its results, who calls it, and the outcome of a call."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from agent.answers.render import MASK
from agent.evidence import Evidence
from agent.models import ApiKey
from agent.safety.privacy.storing import storable
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.fields import LONGEST_TEXT
from pharmacy_site.lib.json_values import rebuilt
from pharmacy_site.lib.text import Language
from pharmacy_site.lib.vocabulary import EMAIL_LOOSE
from prescriptions.masking import MASK as STORED_MASK
from prescriptions.models import Patient
from stores.geo import Point

Channel = Literal["chat", "http"]
Family = Literal["S0", "S1", "S2"]

TEXT_LENGTH: Final = 500
SMALLEST, LARGEST = -(2**63), 2**63 - 1
_LONG_NUMBER: Final = re.compile(r"\d(?:[\s().-]{0,2}\d){5,}")


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    return text


Text = Annotated[
    str,
    Field(max_length=TEXT_LENGTH),
    AfterValidator(_without_nul),
    WithJsonSchema({"type": "string", "maxLength": TEXT_LENGTH, "pattern": "^[^\\u0000]*$"}),
]


def whole(value: object) -> object:
    """Return 2.0 as the integer 2: JSON has one kind of number, and JSON Schema agrees."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, Field(ge=SMALLEST, le=LARGEST), BeforeValidator(whole)]
MedicationRef = Whole | Text
"""2, "2" and "med-2" are the same medication, in every tool."""


class Arguments(BaseModel):
    """Base of every tool's arguments: types are strict and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Result(BaseModel):
    """Base of every result and part of one, with exactly the contract's fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True)
class ToolContext:
    """Who calls, through chat or HTTP, in which conversation; never taken from a model's arguments.

    `actor` is "chat:<conversation>" or "key:<id>". `patient` is the person verified in this conversation.
    `context_medications` are the ids last talked about (S2's `findMedicationFromContext`), `message` is the customer's
    message (S2 infers the store from it), `place` the store or city talked about before, `origin` a place that the customer
    shared.
    """

    actor: str
    channel: Channel
    language: Language
    patient: Patient | None = None
    context_medications: tuple[int, ...] = ()
    message: str = ""
    place: str = ""
    origin: Point | None = None
    api_key: ApiKey | None = None
    scopes: frozenset[str] = frozenset()
    conversation_id: UUID | None = None
    run_id: UUID | None = None


@dataclass(frozen=True)
class Answer:
    """A success: the contract's result, and evidence: further facts that an answer may use."""

    result: Result
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True)
class Refusal:
    """The message and fields of a failure, to which the envelope adds the code; `fields` are the contract's extra ones."""

    message: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True)
class Tool:
    """One tool. `run` returns an answer or raises a typed error; `refuse` words that error for this tool's family."""

    name: str
    family: Family
    description: str
    arguments: type[Arguments]
    success: tuple[type[Result], ...]
    failure: type[Result]
    run: Callable[[Any, ToolContext], Answer]
    refuse: Callable[[PharmacyError, Any, ToolContext], Refusal]
    codes: Mapping[type[PharmacyError], str] = field(default_factory=dict)
    """Where this tool's code for an error differs from its family's."""
    private: bool = False
    """Whether the tool shows a patient's data: in the chat only that of the verified patient."""

    @property
    def scope(self) -> str:
        """Return the scope that a caller over HTTP needs."""
        return "patients" if self.private else "tools"


@dataclass(frozen=True)
class ToolOutcome:
    """The outcome of one call. `result` is exactly the contract's output; `evidence` holds further facts (JSON)."""

    name: str
    ok: bool
    result: dict[str, Any]
    code: str | None
    evidence: Evidence
    duration_ms: int
    arguments_redacted: dict[str, Any]


class UnknownTool(PharmacyError):
    """There is no tool of this name."""


class InvalidArguments(PharmacyError):
    """The arguments break the tool's schema; `errors` names each field and holds nothing that was sent."""

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__("arguments break the schema")
        self.errors = errors


class NotAuthorised(PharmacyError):
    """The caller may not use this tool (HTTP: its key lacks the scope)."""


# -- Refusals that only tools know -------------------------------------------------------------------------


class NameEmpty(PharmacyError):
    """The name to look up is empty."""


class NothingAsked(PharmacyError):
    """Neither an id nor a name was given."""


class ActionUnknown(PharmacyError):
    """S0's `action` is neither LIST nor REFILL_STATUS."""


class PrescriptionMissing(PharmacyError):
    """REFILL_STATUS came without a prescription."""


class CityNotServed(PharmacyError):
    """There is no store in the place that was named."""

    def __init__(self, city: str, evidence: Evidence) -> None:
        super().__init__("no store in that place")
        self.city = city
        self.evidence = evidence


def redact(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as they may be stored: identifiers masked, and in texts all that looks personal and long numbers."""
    return {
        name: MASK if name in {"user_identifier", "patient_id"} else rebuilt(value, _without_contacts)
        for name, value in arguments.items()
    }


def _without_contacts(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _LONG_NUMBER.sub(MASK, EMAIL_LOOSE.sub(MASK, storable(value).text.replace(STORED_MASK, MASK)))


def capped(value: Any) -> Any:
    """Return JSON in which no text is longer than one that we would have stored; a cut shows as "…"."""
    return rebuilt(value, _cut)


def _cut(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > LONGEST_TEXT
    return f"{value[: LONGEST_TEXT - 1]}…" if is_long else value

"""Put results and refusals into the envelope of their family of tools, with its code for each error.

The code below knows none of this. S0 has `success`, `error_code` and `error_message`; S1 `ok` and an `error` object;
S2 `ok` and a `reason`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from agent.tools.base import (
    ActionUnknown,
    CityNotServed,
    Family,
    NameEmpty,
    NothingAsked,
    PrescriptionMissing,
    Refusal,
    Result,
    Tool,
)
from inventory.errors import (
    MedicationAmbiguous,
    MedicationNotFound,
    NoEquivalents,
    NoInventory,
    UnassessedIngredients,
)
from pharmacy_site.lib.errors import PharmacyError
from prescriptions.errors import PatientNotFound, PrescriptionNotFound


class SuccessS0(Result):
    """What every success of S0 begins with."""

    success: Literal[True] = True


class SuccessS1(Result):
    """What every success of S1 begins with."""

    ok: Literal[True] = True
    error: None = None


class SuccessS2(Result):
    """What every success of S2 begins with."""

    ok: Literal[True] = True


@dataclass(frozen=True)
class Envelope:
    """One family's codes: one for each typed error, and one for unexpected errors."""

    codes: Mapping[type[PharmacyError], str]
    unexpected: str


ENVELOPES: Final[Mapping[Family, Envelope]] = {
    "S0": Envelope(
        {
            NameEmpty: "NOT_FOUND",
            MedicationNotFound: "NOT_FOUND",
            MedicationAmbiguous: "AMBIGUOUS",
            NoInventory: "NOT_FOUND",
            NothingAsked: "INVALID_STATE",
            ActionUnknown: "INVALID_STATE",
            PatientNotFound: "UNAUTHORIZED",
            PrescriptionMissing: "NOT_FOUND",
            PrescriptionNotFound: "NOT_FOUND",
        },
        "INTERNAL",
    ),
    "S1": Envelope(
        {
            MedicationNotFound: "MED_NOT_FOUND",
            NoEquivalents: "NO_EQUIVALENTS_FOUND",
            PatientNotFound: "PATIENT_NOT_FOUND",
            UnassessedIngredients: "UNKNOWN_MED_ID",
        },
        "DB_ERROR",
    ),
    # S2 names no reason for a broken database; its other reasons would each be untrue then.
    "S2": Envelope(
        {
            MedicationNotFound: "MED_NOT_FOUND",
            MedicationAmbiguous: "MED_NOT_FOUND",
            CityNotServed: "CITY_NOT_SERVED",
        },
        "INTERNAL",
    ),
}


def code_of(tool: Tool, error: PharmacyError) -> str | None:
    """Return this tool's code for an error, or None if the tool does not expect that error."""
    known = {**ENVELOPES[tool.family].codes, **tool.codes}
    return next((known[kind] for kind in type(error).__mro__ if kind in known), None)


def failure(tool: Tool, code: str, refusal: Refusal) -> dict[str, Any]:
    """Return the failure in the tool's envelope, checked against the tool's own failure model."""
    body: dict[str, Any]
    if tool.family == "S0":
        body = {"success": False, "error_code": code, "error_message": refusal.message, **refusal.fields}
    elif tool.family == "S1":
        body = {"ok": False, "error": {"code": code, "message": refusal.message}, **refusal.fields}
    else:
        body = {"ok": False, "reason": code, **refusal.fields}
    return tool.failure.model_validate(body).model_dump(exclude_unset=True)


def success(result: Result) -> dict[str, Any]:
    """Return a success with all its fields, null where there is no value."""
    return result.model_dump()

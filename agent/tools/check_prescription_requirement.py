"""S2 `check_prescription_requirement`: only whether a medication needs a prescription.

Evidence of a success: `medication` (see `facts.py`), `matched_by`. Of MED_NOT_FOUND: `candidates` when several are
meant, `near` (a typo away; chat only) when none is.
"""

from typing import Literal

from agent.tools.base import Answer, Arguments, Result, Text, Tool, ToolContext
from agent.tools.envelopes import SuccessS2
from agent.tools.facts import medication_facts
from agent.tools.lookup import medication_loose, refuse_loose
from pharmacy_site.lib.bilingual import named


class CheckPrescriptionRequirementArguments(Arguments):
    """What the customer called it."""

    query: Text


class NamedMedication(Result):
    """S2's medication by id and name."""

    id: str
    name: str


class CheckPrescriptionRequirementSuccess(SuccessS2):
    """One medication was meant."""

    medication: NamedMedication
    prescriptionRequired: bool


class CheckPrescriptionRequirementFailure(Result):
    """None or several were meant, or the data cannot be read (INTERNAL, not in S2)."""

    ok: Literal[False]
    reason: Literal["MED_NOT_FOUND", "INTERNAL"]


def run(arguments: CheckPrescriptionRequirementArguments, context: ToolContext) -> Answer:
    """Return whether the medication that this name, or else the conversation, means needs a prescription."""
    medication, matched_by = medication_loose(arguments.query, context)
    return Answer(
        CheckPrescriptionRequirementSuccess(
            medication=NamedMedication(id=f"med-{medication.pk}", name=named(medication, context.language)),
            prescriptionRequired=medication.rx_required,
        ),
        {"medication": medication_facts(medication), "matched_by": matched_by},
    )


TOOL = Tool(
    name="check_prescription_requirement",
    family="S2",
    description=(
        "Return only whether a medication needs a prescription or is sold over the counter. An empty query means the "
        "medication last talked about."
    ),
    arguments=CheckPrescriptionRequirementArguments,
    success=(CheckPrescriptionRequirementSuccess,),
    failure=CheckPrescriptionRequirementFailure,
    run=run,
    refuse=refuse_loose,
)

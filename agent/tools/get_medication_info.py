"""S2 `get_medication_info`: a medication by a loose name or from the conversation, with its label's usage text.

Evidence of a success: `medication`, `leaflet` (see `facts.py`). Of MED_NOT_FOUND: `candidates` when several are meant,
`near` (a typo away; chat only) when none is.
"""

from typing import Literal

from agent.answers.tool_sentences import tool_text
from agent.tools.base import Answer, Arguments, Result, Text, Tool, ToolContext
from agent.tools.envelopes import SuccessS2
from agent.tools.facts import ingredient_display, leaflet_facts, medication_facts
from agent.tools.lookup import MatchedBy, medication_loose, refuse_loose
from pharmacy_site.lib.bilingual import named


class GetMedicationInfoArguments(Arguments):
    """What the customer called it."""

    query: Text


class LabelledMedication(Result):
    """S2's medication with the leaflet's usage text."""

    id: str
    name: str
    activeIngredient: str
    prescriptionRequired: bool
    labelUsage: str


class GetMedicationInfoSuccess(SuccessS2):
    """One medication was meant."""

    medication: LabelledMedication
    matchedBy: MatchedBy


class GetMedicationInfoFailure(Result):
    """None or several were meant, or the data cannot be read (INTERNAL, not in S2)."""

    ok: Literal[False]
    reason: Literal["MED_NOT_FOUND", "INTERNAL"]


def run(arguments: GetMedicationInfoArguments, context: ToolContext) -> Answer:
    """Return the facts of the medication that this name, or else the conversation, means."""
    medication, matched_by = medication_loose(arguments.query, context)
    leaflet = leaflet_facts(medication)
    details = LabelledMedication(
        id=f"med-{medication.pk}",
        name=named(medication, context.language),
        activeIngredient=ingredient_display(medication, context.language),
        prescriptionRequired=medication.rx_required,
        labelUsage=leaflet["use"][context.language]
        if "use" in leaflet
        else tool_text("no_usage", context.language),
    )
    return Answer(
        GetMedicationInfoSuccess(medication=details, matchedBy=matched_by),
        {"medication": medication_facts(medication), "leaflet": leaflet},
    )


TOOL = Tool(
    name="get_medication_info",
    family="S2",
    description=(
        "Resolve a medication by a loose name, brand or alias, or by what the conversation is about: its active "
        "ingredient, whether it needs a prescription, the label's usage text."
    ),
    arguments=GetMedicationInfoArguments,
    success=(GetMedicationInfoSuccess,),
    failure=GetMedicationInfoFailure,
    run=run,
    refuse=refuse_loose,
)

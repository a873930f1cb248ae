"""S0 `get_medication_by_name`: the facts of the medication with this name.

Evidence of a success: `medication`, `leaflet` (see `facts.py`), `by` (how the name matched), `whole_word`.
Of AMBIGUOUS: `candidates`, `more`. Of NOT_FOUND: `near` (a typo away; chat only).
"""

from typing import Literal

from agent.answers.tool_sentences import tool_text
from agent.tools.base import Answer, Arguments, NameEmpty, Refusal, Result, Text, Tool, ToolContext
from agent.tools.envelopes import SuccessS0
from agent.tools.facts import (
    candidate_facts,
    ingredients_with_strength,
    leaflet_facts,
    medication_facts,
    near_misses,
)
from inventory import catalog
from inventory.errors import MedicationAmbiguous
from inventory.labels import suggestion_labels
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import clean


class GetMedicationByNameArguments(Arguments):
    """What to look up."""

    medication_name: Text


class MedicationDetails(Result):
    """S0's medication."""

    med_id: int
    name_en: str
    name_he: str
    active_ingredients: str
    dosage_en: str
    dosage_he: str
    rx_required: bool
    warnings_en: str
    warnings_he: str


class GetMedicationByNameSuccess(SuccessS0):
    """One medication was meant."""

    medication: MedicationDetails


class GetMedicationByNameFailure(Result):
    """None or several were meant; `query` unless it was empty, `suggestions` when several match."""

    success: Literal[False]
    error_code: Literal["NOT_FOUND", "AMBIGUOUS", "INTERNAL"]
    error_message: str
    query: str = ""
    suggestions: list[str] = []


def run(arguments: GetMedicationByNameArguments, context: ToolContext) -> Answer:
    """Return the medication whose name, alias or part of a name this is."""
    if not clean(arguments.medication_name):
        raise NameEmpty
    found = catalog.medication_resolve(arguments.medication_name)
    medication = found.medication
    leaflet = leaflet_facts(medication)
    name_en, name_he = both(medication, "name")
    details = MedicationDetails(
        med_id=medication.pk,
        name_en=name_en,
        name_he=name_he,
        active_ingredients=ingredients_with_strength(medication),
        dosage_en=leaflet["dosage"]["en"] if "dosage" in leaflet else tool_text("no_dosage", "en"),
        dosage_he=leaflet["dosage"]["he"] if "dosage" in leaflet else tool_text("no_dosage", "he"),
        rx_required=medication.rx_required,
        warnings_en=leaflet["warnings"]["en"] if "warnings" in leaflet else tool_text("no_warnings", "en"),
        warnings_he=leaflet["warnings"]["he"] if "warnings" in leaflet else tool_text("no_warnings", "he"),
    )
    return Answer(
        GetMedicationByNameSuccess(medication=details),
        {
            "medication": medication_facts(medication),
            "leaflet": leaflet,
            "by": found.by,
            "whole_word": found.whole_word,
        },
    )


def refuse(error: PharmacyError, arguments: GetMedicationByNameArguments, context: ToolContext) -> Refusal:
    """Word S0's errors."""
    query = arguments.medication_name
    if isinstance(error, NameEmpty):
        return Refusal(tool_text("s0_name_empty"))
    if isinstance(error, MedicationAmbiguous):
        return Refusal(
            tool_text("s0_ambiguous", query=query),
            {"query": query, "suggestions": suggestion_labels(error.candidates)},
            {"candidates": candidate_facts(error.candidates), "more": error.more},
        )
    return Refusal(
        tool_text("s0_no_match", query=query), {"query": query}, {"near": near_misses(query, context)}
    )


TOOL = Tool(
    name="get_medication_by_name",
    family="S0",
    description=(
        "Look up factual medication information by English or Hebrew name: active ingredients, dosage text, warnings, "
        "whether a prescription is required. Part of a name is enough; when several match, ask which one is meant."
    ),
    arguments=GetMedicationByNameArguments,
    success=(GetMedicationByNameSuccess,),
    failure=GetMedicationByNameFailure,
    run=run,
    refuse=refuse,
)

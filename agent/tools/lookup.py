"""Find a medication as S2 does: by name, alias or ingredient, else from the conversation."""

from typing import Literal

from agent.evidence import Evidence
from agent.tools.base import Refusal, ToolContext
from agent.tools.facts import SHORTEST_PART, candidate_facts, near_misses
from inventory import catalog
from inventory.errors import MedicationAmbiguous, MedicationNotFound
from inventory.models import Medication
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import compact

MatchedBy = Literal["alias", "name", "ingredient", "context"]


def medication_loose(query: str, context: ToolContext) -> tuple[Medication, MatchedBy]:
    """Return the medication meant and how it was found; MedicationNotFound or MedicationAmbiguous.

    When nothing is called so, the medication last talked about is meant, if there is exactly one. A part of a name
    that is not a whole word needs four letters: "it" is in many names and means none of them.
    """
    try:
        if not compact(query):
            raise MedicationNotFound(query)
        found = catalog.medication_resolve(query, ingredients=True)
        if found.by == "partial" and not found.whole_word and len(compact(query)) < SHORTEST_PART:
            raise MedicationNotFound(query)
    except MedicationNotFound:
        if len(context.context_medications) != 1:
            raise
        return catalog.medication_get(context.context_medications[0]), "context"
    return found.medication, "name" if found.by == "partial" else found.by


def refuse_loose(error: PharmacyError, arguments: object, context: ToolContext) -> Refusal:
    """Return S2's refusal without words; the candidates or near misses are evidence for the question back."""
    evidence: Evidence = {}
    if isinstance(error, MedicationAmbiguous):
        evidence["candidates"] = candidate_facts(error.candidates)
    elif isinstance(error, MedicationNotFound):
        evidence["near"] = near_misses(str(error.query), context)
    return Refusal(evidence=evidence)

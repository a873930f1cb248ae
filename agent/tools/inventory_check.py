"""S1 `inventory_check`: medications by brand, generic, ingredient, alias or category, with their total stock.

Evidence of a success: `medications` (see `facts.py`, in the order of the matches), `totals` `{id: packs}`, `controlled`
(ids whose quantity no customer is shown), `more` (not all matches are listed), `there` (`{label_en, label_he, packs}` of
the store or city that is talked about). Of MED_NOT_FOUND: `near` (chat only).
"""

from typing import Final, Literal

from agent.answers.tool_sentences import tool_text
from agent.tools.base import Answer, Arguments, Refusal, Result, Text, Tool, ToolContext
from agent.tools.envelopes import SuccessS1
from agent.tools.facts import controlled, medication_facts, near_misses, stock_there
from agent.tools.stocked import StockedMedication, stocked
from inventory import catalog
from inventory.errors import MedicationNotFound
from inventory.stock import totals
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import Language, clean

MOST_MATCHES: Final = 20


class InventoryCheckArguments(Arguments):
    """What to search for; `language` is that of the notes."""

    query: Text
    language: Language


class InventoryCheckSuccess(SuccessS1):
    """At least one medication matches."""

    matches: list[StockedMedication]
    notes: str | None


class InventoryCheckError(Result):
    """S1's error."""

    code: Literal["MED_NOT_FOUND", "DB_ERROR"]
    message: str


class InventoryCheckFailure(Result):
    """No match, or no database."""

    ok: Literal[False]
    error: InventoryCheckError


def run(arguments: InventoryCheckArguments, context: ToolContext) -> Answer:
    """Return the matching medications with the packs that all stores have together."""
    found = (
        catalog.medications_search(arguments.query, limit=MOST_MATCHES + 1) if clean(arguments.query) else []
    )
    if not found:
        raise MedicationNotFound(arguments.query)
    listed, more = found[:MOST_MATCHES], len(found) > MOST_MATCHES
    catalog.contents_load(listed)
    packs = totals([medication.pk for medication in listed])
    success = InventoryCheckSuccess(
        matches=[
            StockedMedication.model_validate(stocked(medication, packs[medication.pk]))
            for medication in listed
        ],
        notes=tool_text("more_matches", arguments.language, count=MOST_MATCHES) if more else None,
    )
    return Answer(
        success,
        {
            "medications": [medication_facts(medication) for medication in listed],
            "totals": {str(medication.pk): packs[medication.pk] for medication in listed},
            "controlled": [medication.pk for medication in listed if controlled(medication)],
            "more": more,
            **stock_there(packs, context),
        },
    )


def refuse(error: PharmacyError, arguments: InventoryCheckArguments, context: ToolContext) -> Refusal:
    """Ask for another spelling."""
    return Refusal(
        tool_text("med_not_found", arguments.language, query=arguments.query),
        evidence={"near": near_misses(arguments.query, context)},
    )


TOOL = Tool(
    name="inventory_check",
    family="S1",
    description=(
        "Search medications by brand, generic name, ingredient or category (for example pain relievers), also with a "
        "form or strength: the matches, with the packs that all stores have together."
    ),
    arguments=InventoryCheckArguments,
    success=(InventoryCheckSuccess,),
    failure=InventoryCheckFailure,
    run=run,
    refuse=refuse,
)

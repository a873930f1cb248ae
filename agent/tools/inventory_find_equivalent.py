"""S1 `inventory_find_equivalent`: other products with the same ingredients, and form and strength unless waived.

Evidence of a success: `medication`, `equivalents` (see `facts.py`), `totals` `{id: packs}`, `controlled` (ids),
`substitution` of the requested product, `there` (as of `inventory_check`). Of NO_EQUIVALENTS_FOUND: `medication`.
"""

from typing import Literal

from agent.answers.tool_sentences import tool_text
from agent.tools.base import Answer, Arguments, MedicationRef, Refusal, Result, Tool, ToolContext
from agent.tools.envelopes import SuccessS1
from agent.tools.facts import controlled, medication_facts, stock_there
from agent.tools.stocked import StockedMedication, stocked
from inventory import catalog
from inventory.equivalents import Equivalent, equivalents_find
from inventory.errors import NoEquivalents
from inventory.models import Medication
from inventory.stock import totals
from pharmacy_site.lib.bilingual import named
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import Language


class InventoryFindEquivalentArguments(Arguments):
    """The requested medication, and whether strength and form must be the same (they must unless false)."""

    med_id: MedicationRef
    language: Language
    require_same_strength: bool | None = True
    require_same_form: bool | None = True


class Disclosure(Result):
    """What is the same and what may differ."""

    same_active_ingredients: bool
    same_strength: bool
    same_form: bool
    possible_differences: list[str]


class EquivalentMedication(StockedMedication):
    """An equivalent with its disclosure."""

    disclosure: Disclosure


class InventoryFindEquivalentSuccess(SuccessS1):
    """The requested product and at least one equivalent."""

    requested: StockedMedication
    equivalents: list[EquivalentMedication]
    notes: str | None


class InventoryFindEquivalentError(Result):
    """S1's error."""

    code: Literal["MED_NOT_FOUND", "NO_EQUIVALENTS_FOUND", "DB_ERROR"]
    message: str


class InventoryFindEquivalentFailure(Result):
    """No such medication, no equivalent, or no database."""

    ok: Literal[False]
    error: InventoryFindEquivalentError


def run(arguments: InventoryFindEquivalentArguments, context: ToolContext) -> Answer:
    """Return the equivalents, those in stock first, without any ranking."""
    medication = catalog.medication_get(arguments.med_id)
    found = equivalents_find(
        medication,
        require_same_strength=arguments.require_same_strength is not False,
        require_same_form=arguments.require_same_form is not False,
    )
    catalog.contents_load([medication, *(equivalent.medication for equivalent in found)])
    own = totals([medication.pk])[medication.pk]
    notes = tool_text("equivalence", arguments.language)
    if medication.substitution == Medication.Substitution.PHARMACIST_ONLY:
        notes += " " + tool_text("pharmacist_only", arguments.language)
    packs = {medication.pk: own} | {equivalent.medication.pk: equivalent.quantity for equivalent in found}
    products = [medication, *(equivalent.medication for equivalent in found)]
    return Answer(
        InventoryFindEquivalentSuccess(
            requested=StockedMedication.model_validate(stocked(medication, own)),
            equivalents=[_described(equivalent) for equivalent in found],
            notes=notes,
        ),
        {
            "medication": medication_facts(medication),
            "equivalents": [medication_facts(equivalent.medication) for equivalent in found],
            "totals": {str(pk): quantity for pk, quantity in packs.items()},
            "controlled": [product.pk for product in products if controlled(product)],
            "substitution": medication.substitution,
            **stock_there(packs, context),
        },
    )


def refuse(
    error: PharmacyError, arguments: InventoryFindEquivalentArguments, context: ToolContext
) -> Refusal:
    """Say which of the two was not found."""
    if isinstance(error, NoEquivalents):
        return Refusal(
            tool_text("no_equivalents", arguments.language, name=named(error.medication, arguments.language)),
            evidence={"medication": medication_facts(error.medication)},
        )
    return Refusal(tool_text("med_not_found", arguments.language, query=arguments.med_id))


def _described(equivalent: Equivalent) -> EquivalentMedication:
    differences = ["price", "inactive ingredients", "packaging"]
    if not equivalent.same_strength:
        differences.append("strength")
    if not equivalent.same_form:
        differences.append("form")
    return EquivalentMedication.model_validate(
        {
            **stocked(equivalent.medication, equivalent.quantity),
            "disclosure": {
                "same_active_ingredients": True,
                "same_strength": equivalent.same_strength,
                "same_form": equivalent.same_form,
                "possible_differences": differences,
            },
        }
    )


TOOL = Tool(
    name="inventory_find_equivalent",
    family="S1",
    description=(
        "Products of other brands with the same active ingredients, form and strength, each with a disclosure of what "
        "may differ, which must be passed on in full."
    ),
    arguments=InventoryFindEquivalentArguments,
    success=(InventoryFindEquivalentSuccess,),
    failure=InventoryFindEquivalentFailure,
    run=run,
    refuse=refuse,
)

"""Build S1's medication with its total stock, which two tools return."""

from agent.tools.base import Result
from agent.tools.facts import ingredient_names
from inventory.models import Medication
from pharmacy_site.lib.bilingual import both


class StockedMedication(Result):
    """S1's medication; `qty_on_hand` counts packs in all stores."""

    med_id: str
    brand_name: str
    generic_name: str
    active_ingredients: list[str]
    form: str
    strength: str
    rx_required: bool
    qty_on_hand: int


def stocked(medication: Medication, quantity: int) -> dict[str, object]:
    """Return the fields of `StockedMedication`. Names are English: S1's `language` is for notes and messages."""
    ingredients = ingredient_names(medication)
    return {
        "med_id": str(medication.pk),
        "brand_name": both(medication, "name")[0],
        "generic_name": both(medication, "generic_name")[0] or " + ".join(ingredients),
        "active_ingredients": ingredients,
        "form": form(medication),
        "strength": medication.strength,
        "rx_required": medication.rx_required,
        "qty_on_hand": quantity,
    }


def form(medication: Medication) -> str:
    """Return the form with its release type, which is part of it: "extended-release tablet"."""
    plain = medication.release == Medication.Release.IMMEDIATE
    return medication.form if plain else f"{medication.release}-release {medication.form}"

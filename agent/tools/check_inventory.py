"""S0 `check_inventory`: whether one store has a medication (the default store unless one is named).

Evidence of a success: `medication`, `store` (see `facts.py`), `low`, `threshold`, `updated_at`, `restock_on`,
`controlled`. A failure has none.
"""

from typing import Literal

from django.utils import timezone

from agent.answers.tool_sentences import tool_text
from agent.tools.base import (
    Answer,
    Arguments,
    MedicationRef,
    NothingAsked,
    Refusal,
    Result,
    Text,
    Tool,
    ToolContext,
    Whole,
)
from agent.tools.envelopes import SuccessS0
from agent.tools.facts import controlled, medication_facts, stores_facts
from inventory import catalog
from inventory.errors import NoInventory
from inventory.models import Medication
from inventory.stock import is_low, level_at, restock_on
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import clean
from stores.models import Store
from stores.selectors import store_default


class CheckInventoryArguments(Arguments):
    """A medication by id or by name (the id wins), and a store."""

    medication_id: MedicationRef | None = None
    medication_name: Text | None = None
    store_id: Whole | None = None


class InventoryDetails(Result):
    """S0's inventory: `qty` is null when there is none, `restock_eta` null when there is some."""

    med_id: int
    store_id: int
    medication_name_en: str
    medication_name_he: str
    in_stock: bool
    qty: int | None
    restock_eta: str | None


class CheckInventorySuccess(SuccessS0):
    """The store carries the medication, also if it has none left."""

    inventory: InventoryDetails


class CheckInventoryFailure(Result):
    """Nothing was asked, nothing found, or the store never carried it."""

    success: Literal[False]
    error_code: Literal["INVALID_STATE", "NOT_FOUND", "INTERNAL"]
    error_message: str


def run(arguments: CheckInventoryArguments, context: ToolContext) -> Answer:
    """Return what the store has; a name means the first medication that it is part of."""
    medication = _medication(arguments)
    store = _store(medication, arguments.store_id)
    level = level_at(store, medication)
    if level is None:
        raise NoInventory(medication, store.pk)
    name_en, name_he = both(medication, "name")
    expected = restock_on(level)
    details = InventoryDetails(
        med_id=medication.pk,
        store_id=store.pk,
        medication_name_en=name_en,
        medication_name_he=name_he,
        in_stock=level.quantity > 0,
        qty=level.quantity or None,
        restock_eta=expected.isoformat() if expected else None,
    )
    return Answer(
        CheckInventorySuccess(inventory=details),
        {
            "medication": medication_facts(medication),
            "store": stores_facts([store], context)[store.pk],
            "low": is_low(level),
            "threshold": level.low_threshold,
            "updated_at": timezone.localtime(level.updated_at).isoformat(timespec="minutes"),
            "restock_on": details.restock_eta,
            "controlled": controlled(medication),
        },
    )


def refuse(error: PharmacyError, arguments: CheckInventoryArguments, context: ToolContext) -> Refusal:
    """Word S0's errors."""
    if isinstance(error, NothingAsked):
        return Refusal(tool_text("s0_nothing_asked"))
    if isinstance(error, NoInventory):
        return Refusal(tool_text("s0_no_inventory", medication=error.medication.pk, store=error.store_id))
    query = arguments.medication_name if arguments.medication_id is None else arguments.medication_id
    return Refusal(tool_text("s0_medication", query=query))


def _medication(arguments: CheckInventoryArguments) -> Medication:
    if arguments.medication_id is not None:
        return catalog.medication_get(arguments.medication_id)
    if arguments.medication_name is None or not clean(arguments.medication_name):
        raise NothingAsked
    return catalog.medication_first_partial(arguments.medication_name)


def _store(medication: Medication, store_id: int | None) -> Store:
    if store_id is None:
        return store_default()
    store = Store.objects.filter(pk=store_id, is_active=True).first()
    if store is None:
        raise NoInventory(medication, store_id)
    return store


TOOL = Tool(
    name="check_inventory",
    family="S0",
    description=(
        "Check whether one store has a medication, and when more is expected: the online store unless store_id names "
        "another. Give the medication_id of an earlier result; a name takes the first partial match."
    ),
    arguments=CheckInventoryArguments,
    success=(CheckInventorySuccess,),
    failure=CheckInventoryFailure,
    run=run,
    refuse=refuse,
)

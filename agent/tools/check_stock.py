"""S2 `check_stock`: which branches have a medication, nearest first; a named branch, city or place decides from where.

Evidence of a success: `medication` (see `facts.py`), `matched_by`, `controlled`, `place` ("store", "city", "none"),
`city_en`, `city_he` (a city was named), `requested` and `stores` (in the order of the result): a store's facts with
`quantity, km, low, restock_on, updated_at`; `km` is null when nobody said from where. When a city has none, `elsewhere`
lists the nearest branches that have some. `more`: not all stores are listed.
Of CITY_NOT_SERVED: `medication`, `nearest` and `nearest_stocked`, stores with `km`, or null when the place is unknown;
`near_place` (a store or city a typo away) as `{label_en, label_he}` or null.
Of MED_NOT_FOUND: `candidates` when several are meant, `near` when none is (chat only).
"""

from dataclasses import replace
from typing import Final, Literal

from django.utils import timezone

from agent.answers.tool_sentences import tool_text
from agent.evidence import Evidence, StockFacts
from agent.tools.base import Answer, Arguments, CityNotServed, Refusal, Result, Text, Tool, ToolContext
from agent.tools.envelopes import SuccessS2
from agent.tools.facts import controlled, ingredient_display, medication_facts, stores_facts
from agent.tools.lookup import medication_loose, refuse_loose
from inventory.models import Medication, StockLevel
from inventory.stock import BranchStock, branch_stock, branches, level_at
from pharmacy_site.lib.bilingual import both, labels, named
from pharmacy_site.lib.errors import PharmacyError
from stores.geo import Point, km_between
from stores.selectors import (
    CityPlace,
    Place,
    StorePlace,
    UnservedPlace,
    place_find,
    places_in,
    store_reference,
)

MOST_STORES: Final = 50
MOST_ELSEWHERE: Final = 5


class CheckStockArguments(Arguments):
    """The medication, maybe a place, and whether stores that have none are listed too."""

    medication_query: Text
    store_query: Text | None = None
    show_all_stores: bool | None = False


class StockMedication(Result):
    """S2's medication."""

    id: str
    name: str
    activeIngredient: str
    prescriptionRequired: bool


class StoreQuantity(Result):
    """A store and its packs."""

    storeLabel: str
    qty: int


class CheckStockMeta(Result):
    """How the list was made."""

    showAllStores: bool


class CheckStockSuccess(SuccessS2):
    """The store that was asked about, if one was, and the other branches, nearest first."""

    medication: StockMedication
    requestedStore: StoreQuantity | None
    stores: list[StoreQuantity]
    meta: CheckStockMeta


class CheckStockFailure(Result):
    """No one medication was meant, no store is in the place named, or the data cannot be read (INTERNAL, not in S2)."""

    ok: Literal[False]
    reason: Literal["MED_NOT_FOUND", "CITY_NOT_SERVED", "INTERNAL"]
    city: str = ""
    message: str = ""


def run(arguments: CheckStockArguments, context: ToolContext) -> Answer:
    """Return the stock of the branch or city that was named, or of the branches around the customer."""
    medication, matched_by = medication_loose(arguments.medication_query, context)
    show_all = bool(arguments.show_all_stores)
    place = _place(arguments, context)
    if isinstance(place, UnservedPlace):
        raise CityNotServed(place.name, {**_unserved(place, medication, context), "matched_by": matched_by})
    evidence: Evidence = {
        "medication": medication_facts(medication),
        "matched_by": matched_by,
        "controlled": controlled(medication),
        "place": "none",
    }
    requested = None
    if isinstance(place, CityPlace) and len(place.stores) > 1:
        found = _in_city(place, medication, context.origin, show_all)
        evidence["place"] = "city"
        evidence["city_en"], evidence["city_he"] = both(place.locality, "name")
        if not any(branch.quantity for branch in found):
            others = branches(medication, origin=place.locality.point, limit=MOST_ELSEWHERE)
            evidence["elsewhere"] = _branch_facts(others, context)
    else:
        store = place.store if isinstance(place, StorePlace) else place.stores[0] if place else None
        origin = (store.point if store else None) or context.origin
        found = branches(medication, origin=origin, only_stocked=not show_all, limit=MOST_STORES + 2)
        if store is not None:
            evidence["place"] = "store"
            own = next((branch for branch in found if branch.store.pk == store.pk), None)
            requested = replace(own, km=None) if own else branch_stock(store, level_at(store, medication))
            found = [branch for branch in found if branch is not own]
    evidence["more"] = len(found) > MOST_STORES
    found = found[:MOST_STORES]
    facts = _branch_facts([*([requested] if requested else []), *found], context)
    if requested:
        evidence["requested"] = facts.pop(0)
    evidence["stores"] = facts
    return Answer(_success(medication, requested, found, show_all, context), evidence)


def refuse(error: PharmacyError, arguments: CheckStockArguments, context: ToolContext) -> Refusal:
    """Word an unserved city; otherwise return the products to choose from as evidence."""
    if isinstance(error, CityNotServed):
        message = tool_text("city_not_served", context.language, city=error.city)
        return Refusal(fields={"city": error.city, "message": message}, evidence=error.evidence)
    return refuse_loose(error, arguments, context)


def _place(arguments: CheckStockArguments, context: ToolContext) -> Place | None:
    """Return the place in `store_query`, or the one place that the customer's message names."""
    if arguments.store_query is not None and arguments.store_query.strip():
        return place_find(arguments.store_query)
    mentions = places_in(context.message) if context.message else []
    return mentions[0].place if len(mentions) == 1 else None


def _in_city(
    place: CityPlace, medication: Medication, origin: Point | None, show_all: bool
) -> list[BranchStock]:
    """Return the city's branches, nearest first from the customer's location or else from the reference branch."""
    start = origin or store_reference().point
    levels = {
        level.store_id: level
        for level in StockLevel.objects.filter(medication=medication, store__in=place.stores)
    }
    found = [
        branch_stock(store, levels.get(store.pk), km=km_between(origin, store.point))
        for store in place.stores
    ]

    def order(branch: BranchStock) -> tuple[float, int]:
        km = km_between(start, branch.store.point)
        return (float("inf") if km is None else km), branch.store.pk

    return sorted((branch for branch in found if show_all or branch.quantity), key=order)


def _success(
    medication: Medication,
    requested: BranchStock | None,
    found: list[BranchStock],
    show_all: bool,
    context: ToolContext,
) -> CheckStockSuccess:
    def quantity(branch: BranchStock) -> StoreQuantity:
        return StoreQuantity(storeLabel=named(branch.store, context.language), qty=branch.quantity)

    return CheckStockSuccess(
        medication=StockMedication(
            id=f"med-{medication.pk}",
            name=named(medication, context.language),
            activeIngredient=ingredient_display(medication, context.language),
            prescriptionRequired=medication.rx_required,
        ),
        requestedStore=quantity(requested) if requested else None,
        stores=[quantity(branch) for branch in found],
        meta=CheckStockMeta(showAllStores=show_all),
    )


def _branch_facts(found: list[BranchStock], context: ToolContext) -> list[StockFacts]:
    facts = stores_facts([branch.store for branch in found], context)
    return [
        {
            **facts[branch.store.pk],
            "quantity": branch.quantity,
            "km": None if branch.km is None else round(branch.km, 1),
            "low": branch.low,
            "restock_on": branch.restock_on.isoformat() if branch.restock_on else None,
            "updated_at": timezone.localtime(branch.updated_at).isoformat(timespec="minutes")
            if branch.updated_at
            else None,
        }
        for branch in found
    ]


def _unserved(place: UnservedPlace, medication: Medication, context: ToolContext) -> Evidence:
    evidence: Evidence = {
        "medication": medication_facts(medication),
        "nearest": None,
        "nearest_stocked": None,
    }
    if place.locality is not None:
        centre = place.locality.point
        nearest = branches(medication, origin=centre, only_stocked=False, limit=1)
        stocked = branches(medication, origin=centre, limit=1)
        evidence["nearest"] = next(iter(_branch_facts(nearest, context)), None)
        evidence["nearest_stocked"] = next(iter(_branch_facts(stocked, context)), None)
    evidence["near_place"] = _near_place(place, context)
    return evidence


def _near_place(place: UnservedPlace, context: ToolContext) -> dict[str, str] | None:
    if context.channel != "chat" or place.locality is not None:
        return None
    guess = place_find(place.name, typo=True)
    row = (
        guess.store
        if isinstance(guess, StorePlace)
        else guess.locality
        if isinstance(guess, CityPlace)
        else None
    )
    return labels(row) if row else None


TOOL = Tool(
    name="check_stock",
    family="S2",
    description=(
        "Check which branches have a medication, nearest first. store_query may name a branch, a city or any place; "
        "without it the customer's own message is searched for one."
    ),
    arguments=CheckStockArguments,
    success=(CheckStockSuccess,),
    failure=CheckStockFailure,
    run=run,
    refuse=refuse,
)

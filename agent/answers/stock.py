"""Word how much there is of a product."""

from collections.abc import Mapping
from typing import Any, cast

from agent.answers.renderer import Facts, Renderer
from agent.evidence import ProductFacts, StockFacts, StoreFacts
from agent.inference.base import StepResult
from agent.state import RememberedMedication

LOW = 10  # S0: ten or fewer is said plainly
MOST_BRANCHES = 5


def as_of(renderer: Renderer) -> str:
    """Return when the stock was read, and that it is no reservation."""
    return renderer.say("stock_note", time=f"{renderer.turn.now:%H:%M}")


def units(renderer: Renderer, facts: ProductFacts, totals: Mapping[int, int]) -> str:
    """Return how many packs there are; never a number for a controlled medicine."""
    if facts.get("controlled"):
        return renderer.say("ask_branch")
    total = totals.get(int(facts["id"]), 0)
    return renderer.count("units", total) if total else renderer.say("none_left")


def stock_at(store: StoreFacts, quantity: int, *, low: bool) -> StockFacts:
    """Return a store with its packs of a product."""
    return cast(StockFacts, {**store, "quantity": quantity, "low": low})


def none_there(renderer: Renderer, name: str, level: StepResult) -> str:
    """Say that the store which was read has none."""
    store = level.evidence.get("store") if level.ok else None
    if not store:
        return renderer.say("no_inventory", name=name)
    if store.get("kind") == "online":
        return renderer.say("out_of_stock_online", name=name)
    return renderer.say("out_of_stock_at", name=name, store=renderer.of(store))


def stocked_at(renderer: Renderer, name: str, store: Facts, quantity: int, *, low: bool) -> str:
    """Say how many a branch or the online store has."""
    key = "in_stock_online" if store.get("kind") == "online" else "in_stock_at"
    return renderer.count(f"{key}_low" if low else key, quantity, name=name, store=renderer.of(store))


def restock_line(renderer: Renderer, day: str | None) -> str:
    """Return the restock date in words, when there is one."""
    return renderer.say("restock", date=renderer.date(day)) if day else ""


def product_stock(
    renderer: Renderer,
    medicine: RememberedMedication,
    result: Mapping[str, Any],
    facts: Facts,
    *,
    ok: bool,
) -> str:
    """Say how many packs of this very product all stores have together, by S1's inventory check."""
    name = renderer.name(medicine)
    if facts.get("controlled"):
        return renderer.say("controlled_stock", name=name)
    matches = result.get("matches", ()) if ok else ()
    match = next((one for one in matches if one["med_id"] == str(medicine["id"])), None)
    if match is None:
        return renderer.say("no_inventory", name=name)
    quantity = int(match["qty_on_hand"])
    if not quantity:
        return renderer.say("out_of_stock", name=name)
    return renderer.count("in_stock_low" if quantity <= LOW else "in_stock", quantity, name=name)

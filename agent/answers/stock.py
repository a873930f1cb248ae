"""Word how much there is of a product."""

from typing import Final, cast

from agent.answers.renderer import Facts, Renderer
from agent.evidence import Evidence, ProductFacts, StockFacts, StoreFacts, packs_there, totals_of

LOW: Final = 10  # S0: ten or fewer is said plainly
MOST_BRANCHES: Final = 5


def as_of(renderer: Renderer) -> str:
    """Return when the stock was read, and that it is no reservation."""
    return renderer.say("stock_note", time=f"{renderer.turn.now:%H:%M}")


def units(renderer: Renderer, facts: ProductFacts, packs: int) -> str:
    """Return how many packs there are; never a number for a controlled medicine."""
    if facts["controlled"]:
        return renderer.say("ask_branch")
    return renderer.count("units", packs) if packs else renderer.say("none_left")


def stock_words(renderer: Renderer, facts: ProductFacts, evidence: Evidence) -> str:
    """Return how many packs there are at the place that is talked about, and in all stores together."""
    total = totals_of(evidence).get(facts["id"], 0)
    everywhere = units(renderer, facts, total)
    if facts["controlled"] or not total:
        return everywhere
    everywhere = renderer.say("units_everywhere", units=everywhere)
    if "there" not in evidence:
        return everywhere
    here = units(renderer, facts, packs_there(evidence, facts["id"]))
    return renderer.say(
        "units_there", store=renderer.of(evidence["there"]), units=here, everywhere=everywhere
    )


def stock_at(store: StoreFacts, quantity: int, *, low: bool) -> StockFacts:
    """Return a store with its packs of a product."""
    return cast(StockFacts, {**store, "quantity": quantity, "low": low})


def stocked_at(renderer: Renderer, name: str, store: Facts, quantity: int, *, low: bool) -> str:
    """Say how many packs a branch or the online store has, also when it has none."""
    is_online, values = store.get("kind") == "online", {"name": name, "store": renderer.of(store)}
    if not quantity:
        return renderer.say("out_of_stock_online" if is_online else "out_of_stock_at", **values)
    key = "in_stock_online" if is_online else "in_stock_at"
    return renderer.count(f"{key}_low" if low or quantity <= LOW else key, quantity, **values)

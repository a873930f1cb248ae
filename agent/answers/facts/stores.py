"""Make the facts of stores: how much a store has of a product, where it is, when it is open."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agent.answers.branches import StoreDescription, hours_of_week, hours_today
from agent.answers.facts.fact import Fact
from agent.answers.facts.medicines import rx_note
from agent.answers.renderer import Renderer
from agent.answers.stock import LOW, MOST_BRANCHES, none_there, restock_line, stocked_at
from agent.evidence import ProductFacts, StockFacts
from agent.inference.base import StepResult

FAR: Final = 300  # kilometres; "the nearest branch, 9,000 km away" helps nobody
_FEW: Final = 3  # stores of which each detail is a fact by itself
_MOST_STORES: Final = 12


def stock_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield what each store has of a product, the place asked about first (S2 `check_stock`)."""
    evidence = result.evidence
    facts = evidence["medication"]
    name = renderer.of(facts)
    if not result.ok:
        yield from _not_served(renderer, result)
        return
    if facts["controlled"]:
        yield Fact("stock", name, renderer.say("controlled_stock", name=name), is_lasting=False)
        return
    rows = [*([evidence["requested"]] if evidence.get("requested") else []), *evidence.get("stores", ())]
    if evidence.get("place") == "city" and not evidence.get("stores"):
        city = renderer.of(evidence, "city")
        text = renderer.say("out_of_stock_city", name=name, city=city)
        yield Fact("stock", city, text, polarity=False, is_lasting=False, companion=rx_note(renderer, facts))
        rows += evidence.get("elsewhere", ())
    for row in rows[: MOST_BRANCHES + 1]:
        yield _stock_at(renderer, facts, row)
        if day := row.get("restock_on"):
            restock = renderer.say("restock_at", name=name, store=renderer.of(row), date=renderer.date(day))
            yield Fact("restock", renderer.of(row), restock, is_lasting=False)
        yield _opening(renderer, row)
        yield from _phone(renderer, row)
    if not any(row["quantity"] for row in rows):
        text = renderer.say("branches_none_of", name=name)
        yield Fact("stock", name, text, polarity=False, is_lasting=False, companion=rx_note(renderer, facts))


def _stock_at(renderer: Renderer, facts: ProductFacts, row: StockFacts) -> Fact:
    name, quantity = renderer.of(facts), int(row["quantity"])
    if quantity:
        low = quantity <= LOW or bool(row.get("low"))
        text = stocked_at(renderer, name, row, quantity, low=low)
    elif row["kind"] == "online":
        text = renderer.say("out_of_stock_online", name=name)
    else:
        text = renderer.say("out_of_stock_at", name=name, store=renderer.of(row))
    if row.get("km") is not None:
        text = renderer.say("at_distance", text=text.rstrip("."), km=row["km"])
    note = rx_note(renderer, facts)
    return Fact("stock", renderer.of(row), text, polarity=quantity > 0, is_lasting=False, companion=note)


def level_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield what one store has of a product, and when more is expected (S0 `check_inventory`)."""
    facts, name = result.evidence["medication"], renderer.of(result.evidence["medication"])
    store = result.evidence.get("store")
    if facts["controlled"]:
        yield Fact("stock", name, renderer.say("controlled_stock", name=name), is_lasting=False)
        return
    if not result.ok or store is None:
        yield Fact("stock", name, renderer.say("no_inventory", name=name), is_lasting=False)
        return
    level, note = result.result["inventory"], rx_note(renderer, facts)
    quantity = int(level["qty"] or 0)
    low = quantity <= LOW or bool(result.evidence.get("low"))
    text = (
        stocked_at(renderer, name, store, quantity, low=low)
        if quantity
        else none_there(renderer, name, result)
    )
    yield Fact("stock", renderer.of(store), text, polarity=quantity > 0, is_lasting=False, companion=note)
    if not quantity:
        day = level.get("restock_eta")
        text = restock_line(renderer, day) or renderer.say("restock_none")
        yield Fact("restock", name, text, is_lasting=False)


def _not_served(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield that no store is at the place, and the nearest branch when the place is known."""
    evidence = result.evidence
    facts, city = evidence["medication"], str(result.result.get("city") or "")
    yield Fact("place", city, renderer.say("city_not_served", city=city), polarity=False, is_lasting=False)
    if near := evidence.get("near_place"):
        yield Fact("near_place", renderer.of(near), renderer.say("near_place", name=renderer.of(near)))
    nearest, stocked = evidence.get("nearest"), evidence.get("nearest_stocked")
    if nearest and _is_near(nearest):
        text = renderer.say("nearest_branch", store=renderer.of(nearest), km=nearest["km"])
        yield Fact("nearest", renderer.of(nearest), text, is_lasting=False)
    if stocked and _is_near(stocked) and not facts["controlled"]:
        values = {"name": renderer.of(facts), "store": renderer.of(stocked), "km": stocked["km"]}
        text = renderer.say("nearest_stocked", **values)
        note = rx_note(renderer, facts)
        yield Fact("stock", renderer.of(stocked), text, polarity=True, is_lasting=False, companion=note)


def _is_near(row: Mapping[str, Any]) -> bool:
    return row.get("km") is not None and row["km"] <= FAR


def store_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield address, phone, hours and distance of stores (the action `store.info`)."""
    found = result.result
    stores: Sequence[StoreDescription] = found.get("stores", ())
    if unserved := str(found.get("unserved") or ""):
        text = renderer.say("city_not_served", city=unserved)
        yield Fact("place", unserved, text, polarity=False, is_lasting=False)
        nearest = found.get("nearest")
        if nearest and _is_near(nearest):
            text = renderer.say("nearest_branch", store=renderer.of(nearest, ""), km=nearest["km"])
            yield Fact("nearest", renderer.of(nearest), text, is_lasting=False)
    for store in stores[:_MOST_STORES]:
        name = renderer.of(store)
        if store.get("kind") == "online":
            yield Fact("hours_today", name, renderer.say("online_hours"), is_lasting=False)
            yield from _phone(renderer, store)
            continue
        line = renderer.say(
            "branch_line",
            store=_with_distance(renderer, store),
            hours=hours_today(renderer, store),
            phone=store.get("phone") or "–",
            address=renderer.of(store, "address"),
        ).strip()
        yield Fact("branch", name, line, is_lasting=False)
        if store.get("week"):
            week = renderer.say("hours_of", store=name, hours=hours_of_week(renderer, store))
            yield Fact("hours_week", name, week, is_lasting=False)
        if len(stores) <= _FEW:
            yield _opening(renderer, store)
            yield from _phone(renderer, store)
            if address := renderer.of(store, "address"):
                text = renderer.say("address_of", store=name, address=address)
                yield Fact("address", name, text, is_lasting=False)


def _with_distance(renderer: Renderer, store: StoreDescription) -> str:
    away = store.get("km")
    return renderer.of(store) + (f" – {renderer.say('km', km=away)}" if away is not None else "")


def _opening(renderer: Renderer, store: StoreDescription) -> Fact:
    name = renderer.of(store)
    if store.get("kind") == "online":
        return Fact("hours_today", name, renderer.say("online_hours"), is_lasting=False)
    text = renderer.say("hours_of", store=name, hours=hours_today(renderer, store))
    return Fact("hours_today", name, text, polarity=store.get("open_now"), is_lasting=False)


def _phone(renderer: Renderer, store: StoreDescription) -> Iterator[Fact]:
    if phone := store.get("phone"):
        name = renderer.of(store)
        yield Fact("phone", name, renderer.say("branch_phone", store=name, phone=phone), is_lasting=False)

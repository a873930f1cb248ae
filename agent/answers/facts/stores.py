"""Make the facts of stores: how much a store has of a product, where it is, when it is open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.answers.branches import StoreDescription, hours_of_week, hours_on_day, hours_today, open_words
from agent.answers.cards import stock_on_card
from agent.answers.facts.fact import Fact
from agent.answers.facts.medicines import rx_companion
from agent.answers.layout import numbered
from agent.answers.render import apart
from agent.answers.renderer import Facts, Renderer
from agent.answers.stock import LOW, MOST_BRANCHES, as_of, stocked_at
from agent.evidence import ProductFacts, StockFacts
from agent.inference.base import StepResult

_FAR: Final = 300  # kilometres; "the nearest branch, 9,000 km away" helps nobody
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
        yield total_fact(renderer, facts, 0)
        return
    rows = [*([evidence["requested"]] if evidence.get("requested") else []), *evidence.get("stores", ())]
    if evidence.get("place") == "city" and not any(row["quantity"] for row in rows):
        city = renderer.of(evidence, "city")
        yield _stock(renderer, facts, city, renderer.say("out_of_stock_city", name=name, city=city), 0)
        rows += evidence.get("elsewhere", ())
    for row in rows[: MOST_BRANCHES + 1]:
        quantity = int(row["quantity"])
        text = stocked_at(renderer, name, row, quantity, low=bool(row.get("low")))
        if row.get("km") is not None:
            text = renderer.say("at_distance", text=text.rstrip("."), km=row["km"])
        stock = _stock(renderer, facts, renderer.of(row), text, quantity)
        if row is not evidence.get("requested"):
            stock = replace(stock, brief="", on_card=stock_on_card(renderer, facts, [row]))
        yield stock
        if day := row.get("restock_on"):
            restock = renderer.say(
                "restock_at", name=name, store=_called(renderer, row), date=renderer.date(day)
            )
            yield Fact("restock", renderer.of(row), restock, is_lasting=False)
        yield hours_fact(renderer, row)
        yield from phone_facts(renderer, row)
    if any(row["quantity"] for row in rows):
        yield as_of_fact(renderer)
    else:
        yield no_branch_fact(renderer, facts)


def _stock(renderer: Renderer, facts: ProductFacts, subject: str, text: str, quantity: int) -> Fact:
    note = rx_companion(renderer, facts)
    if quantity:  # what is there may be gone when the customer comes
        read = as_of_fact(renderer)
        note = replace(note, companion=read) if note else read
    return Fact("stock", subject, text, polarity=quantity > 0, is_lasting=False, companion=note)


def no_branch_fact(renderer: Renderer, facts: ProductFacts) -> Fact:
    """Return that no branch has a product."""
    name = renderer.of(facts)
    return _stock(renderer, facts, name, renderer.say("branches_none_of", name=name), 0)


def total_fact(renderer: Renderer, facts: ProductFacts, total: int, *, called: str = "") -> Fact:
    """Return how many packs of a product all stores have together; of a controlled one only whom to ask."""
    name = called or renderer.of(facts)
    if facts["controlled"]:
        return Fact("stock", name, renderer.say("controlled_stock", name=name), is_lasting=False)
    key = "in_stock_low" if total <= LOW else "in_stock"
    text = renderer.count(key, total, name=name) if total else renderer.say("out_of_stock", name=name)
    return _stock(renderer, facts, name, text, total)


def as_of_fact(renderer: Renderer) -> Fact:
    """Return when stock was read, and that it is no reservation."""
    text = as_of(renderer)
    return Fact("as_of", "", text, is_lasting=False, brief="", on_card=(text,))


def no_level_fact(renderer: Renderer, facts: ProductFacts) -> Fact:
    """Return that nothing is on file about the stock of a product."""
    name = renderer.of(facts)
    return Fact("stock", name, renderer.say("no_inventory", name=name), is_lasting=False)


def branches_fact(
    renderer: Renderer,
    facts: ProductFacts,
    head: str,
    rows: Sequence[StockFacts],
    *,
    city: str = "",
    is_open_asked: bool,
    polarity: bool | None,
) -> Fact:
    """Return several branches with their packs as one list; `polarity` says whether it answers for the place asked about."""
    lines = [
        f"{apart(renderer.of(row), renderer.language)} – {', '.join(_details(renderer, row, is_open_asked))}"
        for row in rows[:MOST_BRANCHES]
    ]
    return Fact(
        "branches",
        "",
        f"{head}\n{numbered(lines)}",
        polarity,
        is_lasting=False,
        brief=_branches_in_short(renderer, facts, rows, city, is_open_asked=is_open_asked),
        on_card=stock_on_card(renderer, facts, rows[:MOST_BRANCHES], with_hours=is_open_asked),
    )


def _details(renderer: Renderer, row: StockFacts, is_open_asked: bool) -> list[str]:
    """Return a branch's packs, its distance if it is known, and whether it is open if that was asked."""
    quantity = int(row["quantity"])
    parts = [renderer.count("units", quantity) if quantity else renderer.say("none_left")]
    if row.get("km") is not None:
        parts.append(renderer.say("km", km=row["km"]))
    if is_open_asked:
        parts.append(open_words(renderer, row))
    return parts


def _branches_in_short(
    renderer: Renderer, facts: ProductFacts, rows: Sequence[StockFacts], city: str, *, is_open_asked: bool
) -> str | None:
    """Return in one sentence how many branches have a product, and which is the first; None if none has."""
    stocked = [row for row in rows if row["quantity"]]
    if not stocked:
        return None
    first = stocked[0]
    details = ", ".join(_details(renderer, first, is_open_asked))
    key = "branches_short" if first.get("km") is None else "branches_short_nearest"
    if len(stocked) == 1:
        key = "branch_short"
    # The card shows no more of them; how many there are in all is not known here.
    number = "several" if len(rows) > MOST_BRANCHES else str(len(stocked))
    return renderer.say(
        key,
        name=renderer.of(facts),
        number=renderer.word("number", number),
        where=f" {renderer.say('in_city', city=city)}" if city else "",
        store=renderer.of(first),
        details=details,
    )


def level_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield what one store has of a product, and when more is expected (S0 `check_inventory`)."""
    facts, store = result.evidence["medication"], result.evidence["store"]
    if facts["controlled"]:
        yield total_fact(renderer, facts, 0)
        return
    name = renderer.of(facts)
    level = result.result["inventory"]
    quantity = int(level["qty"] or 0)
    text = stocked_at(renderer, name, store, quantity, low=bool(result.evidence.get("low")))
    yield _stock(renderer, facts, renderer.of(store), text, quantity)
    if quantity:
        yield as_of_fact(renderer)
        return
    day = level.get("restock_eta")
    text = renderer.say("restock", date=renderer.date(day)) if day else renderer.say("restock_none")
    yield Fact("restock", name, text, is_lasting=False)


def _not_served(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield that no store is at the place, and the nearest branch when the place is known."""
    evidence = result.evidence
    facts = evidence["medication"]
    yield from _unserved(renderer, str(result.result.get("city") or ""), evidence.get("nearest"))
    if near := evidence.get("near_place"):
        yield Fact("near_place", renderer.of(near), renderer.say("near_place", name=renderer.of(near)))
    stocked = evidence.get("nearest_stocked")
    if stocked and _is_near(stocked) and not facts["controlled"]:
        values = {"name": renderer.of(facts), "store": renderer.of(stocked), "km": stocked["km"]}
        text = renderer.say("nearest_stocked", **values)
        yield _stock(renderer, facts, renderer.of(stocked), text, stocked["quantity"])


def _unserved(renderer: Renderer, city: str, nearest: Facts | None) -> Iterator[Fact]:
    text = renderer.say("city_not_served", city=city)
    yield Fact("place", city, text, polarity=False, is_lasting=False)
    if nearest and _is_near(nearest):
        text = renderer.say("nearest_branch", store=renderer.of(nearest), km=nearest["km"])
        yield Fact("nearest", renderer.of(nearest), text, is_lasting=False)


def _is_near(row: Mapping[str, Any]) -> bool:
    return row.get("km") is not None and row["km"] <= _FAR


def store_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield address, phone, hours and distance of stores (the action `store.info`)."""
    found = result.result
    stores: Sequence[StoreDescription] = found.get("stores", ())
    if unserved := str(found.get("unserved") or ""):
        yield from _unserved(renderer, unserved, found.get("nearest"))
    for store in stores[:_MOST_STORES]:
        name = renderer.of(store)
        yield branch_fact(renderer, store)
        if store.get("kind") == "online":
            yield from phone_facts(renderer, store)
            continue
        if store.get("week"):
            week = renderer.say("hours_of", store=name, hours=hours_of_week(renderer, store))
            yield Fact("hours_week", name, week, is_lasting=False)
        if len(stores) <= _FEW:
            yield hours_fact(renderer, store)
            yield from phone_facts(renderer, store)
            if address := renderer.of(store, "address"):
                text = renderer.say("address_of", store=name, address=address)
                yield Fact("address", name, text, is_lasting=False)


def branch_fact(renderer: Renderer, store: StoreDescription, *, day: str = "", is_week: bool = False) -> Fact:
    """Return where a store is and its hours: of today, of this day, or of the whole week."""
    name, away = renderer.of(store), store.get("km")
    if store.get("kind") == "online":
        return hours_fact(renderer, store)
    if day:
        hours = hours_on_day(renderer, store, day)
    else:
        hours = hours_of_week(renderer, store) if is_week else hours_today(renderer, store)
    line = renderer.say(
        "branch_line",
        store=name + (f" – {renderer.say('km', km=away)}" if away is not None else ""),
        hours=hours,
        phone=store.get("phone") or "–",
        address=renderer.of(store, "address"),
    )
    return Fact("branch", name, line.strip(), is_lasting=False)


def hours_fact(renderer: Renderer, store: StoreDescription) -> Fact:
    """Return a store's hours of today, with the note of a special day."""
    name = renderer.of(store)
    if store.get("kind") == "online":
        return Fact("hours_today", name, renderer.say("online_hours"), is_lasting=False)
    text = renderer.say("hours_of", store=name, hours=hours_today(renderer, store))
    text = " ".join(part for part in (text, renderer.of(store, "note")) if part)
    return Fact("hours_today", name, text, polarity=store.get("open_now"), is_lasting=False)


def phone_facts(renderer: Renderer, store: StoreDescription) -> Iterator[Fact]:
    """Yield a store's phone, if it has one that is shown."""
    if phone := store.get("phone"):
        text = renderer.say("branch_phone", store=renderer.of(store), phone=phone)
        yield Fact("phone", renderer.of(store), text, is_lasting=False)


def _called(renderer: Renderer, store: Facts) -> str:
    return renderer.say("online_store") if store.get("kind") == "online" else renderer.of(store)

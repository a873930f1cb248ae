"""Make the fact cards from what the tools returned, in the language of the answer."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal

from django.conf import settings

from agent.answers.branches import open_words, opens_words
from agent.answers.card_types import (
    Card,
    CardData,
    InteractionPair,
    Kind,
    Level,
    PrescriptionItem,
    ProductRow,
    SourceItem,
    StoreRow,
)
from agent.answers.prescriptions import PrescriptionRow, prescription_name, refill_verdict
from agent.answers.products import form_words, product_line, rx_tag
from agent.answers.render import listed
from agent.answers.renderer import Facts, Renderer
from agent.answers.stock import LOW, MOST_BRANCHES, as_of
from agent.evidence import Evidence, LeafletSection, ProductFacts, StockFacts, packs_there, totals_of


def medication_card(
    renderer: Renderer, facts: ProductFacts, result: Facts, leaflet: Mapping[str, LeafletSection]
) -> Card:
    """Return the card of a product: title, tag, rx, rows, source."""
    size, unit = facts.get("pack_size"), renderer.word("unit", str(facts.get("pack_unit") or ""))
    price = facts.get("price")
    rows = {
        "ingredient": listed(renderer.ingredients(facts, result), renderer.language),
        "strength": renderer.measure(facts),
        "form": _capitalized(form_words(renderer, facts)),
        "pack": f"{size} {unit}".strip() if size else "",
        "price": renderer.say("amount", price=price) if price else "",
    }
    return _card(
        "medication",
        {
            "title": renderer.of(facts),
            "tag": rx_tag(renderer, facts),
            "rx": bool(facts.get("rx")),
            "rows": [[renderer.word("column", key), text] for key, text in rows.items() if text],
            "source": source_dated(renderer, leaflet, "dosage"),
        },
    )


def leaflet_source(renderer: Renderer, leaflet: Mapping[str, LeafletSection], kind: str) -> tuple[str, str]:
    """Return where a leaflet's text comes from and its day, or those of the first section; empty when not on file."""
    section: Mapping[str, Any] = leaflet.get(kind) or next(iter(leaflet.values()), {})
    source = section.get(f"source_{renderer.language}") or section.get("source_en")
    return str(source or ""), str(section.get("updated_on") or "")


def source_dated(renderer: Renderer, leaflet: Mapping[str, LeafletSection], kind: str) -> str:
    """Return where a leaflet text comes from, with the day in figures."""
    source, day = leaflet_source(renderer, leaflet, kind)
    return renderer.say("card_source", source=source, date=figures(day)) if source and day else ""


def figures(day: str) -> str:
    """Return a day as 15.01.2026."""
    return f"{date.fromisoformat(day[:10]):%d.%m.%Y}"


def stock_card(renderer: Renderer, facts: ProductFacts, stores: Sequence[StockFacts]) -> Card:
    """Return the card of a product's stock: title, tag, rx, stores in this order, words of the links, note."""
    return _card(
        "stock",
        {
            "title": renderer.say("card_stock", name=renderer.of(facts)),
            "tag": rx_tag(renderer, facts),
            "rx": bool(facts.get("rx")),
            "stores": [_store(renderer, facts, store) for store in stores[:MOST_BRANCHES]],
            "words": {key: renderer.say(f"card_{key}") for key in ("call", "map", "window")},
            "note": as_of(renderer),
        },
    )


def _store(renderer: Renderer, facts: ProductFacts, store: StockFacts) -> StoreRow:
    level = _level(renderer, facts, int(store["quantity"]), low=bool(store.get("low")))
    row: StoreRow = {
        "name": renderer.of(store),
        "stock": level["stock"],
        "level": level["level"],
        "km": renderer.say("km", km=store["km"]) if store.get("km") is not None else "",
        "open": store.get("open_now"),
        "hours": _hours(renderer, store),
        "today": _today(renderer, store),
        "note": renderer.of(store, "note"),
        "phone": store.get("phone"),
    }
    lat, lng = store.get("lat"), store.get("lng")
    if lat is not None and lng is not None:
        row["place"] = {"lat": lat, "lng": lng}
    return row


def stock_on_card(
    renderer: Renderer, facts: ProductFacts, stores: Sequence[StockFacts], *, with_hours: bool = False
) -> tuple[str, ...]:
    """Return what a stock card shows of these stores and of how much each has: title, names, packs, distances."""
    rows = [_store(renderer, facts, store) for store in stores]
    hours = [row["hours"] for row in rows] if with_hours else []
    shown = [text for row in rows for text in (row["name"], row["stock"], row["km"])]
    return renderer.say("card_stock", name=renderer.of(facts)), *(text for text in (*shown, *hours) if text)


def products_on_card(
    renderer: Renderer, products: Sequence[ProductFacts], evidence: Evidence
) -> tuple[str, ...]:
    """Return what a card of a list shows of these products: names and packs."""
    rows = products_card(renderer, "stock", "", products, evidence, "")["data"]["products"]
    return tuple(text for row in rows for text in (row["name"], row["stock"]))


def _level(renderer: Renderer, facts: ProductFacts, quantity: int, *, low: bool = False) -> Level:
    """Return how many there are, in words; never a number for a controlled medicine."""
    if facts.get("controlled"):
        level, words = "ask", renderer.say("ask_branch")
    elif not quantity:
        level, words = "none", renderer.say("none_left")
    elif low or quantity <= LOW:
        level, words = "low", renderer.count("units_low", quantity)
    else:
        level, words = "ok", renderer.count("units", quantity)
    return {"stock": _capitalized(words), "level": level}


def _capitalized(text: str) -> str:
    """Return words that stand alone with a capital."""
    return text[:1].upper() + text[1:]


def _hours(renderer: Renderer, store: StockFacts) -> str:
    """Return whether a store is open at this moment and what changes next."""
    if store.get("kind") == "online":
        return ""
    opens = store.get("opens_at")
    if store.get("open_now") is not False or not opens:
        return _capitalized(open_words(renderer, store))
    return _capitalized(opens_words(renderer, opens))


def _today(renderer: Renderer, store: StockFacts) -> str:
    spans = store.get("hours_today")
    if store.get("kind") == "online" or store.get("open_now") is None:
        return ""
    if not spans:
        return renderer.say("card_closed_today")
    return renderer.say("card_today", hours=", ".join(f"{opens}–{closes}" for opens, closes in spans))


def products_card(
    renderer: Renderer,
    kind: Literal["stock", "equivalents"],
    title: str,
    facts: Sequence[ProductFacts],
    evidence: Evidence,
    note: str,
) -> Card:
    """Return the card of a list of products: title, columns, products in this order with their packs, note.

    The packs are those at the place that is talked about, else of all stores together.
    """
    totals, there = totals_of(evidence), evidence.get("there")
    products: list[ProductRow] = [
        {
            "name": product_line(renderer, row),
            "tag": rx_tag(renderer, row),
            "rx": bool(row.get("rx")),
            **_level(renderer, row, packs_there(evidence, row["id"]) if there else totals.get(row["id"], 0)),
        }
        for row in facts
    ]
    place = renderer.of(there) if there else renderer.say("card_all_stores")
    columns = [renderer.word("column", "product"), f"{renderer.word('column', 'stock')}: {place}"]
    return _card(kind, {"title": title, "columns": columns, "products": products, "note": note})


def interactions_card(renderer: Renderer, pairs: Sequence[InteractionPair], note: str) -> Card:
    """Return the card of the pairs that our data lists: title, pairs, note."""
    title = renderer.say("card_interactions")
    return _card("interactions", {"title": title, "pairs": list(pairs), "note": note})


def prescriptions_card(
    renderer: Renderer, rows: Sequence[PrescriptionRow], facts: Mapping[int, Facts]
) -> Card:
    """Return the card of a customer's prescriptions, with what is on file about each by its id."""
    items = [_prescription(renderer, row, facts.get(row["presc_id"], {})) for row in rows]
    title = renderer.say("card_prescriptions" if len(items) > 1 else "card_prescription")
    return _card("prescriptions", {"title": title, "prescriptions": items})


def _prescription(renderer: Renderer, row: PrescriptionRow, facts: Facts) -> PrescriptionItem:
    verdict = refill_verdict(row, facts)
    dates = {"last_filled": facts.get("last_filled_on"), "valid_until": facts.get("expires_on")}
    texts = {"strength": renderer.measure(facts), "directions": renderer.of(facts, "directions")}
    known = texts | {key: figures(str(day)) for key, day in dates.items() if day}
    item: PrescriptionItem = {
        "name": renderer.of({"label_en": row["medication_name_en"], "label_he": row["medication_name_he"]}),
        "state": row["status"],
        "status": _capitalized(renderer.word("status", row["status"])),
        "refills": renderer.count("refills_short", row["refills_left"]),
        "refill": renderer.word("refill", verdict),
        "can_refill": verdict == "yes",
        "rows": [[renderer.word("column", key), text] for key, text in known.items() if text],
    }
    if verdict == "yes":
        item["ask"] = [
            renderer.say("card_refill"),
            renderer.say("chip_refill", name=prescription_name(renderer, row)),
        ]
    return item


def identity_card(renderer: Renderer) -> Card:
    """Return the card that asks for a code or a date of birth; whether there is such an account is not said."""
    key = "card_identity_birth" if renderer.turn.identity_policy == "dob" else "card_identity_note"
    note = renderer.say(key, minutes=settings.IDENTITY_CODE_TTL // 60)
    return _card("identity", {"title": renderer.say("card_identity"), "note": note})


def elsewhere_card(renderer: Renderer) -> Card:
    """Return the card that leads to a window of our own, where customers can identify."""
    return _card("identity", {"title": renderer.say("card_elsewhere"), "action": "continue"})


def sources_card(renderer: Renderer, quotes: Sequence[Mapping[str, Any]]) -> Card:
    """Return the card of stored answers: the question of each, and where the answer is from."""
    items = [SourceItem(title=str(quote["question"]), text=str(quote["source"])) for quote in quotes]
    title, words = renderer.say("card_sources"), {"window": renderer.say("card_window")}
    return _card("sources", {"title": title, "items": items, "words": words})


def handoff_card(renderer: Renderer, number: str, reason: str) -> Card:
    """Return the card of a request to our staff: its number, its state, and why in plain words."""
    rows = [[renderer.word("column", "state"), renderer.say("handoff_waiting")]]
    why = renderer.word("reason", reason)
    if why != reason:
        rows.append([renderer.word("column", "reason"), why])
    return _card("handoff", {"title": renderer.say("card_handoff", number=number), "rows": rows})


def _card(kind: Kind, data: CardData) -> Card:
    for key in [key for key, value in data.items() if value in ("", None, [])]:
        data.pop(key)  # type: ignore[misc]  # any key of a card may be left out
    return {"kind": kind, "data": data}

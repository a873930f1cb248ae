"""The fact cards: text in the language of the answer, and plain numbers for places and states.

A card holds no address and no markup; the page makes links from a phone number and a pair of coordinates. Shapes by kind:

- medication: `{title, tag, rx, rows: [[label, text]], source?}`
- stock: `{title, tag, rx, stores: [{name, stock, level, km, open, hours, today, note, phone, place?: {lat, lng}}], words,
  note}`; `level` is "ok", "low", "none" or "ask", `words` name what the links do; of several products as equivalents
- equivalents: `{title, products: [{name, tag, rx, stock, level}], columns, note}`
- interactions: `{title, pairs: [{names: [a, b], level, label, text}], note?}`; `level` is "avoid", "caution" or "same"
- prescriptions: `{title, prescriptions: [{name, state, status, refills, refill, can_refill, rows: [[label, text]]}]}`
- identity, handoff: `{title, rows?: [[label, text]], note?}`
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from django.conf import settings

from agent.answers.render import listed
from agent.llm.offline.answer import View, as_of, open_words, product_line, rx_tag

LOW = 10  # S0: ten or fewer is said plainly
MOST_BRANCHES = 5
_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

Card = dict[str, Any]
Facts = Mapping[str, Any]


def medication_card(view: View, facts: Facts, result: Facts, leaflet: Facts) -> Card:
    """What a product is, with the source and date of its leaflet."""
    size, unit = facts.get("pack_size"), view.word("unit", str(facts.get("pack_unit") or ""))
    price = facts.get("price")
    rows = {
        "ingredient": listed(view.ingredients(facts, result), view.language),
        "strength": view.measure(facts),
        "form": _opening(_form(view, facts)),
        "pack": f"{size} {unit}".strip() if size else "",
        "price": view.say("amount", price=price) if price else "",
    }
    data = {
        "title": view.of(facts),
        **_tag(view, facts),
        "rows": [[view.word("column", key), text] for key, text in rows.items() if text],
        "source": source_dated(view, leaflet, "dosage"),
    }
    return _card("medication", data)


def source_dated(view: View, leaflet: Facts, kind: str) -> str:
    """Where a leaflet text comes from, with the day in figures."""
    section: Facts = leaflet.get(kind) or next(iter(leaflet.values()), {})
    source = section.get(f"source_{view.language}") or section.get("source_en")
    if not source or not section.get("updated_on"):
        return ""
    return view.say("card_source", source=source, date=figures(section["updated_on"]))


def figures(day: str) -> str:
    """A day as 15.01.2026."""
    return f"{date.fromisoformat(day[:10]):%d.%m.%Y}"


def stock_card(view: View, facts: Facts, stores: Sequence[Facts]) -> Card:
    """Stock by branch, in the order given."""
    data = {
        "title": view.say("card_stock", name=view.of(facts)),
        **_tag(view, facts),
        "stores": [_store(view, facts, store) for store in stores[:MOST_BRANCHES]],
        "words": {key: view.say(f"card_{key}") for key in ("call", "map", "window")},
        "note": as_of(view),
    }
    return _card("stock", data)


def _store(view: View, facts: Facts, store: Facts) -> Card:
    row = {
        "name": view.of(store),
        **_level(view, facts, int(store["quantity"]), low=bool(store.get("low"))),
        "km": view.say("km", km=store["km"]) if store.get("km") is not None else "",
        "open": store.get("open_now"),
        "hours": _hours(view, store),
        "today": _today(view, store),
        "note": view.of(store, "note"),
        "phone": store.get("phone"),
    }
    if store.get("lat") is not None and store.get("lng") is not None:
        row["place"] = {"lat": store["lat"], "lng": store["lng"]}
    return row


def _level(view: View, facts: Facts, quantity: int, *, low: bool = False) -> Card:
    """How many there are, in words; of a controlled medicine customers are told no number."""
    if facts.get("controlled"):
        level, words = "ask", view.say("ask_branch")
    elif not quantity:
        level, words = "none", view.say("none_left")
    elif low or quantity <= LOW:
        level, words = "low", view.count("units_low", quantity)
    else:
        level, words = "ok", view.count("units", quantity)
    return {"stock": _opening(words), "level": level}


def _opening(text: str) -> str:
    """Words that stand alone, with a capital."""
    return text[:1].upper() + text[1:]


def _hours(view: View, store: Facts) -> str:
    """Whether it is open at this moment and what changes next."""
    if store.get("kind") == "online":
        return ""
    opens = store.get("opens_at")
    if store.get("open_now") is not False or not opens:
        return _opening(open_words(view, store))
    at = datetime.fromisoformat(opens)
    if at.date() == view.turn.now.date():
        return view.say("card_opens_today", time=f"{at:%H:%M}")
    return view.say("card_opens", day=view.word("weekday", _WEEK[at.weekday()]), time=f"{at:%H:%M}")


def _today(view: View, store: Facts) -> str:
    spans = store.get("hours_today")
    if store.get("kind") == "online" or store.get("open_now") is None:
        return ""
    if not spans:
        return view.say("card_closed_today")
    return view.say("card_today", hours=", ".join(f"{opens}–{closes}" for opens, closes in spans))


def products_card(
    view: View, kind: str, title: str, facts: Sequence[Facts], totals: Mapping[int, int], note: str
) -> Card:
    """Products with their tags and what there is of each, in the order given."""
    products = [
        {
            "name": product_line(view, row),
            **_tag(view, row),
            **_level(view, row, totals.get(int(row["id"]), 0)),
        }
        for row in facts
    ]
    columns = [view.word("column", key) for key in ("product", "stock")]
    return _card(kind, {"title": title, "columns": columns, "products": products, "note": note})


def interactions_card(view: View, pairs: Sequence[Card], note: str) -> Card:
    """The pairs that our data lists, each with its level and our own sentence."""
    return _card("interactions", {"title": view.say("card_interactions"), "pairs": list(pairs), "note": note})


def prescriptions_card(view: View, rows: Sequence[Facts], facts: Mapping[int, Facts]) -> Card:
    """The customer's prescriptions: status, refills left, whether they can be refilled, dates on file."""
    items = [_prescription(view, row, facts.get(row["presc_id"], {})) for row in rows]
    title = view.say("card_prescriptions" if len(items) > 1 else "card_prescription")
    return _card("prescriptions", {"title": title, "prescriptions": items})


def _prescription(view: View, row: Facts, facts: Facts) -> Card:
    verdict = refill_verdict(row, facts)
    dates = {"last_filled": facts.get("last_filled_on"), "valid_until": facts.get("expires_on")}
    return {
        "name": view.of({"label_en": row["medication_name_en"], "label_he": row["medication_name_he"]}),
        "state": row["status"],
        "status": _opening(view.word("status", row["status"])),
        "refills": view.count("refills_short", row["refills_left"]),
        "refill": view.word("refill", verdict),
        "can_refill": verdict == "yes",
        "rows": [[view.word("column", key), figures(day)] for key, day in dates.items() if day],
    }


def refill_verdict(row: Facts, facts: Facts) -> str:
    """Whether a prescription can be refilled, or what stands against it: a key of the sentences `refill_…`."""
    if facts.get("status_known") is False:
        return "staff"
    if facts.get("schedule") == "II":
        return "controlled"
    if facts.get("refill_pending"):
        return "pending"
    if row["can_refill"]:
        return "yes"
    return row["status"] if row["status"] in ("completed", "expired") else "none_left"


def identity_card(view: View) -> Card:
    """A code was asked for; whether it was sent is not told."""
    note = view.say("card_identity_note", minutes=settings.IDENTITY_CODE_TTL // 60)
    return _card("identity", {"title": view.say("card_identity"), "note": note})


def handoff_card(view: View, number: str, reason: str) -> Card:
    """A request to our staff: its number, its state, and why in plain words."""
    rows = [[view.word("column", "state"), view.say("handoff_waiting")]]
    why = view.word("reason", reason)
    if why != reason:
        rows.append([view.word("column", "reason"), why])
    return _card("handoff", {"title": view.say("card_handoff", number=number), "rows": rows})


def _form(view: View, facts: Facts) -> str:
    release = str(facts.get("release") or "immediate")
    form = view.word("form", str(facts.get("form") or ""))
    return form if release == "immediate" or not form else f"{form}, {view.word('release', release)}"


def _tag(view: View, facts: Facts) -> Card:
    return {"tag": rx_tag(view, facts), "rx": bool(facts.get("rx"))}


def _card(kind: str, data: Card) -> Card:
    return {"kind": kind, "data": {key: value for key, value in data.items() if value not in ("", None, [])}}

"""Find what a clause refers to: places and medicines, an item of a list; and whether it asks anything itself."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from agent.answers.facts.leaflets import SECTIONS
from agent.llm.offline.reading.message import Clause, Medicine
from agent.state import RememberedMedication, RememberedPlace
from stores.places import CityPlace, PlaceMention, StorePlace

_ON_DAYS: Final = frozenset({"בראשון", "בשני", "בשלישי", "ברביעי", "בחמישי", "בשישי"})
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")


def remembered_place(mention: PlaceMention) -> RememberedPlace:
    """Return a place as the conversation remembers it: what to pass to a tool and how to call it."""
    place = mention.place
    if isinstance(place, StorePlace):
        store = place.store
        return {
            "query": store.name_en,
            "en": store.name_en,
            "he": store.name_he or store.name_en,
            "store": store.pk,
        }
    if isinstance(place, CityPlace):
        city = place.locality
        return {
            "query": city.name_en,
            "en": city.name_en,
            "he": city.name_he or city.name_en,
            "city": city.slug,
        }
    if place.locality is not None:
        town = place.locality
        shown = (
            mention.text if mention.text.isupper() and mention.text.isascii() else town.name_en
        )  # "NYC", as written
        return {"query": mention.text, "en": shown, "he": town.name_he or town.name_en, "unserved": True}
    return {"query": mention.text, "en": mention.text, "he": mention.text, "unserved": True}


def places_wanted(clause: Clause) -> list[PlaceMention]:
    """Return the places that a clause names, without one that another takes the place of: "Dizengoff instead of Jaffa"."""
    ends = {end for _start, end in clause.cues.spans("instead_of")}
    ends -= {medicine.start for medicine in clause.medicines}  # "in Dizengoff instead of Advil"
    # A word may stand between: "instead of the Jaffa branch".
    return [one for one in clause.places if ends.isdisjoint((one.start, one.start - 1))] or clause.places


def place_of(clause: Clause) -> RememberedPlace | None:
    """Return the first place that a clause wants to know about."""
    places = places_wanted(clause)
    return remembered_place(places[0]) if places else None


def medications_of(
    medicines: Sequence[Medicine], *, distinct: bool = True
) -> tuple[RememberedMedication, ...]:
    """Return the products that are mentioned; a mention that may be several keeps its query and candidates."""
    found: list[RememberedMedication] = []
    for medicine in medicines:
        one: RememberedMedication
        if not medicine.candidates:
            one = {"query": medicine.text}
        elif len(medicine.candidates) == 1:
            one = {**medicine.candidates[0], "said": medicine.text}
        else:
            one = {"query": medicine.text, "candidates": [option.copy() for option in medicine.candidates]}
        if medicine.by == "ingredient" and "id" in one:
            one = {**one, "by": "ingredient"}
        if medicine.variant:
            one = {**one, "variant": medicine.variant}
        if not distinct or one.get("id") is None or all(one["id"] != other.get("id") for other in found):
            found.append(one)
    return tuple(found)


def position_of(clause: Clause, size: int) -> int | None:
    """Return which of `size` shown items a clause points at: by ordinal, number, "last", "former"."""
    for position, name in enumerate(ORDINALS[:size]):
        if clause.has(name):
            return position
    if clause.has("last"):
        return size - 1
    if clause.has("former"):
        return 0
    if (
        len(clause.numbers) == 1
        and not (clause.strengths or clause.unknown)
        and 1 <= clause.numbers[0] <= size
        and len(clause.words) <= 4
    ):
        return clause.numbers[0] - 1
    return None


def places_asked(clause: Clause) -> list[RememberedPlace]:
    """Return the different places of a question; a city beside one of its branches only says where that branch is."""
    kept = {mention.text: remembered_place(mention) for mention in places_wanted(clause)}
    places = list({place["query"]: place for place in kept.values()}.values())
    return [place for place in places if "city" not in place or not any("store" in other for other in places)]


def store_pointed(clause: Clause, state: Mapping[str, Any]) -> RememberedPlace | None:
    """Return the branch that "the second one" means, when the conversation is about branches."""
    stores: list[Any] = [store for store in state.get("last_stores") or () if isinstance(store, Mapping)]
    if len(stores) < 2 or clause.places or clause.medicines:
        return None
    if any(word in ("יום", "ביום", "day") or word in _ON_DAYS for word in clause.words):
        return None  # "ביום שני" is Monday
    about = clause.has("hours", "phone", "address", "branches") or state.get("intent") in ("hours", "branch")
    if not about and (state.get("intent") != "stock_place" or state.get("shown")):
        return None
    position = position_of(clause, len(stores))
    return None if position is None else stores[position].copy()


def option_chosen(clause: Clause, options: Sequence[RememberedMedication]) -> RememberedMedication | None:
    """Return the option that a clause names, by position, name, strength or form."""
    position = position_of(clause, len(options))
    if position is not None:
        return options[position]
    named = {choice["id"] for medicine in clause.medicines for choice in medicine.candidates}
    fitting = [option for option in options if option["id"] in named] if named else list(options)
    if named and len(fitting) == 1:
        return fitting[0]
    if not named and (clause.medicines or clause.unknown):
        return None  # some other name, though it is none that we know
    for kind, values in (("strength", clause.strengths), ("form", clause.forms)):
        if values:
            narrowed = [
                o for o in fitting if any(same_strength(str(o.get(kind, "")), value) for value in values)
            ]
            if not narrowed and kind == "strength":
                return None  # of a strength that none of them has
            fitting = narrowed or fitting
    if (clause.strengths or clause.forms) and len(fitting) == 1:
        return fitting[0]
    if not clause.strengths and len(clause.numbers) == 1:
        by_number = [o for o in fitting if str(clause.numbers[0]) in str(o.get("strength", "")).split()]
        if len(by_number) == 1:
            return by_number[0]
    return None


def prescription_chosen(clause: Clause, options: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the prescription that a clause points at, by position or by its medicine."""
    position = position_of(clause, len(options))
    if position is not None:
        return options[position]
    named = {choice["id"] for medicine in clause.medicines for choice in medicine.candidates}
    fitting = [row for row in options if row["med_id"] in named]
    return fitting[0] if len(fitting) == 1 else None


def same_strength(text: str, value: str) -> bool:
    """Return whether a product's strength (or form) is the one that was written, whatever the unit's language."""
    hebrew = {"מג": "mg", "מקג": "mcg", "מל": "ml", "גרמ": "g", "מיליגרמ": "mg"}
    amount, _, unit = value.partition(" ")
    return f" {amount} {hebrew.get(unit, unit)} " in f" {text} " or value == text


def asks_rx(clause: Clause) -> bool:
    """Return whether a clause asks if a prescription is needed (and does not just mention one)."""
    spans = clause.cues.spans("rx")
    longer = any(end - start > 1 for start, end in spans)
    words = {clause.words[start] for start, end in spans if end - start == 1}
    wanted = clause.without("stock", "weak_stock") or clause.has("my", "prescriptions", "refill")
    return longer or bool(words & {"otc"}) or (bool(spans) and not wanted)


def has_topic(clause: Clause, but: Collection[str] = ()) -> bool:
    """Return whether a clause asks a question of its own, `but` for those of some cues."""
    topics = (
        "where", "info", "equivalent", "price", "insurance", "restock", "prescriptions", "refill", "renew",
        "strong_person", "hours", "phone", "address", "same", "strong_interaction", "other_person", *SECTIONS,
    )  # fmt: skip
    return (
        clause.has(*(topic for topic in topics if topic not in but))
        or ("stock" not in but and clause.without("stock", "weak_stock"))
        or asks_rx(clause)
    )

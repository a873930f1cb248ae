"""Find the places that a text names: a store, a city with stores, or a place without one (spec section 2).

Names are compared as whole words, longest first; a Hebrew prefix is removed only if the whole word is no name. A
store's name outranks a city's: "יפו, תל אביב" is the branch, while the longer official "תל אביב-יפו" is the city.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from django.db import connection

from pharmacy_site.lib.remembered import remembered
from pharmacy_site.lib.text import fold, hebrew_stems, one_typo
from pharmacy_site.lib.tokens import Span, Token, spans, written
from pharmacy_site.lib.tokens import tokens as tokenize
from stores.models import Locality, LocalityName, Store, StoreAlias

LONGEST_NAME: Final = 5
"""Words in the longest name that is looked up."""
MOST_WORDS: Final = 300
"""Words of a message that are read; nobody names a town after that many."""
SHORTEST_TYPO: Final = 4

_PREPOSITION: Final = re.compile(r"(?:(?:in|at|near|to|from|around|by)\s+)+", re.IGNORECASE)

# "רחוב יפו" and "Jaffa Road" are streets, mostly in another city.
_STREET_BEFORE: Final = frozenset(
    map(fold, ("רחוב", "רח'", "שדרות", "שד'", "דרך", "סמטת", "כיכר", "כביש")),
)
_STREET_AFTER: Final = frozenset(
    ("street", "st", "road", "rd", "avenue", "ave", "boulevard", "blvd", "highway"),
)
# Words after which even a village with the name of a common word counts as a place.
_CUES: Final = frozenset(
    [
        *("in", "at", "near", "to", "from", "around", "by", "branch", "store", "city", "town"),
        *map(fold, ("סניף", "חנות", "עיר", "העיר", "בעיר", "ליד", "באזור", "אזור", "מ", "ב", "ל")),
    ]
)
# Words that may surround a store's number.
_ABOUT_STORES: Final = frozenset(
    [
        *("branch", "store", "shop", "pharmacy", "number", "no", "in", "at", "the", "my", "your"),
        *map(fold, ("סניף", "חנות", "בסניף", "לסניף", "מסניף", "הסניף", "בחנות", "החנות")),
        *map(fold, ("מספר", "מס'", "בית", "מרקחת")),
    ]
)


@dataclass(frozen=True, slots=True)
class StorePlace:
    """One store."""

    store: Store


@dataclass(frozen=True, slots=True)
class CityPlace:
    """A city with its branches (one or more), in the order of their numbers."""

    locality: Locality
    stores: list[Store]


@dataclass(frozen=True, slots=True)
class UnservedPlace:
    """A place without a store: `name` as written, `locality` when the place is known."""

    name: str
    locality: Locality | None


Place = StorePlace | CityPlace | UnservedPlace


@dataclass(frozen=True, slots=True)
class PlaceMention:
    """A place inside a message: word positions in `lib.text.words(message)`, `end` exclusive; `text` as written."""

    place: Place
    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Hit:
    """Some words of a text that are a known name, with the stores and the localities that have it."""

    span: Span
    stores: list[Store] = field(default_factory=list)
    localities: list[Locality] = field(default_factory=list)


def place_find(query: str, *, typo: bool = False) -> Place | None:
    """Return the place that the query names; None for a query without words, or only with words like "branch".

    A number alone is a store's number, since the caller asked for a branch. An unknown name is a place without a store.
    With `typo`, a name one typo away counts if it is the only one.
    """
    tokens = tokenize(query, MOST_WORDS)
    name_words = [token.folded for token in tokens if token.folded not in _ABOUT_STORES]
    if not name_words:
        return None
    if len(name_words) == 1 and name_words[0].isascii() and name_words[0].isdigit():
        number = name_words[0]
        active = Store.objects.select_related("locality").filter(is_active=True)
        store = active.filter(pk=int(number)).first() if len(number) < 10 else None
        return StorePlace(store) if store else UnservedPlace(query.strip(), None)
    hits = _without_streets(_hits(tokens), tokens)
    mentions = _mentions(query, tokens, hits)
    if not mentions and typo and (hit := _near_miss(tokens)):
        mentions = _mentions(query, tokens, [hit])
    if not mentions:
        return UnservedPlace(_PREPOSITION.sub("", query.strip(), count=1), None)
    stores = [mention.place for mention in mentions if isinstance(mention.place, StorePlace)]
    cities = [mention.place for mention in mentions if isinstance(mention.place, CityPlace)]
    return (stores or cities or [mentions[0].place])[0]


def places_in(message: str) -> list[PlaceMention]:
    """Return the places that a message names, in its order; a number alone is not a store here.

    "יפו, תל אביב" is one mention: a city that only says where the store next to it lies is part of that mention.
    """
    tokens = tokenize(message, MOST_WORDS)
    hits = _without_streets(_hits(tokens), tokens)
    return _mentions(message, tokens, [hit for hit in hits if hit.stores or _is_town(hit, tokens)])


def stores_by_id(ids: Collection[int]) -> dict[int, Store]:
    """Return the stores with these numbers, also inactive ones, with their towns; at most one query."""
    return remembered("stores", ids, Store.objects.select_related("locality").in_bulk)


# Written as SQL because every message runs it, and the ORM takes longer to build it than the database to run it.
_NAMED: Final = """
SELECT folded, store_id, 1 FROM stores_storealias WHERE folded IN ({names})
UNION SELECT folded, locality_id, 0 FROM stores_localityname WHERE folded IN ({names})
"""

# -- Words ----------------------------------------------------------------------------------------------------------


def _hits(tokens: list[Token]) -> list[_Hit]:
    """Return the known names among the words in their order, no two overlapping; one query, up to three if there are any."""
    candidates = list(spans(tokens, LONGEST_NAME))
    stores, localities = _named({span.compact for span in candidates})
    taken: set[int] = set()
    hits = []
    for span in candidates:
        name, covered = span.compact, range(span.start, span.end)
        if (name in stores or name in localities) and taken.isdisjoint(covered):
            taken.update(covered)
            hits.append(_Hit(span, stores.get(name, []), localities.get(name, [])))
    return sorted(hits, key=lambda hit: hit.span.start)


def _named(names: Collection[str]) -> tuple[dict[str, list[Store]], dict[str, list[Locality]]]:
    """Return the stores and the towns with these names: stores by number, well-known towns first."""
    found = remembered("names of places", names, _rows_named)
    rows = sorted((name, pk, is_store) for name, of_name in found.items() for pk, is_store in of_name)
    store_of = stores_by_id({pk for _, pk, is_store in rows if is_store})
    towns = {pk for _, pk, is_store in rows if not is_store}
    town_of = remembered("towns", towns, Locality.objects.in_bulk)
    stores: dict[str, list[Store]] = {}
    localities: dict[str, list[Locality]] = {}
    for name, pk, is_store in rows:
        if is_store and pk in store_of and store_of[pk].is_active:
            stores.setdefault(name, []).append(store_of[pk])
        elif not is_store and pk in town_of:
            localities.setdefault(name, []).append(town_of[pk])
    for same_name in localities.values():
        same_name.sort(key=lambda town: not town.is_prominent)
    return stores, localities


def _rows_named(names: Collection[str]) -> dict[str, list[tuple[int, int]]]:
    """Return, by name, the numbers of the stores (1) and of the towns (0) that have it."""
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    if names:
        with connection.cursor() as cursor:
            cursor.execute(_NAMED.format(names=", ".join(["%s"] * len(names))), 2 * sorted(names))
            for name, pk, is_store in cursor.fetchall():
                found[name].append((pk, is_store))
    return found


def _near_miss(tokens: list[Token]) -> _Hit | None:
    """Return the one known place whose name is one typo away from some of the words, if there is exactly one.

    Reads all names once (short strings, no stores), and only after the exact look-up found nothing.
    """
    aliases = StoreAlias.objects.filter(store__is_active=True).values_list("folded", flat=True)
    known = {*aliases, *LocalityName.objects.values_list("folded", flat=True)}
    for span in spans(tokens, LONGEST_NAME):
        name = span.compact
        near = [other for other in known if abs(len(other) - len(name)) <= 1 and one_typo(other, name)]
        if len(name) < SHORTEST_TYPO or not near:
            continue
        rows = Store.objects.filter(aliases__folded__in=near, is_active=True).select_related("locality")
        stores = list(rows.distinct()[:2])
        if len(stores) == 1:
            return _Hit(span, stores=stores)
        towns = list(Locality.objects.filter(names__folded__in=near).distinct()[:2])
        return _Hit(span, localities=towns) if len(towns) == 1 and not stores else None
    return None


# -- Meaning --------------------------------------------------------------------------------------------------------


def _without_streets(hits: list[_Hit], tokens: list[Token]) -> list[_Hit]:
    """Return the hits that are no part of a street's name: in "שדרות ירושלים" neither word is a town."""
    others = []
    for position, hit in enumerate(hits):
        following = hits[position + 1].span.start if position + 1 < len(hits) else None
        is_street_word = tokens[hit.span.start].folded in _STREET_BEFORE and hit.span.end == following
        if not is_street_word and not _is_street(hit, tokens):
            others.append(hit)
    return others


def _is_street(hit: _Hit, tokens: list[Token]) -> bool:
    """Return whether the name is a street's; a street in the address of a store with that name means the store."""
    before = tokens[hit.span.start - 1].folded if hit.span.start else ""
    after = tokens[hit.span.end].folded if hit.span.end < len(tokens) else ""
    street_before = before in _STREET_BEFORE or not _STREET_BEFORE.isdisjoint(hebrew_stems(before))
    if not street_before and after not in _STREET_AFTER:
        return False
    name = " ".join(token.folded for token in tokens[hit.span.start : hit.span.end])[hit.span.prefix :]
    addresses = [address for store in hit.stores for address in (store.address_en, store.address_he)]
    return not any(_names_street(address, name) for address in addresses)


def _names_street(address: str | None, name: str) -> bool:
    """Return whether an address contains a street of this name."""
    text = f" {fold(address or '')} "
    return any(f" {street} {name} " in text for street in _STREET_BEFORE) or any(
        f" {name} {street} " in text for street in _STREET_AFTER
    )


def _is_town(hit: _Hit, tokens: list[Token]) -> bool:
    """Return whether the writer means a town, and not a common word with the same letters."""
    if any(locality.is_prominent or hit.span.end - hit.span.start > 1 for locality in hit.localities):
        return True
    before = tokens[hit.span.start - 1].folded if hit.span.start else ""
    return before in _CUES or len(tokens) == hit.span.end - hit.span.start


def _mentions(message: str, tokens: list[Token], hits: list[_Hit]) -> list[PlaceMention]:
    """Return the hits as places; a city next to its own store is part of that store's mention. At most one query."""
    towns = {locality.pk for hit in hits for locality in hit.localities}
    branches = remembered("branches of towns", towns, _branches)
    mentions: list[PlaceMention] = []
    for position, hit in enumerate(hits):
        neighbours = [hits[other] for other in (position - 1, position + 1) if 0 <= other < len(hits)]
        if not hit.stores and any(_is_town_of(hit, neighbour, tokens) for neighbour in neighbours):
            continue
        start, end = hit.span.start, hit.span.end
        as_written = written(message, tokens, hit.span)
        mentions.append(PlaceMention(_place(hit, branches, as_written), start, end, as_written))
    return mentions


def _is_town_of(hit: _Hit, neighbour: _Hit, tokens: list[Token]) -> bool:
    """Return whether this city only says where the store next to it lies: "Jaffa, Tel Aviv", "Jaffa in TLV"."""
    first, second = sorted((hit.span, neighbour.span), key=lambda span: span.start)
    between = [token.folded for token in tokens[first.end : second.start]]
    towns = {store.locality_id for store in neighbour.stores}
    return between in ([], ["in"], ["of"]) and any(locality.pk in towns for locality in hit.localities)


def _branches(localities: Collection[int]) -> dict[int, list[Store]]:
    """Return the active branches of each locality that has any, by number."""
    branches: dict[int, list[Store]] = {}
    if localities:
        rows = Store.objects.filter(locality__in=localities, is_active=True, kind=Store.Kind.BRANCH)
        for store in rows.select_related("locality").order_by("pk"):
            branches.setdefault(store.locality_id or 0, []).append(store)
    return branches


def _place(hit: _Hit, branches: dict[int, list[Store]], written: str) -> Place:
    """Return the place that a hit means: its store, else the first of its towns with a branch."""
    if hit.stores:
        towns = {store.locality_id: store.locality for store in hit.stores}
        town = hit.stores[0].locality
        if len(hit.stores) > 1 and len(towns) == 1 and town:
            # Several branches of one town have this name.
            return CityPlace(town, hit.stores)
        return StorePlace(hit.stores[0])
    for locality in hit.localities:
        if locality.pk in branches:
            return CityPlace(locality, [*branches[locality.pk]])
    return UnservedPlace(written, hit.localities[0])

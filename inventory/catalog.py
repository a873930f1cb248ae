"""From what people call a medication to the medication: exactly, loosely, as a near miss, or inside a message.

Customers and callers write names in two languages, with prefixes, typos, strengths and forms. What is found is ranked by
how available it is (in stock somewhere, carried by some store, only listed), and only the best rank counts, so that an
imported catalogue of thousands does not make every name ambiguous.
"""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.db.models import Prefetch, prefetch_related_objects

from inventory.errors import MedicationAmbiguous, MedicationNotFound
from inventory.index import index_rebuild
from inventory.labels import BRACKETS, different, label_forms, suggestion_label, suggestion_labels
from inventory.models import (
    FOLDED_LENGTH,
    Category,
    CategoryAlias,
    Medication,
    MedicationIngredient,
    MedicationTerm,
)
from inventory.product_words import Narrowing, narrowing
from inventory.search import (
    LISTED,
    WHOLE_NAMES,
    Match,
    category_matches,
    exact_matches,
    is_whole_word,
    near_words,
    partial_matches,
)
from pharmacy_site.lib.text import compact, fold, hebrew_stems, words
from pharmacy_site.lib.tokens import Span, Token, spans, tokens, written

__all__ = [
    "Mention",
    "Resolved",
    "index_rebuild",
    "medication_first_partial",
    "medication_get",
    "medication_resolve",
    "medications_narrow",
    "medications_search",
    "medications_suggest",
    "mentions_in",
    "misspelt",
    "suggestion_label",
    "suggestion_labels",
]

MOST_CANDIDATES: Final = 10
MOST_RESULTS: Final = 20
_KEEP: Final = 100
"""Rows read per name: more than the products of one name, of which the ten most different are offered."""
_KEEP_FOR_SEARCH: Final = 500
_LONGEST_NAME: Final = 6
_MOST_WORDS: Final = 400
_BIGGEST_ID: Final = 2**63 - 1
_ID: Final = re.compile(r"(?:med-)?([1-9]\d{0,18})", re.ASCII)

Way = Literal["name", "alias", "ingredient", "partial"]
Kind = MedicationTerm.Kind
_WAYS: Final[dict[int, Way]] = {
    Kind.NAME: "name",
    Kind.ALIAS: "alias",
    Kind.INGREDIENT: "ingredient",
    Kind.BRAND: "partial",
}
_BY_NAME: Final = (Kind.NAME, Kind.ALIAS)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The one medication that was meant, and how it was recognised."""

    medication: Medication
    by: Way
    whole_word: bool
    """False when the query is only a piece of a word of the name: worth asking before believing it."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name inside a message: word positions in `lib.text.words(message)`, `end` exclusive; `text` as written."""

    start: int
    end: int
    text: str
    medications: list[Medication]
    """One, or at most ten candidates of equal rank."""
    by: Way


def medication_get(ref: int | str) -> Medication:
    """Return the medication with this id, given as 2, "2" or "med-2"; MedicationNotFound for anything else."""
    number = 0
    if isinstance(ref, str):
        match = _ID.fullmatch(ref)
        number = int(match[1]) if match else 0
    elif not isinstance(ref, bool):
        number = ref
    medication = None
    if 0 < number <= _BIGGEST_ID:
        medication = Medication.objects.select_related("category").filter(pk=number, is_active=True).first()
    if medication is None:
        raise MedicationNotFound(ref)
    return medication


def medication_resolve(query: str, *, ingredients: bool = False) -> Resolved:
    """Return the one medication that the query names, or raise MedicationNotFound or MedicationAmbiguous.

    Exact name, exact alias, the same without Hebrew prefix letters, then part of a name or alias; with `ingredients`,
    exact ingredient before the parts. A suggestion label counts as exact. Products that no store carries give way to
    a carried product that is called exactly so in another way; "med-2" is exact. At most four queries.
    """
    if query.startswith("med-"):
        return Resolved(medication_get(query), "name", whole_word=True)
    readings = _readings(query)
    matches = exact_matches([*readings, *_label_bases(query)], keep=_KEEP)
    kinds = WHOLE_NAMES if ingredients else _BY_NAME
    best = _best_exact(readings, [match for match in matches if match.kind in kinds])
    if best:
        medications = _load(match.medication_id for match in best)
        return _one(query, medications, _WAYS[best[0].kind], whole_word=True)
    folded = fold(query)
    found = _best_rank(partial_matches(folded, kinds=_BY_NAME, keep=_KEEP))
    if not found:
        return _one(query, _by_label(query, readings, matches), "name", whole_word=True)
    whole = [match for match in found if is_whole_word(folded, match.folded)]
    medications = _load(match.medication_id for match in whole or found)
    return _one(query, medications, "partial", whole_word=bool(whole))


def medication_first_partial(query: str) -> Medication:
    """Return the medication of that name, else the first of which the query is a part: best rank, then lowest id."""
    try:
        return medication_resolve(query).medication
    except MedicationAmbiguous as several:
        return min(several.candidates, key=lambda medication: medication.pk)


def medications_search(query: str, limit: int = MOST_RESULTS) -> list[Medication]:
    """Return products whose brand, generic name, ingredient, alias or category the query names, best first.

    Form, strength and release narrow what was found and never empty it. What stores carry hides what is only listed.
    Ingredients are loaded with the products.
    """
    told = words(query)
    wish = narrowing(told)
    core = " ".join(wish.core)
    readings, core_readings = _readings(" ".join(told)), _readings(core)
    matches = exact_matches([*readings, *core_readings], keep=_KEEP_FOR_SEARCH)
    found = _of_reading(readings, matches)
    if not found or all(match.rank == LISTED for match in found):
        found += _of_reading(core_readings, matches)
    of_category = None if found else _in_category([" ".join(told), core])
    if of_category == []:
        return []  # a category that we know and have nothing of: no piece of its name ("אף") is a product's
    found = found or of_category or []
    found = found or partial_matches(core, kinds=WHOLE_NAMES, keep=_KEEP_FOR_SEARCH)
    if not found:
        mentioned = _mentioned(
            tokens(query, _MOST_WORDS), frozenset(), keep=_KEEP_FOR_SEARCH, kinds=WHOLE_NAMES
        )
        found = [match for _span, inside in mentioned for match in inside]
    found = found or _in_category(_pieces(wish.core)) or []
    return _load(_narrowed(found, wish)[:limit], contents=True)


def medications_narrow(medications: Sequence[Medication], query: str) -> list[Medication]:
    """Return those that fit best what the query says about form, strength and release; all when it fits none."""
    wish = narrowing(words(query))
    fits = [wish.fits(form=item.form, strength=item.strength, release=item.release) for item in medications]
    return [item for item, met in zip(medications, fits, strict=True) if met == max(fits)]


def medications_suggest(query: str, limit: int = 3) -> list[Medication]:
    """Return near misses, one per name: what would have been found, had one letter been otherwise.

    For "did you mean …?" only; never a result. A query (or a word of it) that is a known name has no near miss.
    """
    told = narrowing(words(query[: _LONGEST_NAME * FOLDED_LENGTH])).core
    if not told or len(told) > _LONGEST_NAME:
        return []
    wholes = list(_readings(" ".join(told)))
    singles = [reading for word in told for reading in (word, *hebrew_stems(word))]
    near = near_words([*wholes, *singles])
    if exact_matches(wholes, keep=1):
        return []
    corrected = list(dict.fromkeys(other for target in (*wholes, *singles) for other in near.get(target, [])))
    matches = exact_matches(corrected, keep=_KEEP)
    best = [match for name in corrected for match in _best_exact({name: 0}, matches)]
    best.sort(key=lambda match: match.rank == LISTED)
    ids = [match.medication_id for match in best]
    if not ids:
        for word in corrected[:limit]:
            found = _best_rank(partial_matches(word, kinds=_BY_NAME, keep=_KEEP))
            ids += [match.medication_id for match in found if is_whole_word(word, match.folded)]
    by_name: dict[str, Medication] = {}
    for medication in _load(ids[:_KEEP]):
        by_name.setdefault(compact(medication.name_en), medication)
    return list(by_name.values())[:limit]


def misspelt(told: Collection[str]) -> set[str]:
    """Return those of the folded words for which there is a near miss; one query when none of them is near a name."""
    readings = {word: (word, *hebrew_stems(word)) for word in told}
    near = near_words(reading for of_word in readings.values() for reading in of_word)
    nearly = [word for word in readings if any(near.get(reading) for reading in readings[word])]
    return {word for word in nearly if medications_suggest(word, limit=1)}


def mentions_in(message: str, *, ignore: Container[str] = frozenset(), brands: bool = False) -> list[Mention]:
    """Return the medications that a message names exactly, in its order: up to six words, longest first.

    A Hebrew prefix is taken off only when the word with it is no name. Words in `ignore` (folded) never are a name by
    themselves. With `brands` a word with which longer names begin is a mention too, by "partial": "Advil" where only
    "Advil Cold and Sinus" is sold. Three queries.
    """
    told = tokens(message, _MOST_WORDS)
    kinds = tuple(_WAYS) if brands else WHOLE_NAMES
    found = _mentioned(told, ignore, keep=_KEEP, kinds=kinds)
    medications = {
        item.pk: item for item in _load({match.medication_id for _span, best in found for match in best})
    }
    return [
        Mention(
            span.start,
            span.end,
            written(message, told, span),
            different(
                [medications[pk] for pk in dict.fromkeys(match.medication_id for match in best)],
                MOST_CANDIDATES,
            ),
            _WAYS[best[0].kind],
        )
        for span, best in sorted(found, key=lambda entry: entry[0].start)
    ]


# -- Reading a query ------------------------------------------------------------------------------------------------


def _readings(query: str) -> dict[str, int]:
    """The compact names a query may be, with their order: as it stands, then with fewer and fewer prefix letters."""
    told = words(query)
    if not told:
        return {}
    rest = "".join(told[1:])
    names = [told[0] + rest, *(stem + rest for stem in hebrew_stems(told[0]))]
    return {name: place for place, name in reversed(list(enumerate(names)))}


def _label_bases(query: str) -> list[str]:
    """What would be the name, were the query a suggestion label: the text before the brackets, before a comma."""
    plain = BRACKETS.sub("", query)[:400]
    bases = [] if plain == query else [plain]
    bases += [plain[: match.start()] for match in re.finditer(", ", plain)]
    return [compact(base) for base in bases[:5]]


def _by_label(query: str, readings: dict[str, int], matches: list[Match]) -> list[Medication]:
    """The products of which the query is a suggestion label."""
    based = [match for match in matches if match.kind == Kind.NAME and match.compact not in readings]
    if not based:
        return []
    asked = compact(query)
    medications = _load(match.medication_id for match in based)
    return [item for item in medications if any(compact(label) == asked for label in label_forms(item))]


# -- Choosing among matches -----------------------------------------------------------------------------------------


def _best_exact(readings: dict[str, int], matches: list[Match]) -> list[Match]:
    """The matches that count: the least stripped reading, name before alias before ingredient, the best rank.

    A product that is only listed gives way to a carried one of the same reading that is called so in another way, or
    "Advil" would stop meaning the one on the shelf on the day a catalogue is imported.
    """
    rows = [match for match in matches if match.compact in readings]
    carried = [match for match in rows if match.rank != LISTED and match.kind in _BY_NAME]

    def stage(match: Match) -> tuple[int, int, int]:
        return readings[match.compact], match.kind, match.rank

    if not rows:
        return []
    called = min(stage(match)[:2] for match in rows)
    if called[1] == Kind.INGREDIENT:
        rows = _simplest([match for match in rows if stage(match)[:2] == called])
    first = min(map(stage, rows))
    if first[2] == LISTED and any(readings[match.compact] == first[0] for match in carried):
        first = min(stage(match) for match in carried)
    return [match for match in rows if stage(match) == first]


def _simplest(matches: list[Match]) -> list[Match]:
    """Those with the fewest ingredients: a combination in stock is no answer to one ingredient's name."""
    carried = [match for match in matches if match.rank != LISTED] or matches
    contents = MedicationIngredient.objects.filter(medication__in={match.medication_id for match in carried})
    sizes = Counter(contents.values_list("medication_id", flat=True))
    fewest = min(sizes[match.medication_id] for match in carried)
    return [match for match in carried if sizes[match.medication_id] == fewest]


def _best_rank(matches: list[Match]) -> list[Match]:
    return [match for match in matches if match.rank == matches[0].rank]


def _of_reading(readings: dict[str, int], matches: list[Match]) -> list[Match]:
    """All matches of the least stripped reading that has any; the ones of best kind first."""
    rows = [match for match in matches if match.compact in readings]
    first = min((readings[match.compact] for match in rows), default=0)
    rows = [match for match in rows if readings[match.compact] == first]
    return sorted(rows, key=lambda match: (match.rank == LISTED, match.kind, match.rank, match.medication_id))


def _narrowed(matches: list[Match], wish: Narrowing) -> list[int]:
    """The ids of those that meet most of the wishes; of these, what is only listed only if nothing is carried."""
    met = [wish.fits(form=match.form, strength=match.strength, release=match.release) for match in matches]
    fitting = [match for match, count in zip(matches, met, strict=True) if count == max(met)]
    carried = [match for match in fitting if match.rank != LISTED]
    return list(dict.fromkeys(match.medication_id for match in carried or fitting))


def _mentioned(
    told: list[Token], ignore: Container[str], *, keep: int, kinds: Collection[int]
) -> list[tuple[Span, list[Match]]]:
    """The spans of a message that are names, with what they mean; two queries."""
    candidates = [span for span in spans(told, _LONGEST_NAME) if _may_be_name(span, ignore)]
    matches: dict[str, list[Match]] = {}
    for match in exact_matches({span.compact for span in candidates}, keep=keep, kinds=kinds):
        matches.setdefault(match.compact, []).append(match)
    taken: set[int] = set()
    found = []
    for span in candidates:
        name = span.compact
        if name not in matches or not taken.isdisjoint(range(span.start, span.end)):
            continue
        if span.prefix and told[span.start].folded in matches:
            continue  # "לוסק" is a name: its first letter is no "to"
        taken.update(range(span.start, span.end))
        found.append((span, _best_exact({name: 0}, matches[name])))
    return found


def _may_be_name(span: Span, ignore: Container[str]) -> bool:
    name, alone = span.compact, span.end - span.start == 1
    letters = 2 if name[:2].isalpha() and len(name) > 1 else sum(map(str.isalpha, name))
    return letters >= 2 and not (alone and name in ignore)


def _pieces(core: list[str]) -> list[str]:
    """The words in a row, most first, that may name a category inside a longer query."""
    lengths = range(min(len(core), 4), 0, -1)
    return [" ".join(core[at : at + length]) for length in lengths for at in range(len(core) - length + 1)]


def _in_category(names: list[str]) -> list[Match] | None:
    """The products of the category that the first fitting name means, stocked ones first; None when none is meant."""
    readings = [reading for name in names for reading in _readings(name)]
    readings += [f"{name}s" for name in readings if name.isascii()]
    wanted = set(readings[:_KEEP])
    if not wanted:
        return None
    known = dict(CategoryAlias.objects.filter(folded__in=wanted).values_list("folded", "category_id"))
    for row in Category.objects.values_list("pk", "slug", "name_en", "name_he"):  # a few dozen at most
        known |= {compact(name): row[0] for name in row[1:] if name and compact(name) in wanted}
    category = next((known[name] for name in readings if name in known), None)
    return None if category is None else category_matches(category, keep=_KEEP_FOR_SEARCH)


# -- Loading --------------------------------------------------------------------------------------------------------


def contents_load(medications: Iterable[Medication]) -> None:
    """Reads the ingredients of those that have not been read with theirs, in one query."""
    rows = MedicationIngredient.objects.select_related("ingredient").order_by("position", "pk")
    prefetch_related_objects(list(medications), Prefetch("contents", rows))


def _load(ids: Iterable[int], *, contents: bool = False) -> list[Medication]:
    """The medications in the order of the ids, each once; at most one query (two with their ingredients)."""
    order = list(dict.fromkeys(ids))
    found = Medication.objects.select_related("category").in_bulk(order)
    if contents:
        contents_load(found.values())
    return [found[pk] for pk in order if pk in found]


def _one(query: str, medications: list[Medication], by: Way, *, whole_word: bool) -> Resolved:
    if not medications:
        raise MedicationNotFound(query)
    if len(medications) > 1:
        candidates = different(medications, MOST_CANDIDATES)
        raise MedicationAmbiguous(query, candidates, more=len(medications) > len(candidates))
    return Resolved(medications[0], by, whole_word)

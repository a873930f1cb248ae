"""Find the medication that somebody names: exactly, loosely, as a near miss, or inside a message.

Customers and callers write names in two languages, with prefixes, typos, strengths and forms. Matches are ranked by
how available the product is (in stock somewhere, carried by some store, only listed), and only the best rank counts,
so that an imported catalogue of thousands does not make every name ambiguous.
"""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from django.db.models import Prefetch, prefetch_related_objects

from inventory.errors import MedicationAmbiguous, MedicationNotFound
from inventory.labels import different, label_forms
from inventory.matching import (
    BY_NAME,
    LONGEST_NAME,
    MOST_MATCHES,
    MOST_MATCHES_OF_SEARCH,
    best_exact,
    best_rank,
    best_reading,
    ids_narrowed,
    label_bases,
    matches_of_category,
    names_in,
    query_readings,
    word_sequences,
)
from inventory.models import FOLDED_LENGTH, Medication, MedicationIngredient, MedicationTerm
from inventory.product_words import narrowing_read
from inventory.search import (
    LISTED,
    WHOLE_NAMES,
    Match,
    exact_matches,
    is_whole_word,
    near_words,
    partial_matches,
)
from pharmacy_site.lib.remembered import remembered
from pharmacy_site.lib.text import compact, fold, hebrew_stems, words
from pharmacy_site.lib.tokens import tokens as tokenize
from pharmacy_site.lib.tokens import written

MOST_CANDIDATES: Final = 10
MOST_RESULTS: Final = 20
_MOST_WORDS: Final = 400
_BIGGEST_ID: Final = 2**63 - 1
_ID: Final = re.compile(r"(?:med-)?([1-9]\d{0,18})", re.ASCII)

MatchedBy = Literal["name", "alias", "ingredient", "partial"]
Kind = MedicationTerm.Kind
_MATCHED_BY: Final[dict[int, MatchedBy]] = {
    Kind.NAME: "name",
    Kind.ALIAS: "alias",
    Kind.INGREDIENT: "ingredient",
    Kind.BRAND: "partial",
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """The one medication that a query means, and how it was recognised."""

    medication: Medication
    by: MatchedBy
    whole_word: bool
    """False when the query is only a piece of a word of the name: worth asking back before believing it."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name inside a message: word positions in `lib.text.words(message)`, `end` exclusive; `text` as written."""

    start: int
    end: int
    text: str
    medications: list[Medication]
    """One, or at most ten candidates of equal rank."""
    by: MatchedBy


@dataclass(frozen=True, slots=True)
class MedicationName:
    """One folded name of a medication."""

    text: str
    is_whole: bool
    """False for an ingredient of several, and for a name's first word alone."""


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
    a carried product that has exactly this name in another way; "med-2" is exact. At most four queries.
    """
    if query.startswith("med-"):
        return Resolved(medication_get(query), "name", whole_word=True)
    readings = query_readings(query)
    matches = exact_matches([*readings, *label_bases(query)], keep=MOST_MATCHES)
    kinds = WHOLE_NAMES if ingredients else BY_NAME
    best = best_exact(readings, [match for match in matches if match.kind in kinds])
    if best:
        medications = _load(match.medication_id for match in best)
        return _one(query, medications, _MATCHED_BY[best[0].kind], whole_word=True)
    folded = fold(query)
    partial = best_rank(partial_matches(folded, kinds=BY_NAME, keep=MOST_MATCHES))
    if not partial:
        return _one(query, _by_label(query, readings, matches), "name", whole_word=True)
    whole = [match for match in partial if is_whole_word(folded, match.folded)]
    medications = _load(match.medication_id for match in whole or partial)
    return _one(query, medications, "partial", whole_word=bool(whole))


def medication_first_partial(query: str) -> Medication:
    """Return the medication with that name, else the first whose name contains it: best rank, then lowest id."""
    try:
        return medication_resolve(query).medication
    except MedicationAmbiguous as ambiguous:
        return min(ambiguous.candidates, key=lambda medication: medication.pk)


def medications_search(query: str, limit: int = MOST_RESULTS) -> list[Medication]:
    """Return products whose brand, generic name, ingredient, alias or category the query names, best first.

    Form, strength and release narrow the results and never empty them. Products that stores carry hide those that are
    only listed. Ingredients are loaded with the products.
    """
    query_words = words(query)
    narrowing = narrowing_read(query_words)
    whole, name = " ".join(query_words), " ".join(narrowing.name_words)
    whole_readings, name_readings = query_readings(whole), query_readings(name)
    matches = exact_matches([*whole_readings, *name_readings], keep=MOST_MATCHES_OF_SEARCH)
    results = best_reading(whole_readings, matches)
    if not results or all(match.rank == LISTED for match in results):
        results += best_reading(name_readings, matches)
    of_category = None if results else matches_of_category([whole, name])
    if of_category == []:
        # A category that we know and have nothing of: no piece of its name ("אף") is a product's.
        return []
    results = results or of_category or []
    results = results or partial_matches(name, kinds=WHOLE_NAMES, keep=MOST_MATCHES_OF_SEARCH)
    if not results:
        tokens = tokenize(query, _MOST_WORDS)
        named = names_in(tokens, frozenset(), keep=MOST_MATCHES_OF_SEARCH, kinds=WHOLE_NAMES)
        results = [match for _span, of_span in named for match in of_span]
    results = results or matches_of_category(word_sequences(narrowing.name_words)) or []
    return _load(ids_narrowed(results, narrowing)[:limit], contents=True)


def medications_suggest(query: str, limit: int = 3) -> list[Medication]:
    """Return near misses, one per name: what the query would find if one letter were different.

    For "did you mean …?" only, never as a result. A query (or a word of it) that is a known name has no near miss.
    """
    name_words = narrowing_read(words(query[: LONGEST_NAME * FOLDED_LENGTH])).name_words
    if not name_words or len(name_words) > LONGEST_NAME:
        return []
    wholes = list(query_readings(" ".join(name_words)))
    singles = [reading for word in name_words for reading in (word, *hebrew_stems(word))]
    near = near_words([*wholes, *singles])
    if exact_matches(wholes, keep=1):
        return []
    corrected = list(dict.fromkeys(other for target in (*wholes, *singles) for other in near.get(target, [])))
    matches = exact_matches(corrected, keep=MOST_MATCHES)
    best = [match for name in corrected for match in best_exact({name: 0}, matches)]
    best.sort(key=lambda match: match.rank == LISTED)
    ids = [match.medication_id for match in best]
    if not ids:
        for word in corrected[:limit]:
            partial = best_rank(partial_matches(word, kinds=BY_NAME, keep=MOST_MATCHES))
            ids += [match.medication_id for match in partial if is_whole_word(word, match.folded)]
    by_name: dict[str, Medication] = {}
    for medication in _load(ids[:MOST_MATCHES]):
        by_name.setdefault(compact(medication.name_en), medication)
    return list(by_name.values())[:limit]


def misspelt(folded_words: Collection[str]) -> set[str]:
    """Return those of the words that have a near miss; one query when no name is near."""
    readings = {word: (word, *hebrew_stems(word)) for word in folded_words}
    near = near_words(reading for of_word in readings.values() for reading in of_word)
    candidates = [word for word in readings if any(near.get(reading) for reading in readings[word])]
    return {word for word in candidates if medications_suggest(word, limit=1)}


def mentions_in(message: str, *, ignore: Container[str] = frozenset(), brands: bool = False) -> list[Mention]:
    """Return the medications that a message names exactly, in its order: up to six words, longest first.

    A Hebrew prefix is taken off only when the word with it is no name. Words in `ignore` (folded) never are a name by
    themselves. With `brands`, the first word of longer names is a mention too, by "partial": "Advil" where only
    "Advil Cold and Sinus" is sold. Three queries.
    """
    tokens = tokenize(message, _MOST_WORDS)
    kinds = tuple(_MATCHED_BY) if brands else WHOLE_NAMES
    named = names_in(tokens, ignore, keep=MOST_MATCHES, kinds=kinds)
    medications = {
        item.pk: item for item in _load({match.medication_id for _span, best in named for match in best})
    }
    return [
        Mention(
            span.start,
            span.end,
            written(message, tokens, span),
            different(
                [medications[pk] for pk in dict.fromkeys(match.medication_id for match in best)],
                MOST_CANDIDATES,
            ),
            _MATCHED_BY[best[0].kind],
        )
        for span, best in sorted(named, key=lambda entry: entry[0].start)
    ]


def medication_names(ids: Collection[int]) -> dict[int, list[MedicationName]]:
    """Return all names of these medications by id, of both languages: names, aliases, ingredients, brands. Two queries."""
    sizes = Counter(
        MedicationIngredient.objects.filter(medication__in=ids).values_list("medication", flat=True)
    )
    rows = MedicationTerm.objects.filter(medication__in=ids).values_list("medication", "kind", "term__folded")
    names: dict[int, list[MedicationName]] = {pk: [] for pk in ids}
    for pk, kind, text in rows:
        is_whole = kind in BY_NAME or (kind == Kind.INGREDIENT and sizes[pk] < 2)
        names[pk].append(MedicationName(text, is_whole))
    return names


# -- Loading --------------------------------------------------------------------------------------------------------


def contents_load(medications: Iterable[Medication]) -> None:
    """Read the ingredients of those that were not read with theirs, in one query."""
    rows = MedicationIngredient.objects.select_related("ingredient").order_by("position", "pk")
    prefetch_related_objects(list(medications), Prefetch("contents", rows))


def _load(ids: Iterable[int], *, contents: bool = False) -> list[Medication]:
    """Return the medications in the order of the ids, each once; at most one query (two with their ingredients)."""
    order = list(dict.fromkeys(ids))
    by_id = remembered("medications", order, Medication.objects.select_related("category").in_bulk)
    if contents:
        contents_load(by_id.values())
    return [by_id[pk] for pk in order if pk in by_id]


def _by_label(query: str, readings: dict[str, int], matches: list[Match]) -> list[Medication]:
    """Return the products for which the query is a suggestion label."""
    based = [match for match in matches if match.kind == Kind.NAME and match.compact not in readings]
    if not based:
        return []
    label = compact(query)
    medications = _load(match.medication_id for match in based)
    return [item for item in medications if any(compact(form) == label for form in label_forms(item))]


def _one(query: str, medications: list[Medication], by: MatchedBy, *, whole_word: bool) -> Resolved:
    """Return the only medication as resolved, or raise for none and for several."""
    if not medications:
        raise MedicationNotFound(query)
    if len(medications) > 1:
        candidates = different(medications, MOST_CANDIDATES)
        raise MedicationAmbiguous(query, candidates, more=len(medications) > len(candidates))
    return Resolved(medications[0], by, whole_word)

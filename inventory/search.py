"""Read the search index: look up exact names, parts of names and near misses.

`index.py` derives the index from the catalogue. No look-up scans the catalogue: exact names are found through an index
on `compact`, parts of names through trigrams, typos through words with one letter left out. `matching.py` and
`catalog.py` decide what the matches mean.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple

from django.db import connection
from django.db.models import (
    Case,
    Exists,
    IntegerField,
    OuterRef,
    QuerySet,
    Value,
    When,
)
from django.db.models.expressions import RawSQL

from inventory.models import (
    FOLDED_LENGTH,
    WORD_LENGTH,
    Medication,
    MedicationTerm,
    SearchTerm,
    SearchWord,
    StockLevel,
    WordDeletion,
)
from pharmacy_site.lib.remembered import remembered
from pharmacy_site.lib.text import compact, deletions, one_typo

STOCKED, CARRIED, LISTED = 0, 1, 2
"""Ranks of availability: in stock somewhere, carried by some store, only in the catalogue."""

SHORTEST_TYPO: Final = 4
"""Shorter words have too many neighbours: near "iron" a typo is likely, near "ace" nearly any word would match."""
_TRIGRAM: Final = 3
_LAST_CHARACTER: Final = "\U0010ffff"

Kind = MedicationTerm.Kind
WHOLE_NAMES: Final = (Kind.NAME, Kind.ALIAS, Kind.INGREDIENT)


class Match(NamedTuple):
    """A name in the index: the medication that has it, the kind of name, and how available the product is."""

    folded: str
    compact: str
    medication_id: int
    kind: int
    rank: int
    form: str
    release: str
    strength: str


_COLUMNS: Final = (
    "medication_id",
    "kind",
    "rank",
    "medication__form",
    "medication__release",
    "medication__strength",
)


# Written as SQL because every message runs it several times, and the ORM takes longer to build it than the database to
# run it.
_TERMS: Final = "SELECT id, folded, compact FROM inventory_searchterm WHERE compact IN ({names})"
_OF_TERMS: Final = f"""
SELECT term_id, medication_id, kind, rank, form, "release", strength FROM (
    SELECT ranked.*, ROW_NUMBER() OVER (PARTITION BY term_id, kind ORDER BY rank, medication_id) AS place FROM (
        SELECT term.term_id, term.medication_id, term.kind, product.form, product."release", product.strength,
            CASE WHEN EXISTS (SELECT 1 FROM inventory_stocklevel level
                              WHERE level.medication_id = term.medication_id AND level.quantity > 0) THEN {STOCKED}
                 WHEN EXISTS (SELECT 1 FROM inventory_stocklevel level
                              WHERE level.medication_id = term.medication_id) THEN {CARRIED}
                 ELSE {LISTED} END AS rank
        FROM inventory_medicationterm term JOIN inventory_medication product ON product.id = term.medication_id
        WHERE product.is_active AND term.kind IN ({{kinds}}) AND term.term_id IN ({{terms}})
    ) ranked
) placed
WHERE place <= %s ORDER BY kind, rank, medication_id
"""


def exact_matches(names: Collection[str], *, keep: int, kinds: Collection[int] = WHOLE_NAMES) -> list[Match]:
    """Return the products with these compact names, the `keep` most available per name and kind. At most two queries.

    The terms are read first: given their ids, the query planner need not guess how many products have a name.
    """
    usable = {name for name in names if name and len(name) <= FOLDED_LENGTH}
    by_name = remembered(
        ("exact_matches", keep, *sorted(kinds)), sorted(usable), lambda new: _exact_matches(new, keep, kinds)
    )
    matches = [match for of_name in by_name.values() for match in of_name]
    return sorted(matches, key=lambda match: (match.kind, match.rank, match.medication_id, match.folded))


def _exact_matches(names: Collection[str], keep: int, kinds: Collection[int]) -> dict[str, list[Match]]:
    if not names:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_TERMS.format(names=_places(names)), sorted(names))
        terms = {pk: (folded, name) for pk, folded, name in cursor.fetchall()}
        if not terms:
            return {}
        statement = _OF_TERMS.format(kinds=_places(kinds), terms=_places(terms))
        cursor.execute(statement, [*sorted(kinds), *sorted(terms), keep])
        by_name: dict[str, list[Match]] = {}
        for term_id, *row in cursor.fetchall():
            match = Match(*terms[term_id], *row)
            by_name.setdefault(match.compact, []).append(match)
        return by_name


def _places(values: Collection[object]) -> str:
    return ", ".join(["%s"] * len(values))


def partial_matches(folded: str, *, kinds: Collection[int], keep: int) -> list[Match]:
    """Return products with a name that contains the folded text (begins with it, below three letters). One query."""
    if not folded or len(folded) > FOLDED_LENGTH:
        return []
    columns = ("term__folded", "term__compact", *_COLUMNS)
    return [Match(*row) for row in partial_query(folded, kinds=kinds)[:keep].values_list(*columns)]


def partial_query(folded: str, *, kinds: Collection[int]) -> QuerySet[MedicationTerm, Any]:
    """Return the query of `partial_matches`; SQL wildcards in the text are ordinary characters."""
    rows = _ranked().filter(kind__in=sorted(kinds), term__in=terms_containing(folded))
    return rows.order_by("rank", "medication_id", "kind")


def terms_containing(folded: str) -> QuerySet[SearchTerm, Any]:
    """Return the terms that contain a folded text (begin with it, below three letters)."""
    terms = SearchTerm.objects.all()
    if connection.vendor == "postgresql":
        if len(folded) < _TRIGRAM:
            return terms.filter(folded__startswith=folded)
        return terms.filter(folded__contains=folded)
    if len(folded) < _TRIGRAM:
        # LIKE ignores case on SQLite and therefore cannot use the index; a range can.
        return terms.filter(folded__gte=folded, folded__lt=folded + _LAST_CHARACTER)
    phrase = '"' + folded.replace('"', '""') + '"'
    table = "inventory_searchterm_fts"
    return terms.filter(pk__in=RawSQL(f"SELECT rowid FROM {table} WHERE {table} MATCH %s", [phrase]))


def category_matches(category_id: int, *, keep: int) -> list[Match]:
    """Return the products of a category as matches by name, the most available first. One query."""
    rows = Medication.objects.filter(category=category_id, is_active=True)
    rows = rows.annotate(rank=_rank("pk")).order_by("rank", "pk")
    columns = rows.values_list("pk", "rank", "form", "release", "strength")[:keep]
    return [Match("", "", pk, Kind.NAME, rank, *product) for pk, rank, *product in columns]


def near_words(targets: Iterable[str]) -> dict[str, list[str]]:
    """Return for each compact word the indexed words one typo away; a word that is indexed itself has none. One query."""
    usable = {word for word in targets if SHORTEST_TYPO <= len(word) <= WORD_LENGTH}
    if not usable:
        return {}
    candidates = set(near_query(usable))
    return {
        word: [] if word in candidates else sorted(other for other in candidates if one_typo(word, other))
        for word in usable
    }


def near_query(targets: Collection[str]) -> QuerySet[Any, str]:
    """Return the query of `near_words`: candidates that share the word or one of its deletions."""
    variants = sorted(set(targets).union(*map(deletions, targets)))
    meant = SearchWord.objects.filter(text__in=variants).values_list("text", flat=True)
    by_deletion = WordDeletion.objects.filter(variant__in=variants).values_list("word__text", flat=True)
    return meant.union(by_deletion)


def is_whole_word(folded_query: str, folded_name: str) -> bool:
    """Return whether the query is made of whole words of the name, in a row."""
    return f" {folded_query} " in f" {folded_name} " or compact(folded_query) == compact(folded_name)


def _ranked() -> QuerySet[MedicationTerm, Any]:
    """Return the terms of active medications, annotated with `rank`."""
    return MedicationTerm.objects.filter(medication__is_active=True).annotate(rank=_rank("medication_id"))


def _rank(medication: str) -> Case:
    """Return the expression for how available a product is; both subqueries read one small index."""
    levels = StockLevel.objects.filter(medication=OuterRef(medication))
    return Case(
        When(Exists(levels.filter(quantity__gt=0)), then=Value(STOCKED)),
        When(Exists(levels), then=Value(CARRIED)),
        default=Value(LISTED),
        output_field=IntegerField(),
    )

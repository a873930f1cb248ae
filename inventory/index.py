"""Write the search index: derive terms, words and deletions from medications, aliases and ingredients."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Model, QuerySet

from inventory.models import (
    FOLDED_LENGTH,
    WORD_LENGTH,
    Ingredient,
    IngredientAlias,
    Medication,
    MedicationAlias,
    MedicationIngredient,
    MedicationTerm,
    SearchTerm,
    SearchWord,
    StockLevel,
    WordDeletion,
)
from inventory.search import SHORTEST_TYPO, is_whole_word, terms_containing
from pharmacy_site.lib.text import compact, deletions, fold

BATCH: Final = 2_000
"""Medications indexed at a time: a compromise between speed and memory."""
_CHUNK: Final = 500
"""Values in one IN: below the limits of both databases."""

_DERIVED: Final = (WordDeletion, SearchWord, MedicationTerm, SearchTerm)

Kind = MedicationTerm.Kind


def index_rebuild(medication_ids: Iterable[int] | None = None) -> int:
    """Write the index rows of these medications (all with None) and return how many medications were indexed.

    For all medications the index is emptied first; for some of them, terms that nothing uses any more are removed.
    """
    if medication_ids is None:
        with transaction.atomic():
            for model in _DERIVED:
                # Not `delete()`: that would read every row to look for dependent ones.
                model._default_manager.all()._raw_delete(using="default")
            ids = Medication.objects.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=BATCH)
            count = sum(_batch(batch) for batch in _batches(ids, BATCH))
            _analyse()
            return count
    count = 0
    for batch in _batches(iter(sorted(set(medication_ids))), BATCH):
        with transaction.atomic():
            before = _terms_of(batch)
            _in_chunks(MedicationTerm.objects.all(), "medication_id__in", batch, delete=True)
            count += _batch(batch)
            index_prune(before)
    if count >= BATCH:
        _analyse()
    return count


def index_forget(medication_ids: Iterable[int]) -> None:
    """Remove medications from the index, before they are deleted."""
    ids = sorted(set(medication_ids))
    with transaction.atomic():
        before = _terms_of(ids)
        _in_chunks(MedicationTerm.objects.all(), "medication_id__in", ids, delete=True)
        index_prune(before)


def index_prune(term_ids: Iterable[int]) -> None:
    """Remove those of the terms that no medication has any more, and the words that occur in no other term."""
    ids = sorted(set(term_ids))
    unused: dict[int, str] = {}
    for chunk in _batches(iter(ids), _CHUNK):
        rows = SearchTerm.objects.filter(pk__in=chunk, uses__isnull=True)
        unused.update(rows.values_list("pk", "folded"))
    if not unused:
        return
    _in_chunks(SearchTerm.objects.all(), "pk__in", list(unused), delete=True)
    unused_words = {word for folded in unused.values() for word in _typo_words(folded)}
    # The deletions are found by their variant: only this function would read an index from word to deletion.
    for word in sorted(word for word in unused_words if not _is_used(word)):
        WordDeletion.objects.filter(variant__in=deletions(word), word__text=word)._raw_delete(using="default")
        SearchWord.objects.filter(text=word)._raw_delete(using="default")


def _batch(ids: Sequence[int]) -> int:
    """Write the rows of medications that have none and return how many medications there were."""
    named = _names(ids)
    kinds: dict[tuple[int, str], int] = {}
    for medication_id, name, kind in named:
        folded = fold(name)[:FOLDED_LENGTH].strip()
        first, _, rest = folded.partition(" ")
        terms = {folded: kind}
        if kind == Kind.NAME and rest and first.isalpha() and len(first) >= SHORTEST_TYPO:
            terms[first] = Kind.BRAND
        for term, term_kind in terms.items():
            if term:
                key = (medication_id, term)
                kinds[key] = min(term_kind, kinds.get(key, term_kind))
    ids_of_terms = _ids(SearchTerm, "folded", {folded for _medication, folded in kinds})
    new_terms = {folded for _medication, folded in kinds} - ids_of_terms.keys()
    _insert(SearchTerm, ("folded", "compact"), ((folded, compact(folded)) for folded in sorted(new_terms)))
    ids_of_terms |= _ids(SearchTerm, "folded", new_terms)
    rows = ((medication_id, ids_of_terms[folded], kind) for (medication_id, folded), kind in kinds.items())
    _insert(MedicationTerm, ("medication_id", "term_id", "kind"), rows)
    words = {word for folded in new_terms for word in _typo_words(folded)}
    words -= _ids(SearchWord, "text", words).keys()
    _insert(SearchWord, ("text",), ((word,) for word in sorted(words)))
    ids_of_words = _ids(SearchWord, "text", words)
    pairs = ((ids_of_words[word], variant) for word in sorted(words) for variant in sorted(deletions(word)))
    _insert(WordDeletion, ("word_id", "variant"), pairs)
    return len(ids)


def _analyse() -> None:
    """Update PostgreSQL's statistics; until autovacuum does, its planner would scan the tables."""
    if connection.vendor == "postgresql":
        tables = [
            connection.ops.quote_name(model._meta.db_table) for model in (*_DERIVED, Medication, StockLevel)
        ]
        with connection.cursor() as cursor:
            # Until then every look-up also scans the list of names that are not in the trigram index yet.
            cursor.execute("SELECT gin_clean_pending_list('inventory_searchterm_folded_trgm')")
            cursor.execute(f"ANALYZE {', '.join(tables)}")


def _names(ids: Sequence[int]) -> list[tuple[int, str, int]]:
    """Return every name of every medication of the batch, with its kind."""
    names: list[tuple[int, str, int]] = []
    columns: tuple[str, ...] = ("pk", "name_en", "name_he", "generic_name_en", "generic_name_he")
    for row in _in_chunks(Medication.objects.order_by(), "pk__in", ids, columns=columns):
        names += [(row[0], name, Kind.NAME) for name in row[1:3] if name]
        names += [(row[0], name, Kind.INGREDIENT) for name in row[3:5] if name]
    columns = ("medication_id", "text")
    aliases = _in_chunks(MedicationAlias.objects.all(), "medication_id__in", ids, columns=columns)
    names += [(medication_id, text, Kind.ALIAS) for medication_id, text in aliases]
    columns = ("medication_id", "ingredient_id")
    rows = MedicationIngredient.objects.order_by()
    contents = list(_in_chunks(rows, "medication_id__in", ids, columns=columns))
    ingredients: dict[int, set[str]] = {}
    used = sorted({ingredient for _medication, ingredient in contents})
    columns = ("pk", "key", "name_en", "name_he", "display_en", "display_he")
    for row in _in_chunks(Ingredient.objects.order_by(), "pk__in", used, columns=columns):
        ingredients[row[0]] = {name for name in row[1:] if name}
    columns = ("ingredient_id", "text")
    others = _in_chunks(IngredientAlias.objects.all(), "ingredient_id__in", used, columns=columns)
    for ingredient_id, text in others:
        ingredients[ingredient_id].add(text)
    for medication_id, ingredient_id in contents:
        names += [(medication_id, name, Kind.INGREDIENT) for name in ingredients[ingredient_id]]
    return names


def _typo_words(folded: str) -> set[str]:
    """Return the words of a name that may be misspelt, and the whole name as one word."""
    words = {*folded.split(), folded.replace(" ", "")}
    return {
        word
        for word in words
        if SHORTEST_TYPO <= len(word) <= WORD_LENGTH and not word.replace(".", "").isdigit()
    }


def _is_used(word: str) -> bool:
    """Return whether some term still contains the word, or is the word."""
    if SearchTerm.objects.filter(compact=word).exists():
        return True
    holders = terms_containing(word).values_list("folded", flat=True)
    return any(is_whole_word(word, folded) for folded in holders[:2_000])


def _terms_of(ids: Sequence[int]) -> list[int]:
    rows = _in_chunks(MedicationTerm.objects.all(), "medication_id__in", ids, columns=("term_id",))
    return [row[0] for row in rows]


def _ids(model: type[Model], column: str, values: Iterable[str]) -> dict[str, int]:
    rows = _in_chunks(model._default_manager.all(), f"{column}__in", sorted(values), columns=(column, "pk"))
    return dict(rows)


def _in_chunks(
    rows: QuerySet[Any, Any],
    lookup: str,
    values: Sequence[Any],
    *,
    columns: tuple[str, ...] = (),
    delete: bool = False,
) -> Iterable[Any]:
    """Read (or delete) the rows whose column has one of many values, a chunk at a time."""
    result: list[Any] = []
    for chunk in _batches(iter(values), _CHUNK):
        part = rows.filter(**{lookup: chunk})
        if delete:
            part._raw_delete(using="default")
        else:
            result += part.values_list(*columns)
    return result


def _insert(model: type[Model], columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows that do not exist yet, without an object for each: there are a quarter of a million of them."""
    quote = connection.ops.quote_name
    by_column = {field.column: field for field in model._meta.concrete_fields}
    types = [by_column[column].db_type(connection) for column in columns]
    into = f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(map(quote, columns))})"
    with connection.cursor() as cursor:
        for batch in _batches(iter(rows), BATCH):
            if connection.vendor == "postgresql":
                # One array per column: with a placeholder per value, most of the time would go into parsing.
                arrays = ", ".join(f"%s::{kind}[]" for kind in types)
                values = [list(column) for column in zip(*batch, strict=True)]
                cursor.execute(f"{into} SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING", values)
            else:
                holders = ", ".join(["%s"] * len(columns))
                cursor.executemany(f"{into} VALUES ({holders}) ON CONFLICT DO NOTHING", batch)


def _batches(values: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(values, size)):
        yield batch

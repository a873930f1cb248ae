"""Choose among the matches of the search index: which reading of a query counts, and which products it then means.

`search.py` finds rows, this module compares them, `catalog.py` loads the products that are left.
"""

import re
from collections import Counter
from collections.abc import Collection, Container
from typing import Final

from inventory.labels import BRACKETS
from inventory.models import Category, CategoryAlias, MedicationIngredient, MedicationTerm
from inventory.product_words import Narrowing
from inventory.search import LISTED, Match, category_matches, exact_matches
from pharmacy_site.lib.text import compact, hebrew_stems, words
from pharmacy_site.lib.tokens import Span, Token, spans

LONGEST_NAME: Final = 6
"""Words in the longest name that is looked for inside a message."""
MOST_MATCHES: Final = 100
"""Rows read per name: more than the products of one name, of which the ten most different are offered."""
MOST_MATCHES_OF_SEARCH: Final = 500

Kind = MedicationTerm.Kind
BY_NAME: Final = (Kind.NAME, Kind.ALIAS)


# -- Reading a query ------------------------------------------------------------------------------------------------


def query_readings(query: str) -> dict[str, int]:
    """Return the compact names that a query may be, with their order: as typed, then with fewer prefix letters."""
    query_words = words(query)
    if not query_words:
        return {}
    first, rest = query_words[0], "".join(query_words[1:])
    names = [first + rest, *(stem + rest for stem in hebrew_stems(first))]
    return {name: order for order, name in reversed(list(enumerate(names)))}


def label_bases(query: str) -> list[str]:
    """Return what would be the name if the query were a suggestion label: the text before brackets and commas."""
    plain = BRACKETS.sub("", query)[:400]
    bases = [] if plain == query else [plain]
    bases += [plain[: match.start()] for match in re.finditer(", ", plain)]
    return [compact(base) for base in bases[:5]]


def word_sequences(name_words: list[str]) -> list[str]:
    """Return the sequences of one to four neighbouring words, longest first, as candidates for a category's name."""
    lengths = range(min(len(name_words), 4), 0, -1)
    return [
        " ".join(name_words[start : start + length])
        for length in lengths
        for start in range(len(name_words) - length + 1)
    ]


# -- Choosing among matches -----------------------------------------------------------------------------------------


def best_exact(readings: dict[str, int], matches: list[Match]) -> list[Match]:
    """Return the matches of the least stripped reading: name before alias before ingredient, then the best rank.

    A product that is only listed gives way to a carried one of the same reading that has the name in another way:
    otherwise "Advil" would stop meaning the product on the shelf as soon as a catalogue is imported.
    """
    rows = [match for match in matches if match.compact in readings]
    if not rows:
        return []

    def stage(match: Match) -> tuple[int, int, int]:
        return readings[match.compact], match.kind, match.rank

    best_reading_and_kind = min(stage(match)[:2] for match in rows)
    carried = [match for match in rows if match.rank != LISTED and match.kind in BY_NAME]
    if best_reading_and_kind[1] == Kind.INGREDIENT:
        rows = _with_fewest_ingredients(
            [match for match in rows if stage(match)[:2] == best_reading_and_kind]
        )
    best = min(map(stage, rows))
    if best[2] == LISTED and any(readings[match.compact] == best[0] for match in carried):
        best = min(stage(match) for match in carried)
    return [match for match in rows if stage(match) == best]


def best_rank(matches: list[Match]) -> list[Match]:
    """Return those of the sorted matches that are as available as the first one."""
    return [match for match in matches if match.rank == matches[0].rank]


def best_reading(readings: dict[str, int], matches: list[Match]) -> list[Match]:
    """Return all matches of the least stripped reading that has any, best kind first."""
    rows = [match for match in matches if match.compact in readings]
    least = min((readings[match.compact] for match in rows), default=0)
    rows = [match for match in rows if readings[match.compact] == least]
    return sorted(rows, key=lambda match: (match.rank == LISTED, match.kind, match.rank, match.medication_id))


def ids_narrowed(matches: list[Match], narrowing: Narrowing) -> list[int]:
    """Return the ids that meet most of the narrowing; among these, listed products only if none is carried."""
    met = [
        narrowing.count_met(form=match.form, strength=match.strength, release=match.release)
        for match in matches
    ]
    fitting = [match for match, count in zip(matches, met, strict=True) if count == max(met)]
    carried = [match for match in fitting if match.rank != LISTED]
    return list(dict.fromkeys(match.medication_id for match in carried or fitting))


def names_in(
    tokens: list[Token], ignore: Container[str], *, keep: int, kinds: Collection[int]
) -> list[tuple[Span, list[Match]]]:
    """Return the spans of a message that are names, longest first, with what each means. Two queries."""
    candidates = [span for span in spans(tokens, LONGEST_NAME) if _may_be_name(span, ignore)]
    matches: dict[str, list[Match]] = {}
    for match in exact_matches({span.compact for span in candidates}, keep=keep, kinds=kinds):
        matches.setdefault(match.compact, []).append(match)
    taken: set[int] = set()
    named = []
    for span in candidates:
        name = span.compact
        if name not in matches or not taken.isdisjoint(range(span.start, span.end)):
            continue
        if span.prefix and tokens[span.start].folded in matches:
            # "לוסק" is a name: its first letter is no prefix "to".
            continue
        taken.update(range(span.start, span.end))
        named.append((span, best_exact({name: 0}, matches[name])))
    return named


def matches_of_category(names: list[str]) -> list[Match] | None:
    """Return the products of the category that the first fitting name means, stocked ones first; None without one."""
    readings = [reading for name in names for reading in query_readings(name)]
    readings += [f"{name}s" for name in readings if name.isascii()]
    wanted = set(readings[:MOST_MATCHES])
    if not wanted:
        return None
    ids = dict(CategoryAlias.objects.filter(folded__in=wanted).values_list("folded", "category_id"))
    # All categories are read: there are a few dozen at most.
    for pk, *category_names in Category.objects.values_list("pk", "slug", "name_en", "name_he"):
        ids |= {compact(name): pk for name in category_names if name and compact(name) in wanted}
    category = next((ids[name] for name in readings if name in ids), None)
    return None if category is None else category_matches(category, keep=MOST_MATCHES_OF_SEARCH)


def _with_fewest_ingredients(matches: list[Match]) -> list[Match]:
    """Return the simplest products: a combination in stock does not answer for one ingredient's name."""
    carried = [match for match in matches if match.rank != LISTED] or matches
    contents = MedicationIngredient.objects.filter(medication__in={match.medication_id for match in carried})
    sizes = Counter(contents.values_list("medication_id", flat=True))
    fewest = min(sizes[match.medication_id] for match in carried)
    return [match for match in carried if sizes[match.medication_id] == fewest]


def _may_be_name(span: Span, ignore: Container[str]) -> bool:
    """Return whether a span has enough letters for a name and is no single word to be ignored."""
    name, is_single_word = span.compact, span.end - span.start == 1
    letters = 2 if name[:2].isalpha() and len(name) > 1 else sum(map(str.isalpha, name))
    return letters >= 2 and not (is_single_word and name in ignore)

"""Split a message into folded words that know where they were written.

The words are those of `lib.text.words`. Their positions allow to quote the original, and their segments show between
which commas they are: a name does not reach over a comma.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from pharmacy_site.lib.text import compact, hebrew_stems, words

# A comma parts two names, but not the digits of a decimal number.
_CHUNK: Final = re.compile(r"(?:[^\s,;:!?()\[\]]|(?<=\d),(?=\d))+")
_PART: Final = re.compile(r"[^-\u2010-\u2015\u05be/.+&]+")
_BREAK: Final = re.compile(r"[,;:!?()\[\]\n]")
_EDGE_MARKS: Final = "-.,'\"`׳״־"


class Token(NamedTuple):
    """A folded word with the number of its segment (between commas) and its position in the original."""

    folded: str
    segment: int
    start: int
    end: int


class Span(NamedTuple):
    """Adjacent words that may be a name; `compact` is that name without blanks."""

    start: int
    end: int
    compact: str
    prefix: int = 0
    """How many Hebrew prefix letters were taken off the first word."""


def tokens(message: str, most: int) -> list[Token]:
    """Return the first `most` words of a message, the same that `lib.text.words` returns."""
    found: list[Token] = []
    segment, last = 0, 0
    for chunk in _CHUNK.finditer(message):
        if _BREAK.search(message, last, chunk.start()) or message[max(last - 1, 0) : last] == ".":
            segment += 1
        last = chunk.end()
        whole = words(chunk.group())
        parts = list(_PART.finditer(chunk.group()))
        inside = [whole] if len(parts) == 1 else [words(part.group()) for part in parts]
        if [
            word for part_words in inside for word in part_words
        ] != whole:  # "1.5" is one word, for all its dot
            found += [Token(word, segment, chunk.start(), chunk.end()) for word in whole]
        else:
            for part, part_words in zip(parts, inside, strict=True):
                start, end = chunk.start() + part.start(), chunk.start() + part.end()
                found += [Token(word, segment, start, end) for word in part_words]
        if len(found) > most:
            break
    expected = words(message)
    if [token.folded for token in found] != expected[: len(found)]:
        # A sign that folds to several ("½" to 1 and 2) can join its neighbours: then no position is known.
        found = [Token(word, 0, 0, len(message)) for word in expected]
    return found[:most]


def spans(message: list[Token], longest: int) -> Iterator[Span]:
    """Yield all spans inside one segment, longest first: as written, then without Hebrew prefix letters."""
    folded = [token.folded for token in message]
    for length in range(min(longest, len(message)), 0, -1):
        for start in range(len(message) - length + 1):
            end = start + length
            if message[start].segment != message[end - 1].segment:
                continue
            first, rest = folded[start], "".join(folded[start + 1 : end])
            yield Span(start, end, first + rest)
            for stem in hebrew_stems(first):
                yield Span(start, end, stem + rest, prefix=len(first) - len(stem))


def written(message: str, found: list[Token], span: Span) -> str:
    """Return the span as it was written, without the prefix letters that were taken off to find it."""
    text = message[found[span.start].start : found[span.end - 1].end].strip(_EDGE_MARKS)
    stripped = text[span.prefix :].lstrip(_EDGE_MARKS)
    # With niqqud a letter is more than one character; then the word stays as written.
    stem = found[span.start].folded[span.prefix :]
    return stripped if span.prefix and compact(stripped).startswith(stem) else text

"""Read a date of birth as people type it, and mask it; for a conversation that was asked for one. Pure: no database.

A text has one reading or none. In numbers the day comes first, as in Israel; the month comes first only where that is the
only possible date ("12/31/1985"). Two digits are the latest such year that is not in the future. The day may be in words
("the second of May 1980", "שני במאי 1980"), in English the year too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from pharmacy_site.lib.shadow import Shadow
from pharmacy_site.lib.vocabulary import (
    ENGLISH_DAY,
    ENGLISH_NUMBERS,
    ENGLISH_ORDINALS,
    HEBREW_DAY_WORD,
    HEBREW_ORDINALS,
    HEBREW_START,
    MONTH,
    MONTH_NUMBERS,
    NUMBER_WORDS,
)
from prescriptions.masking import BIRTH_WORD, DATES, MASK, masked

_OLDEST: Final = 130
_NAME: Final = rf"(?P<name>{MONTH})"
_GAP: Final = r"[\s,./'-]*"
_WORDS: Final = {**NUMBER_WORDS, **ENGLISH_ORDINALS, **HEBREW_ORDINALS}
_BELOW_HUNDRED: Final = "|".join(word for word, number in ENGLISH_NUMBERS.items() if number < 100)
_YEAR_IN_WORDS: Final = rf"(?:(?P<century>nineteen|twenty|two\s+thousand)(?P<rest>(?:[\s-]+(?:and|oh|{_BELOW_HUNDRED})\b)+)|(?P<year>\d{{4}}|\d{{2}})(?!\d))"
_SHAPES: Final = (
    *DATES,
    # "31dec1985", "31-Dec-'85", "31 בחודש דצמבר 1985"
    re.compile(
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_GAP}(?:of\s+|[בל]-?(?:חודש\s+)?)?{_NAME}{_GAP}"
        r"(?:of\s+|שנת\s+)?(?P<year>\d{4}|\d{2})(?!\d)"
    ),
    re.compile(
        rf"(?<!\w){_NAME}{_GAP}(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s,./'-]+(?:of\s+)?(?P<year>\d{{4}}|\d{{2}})(?!\d)"
    ),
    re.compile(rf"(?<!\d)(?P<year>\d{{4}}){_GAP}{_NAME}{_GAP}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)"),
    # "the second of May 1980", "May the 2nd, nineteen eighty", "בשני במאי 1980"
    re.compile(
        rf"(?<!\w)(?P<day>{ENGLISH_DAY}|\d{{1,2}}(?:st|nd|rd|th)?)(?:\s+day)?(?:\s+of)?\s+{_NAME}[\s,]+(?:of\s+)?{_YEAR_IN_WORDS}"
    ),
    re.compile(
        rf"(?<!\w){_NAME}\s+(?:the\s+)?(?P<day>{ENGLISH_DAY}|\d{{1,2}}(?:st|nd|rd|th)?)[\s,]+(?:of\s+)?{_YEAR_IN_WORDS}"
    ),
    re.compile(
        rf"{HEBREW_START}[הבלו]{{0,2}}-?(?P<day>{HEBREW_DAY_WORD}(?:\s+ו?{HEBREW_DAY_WORD})*)\s+[בל]-?{_NAME}[\s,]+(?:שנת\s+)?"
        r"(?P<year>\d{4}|\d{2})(?!\d)"
    ),
)
# Without separators, only where the message says nothing else or speaks of birth: such a number may be anything.
_COMPACT: Final = re.compile(r"(?<!\d)(?:\d{8}|\d{6})(?!\d)")
_SEPARATORS: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class BirthTyped:
    """A message that may be stored, whether a date was in it, and the only date of birth that it can mean."""

    text: str
    is_given: bool = False
    born: date | None = None


def birth_typed(text: str, *, today: date | None = None) -> BirthTyped:
    """Return the message with every date and other secret masked; `born` is None for none, an impossible one, or several."""
    today = today or datetime.now(UTC).date()
    shadow = Shadow(text)
    spans = _apart([(*match.span(), _read(match, today)) for match in _found(shadow.text)])
    shown = shadow.replaced((start, end, MASK) for start, end, _ in spans)
    readings = {born for _, _, born in spans}
    # A date with an impossible one beside it is not certain either.
    only = readings.pop() if len(readings) == 1 else None
    return BirthTyped(masked(shown, challenge_open=False, today=today).text, bool(spans), only)


def birth_read(text: str, *, today: date | None = None) -> date | None:
    """Return the date of birth that a text means, if it has one reading, else None."""
    return birth_typed(text, today=today).born


def _found(text: str) -> Iterator[re.Match[str]]:
    for shape in _SHAPES:
        yield from shape.finditer(text)
    alone = len(_SEPARATORS.sub("", text)) in (6, 8)
    if alone or BIRTH_WORD.search(text):
        yield from _COMPACT.finditer(text)


def _apart(spans: list[tuple[int, int, date | None]]) -> list[tuple[int, int, date | None]]:
    """Keep of overlapping spans the longest one; the shapes before others win between equals."""
    kept: list[tuple[int, int, date | None]] = []
    for span in sorted(spans, key=lambda one: one[0] - one[1]):
        if all(span[1] <= start or end <= span[0] for start, end, _ in kept):
            kept.append(span)
    return kept


def _read(match: re.Match[str], today: date) -> date | None:
    """Return the date that one of the shapes found, or None for one that does not exist or cannot be a birth."""
    parts = match.groupdict()
    if not parts:
        return _compact(match.group(), today)
    if parts.get("name"):
        year = parts["year"] or _year(parts["century"], parts["rest"])
        return _date(year, MONTH_NUMBERS[parts["name"]], _day(parts["day"]), today)
    first, second = int(parts["first"]), int(parts["second"])
    if match.start("year") < match.start("first"):
        month, day = first, second
    else:
        month, day = second, first
    if month > 12:
        month, day = day, month
    return _date(parts["year"], month, day, today)


def _day(text: str) -> int:
    """Return the number of a day in digits or in words; 0 for words that are no number."""
    if digits := re.match(r"\d+", text):
        return int(digits.group())
    return sum(
        _WORDS.get(word, 0) or _WORDS.get(word.removeprefix("ו"), 0) for word in re.split(r"[\s-]+", text)
    )


def _year(century: str, rest: str) -> str:
    """Return the digits of an English year in words: "nineteen" and "eighty-five"."""
    hundreds = 2_000 if century.endswith("thousand") else 100 * ENGLISH_NUMBERS[century]
    return str(hundreds + sum(ENGLISH_NUMBERS.get(word, 0) for word in re.split(r"[\s-]+", rest)))


def _compact(digits: str, today: date) -> date | None:
    if len(digits) == 8 and (born := _date(digits[:4], int(digits[4:6]), int(digits[6:]), today)):
        return born  # no such number is also a day, a month and a year of the last centuries
    return _date(digits[4:], int(digits[2:4]), int(digits[:2]), today)


def _date(year: str, month: int, day: int, today: date) -> date | None:
    number = int(year)
    if len(year) == 2:
        number += 2000
        number -= 100 * (_possible(number, month, day, today) is None)
    return _possible(number, month, day, today)


def _possible(year: int, month: int, day: int, today: date) -> date | None:
    """Return this day if it exists, has come, and somebody alive can have been born on it."""
    if not today.year - _OLDEST <= year <= today.year:
        return None
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found if found <= today else None

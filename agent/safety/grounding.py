"""Find the numbers of an answer that no evidence proves.

Numbers are compared in a canonical form: "1,000" and "1000.0" are `1000`; a date is `date:2026-01-15`, a time of day
`time:20:00`, a phone `tel:35551234` (without country code and trunk zero), a distance `km:1.234`, the length of a list
`count:3`. Dates, times and phones are units: 20:00 proves "8 pm", but not twenty tablets. The canonical form can be stored
and read again as evidence. Numbers spelled as words are not checked.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, NamedTuple

from agent.safety.disclosure import Findings, facts_of
from pharmacy_site.lib.json_values import walk
from pharmacy_site.lib.vocabulary import MONTH_NAMES, MONTHS_SHORT

_MONTHS: Final = (MONTHS_SHORT, MONTH_NAMES["he"])
_MONTH: Final = rf"(?:{'|'.join(MONTHS_SHORT)})[a-z]*\.?|[בל]?(?:{'|'.join(MONTH_NAMES['he'])}|מרס)"
_FIRST_LETTERS: Final = "".join(sorted({name[0] for names in _MONTHS for name in names} | set("tkcdבל")))
_MERIDIEM: Final = r"[ap]\.?m\b\.?"

# The order matters: a date is no phone, a phone is no range, and so on down to a plain number. Most places of a text can
# begin none of them, so the first character is checked before each kind is tried.
_TOKEN: Final = re.compile(
    rf"""
    (?=[\d+(])(?:
        (?P<iso>(?<!\d)\d{{4}}-\d\d-\d\d)(?:[T ](?P<isotime>\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)
      | (?P<dmy>(?<![\d.])\d{{1,2}}(?P<sep>[./-])\d{{1,2}}(?P=sep)(?:\d{{4}}|\d\d)(?!\d))
      | (?P<tel>(?<![\w.])(?:\+\d{{1,3}}[ -]?\(?\d{{1,3}}\)?[ -]?\d{{3}}[ -]?\d{{3,4}}|\(?0\d{{1,2}}\)?[ -]?\d{{3}}[ -]?\d{{4}}
          |1[ -]?[78]00[ -]?\d{{3}}[ -]?\d{{3}})(?!\d))
      | (?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month>{_MONTH})(?:,?\s(?P<year>\d{{4}}))?(?!\w)
      | (?P<time>(?<![\d:])\d{{1,2}}:\d\d(?::\d\d)?(?:\s?{_MERIDIEM})?|(?<![\d.])\d{{1,2}}\s?{_MERIDIEM})
      | (?P<dm>(?<![\d./])\d{{1,2}}/\d{{1,2}}(?![\d/]))
      | (?P<number>\d+(?:,\d{{3}})+(?:\.\d+)?(?![\d,])|\d+(?:[.,]\d+)?)
    )
  | \b(?=[{_FIRST_LETTERS}])(?:
        (?P<stored>(?:tel|km|count):[\d.]+|time:\d\d:\d\d|date:\d\d-\d\d\b(?!-))
      | (?P<month2>{_MONTH})\s(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s(?P<year2>\d{{4}}))?(?!\d)
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KM_AFTER: Final = re.compile(r"\s?[-–]?\s?(?:km\b|kms\b|kilomet|קמ|ק[\"״''׳`]+מ|ק״מ|קילומטר)", re.IGNORECASE)
_KM_KEY: Final = re.compile(r"(?:^|_)km(?:$|_)|distance|kilomet", re.IGNORECASE)
_POSITION_BEFORE: Final = re.compile(
    r"(?:#|\b(?:option|number|no\.?|item|choice)|אפשרות|מספר|פריט|מס['׳]?)\s?$", re.IGNORECASE
)
_CANONICAL: Final = re.compile(r"(?:(?:date|time|tel|km|count):)?[\d.:-]+")
# Digits that Decimal stores exactly.
_EXACT: Final = 28
_NUMBER: Final = (int, float, Decimal)
_DIGIT: Final = re.compile(r"[0-9]")
_LIST_MARKER: Final = re.compile(r"^[ \t]*[*_]{0,2}(\d{1,2})[.)](?=\s)", re.MULTILINE)


class _Found(NamedTuple):
    """A number as it was written, and every canonical reading of it."""

    written: str
    readings: tuple[str, ...]
    # Numbers that prove it together when no reading is known: 1 and 2 for 1/2.
    parts: tuple[str, ...] = ()
    start: int = 0
    end: int = 0


def _plain(text: str) -> str:
    """Return a number without thousands separators and needless zeros."""
    if len(text) <= _EXACT and text.isascii() and text.isdecimal():
        return text.lstrip("0") or "0"
    if re.fullmatch(r"\d+(?:,\d{3})+(?:\.\d+)?", text) and not text.startswith("0"):
        text = text.replace(",", "")
    try:
        number = Decimal(text.replace(",", "."))
    except InvalidOperation:
        return text
    return format(number.normalize(), "f")


def _days(first: int, second: int, year: int | None) -> tuple[str, ...]:
    """Return the readings of day/month and month/day that are dates."""
    found = []
    for day, month in ((first, second), (second, first)):
        try:
            valid = date(year or 2000, month, day)  # 2000 is a leap year: 29 February passes
        except ValueError:
            continue
        found.append(f"date:{valid.isoformat()}" if year else f"date:{valid:%m-%d}")
    return tuple(dict.fromkeys(found))


def _tel(text: str) -> str:
    digits = re.sub(r"\D", "", text)
    digits = digits[3:] if digits.startswith("972") and len(digits) >= 11 else digits
    return f"tel:{digits.lstrip('0')}"


def _time(text: str) -> tuple[str, ...]:
    hour, _, rest = re.sub(r"[^\d:]", "", text).partition(":")
    hours, minutes = int(hour), int(rest[:2] or 0)
    mark = re.search(r"([ap])\.?m", text, re.IGNORECASE)
    if mark:
        hours = hours % 12 + (12 if mark[1].lower() == "p" else 0)
    return (f"time:{hours:02}:{minutes:02}",)


def _month(name: str) -> int:
    name = name.casefold().rstrip(".")
    for months in _MONTHS:
        for number, known in enumerate(months, 1):
            if name.startswith(known) or name[1:].startswith(known):
                return number
    return 3  # מרס, the other spelling of March


def _scan(text: str) -> Iterator[_Found]:
    """Yield the numbers of a text that `_normal` has put into plain digits."""
    for m in _TOKEN.finditer(text):
        readings: tuple[str, ...]
        parts: tuple[str, ...] = ()
        if m["number"]:
            readings = (_plain(m["number"]),)
        elif m["stored"]:
            readings = (m["stored"],)
        elif m["iso"]:
            readings = (f"date:{m['iso']}", *((f"time:{m['isotime']}",) if m["isotime"] else ()))
        elif m["dmy"]:
            first, second, last = (int(part) for part in m["dmy"].split(m["sep"]))
            readings = _days(first, second, last if last > 99 else 2000 + last)
        elif m["tel"]:
            readings = (_tel(m["tel"]),)
        elif m["month"] or m["month2"]:
            year = m["year"] or m["year2"]
            day, month = int(m["day"] or m["day2"]), _month(m["month"] or m["month2"])
            readings = (f"date:{year}-{month:02}-{day:02}" if year else f"date:{month:02}-{day:02}",)
        elif m["time"]:
            readings = _time(m["time"])
        else:
            first, second = (int(part) for part in m["dm"].split("/"))
            readings, parts = _days(first, second, None), (str(first), str(second))
        yield _Found(m.group().strip(), readings, parts, m.start(), m.end())


def _normal(text: str) -> str:
    """Return the text with plain digits (also from other scripts and ½), fractions and blanks, without direction marks."""
    if text.isascii():
        return text
    return "".join(map(_normal_char, unicodedata.normalize("NFKC", text).replace("\u2044", "/")))


@lru_cache(maxsize=1024)
def _normal_char(char: str) -> str:
    if unicodedata.category(char) == "Cf":
        return ""
    return str(unicodedata.decimal(char)) if char.isdecimal() else char


def _in_text(text: str) -> list[str]:
    # Most strings of a result hold no number, and normalising and scanning are the costly part.
    if not (_DIGIT.search(text) if text.isascii() else any(map(str.isnumeric, text))):
        return []
    text = _normal(text)
    numbers: list[str] = []
    for found in _scan(text):
        numbers += found.readings
        numbers += found.parts
        if _KM_AFTER.match(text, found.end):
            numbers += (f"km:{reading}" for reading in found.readings)
    return numbers


class _Numbers:
    """The numbers of some values. Each text is scanned once, since branches share hours and rows share keys."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._read: set[str] = set()

    def take(self, value: object) -> None:
        """Add the numbers of one more value."""
        for key, inner in walk(value):
            if isinstance(inner, str):
                self._take_text(inner)
            elif inner is None or isinstance(inner, bool):
                continue
            elif isinstance(inner, _NUMBER):
                plain = str(inner) if not isinstance(inner, float) else format(Decimal(repr(inner)), "f")
                number = _plain(plain).lstrip("-")
                self.found.add(number)
                if _KM_KEY.search(key):
                    self.found.add(f"km:{number}")
            elif isinstance(inner, Mapping):
                for name in inner:
                    self._take_text(str(name))
            elif isinstance(inner, list | tuple):
                # Canonical numbers stored as evidence are no list of items, so its length proves no count.
                if not inner or not all(
                    isinstance(item, str) and _CANONICAL.fullmatch(item) for item in inner
                ):
                    self.found.add(f"count:{len(inner)}")
            elif isinstance(inner, date | datetime | time):
                self._take_text(inner.isoformat() if not isinstance(inner, time) else f"{inner:%H:%M}")
            else:
                self._take_text(str(inner))

    def _take_text(self, text: str) -> None:
        if text not in self._read:
            self._read.add(text)
            self.found.update(_in_text(text))


def numbers_of(result: Mapping[str, Any], evidence: Mapping[str, Any]) -> Sequence[str]:
    """Return the canonical numbers of what an answer may state of a call, sorted. Callers must not change it."""
    return Findings(result, evidence).once("numbers", _numbers_of)


def _numbers_of(found: Findings) -> list[str]:
    numbers = _Numbers()
    numbers.take(facts_of(found.result, found.evidence))
    return sorted(numbers.found)


def _known(numbers: Iterable[str]) -> set[str]:
    """Return the numbers with everything that each of them proves."""
    known = set(numbers)
    for number in list(known):
        kind, _, rest = number.rpartition(":") if not number.startswith("time:") else ("time", ":", "")
        if kind == "date" and len(rest) == len("2026-01-15"):
            year, month, day = rest.split("-")
            known |= {f"date:{month}-{day}", year, str(int(month)), str(int(day))}
        elif kind == "km":
            distance = Decimal(rest)
            for step in (Decimal(1), Decimal("0.1")):
                for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN):
                    known.add(f"km:{_plain(str(distance.quantize(step, rounding)))}")
    return known


def _markers(text: str) -> set[int]:
    """Return the places of list markers that count up from 1; another number at a line's start needs evidence."""
    places, expected = set(), 1
    for marker in _LIST_MARKER.finditer(text):
        number = int(marker[1])
        if number == 1:
            expected = 1  # a second list
        if number == expected:
            places.add(marker.start(1))
            expected += 1
    return places


class Grounds:
    """The evidence that the numbers of an answer are checked against.

    `evidence` are tool results (nested dicts, lists, texts, numbers) or lists from `numbers_of`; `allowed` are
    texts whose numbers may be used as well: configured contacts, the customer's own words. The length of a list in the
    evidence proves a count, and with "option", "number" or "#" before it any position up to it.
    """

    def __init__(self, evidence: Iterable[object] = (), allowed: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._longest = 0
        self.add(evidence)
        self._known |= _known(number for text in allowed for number in _in_text(text))

    def add(self, evidence: Iterable[object]) -> None:
        """Add further evidence."""
        numbers = _Numbers()
        for source in evidence:
            numbers.take(source)
        self.prove(numbers.found)

    def prove(self, numbers: Iterable[str]) -> None:
        """Add proven numbers in their canonical form."""
        proofs = set(numbers)
        lengths = {int(number[6:]) for number in proofs if number.startswith("count:")}
        self._known |= _known(proofs) | {str(length) for length in lengths}
        self._longest = max(self._longest, *lengths) if lengths else self._longest

    def missing(self, answer: str) -> list[str]:
        """Return the numbers of an answer that nothing proves, as they were written, in their order."""
        text = _normal(answer)
        markers = _markers(text)
        missing = []
        for found in _scan(text):
            if found.start in markers:
                continue
            if any(reading in self._known for reading in found.readings):
                continue
            if found.parts and all(part in self._known for part in found.parts):
                continue
            if _KM_AFTER.match(text, found.end) and any(
                f"km:{reading}" in self._known for reading in found.readings
            ):
                continue
            position = found.readings[0] if found.readings else ""
            if (
                position.isdigit()
                and 1 <= int(position) <= self._longest
                and _POSITION_BEFORE.search(text, 0, found.start)
            ):
                continue
            missing.append(found.written)
        return missing

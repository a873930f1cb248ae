"""Mask the secrets in a message before it is stored: codes, dates of birth and national ids. Pure: no database.

A number is masked only when its shape and the words around it say what it is. Phone numbers and e-mail addresses
(identifiers that the assistant asks for), strengths, order dates and prescription numbers must stay readable.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final, Literal

from pharmacy_site.lib.shadow import Shadow
from pharmacy_site.lib.vocabulary import EMAIL_LOOSE, HEBREW_END, HEBREW_START, MONTH, QUANTITY

MASK: Final = "••••••"
Kind = Literal["code", "birth", "national_id"]

_YOUNGEST: Final = 16
"""A full date at least so many years ago counts as a date of birth even if the message does not say so."""
_OLDEST: Final = 130

# A whole number, possibly with single blanks, dashes or dots between its digits.
_RUN: Final = re.compile(r"\d(?:[ .-]?\d)*")
_CODE_SHAPES: Final = (
    re.compile(r"\d{6}"),
    re.compile(r"\d{3}[ .-]\d{3}"),
    re.compile(r"\d{2}[ .-]\d{2}[ .-]\d{2}"),
    re.compile(r"\d(?:[ .-]\d){5}"),
)
_SIX: Final = re.compile(r"(?<!\d)(?<!\d[.-])\d{6}(?!\d)(?![.-]\d)")
_UNIT_AFTER: Final = re.compile(rf"\s?(?:{QUANTITY}|₪)(?!\w)")
_NUMBER_OF_THING: Final = re.compile(
    r"(?:\b(?:prescription|rx|order|invoice|receipt|mrn|patient|policy|voucher|ticket)s?"
    r"|(?:ה|ל|ב)?(?:מרשם|הזמנה|קבלה|חשבונית|פוליסה|שובר|פנייה))"
    r"(?:\s*(?:number|no\.?|nr\.?|id|is|מספר|מס'?|:|\#))*\s*$"
)
# "H-123456": a number after a letter is a label, not a code.
_LABEL: Final = re.compile(r"[a-z]-?$")
_BEFORE: Final = 60
"""How many characters before a number are searched for words that say what it is."""
CODE_WORD: Final = re.compile(r"\b(?:code|otp|pin)\b|קוד|סיסמ")

_MONTH: Final = f"(?P<name>{MONTH})"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>\d{4}|\d{2})"
DATES: Final = (
    re.compile(
        r"(?<!\d)(?<!\d[./-])(?P<first>\d{1,2})(?P<mark>\s?[./-]\s?|\s)(?P<second>\d{1,2})(?P=mark)"
        + _YEAR
        + r"(?!\d)(?![./-]\d)"
    ),
    re.compile(
        r"(?<!\d)(?<!\d[./-])(?P<year>\d{4})(?P<mark>\s?[./-]\s?|\s)(?P<first>\d{1,2})(?P=mark)"
        r"(?P<second>\d{1,2})(?!\d)(?![./-]\d)"
    ),
    re.compile(rf"(?<!\d){_DAY}[\s,.-]*(?:of\s+|[בל]-?)?{_MONTH}[\s,.-]+{_YEAR}(?!\d)"),
    re.compile(rf"(?<!\w){_MONTH}[\s.-]+{_DAY}[\s,.-]+{_YEAR}(?!\d)"),
)
_COMPACT_DATE: Final = re.compile(
    r"(?<!\d)(?:(?P<year>(?:19|20)\d\d)(?P<first>\d\d)(?P<second>\d\d)"
    r"|(?P<first2>\d\d)(?P<second2>\d\d)(?P<year2>(?:19|20)\d\d))(?!\d)"
)
BIRTH_WORD: Final = re.compile(
    r"\b(?:born|birth(?! ?control)|birthday|b-?day|birthdate|dob|d\.o\.b)\b|ת\.\s?לידה"
    rf"|{HEBREW_START}[וש]?(?:נולד(?:תי|ה|ו|נו)?|ה?לידה|ה?הולדת|ה?יומולדת|ילידת?){HEBREW_END}"
)

ID_WORD: Final = re.compile(
    r"(?:\b(?:national id|identity|identification|id card|id number|id no|my id"
    r"|(?:his|her|israeli) id|teudat|zehut|tz|t\.z|passport)\b"
    rf"|תעודת|זהות|{HEBREW_START}[הבלו]?ת\"?\.?ז{HEBREW_END}|דרכון)[^\d\n]{{0,25}}$"
)
_LONE_ID: Final = re.compile(r"\W*(?:id|i\.d\.?)\W*")
PHONE_WORD: Final = re.compile(
    r"(?:\b(?:phone|tel|telephone|mobile|cell|call|number is|fax)\b"
    r"|טלפון|טל'?|נייד|פלאפון|סלולרי|להתקשר)[^\d\n]{0,15}$"
)
_LANDLINE: Final = re.compile(r"0[23489]-")


@dataclass(frozen=True)
class Masked:
    """A message that may be stored, with its secrets masked, and the code that it contained."""

    text: str
    code: str | None = None
    kinds: frozenset[Kind] = field(default_factory=frozenset)


def masked(text: str, *, challenge_open: bool, today: date | None = None) -> Masked:
    """Return the message with its codes, dates of birth and national ids masked.

    Six digits are a code only while a challenge is open; the first such number is returned as `code`, in ASCII digits.
    """
    shadow = Shadow(text)
    today = today or datetime.now(UTC).date()
    spans: list[tuple[int, int, Kind]] = []
    taken = [match.span() for match in EMAIL_LOOSE.finditer(shadow.text)]

    def add(start: int, end: int, kind: Kind) -> bool:
        is_taken = any(start < stop and begin < end for begin, stop in taken)
        if not is_taken:
            taken.append((start, end))
            spans.append((start, end, kind))
        return not is_taken

    code = None
    if challenge_open:
        for start, end in codes_in(shadow.text):
            if add(start, end, "code") and code is None:
                code = re.sub(r"\D", "", shadow.text[start:end])
    for start, end in births_in(shadow.text, today):
        add(start, end, "birth")
    for start, end in _national_ids(shadow.text):
        add(start, end, "national_id")
    shown = shadow.replaced((start, end, MASK) for start, end, _ in spans)
    return Masked(shown, code, frozenset(kind for _, _, kind in spans))


def codes_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of six digits that are not part of a longer number, a quantity or a label."""
    says_code = bool(CODE_WORD.search(text))
    for run in _RUN.finditer(text):
        if any(shape.fullmatch(run.group()) for shape in _CODE_SHAPES):
            candidates = [run.span()]
        else:
            candidates = [match.span() for match in _SIX.finditer(text, *run.span())]
        for start, end in candidates:
            if (
                _UNIT_AFTER.match(text, end)
                or text[start - 1 : start] in {"+", "/"}
                or text[end : end + 1] == "/"
            ):
                continue
            before = text[max(0, start - _BEFORE) : start]
            if says_code or not (_NUMBER_OF_THING.search(before) or _LABEL.search(before)):
                yield start, end


def births_in(text: str, today: date) -> Iterator[tuple[int, int]]:
    """Yield the spans of full dates that are long past, or of any full date if the message speaks of birth."""
    says_birth = bool(BIRTH_WORD.search(text))
    for pattern in DATES:
        for match in pattern.finditer(text):
            short = len(match["year"]) == 2
            if (short and not says_birth) or not is_calendar_date(match):
                continue
            year = int(match["year"]) + (1900 if short else 0)
            if says_birth or today.year - _OLDEST <= year <= today.year - _YOUNGEST:
                yield match.span()
    if says_birth:
        for match in _COMPACT_DATE.finditer(text):
            first, second = match["first"] or match["first2"], match["second"] or match["second2"]
            if is_day_and_month(int(first), int(second)):
                yield match.span()


def is_calendar_date(match: re.Match[str]) -> bool:
    """Return whether what one of the `DATES` found has a possible day and month."""
    parts = match.groupdict()
    if parts.get("name"):
        return 1 <= int(parts["day"]) <= 31
    return is_day_and_month(int(parts["first"]), int(parts["second"]))


def is_day_and_month(first: int, second: int) -> bool:
    """Return whether two numbers can be a day and a month, in either order."""
    low, high = sorted((first, second))
    return 1 <= low <= 12 and high <= 31


def _national_ids(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of identity numbers: nine digits with a right check digit, or any number named as one."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        digits = re.sub(r"\D", "", run.group())
        before = text[max(0, start - _BEFORE) : start]
        if before.endswith("+") or "." in run.group():
            continue
        named = bool(ID_WORD.search(before)) and not _NUMBER_OF_THING.search(before)
        named = named or (start < _BEFORE and bool(_LONE_ID.fullmatch(before)) and len(digits) == 9)
        if named and 7 <= len(digits) <= 9:
            yield start, end
        elif len(digits) == 9 and check_digit_is_right(digits):
            is_phone = PHONE_WORD.search(before) or _LANDLINE.match(run.group())
            if not is_phone:
                yield start, end


def check_digit_is_right(digits: str) -> bool:
    """Return whether an Israeli identity number has the right check digit (Luhn)."""
    total = 0
    for place, digit in enumerate(digits):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0

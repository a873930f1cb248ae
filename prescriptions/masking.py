"""Secrets in a message: codes, dates of birth and national ids, masked before anything is stored.

Pure: no database. What must stay readable matters as much as what must go, so a number is only masked when
its shape and its neighbours say what it is: phones and e-mail addresses (identifiers that the customer was
asked for), strengths, order dates and prescription numbers stay.
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

_YOUNGEST: Final = (
    16  # a full date at least so many years back is taken for a date of birth without further words
)
_OLDEST: Final = 130

# A number with single blanks, dashes or dots between its digits, as long as it goes.
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
_LABEL: Final = re.compile(r"[a-z]-?$")  # "H-123456": a number with a letter is a label, not a code
_BEFORE: Final = 60  # how far back the words are looked for that say what a number is
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
    r"\b(?:born|birth|birthday|birthdate|dob|d\.o\.b)\b|ת\.\s?לידה"
    rf"|{HEBREW_START}(?:ש?נולד(?:תי|ה|ו|נו)?|ה?לידה|הולדת|ילידת?){HEBREW_END}"
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
    """A message that may be stored: its secrets replaced, and the code that was in it."""

    text: str
    code: str | None = None
    kinds: frozenset[Kind] = field(default_factory=frozenset)


def masked(text: str, *, challenge_open: bool, today: date | None = None) -> Masked:
    """Return the message without codes, dates of birth and national ids.

    Six digits are a code only while a challenge is open; the first such number is returned as `code`, in
    ASCII digits.
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
    """Yield where six digits stand that are no part of a longer number, no quantity and no label."""
    says_code = bool(CODE_WORD.search(text))
    for run in _RUN.finditer(text):
        if any(shape.fullmatch(run.group()) for shape in _CODE_SHAPES):
            found = [run.span()]
        else:
            found = [match.span() for match in _SIX.finditer(text, *run.span())]
        for start, end in found:
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
    """Yield where full dates stand that are long past, or any full date of a message that speaks of birth."""
    says_birth = bool(BIRTH_WORD.search(text))
    for pattern in DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            short = len(parts["year"]) == 2
            if short and not says_birth:
                continue
            year = int(parts["year"]) + (1900 if short else 0)
            name = parts.get("name")
            if not _is_date(name, parts):
                continue
            if says_birth or today.year - _OLDEST <= year <= today.year - _YOUNGEST:
                yield match.span()
    if says_birth:
        for match in _COMPACT_DATE.finditer(text):
            first, second = match["first"] or match["first2"], match["second"] or match["second2"]
            if is_day_and_month(int(first), int(second)):
                yield match.span()


def _is_date(name: str | None, parts: dict[str, str]) -> bool:
    if name is not None:
        return 1 <= int(parts["day"]) <= 31
    return is_day_and_month(int(parts["first"]), int(parts["second"]))


def is_day_and_month(first: int, second: int) -> bool:
    low, high = sorted((first, second))
    return 1 <= low <= 12 and high <= 31


def _national_ids(text: str) -> Iterator[tuple[int, int]]:
    """Yield where identity numbers stand: nine digits with a right check digit, or any named as one."""
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
    total = 0
    for place, digit in enumerate(digits):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0

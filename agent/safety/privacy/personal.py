"""Find what looks personal in free text: contacts, dates of birth, numbers of people and documents, codes. Pure.

When in doubt a value counts as personal: what is hidden from a language model's API is put back in the answer, but
what was sent cannot be called back. Quantities, prices, hours, ordinary dates and store numbers stay, because
the model needs them. Everything is read in the shadow of a text (`pharmacy_site.lib.shadow`).
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from pharmacy_site.lib.vocabulary import (
    ENGLISH_DAY,
    ENGLISH_NUMBERS,
    HEBREW,
    HEBREW_DAY_WORD,
    HEBREW_END,
    HEBREW_START,
    MONTH,
    NUMBER_WORDS,
    QUANTITY,
)
from prescriptions.masking import (
    BIRTH_WORD,
    CODE_WORD,
    DATES,
    births_in,
    check_digit_is_right,
    codes_in,
    is_calendar_date,
    is_day_and_month,
)

Found = tuple[int, int, str]
"""From, to and kind: EMAIL, PHONE, DATE, ID or CODE."""

_GAP: Final = r"[ .\-()]{0,3}"
_OLD: Final = 2  # a full date so many years back is no date of an order
_OLDEST_PACK: Final = 10  # years ahead that "12.3.31" may still be an expiry date

# Wider than the site's EMAIL: brackets end an address but quotes do not, and what surrounds it is trimmed afterwards.
_ADDRESS: Final = r"[^\s@,;:<>()\[\]{}|]"
_EMAIL: Final = re.compile(rf"(?<!{_ADDRESS}){_ADDRESS}+@{_ADDRESS}+")
_SPACED_EMAIL: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]+ ?@ ?[\w-]+(?: ?\. ?[\w-]+)*?(?: ?\. ?(?:com|net|org|edu|gov|info|io|me|il|uk|fr|de|ru|us|ca)\b)+"
)
_SPELT_EMAIL: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]+ ?(?:\(at\)|\[at\]|\bat\b|שטרודל|כרוכית) ?[\w-]+(?: ?(?:\.|\(dot\)|\[dot\]|\bdot\b|נקודה) ?[\w-]+)+"
)
_SPELT_DOT: Final = re.compile(r"\(at\)|\[at\]|\bdot\b|\(dot\)|\[dot\]|שטרודל|כרוכית|נקודה")
_GLUED_HEBREW: Final = re.compile(rf"[{HEBREW}]{{1,4}}-?['\"]?(?=[a-z0-9])")
_HEBREW_TAIL: Final = re.compile(rf"(?<=[a-z0-9])[^a-z0-9@]*[{HEBREW}].*$")

_DIGIT: Final = re.compile(r"\d")
_PHONE: Final = re.compile(
    r"(?<!\d)(?<!\d[.-])(?:"
    rf"(?:\+ ?|\(\+|00 ?|011 ?)?972{_GAP}(?:\(0\)|0)?(?:{_GAP}\d){{8,9}}(?!\d)"
    rf"|\(?0[57]\d(?: ?/ ?)?(?:{_GAP}\d){{7}}(?!\d)"
    rf"|\(?0[23489](?: ?/ ?)?(?:{_GAP}\d){{7}}(?!\d)"
    rf"|(?:\+?1{_GAP})?[2-9]\d\d[ .\-)]{{1,2}}\d{{3}}[ .-]\d{{4}}(?!\d)"
    rf"|1[ .-]?[5789]\d\d[ .-]?\d\d(?:[ .-]?\d){{1,6}}(?!\d)"
    rf"|(?:\+|00)[ (]?[1-9](?:{_GAP}\d){{7,14}}(?!\d)"
    r")"
)
_PHONE_WORD: Final = re.compile(
    r"\b(?:phone|tel|telephone|mobile|cell|cellphone|whatsapp|call me|text me|sms|reach me|fax|number is|my number)\b"
    r"|טלפון|טל'|נייד|פלאפון|סלולרי|להתקשר|תתקשרו|וואטסאפ|ווטסאפ|המספר שלי|פקס"
)
_ID_WORD: Final = re.compile(
    r"\b(?:mrn|(?:medical )?record (?:number|no)|(?:patient|member|membership|customer|client|insurance|policy|card|account)"
    r" (?:number|no|id|card)|identity|identification|id|i\.d|ssn|social security|teudat|zehut|t\.?z|passport|licen[cs]e|insurance)\b"
    rf"|{HEBREW_START}[הבלוש]?(?:תעודת|ת\"?\.?ז|מ\.ר\.נ){HEBREW_END}|זהות|דרכון|רישיון|פוליסה|תיק (?:ה?רפואי|מטופל)"
    r"|(?:מספר|מס'?) (?:ה?מטופלת?|ה?תיק|ה?חברה?|ה?לקוחה?|ה?כרטיס|ה?רשומה|ה?מבוטחת?)|כרטיס אשראי"
)
_NAMED_ID: Final = re.compile(rf"(?:{_ID_WORD.pattern})[^\d\n]{{0,25}}?(?P<number>\d(?:[ .-]?\d){{4,}})")
NUMBER_OF_OURS: Final = re.compile(
    r"(?:\b(?:prescription|rx|order|invoice|receipt|voucher|ticket|store|branch)|מרשם|הזמנה|קבלה|חשבונית|שובר|סניף)[^\d\n]{0,12}$"
)
_NAMED_CODE: Final = re.compile(
    r"(?:\b(?:code|otp|pin|password)|קוד|סיסמ[הא])(?![^\d\n]{0,20}(?:store|branch|atc|סניף))[^\d\n]{0,20}?(?P<number>\d(?:[ .-]?\d){3,7})(?![\d])"
)
_CALLED_CODE: Final = re.compile(
    r"(?<![\d.-])(?P<number>\d(?:[ .-]?\d){3,7}),? (?:is|was|זה|הוא) (?:the |my |your )?(?:code|pin|otp|ה?קוד)"
)

_UNIT: Final = (
    rf"(?:{QUANTITY}|µg|μg|kg|gr|l|usd|eur|shekels?|dollars?|km|kcal|mmhg|bpm|tablets?|pills?|capsules?"
    r"|packs?|boxes|drops|doses?|days?|hours?|גרם|ג'|מ\"?ל|שקלים|שקל|ק\"?מ|כדורים|טבליות|כמוסות|אריזות|ימים)(?!\w)|[₪$€%]"
)
_QUANTITY: Final = re.compile(
    rf"(?<![\d+(])(?<!\d[ .\-])(?!0\d)\d{{1,7}}(?:[.,]\d+)?(?: ?- ?\d{{1,7}})?(?: ?(?:{_UNIT}))"
    r"|(?<=[₪$€])(?: ?\d{1,3}(?:,\d{3})+| ?\d{1,7})(?:\.\d{1,2})?(?!\d)"
)
_HOURS: Final = re.compile(r"(?<!\d)\d{1,2}[.:]\d\d ?- ?\d{1,2}[.:]\d\d(?!\d)")
_RANGE: Final = re.compile(r"[1-9]\d{0,3}-[1-9]\d{0,3}")
_JOINED: Final = re.compile(r"\d(?:[.-]?\d)*")
_SPREAD: Final = re.compile(r"\d(?: ?[ .-] ?\d|\d)*")
_SHORT_DATE: Final = re.compile(r"(?<!\d)(?<!\d[./-])(\d{1,2})([./-])(\d{1,2})\2\d\d(?!\d)(?![./-]\d)")

_MONTH: Final = f"(?:{MONTH})"
_UP_TO_NINETY: Final = "|".join(word for word, number in ENGLISH_NUMBERS.items() if number < 100)
_YEAR: Final = rf"(?:\d{{4}}|(?:nineteen|twenty)(?:[ -](?:hundred|oh|and|{_UP_TO_NINETY}))+|two thousand(?:[ -](?:and|{_UP_TO_NINETY}))*)"
_HEBREW_NUMBER: Final = f"(?:{HEBREW_DAY_WORD}|מאות|אלף|אלפיים)"
_WORD_DATES: Final = re.compile(
    rf"\b(?:{ENGLISH_DAY}|\d{{1,2}}(?:st|nd|rd|th)?)(?: day)?(?: of)? {_MONTH},? {_YEAR}\b"
    rf"|\b{_MONTH} (?:the )?(?:{ENGLISH_DAY}|\d{{1,2}}(?:st|nd|rd|th)?),? {_YEAR}\b"
    rf"|{HEBREW_START}[הבלו]{{0,2}}-?(?:{_HEBREW_NUMBER}|\d{{1,2}})(?: ו?{_HEBREW_NUMBER})* [בל]?{_MONTH} (?:שנת )?(?:\d{{4}}|{_HEBREW_NUMBER}(?: ו?{_HEBREW_NUMBER})+)"
)
_BIRTHDAY: Final = re.compile(
    rf"(?<!\d)(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? [בל]?-?{_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?"
    rf"|[בל]?-?{_MONTH},? (?:19|20)\d\d)(?!\w)"
    rf"|\b(?:{ENGLISH_DAY})(?: day)?(?: of)? {_MONTH}\b|\b{_MONTH} (?:the )?(?:{ENGLISH_DAY})\b"
    rf"|{HEBREW_START}[הבלו]{{0,2}}-?{HEBREW_DAY_WORD}(?: ו?{HEBREW_DAY_WORD})* [בל]-?{_MONTH}{HEBREW_END}"
)
_DAY_AND_MONTH: Final = re.compile(
    rf"(?<!\d)(?<!\d[./-])(\d{{1,2}})[./-](\d{{1,2}})(?!\d)(?![./-]\d)(?! ?(?:{_UNIT}))"
)
_COMPACT: Final = re.compile(r"(?<!\d)(?:(?:19|20)\d{6}|\d{4}(?:19|20)\d\d)(?!\d)")

_SPELT_DIGIT: Final = (
    f"(?:zero|oh|double|אפס|שתים|{'|'.join(word for word, number in NUMBER_WORDS.items() if number < 10)})"
)
_SPELT_NUMBER: Final = re.compile(rf"(?<!\w){_SPELT_DIGIT}(?:[ ,.-]+{_SPELT_DIGIT}){{6,}}(?!\w)")


def personal_in(text: str, today: date) -> Iterator[Found]:
    """Yield what looks personal in a shadow's text, without overlaps and in no order."""
    rest = _Rest(text)
    # Again while there are any: of two that are glued together, the first hides where the second begins.
    while found := list(rest.take((*_trimmed(rest.text, *span), "EMAIL") for span in _emails(rest.text))):
        yield from found
    yield from rest.take((*match.span(), "EMAIL") for match in _SPACED_EMAIL.finditer(rest.text))
    # Dates are found before phones, so that no date is taken for a phone; ordinary dates are left out.
    yield from rest.take((start, end, "DATE") for start, end in _dates(rest.text, today))
    if _DIGIT.search(text):
        yield from _in_digits(rest)
    yield from rest.take((*match.span(), "PHONE") for match in _SPELT_NUMBER.finditer(rest.text))


def _in_digits(rest: "_Rest") -> Iterator[Found]:
    """Yield codes, phones and numbers of people and documents."""
    rest.set_aside(_ordinary_dates(rest.text))
    rest.set_aside(match.span() for match in _HOURS.finditer(rest.text))
    yield from rest.take((*match.span("number"), "CODE") for match in _CALLED_CODE.finditer(rest.text))
    yield from rest.take((*match.span(), "PHONE") for match in _PHONE.finditer(rest.text))
    rest.set_aside(match.span() for match in _QUANTITY.finditer(rest.text))
    yield from rest.take((*match.span("number"), "CODE") for match in _NAMED_CODE.finditer(rest.text))
    yield from rest.take((*match.span("number"), "ID") for match in _NAMED_ID.finditer(rest.text))
    yield from rest.take(_numbers(rest.text))


class _Rest:
    """The text without the values found so far: each is overwritten by line breaks, so that positions stay."""

    def __init__(self, text: str) -> None:
        self.text = text

    def take(self, found: Iterator[Found]) -> Iterator[Found]:
        taken = list(found)
        self.set_aside((start, end) for start, end, _ in taken)
        yield from taken

    def set_aside(self, spans: Iterator[tuple[int, int]]) -> None:
        parts, done = [], 0
        for start, end in sorted(spans):
            if start >= done:
                parts += [self.text[done:start], "\n" * (end - start)]
                done = end
        self.text = "".join([*parts, self.text[done:]]) if parts else self.text


def _emails(text: str) -> Iterator[tuple[int, int]]:
    if "@" in text:
        yield from (match.span() for match in _EMAIL.finditer(text))
    if _SPELT_DOT.search(text):
        for match in _SPELT_EMAIL.finditer(text):
            if "@" not in match.group() and _SPELT_DOT.search(match.group()):
                yield match.span()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of an address without the marks around it and the Hebrew letters joined to it."""
    while end - start > 1 and not text[start].isalnum():
        start += 1
    glued = _GLUED_HEBREW.match(text, start, end)
    start = glued.end() if glued else start
    tail = _HEBREW_TAIL.search(text, text.find("@", start, end), end) if "@" in text[start:end] else None
    end = tail.start() if tail else end
    while end - start > 1 and not text[end - 1].isalnum():
        end -= 1
    return start, end


def _dates(text: str, today: date) -> Iterator[tuple[int, int]]:
    """Yield dates of birth: long past, in a message that speaks of birth, or in words."""
    spans = [match.span() for match in _WORD_DATES.finditer(text) if not _is_recent(match.group(), today)]
    if BIRTH_WORD.search(text):
        spans += [match.span() for match in _BIRTHDAY.finditer(text)]
    if _DIGIT.search(text):
        spans += _dates_in_digits(text, today)
    done = 0
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if start >= done:
            yield start, end
            done = end


def _dates_in_digits(text: str, today: date) -> Iterator[tuple[int, int]]:
    yield from births_in(text, today)
    for pattern in DATES:
        for match in pattern.finditer(text):
            year = int(match["year"])
            if year < 100:
                is_marked = bool(match.groupdict().get("mark", "").strip())
                is_past = is_marked and today.year % 100 + _OLDEST_PACK < year
            else:
                is_past = 1890 < year <= today.year - _OLD
            if is_past and is_calendar_date(match):
                yield match.span()
    if BIRTH_WORD.search(text):
        yield from (match.span() for match in _COMPACT.finditer(text))
        for match in _DAY_AND_MONTH.finditer(text):
            if is_day_and_month(int(match[1]), int(match[2])):
                yield match.span()


def _is_recent(words: str, today: date) -> bool:
    year = re.search(r"\d{4}", words)
    return year is not None and int(year.group()) > today.year - _OLD


def _ordinary_dates(text: str) -> Iterator[tuple[int, int]]:
    for match in [m for pattern in DATES for m in pattern.finditer(text)]:
        if (len(match["year"]) == 4 and is_calendar_date(match)) or match.groupdict().get("name"):
            yield match.span()
    if not CODE_WORD.search(text):
        for match in _SHORT_DATE.finditer(text):
            if is_day_and_month(int(match[1]), int(match[3])):
                yield match.span()


def _numbers(text: str) -> Iterator[Found]:
    """Yield long numbers as IDs (or phones, where the text speaks of one), and six digits alone as codes."""
    says_phone, says_id = bool(_PHONE_WORD.search(text)), bool(_ID_WORD.search(text))
    kind = "PHONE" if says_phone and not says_id else "ID"
    taken: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        is_free = not any(start < stop and begin < end for begin, stop in taken)
        if is_free:
            taken.append((start, end))
        return is_free

    for match in _SPREAD.finditer(text):
        groups = re.findall(r"\d+", match.group())
        is_one = len(groups) > 1 and " " in match.group() and _is_spread_number(groups, says_phone or says_id)
        if is_one and free(*match.span()):
            yield (*match.span(), kind)
    for match in _JOINED.finditer(text):
        digits = sum(map(str.isdigit, match.group()))
        if digits >= 7 and not _RANGE.fullmatch(match.group()) and free(*match.span()):
            yield (*match.span(), kind)
    lone = len(text.split()) <= 3 or bool(CODE_WORD.search(text))
    for start, end in codes_in(text):
        is_ours = NUMBER_OF_OURS.search(text[max(0, start - 40) : start])
        if (end - start == 6 or lone) and not is_ours and free(start, end):
            yield start, end, "CODE"


def _is_spread_number(groups: list[str], named: bool) -> bool:
    """Return whether groups of digits with blanks between them are one number and not several."""
    digits = "".join(groups)
    if len(digits) < 7 or max(map(len, groups)) == len(digits):
        return all(len(group) == 1 for group in groups) and len(groups) >= 6
    return (
        named
        or all(len(group) == 1 for group in groups)
        or (len(digits) == 9 and check_digit_is_right(digits))
        or [len(group) for group in groups] == [4, 4, 4, 4]
        or max(map(len, groups[:1])) >= 5
    )

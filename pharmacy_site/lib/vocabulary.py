"""Words and marks that several modules recognise alike: letters, months, numbers, units, e-mail, ends of sentences.

Pure data and patterns. Where two forms of one thing differ on purpose, both are here, with the reason.
"""

import re
from collections.abc import Mapping
from typing import Final

# -- Hebrew letters --------------------------------------------------------------------------------------------

HEBREW: Final = "א-ת"
"""The alphabet, final letters included, for the inside of `[…]`."""
HEBREW_LETTER: Final = re.compile(f"[{HEBREW}]")
ANY_HEBREW_LETTER: Final = re.compile(rf"[{HEBREW}\u05ef-\u05f2\ufb1d-\ufb4f]")
"""Also Yiddish ligatures and composed letters: they show the language of a text, but names are compared without them."""
HEBREW_START: Final = f"(?<![{HEBREW}])"
HEBREW_END: Final = f"(?![{HEBREW}])"
"""Where a Hebrew word begins and ends. `\\b` is stricter: it also refuses a digit or a Latin letter beside the word."""

# -- Months ----------------------------------------------------------------------------------------------------

MONTH_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "en": tuple(
        "January February March April May June July August September October November December".split()
    ),
    "he": tuple("ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר".split()),
}
"""The names from January on, as answers write them."""
MONTHS_SHORT: Final = tuple(name[:3].lower() for name in MONTH_NAMES["en"])
"""The English names by their first three letters, from "jan" on."""
MONTH_NUMBERS: Final[Mapping[str, int]] = {
    "sept": 9,
    "מרס": 3,
    **{
        name.lower(): number
        for names in (MONTHS_SHORT, *MONTH_NAMES.values())
        for number, name in enumerate(names, start=1)
    },
}
"""The number of a month by each of its spellings, in lower case."""
MONTH: Final = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
"""Alternatives of a pattern, for lower case."""

# -- Numbers in words ------------------------------------------------------------------------------------------

ENGLISH_NUMBERS: Final[Mapping[str, int]] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "hundred": 100,
}  # fmt: skip
HEBREW_NUMBERS: Final[Mapping[str, int]] = {
    "אחת": 1, "אחד": 1, "שתיים": 2, "שניים": 2, "שלושה": 3, "שלוש": 3, "ארבעה": 4, "ארבע": 4, "חמישה": 5, "חמש": 5,
    "שישה": 6, "שש": 6, "שבעה": 7, "שבע": 7, "שמונה": 8, "תשעה": 9, "תשע": 9, "עשרה": 10, "עשר": 10, "עשרים": 20,
    "שלושים": 30, "ארבעים": 40, "חמישים": 50, "שישים": 60, "שבעים": 70, "שמונים": 80, "תשעים": 90, "מאה": 100,
}  # fmt: skip
NUMBER_WORDS: Final[Mapping[str, int]] = {**ENGLISH_NUMBERS, **HEBREW_NUMBERS}
ENGLISH_ORDINALS: Final[Mapping[str, int]] = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}  # fmt: skip
HEBREW_ORDINALS: Final[Mapping[str, int]] = {
    "ראשון": 1, "שני": 2, "שלישי": 3, "רביעי": 4, "חמישי": 5, "שישי": 6, "שביעי": 7, "שמיני": 8, "תשיעי": 9, "עשירי": 10,
}  # fmt: skip
ENGLISH_DAY: Final = (
    f"(?:(?:twenty|thirty)[ -])?(?:{'|'.join(word for word, number in ENGLISH_ORDINALS.items() if number < 10)})"
    f"|{'|'.join(word for word, number in ENGLISH_ORDINALS.items() if number >= 10)}"
)
HEBREW_DAY_WORD: Final = f"(?:{'|'.join((*HEBREW_ORDINALS, *HEBREW_NUMBERS))})"
"""A day of a month in words: alternatives of a pattern, and one of the words that make it up in Hebrew."""

# -- Units -----------------------------------------------------------------------------------------------------

UNIT_WORDS: Final[Mapping[str, str]] = {
    "mg": 'mg mgs milligram milligrams מ"ג מג מיליגרם',
    "mcg": 'mcg ug µg microgram micrograms מק"ג מקג מיקרוגרם',
    "g": "g gr gram grams גרם",
    "ml": 'ml milliliter milliliters millilitre מ"ל מל מיליליטר',
    "units": 'unit units iu יחידות יחידה יחב"ל',
}
"""How people write the units of a strength; to be compared in their folded form."""
UNITS_IN_HEBREW: Final[Mapping[str, str]] = {
    "mg": "מ״ג",
    "mcg": "מק״ג",
    "ml": "מ״ל",
    "g": "גרם",
    "IU": "יחב״ל",
}
"""How answers write the units of a stored strength."""
QUANTITY: Final = r"mg|mcg|ug|g|ml|iu|units?|ils|nis|מ\"?ג|מק\"?ג|יחב\"?ל|יחידות|ש\"?ח"
"""What makes the number before it a dose or a price and no secret: alternatives of a pattern for a text's `Shadow`."""

# -- E-mail addresses ------------------------------------------------------------------------------------------

EMAIL: Final = re.compile(r"[^\s@,;:<>()\[\]\"']+@[^\s@,;:<>()\[\]\"']*[^\W_]")
"""An address in a sentence, without the marks around it. Malformed ones count, so that nobody learns which exist."""
EMAIL_LOOSE: Final = re.compile(r"(?<![^\s@])[^\s@]+@[^\s@]+")
"""Whatever has an "@" inside, with the marks around it: for setting aside or hiding whole what may be an address."""

# -- Ends of sentences -----------------------------------------------------------------------------------------

SENTENCE_MARK: Final = re.compile(r"(?<!\d)[.…]+|[.…]+(?!\d)|[!?;؟\n]+")
"""The marks that end a sentence of a message, blank or not behind them; a point between digits is a decimal one."""
SENTENCE_GAP: Final = re.compile(r"(?<=[.!?])(?<!\d\.)\s+|\n+")
"""The blanks between two sentences of an answer, which keep their marks. "2. " is a list's number and ends none."""

"""Clean, compare and mark text in English and Hebrew.

`clean` makes a message safe to store and show; `fold` removes everything in which two spellings of one name may
differ; `hebrew_stems` returns what is left of a word without its prefix letters,
because Hebrew writes "and", "the", "in" and "to" as the first letters of the next word.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final, Literal

from rapidfuzz.distance import OSA

from pharmacy_site.lib.vocabulary import ANY_HEBREW_LETTER, EMAIL_LOOSE, HEBREW, MONTHS_SHORT

Language = Literal["he", "en"]

_KEPT_CONTROL: Final = "\n"
_SPACES: Final = re.compile(r" +")
_LINE_BREAK: Final = re.compile(r" ?\n ?")
_EMPTY_LINES: Final = re.compile(r"\n{3,}")
# Most texts that are stored and imported, of which nothing has to be taken out.
_CLEAN_WORD: Final = rf"[!-~{HEBREW}–—…“”‘’״׳₪°]++"
# Not `)*+`: Python 3.11.2 (not 3.11.7) keeps what a repetition that failed had already matched, here a line break at the end.
_CLEAN: Final = re.compile(rf"{_CLEAN_WORD}(?:(?: |\n\n?){_CLEAN_WORD})*")
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs"})
# Invisible though their category does not say so: fillers, and the variation selectors but the two of emoji.
_IGNORABLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)

# Geresh, gershayim and every quote people type in their place: מ"ג, מ״ג and מ''ג are one word.
_QUOTES: Final = frozenset("'\"`´ʹʺʻʼʽˈ‘’‚‛“”„‟′″‴＇＂׳״")
_FINAL_LETTERS: Final = str.maketrans("ךםןףץ", "כמנפצ")
_LIGATURES: Final = str.maketrans({"װ": "וו", "ױ": "וי", "ײ": "יי"})
_KEPT_MARKS: Final = frozenset("%_")  # wildcards of SQL: letters here, so that a query for "%" finds only "%"

# Most texts: these characters need no normalisation, which takes longer than all the rest.
_PLAIN: Final = re.compile(f"[\x00-\x7f{HEBREW}–—{''.join(_QUOTES)}]*")
_PLAIN_LETTERS: Final = _FINAL_LETTERS | dict.fromkeys(map(ord, _QUOTES))
_NOT_OF_PLAIN_WORDS: Final = re.compile(rf"[^a-z0-9%_{HEBREW}\ue000]")

_DECIMAL_MARK: Final = re.compile(r"(?<=\d)[.,](?=\d)")
_DECIMAL_STAND_IN: Final = "\ue000"
_DIGITS_THEN_LETTERS: Final = re.compile(r"(\d)([^\W\d_])")
_DOUBLED_VAV: Final = re.compile(r"ו{2,}")
_DOUBLED_YOD: Final = re.compile(r"י{2,}")

_HEBREW_WORD: Final = re.compile(f"[{HEBREW}]+")
_ADDRESS: Final = re.compile(
    rf"{EMAIL_LOOSE.pattern}|\w+://\S+|www\.\S+|[\w.-]+\.(?:com|org|net|io|il|gov|edu|info|co)\b(?:/\S*)?",
    re.IGNORECASE,
)
_LATIN_WORD: Final = re.compile(r"[A-Za-z]{2,}")
# Words that belong to a quantity or a date; a message that has only these is still "a number".
_NUMBER_WORDS: Final = frozenset(
    {"mg", "mcg", "ug", "ml", "iu", "gr", "kg", "cm", "km", "am", "pm", "st", "nd", "rd", "th"}
    | {"sept", *MONTHS_SHORT}
)

# ו + (that, when) + (in, to, as, from) + the; the order is the grammar's.
_PREFIX: Final = re.compile(r"ו?(?:לכש|כש|מש|ש)?[בלכמ]?ה?")
_LONGEST_PREFIX: Final = 6
_SHORTEST_STEM: Final = 2

_ISOLATE, _LTR_ISOLATE, _POP_ISOLATE = "\u2068", "\u2066", "\u2069"


@lru_cache(maxsize=4096)
def is_invisible(char: str) -> bool:
    """Return whether a character shows nothing: control, direction, zero-width, tag, filler. Blanks are visible."""
    return unicodedata.category(char) in _INVISIBLE_CATEGORIES or bool(_IGNORABLE.match(char))


def clean(text: str, limit: int | None = None) -> str:
    """Return the text without invisible characters and surplus blanks, at most `limit` characters.

    Control, direction, zero-width and tag characters go (they can hide instructions or reverse a dose on screen);
    line breaks stay, other blanks become one space.
    """
    if _CLEAN.fullmatch(text):
        result = text
    else:
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
        # Composed only now: a zero-width character between a letter and its accent would have kept them apart.
        result = unicodedata.normalize("NFC", "".join(map(_shown, text)))
        result = _SPACES.sub(" ", result)
        result = _LINE_BREAK.sub("\n", result)
        result = _EMPTY_LINES.sub("\n\n", result).strip()
    return result if limit is None else result[:limit].rstrip()


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    """Return what is kept of a character: itself, a space for another blank, or nothing."""
    if char == _KEPT_CONTROL:
        return char
    if char.isspace():
        return " "
    return "" if is_invisible(char) else char


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    """Return what is left of a normalised character: itself, its plain digit, a blank, or nothing."""
    category = unicodedata.category(char)
    if char == _DECIMAL_STAND_IN:
        return "."
    if char in _QUOTES or category in {"Mn", "Me", "Cf", "Cs"}:
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category[0] == "L" or category == "Mc" or char in _KEPT_MARKS:
        return char
    return " "


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Return the form in which names are compared; folding twice changes nothing.

    "ADVIL® 200mg" and "advil 200 mg" fold to the same text, and so do "אקמולי לילדים" with and without niqqud.
    """
    if _PLAIN.fullmatch(text):
        text = _DECIMAL_MARK.sub(_DECIMAL_STAND_IN, text.translate(_PLAIN_LETTERS).lower())
        text = _NOT_OF_PLAIN_WORDS.sub(" ", text).replace(_DECIMAL_STAND_IN, ".")
        text = _DIGITS_THEN_LETTERS.sub(r"\1 \2", text)
        return " ".join(_DOUBLED_YOD.sub("י", _DOUBLED_VAV.sub("ו", text)).split())
    # Quotes first: compatibility normalisation would turn an acute accent that is used as one into a blank.
    text = "".join(char for char in text.translate(_LIGATURES) if char not in _QUOTES)
    text = _IGNORABLE.sub("", text)
    text = unicodedata.normalize("NFKC", text).casefold()
    text = unicodedata.normalize("NFKD", text).translate(_FINAL_LETTERS)
    text = _DECIMAL_MARK.sub(_DECIMAL_STAND_IN, text)
    text = "".join(map(_folded, text))
    text = _DIGITS_THEN_LETTERS.sub(r"\1 \2", text)
    text = _DOUBLED_YOD.sub("י", _DOUBLED_VAV.sub("ו", text))
    return " ".join(text.split())


def compact(text: str) -> str:
    """Return the folded text without blanks, so that "pain away" meets "PainAway"."""
    return fold(text).replace(" ", "")


def as_language(stored: str) -> Language:
    """Return a stored language as one of the two that answers come in; English for anything else."""
    return "he" if stored == "he" else "en"


def words(text: str) -> list[str]:
    """Return the words of the folded text."""
    return fold(text).split()


def language_of(text: str) -> Language | None:
    """Return the language a message was written in, or None when it shows neither.

    Any Hebrew letter makes it Hebrew. Numbers, dates, phones, identifiers, e-mail and web addresses are no
    language; that a lone word is a medicine's name only the caller can know.
    """
    if ANY_HEBREW_LETTER.search(text):
        return "he"
    for chunk in _ADDRESS.sub(" ", text).split():
        if any(char.isdigit() for char in chunk):
            continue  # "200mg", "RX-1007", "12/Jan/2026"
        for word in _LATIN_WORD.findall(unicodedata.normalize("NFKD", chunk)):
            if word.casefold() not in _NUMBER_WORDS:
                return "en"
    return None


@lru_cache(maxsize=8192)
def _stems(word: str) -> tuple[str, ...]:
    if not _HEBREW_WORD.fullmatch(word):
        return ()
    longest = min(_LONGEST_PREFIX, len(word) - _SHORTEST_STEM)
    return tuple(word[cut:] for cut in range(1, longest + 1) if _PREFIX.fullmatch(word[:cut]))


def hebrew_stems(word: str) -> list[str]:
    """Return a folded Hebrew word without its possible prefix letters, least stripped first.

    The word itself is not among them, and [] is returned for anything that is not one Hebrew word. Whether a
    reading is right only a list of known words can tell: "לוסק" is a name, not "to" + "וסק".
    """
    return list(_stems(word))


def deletions(word: str) -> set[str]:
    """Return the word with each one letter left out: two words one typo apart share one of these (or are one)."""
    return {word[:place] + word[place + 1 :] for place in range(len(word))}


def one_typo(a: str, b: str) -> bool:
    """Return whether at most one letter is missing, surplus, different or swapped with its neighbour."""
    return OSA.distance(a, b, score_cutoff=1) <= 1


def isolate(text: str) -> str:
    """Return the text wrapped so that a name keeps its own direction inside a sentence of the other one."""
    return f"{_ISOLATE}{text}{_POP_ISOLATE}"


def ltr(text: str) -> str:
    """Return the text wrapped to read left to right, for number ranges and phones inside Hebrew."""
    return f"{_LTR_ISOLATE}{text}{_POP_ISOLATE}"

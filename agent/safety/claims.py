"""Check a language model's claims besides figures: numbers in words, a plain yes or no, the need for a prescription.

Pure. A claim that the data do not support is found by word rules; when in doubt the sentence is not shown.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from pharmacy_site.lib.json_values import walk
from pharmacy_site.lib.vocabulary import NUMBER_WORDS

_NUMBERS: Final = {
    **{word: number for word, number in NUMBER_WORDS.items() if number > 1},
    "שתי": 2,
    "שלושת": 3,
}
_NUMBER_WORD: Final = re.compile(
    rf"(?<!\w)(?=[{''.join(sorted({word[0] for word in _NUMBERS}))}])(?:{'|'.join(_NUMBERS)})(?!\w)",
    re.IGNORECASE,
)
# Letters that match others when case is ignored.
_SAME_LETTERS: Final = str.maketrans("ſı", "si", "\u0307")
_VERDICT: Final = re.compile(
    r"^\W*(?:(?:yes|yep|yeah|yup|nope|sure|of course|absolutely|definitely|certainly|indeed|go ahead|no (?:problem|issue|risk)s?"
    r"|כן|בטח|ברור ש|בהחלט|ודאי|בוודאי|אין בעיה|מותר|אסור|סבבה)(?=\W|$)"
    r"|(?:no|nah|correct|right|exactly|ok|okay|fine|never|always|לא|נכון|אפשר|ברור)\s*(?:[,.!;:–—-]|$))",
    re.IGNORECASE,
)
_NOT_NEEDED: Final = re.compile(
    r"(?:\bno|\bwithout(?: a| any)?|(?:\bnot|n['’]t) (?:need|require)(?: a| any)?)\s+prescription"
    r"|prescription(?: is|['’]s) not|prescription isn['’]t|over[ -]the[ -]counter|\bOTC\b"
    r"|(?:ללא|בלי|אין צורך ב|לא צריך|לא נדרש|לא דורש\w*|אינו דורש|אינה דורשת)\s*מרשם",
    re.IGNORECASE,
)
_MENTIONS_PRESCRIPTION: Final = re.compile(r"prescription|counter|otc|rx|מרשם", re.IGNORECASE)
_NEEDED: Final = re.compile(
    r"\b(?:requires?|needs?|need|with)\s+(?:a\s+)?(?:doctor['’]s\s+)?prescription\b|prescription(?: is)? (?:required|needed|necessary)"
    r"|prescription[ -]only|\bRx\b|(?:נדרש|צריך|דורש\w*|מחייב\w*|טעונ\w*|חובת)\s+מרשם|במרשם בלבד",
    re.IGNORECASE,
)


_COUNTED: Final = {
    "stock": (
        re.compile(r"(\d+)\s*(?:packs?|packages?|units?|boxes|box|bottles?|left in stock|in stock|available|אריז\w*|יחיד\w*|קופס\w*)", re.I),
        frozenset({"qty", "quantity", "qty_on_hand", "totals"}),
    ),
    "refills": (
        re.compile(r"(\d+)\s*(?:refills?|ניפוק\w*|מילויים)", re.I),
        frozenset({"refills_left", "refills_remaining"}),
    ),
}  # fmt: skip


def counts_unproven(text: str, facts: object) -> bool:
    """Return whether a text states a number of packs or refills that is not in this turn's results.

    A strength or a price proves no quantity. The length of a list does ("2 boxes are listed").
    """
    text = figures(text)
    for pattern, keys in _COUNTED.values():
        claimed = {int(number) for number in pattern.findall(text)}
        if claimed and not claimed <= _counted(facts, keys):
            return True
    return False


def _counted(facts: object, keys: frozenset[str]) -> set[int]:
    """Return the whole numbers under these keys, and the lengths of lists."""
    inside = [inner for _, inner in walk(facts)]
    found = {len(inner) for inner in inside if isinstance(inner, list | tuple)}
    named = [
        item for inner in inside if isinstance(inner, Mapping) for key, item in inner.items() if key in keys
    ]
    for _, leaf in walk(named):
        if isinstance(leaf, int | str) and str(leaf).isdecimal():
            found.add(int(leaf))
    return found


def figures(text: str) -> str:
    """Return the text with its number words as figures. "One" stays a word, since it is often a pronoun."""
    return _NUMBER_WORD.sub(lambda match: str(_NUMBERS[match[0].lower().translate(_SAME_LETTERS)]), text)


def is_verdict(sentence: str) -> bool:
    """Return whether a sentence begins with yes or no, or a word of that meaning."""
    return bool(_VERDICT.match(sentence))


def contradicts_prescription(sentence: str, required: Sequence[bool]) -> bool:
    """Return whether a sentence says of prescriptions what is true of none of the products looked up."""
    if not required or not _MENTIONS_PRESCRIPTION.search(sentence):
        return False
    not_needed, needed = (
        bool(_NOT_NEEDED.search(sentence)),
        bool(_NEEDED.search(_NOT_NEEDED.sub(" ", sentence))),
    )
    return (not_needed and all(required)) or (needed and not any(required))

"""What a language model's sentence claims besides figures: numbers in words, a plain yes or no, what needs a prescription.

Pure. A claim that the data do not bear is found by words alone; when in doubt the sentence is not shown.
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
_TWINS: Final = str.maketrans("ſı", "si", "\u0307")  # letters that match others when case is ignored
_VERDICT: Final = re.compile(
    r"^\W*(?:(?:yes|yep|yeah|yup|nope|sure|of course|absolutely|definitely|certainly|indeed|go ahead|no (?:problem|issue|risk)s?"
    r"|כן|בטח|ברור ש|בהחלט|ודאי|בוודאי|אין בעיה|מותר|אסור|סבבה)(?=\W|$)"
    r"|(?:no|nah|correct|right|exactly|ok|okay|fine|never|always|לא|נכון|אפשר|ברור)\s*(?:[,.!;:–—-]|$))",
    re.IGNORECASE,
)
_FREE: Final = re.compile(
    r"(?:\bno|\bwithout(?: a| any)?|(?:\bnot|n['’]t) (?:need|require)(?: a| any)?)\s+prescription"
    r"|prescription(?: is|['’]s) not|prescription isn['’]t|over[ -]the[ -]counter|\bOTC\b"
    r"|(?:ללא|בלי|אין צורך ב|לא צריך|לא נדרש|לא דורש\w*|אינו דורש|אינה דורשת)\s*מרשם",
    re.IGNORECASE,
)
_OF_PRESCRIPTION: Final = re.compile(r"prescription|counter|otc|rx|מרשם", re.IGNORECASE)
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
    """Whether a text counts packs or refills in another number than the results of this turn do.

    A strength or a price proves no quantity. What lists are long may be counted as well ("2 boxes are listed").
    """
    text = figures(text)
    for pattern, keys in _COUNTED.values():
        told = {int(number) for number in pattern.findall(text)}
        if told and not told <= _counted(facts, keys):
            return True
    return False


def _counted(facts: object, keys: frozenset[str]) -> set[int]:
    """The whole numbers under such keys, and the lengths of lists."""
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
    """The text with the numbers that it spells as figures. "One" stays a word: it counts as often as it points."""
    return _NUMBER_WORD.sub(lambda match: str(_NUMBERS[match[0].lower().translate(_TWINS)]), text)


def is_verdict(sentence: str) -> bool:
    """Whether a sentence begins with yes or no, or as good as that."""
    return bool(_VERDICT.match(sentence))


def contradicts_prescription(sentence: str, required: Sequence[bool]) -> bool:
    """Whether it says of prescriptions what none of the products looked up bears out."""
    if not required or not _OF_PRESCRIPTION.search(sentence):
        return False
    free, needed = bool(_FREE.search(sentence)), bool(_NEEDED.search(_FREE.sub(" ", sentence)))
    return (free and all(required)) or (needed and not any(required))

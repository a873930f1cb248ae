"""Read the words with which people narrow a product down: its form, strength and release. Pure: no Django models.

Such words never decide what a search finds ("PainAway 200 mg tablets" is PainAway); they choose among its results.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from inventory.strengths import strength_key
from pharmacy_site.lib.text import fold, words
from pharmacy_site.lib.vocabulary import UNIT_WORDS

# The form that a customer names → words of which a product's form must contain one. A "pill" may be a tablet or a
# capsule.
_FORMS: Final[dict[str, tuple[str, ...]]] = {
    "tablet": ("tablet", "caplet"),
    "capsule": ("capsule",),
    "pill": ("tablet", "capsule", "caplet"),
    "syrup": ("syrup", "elixir"),
    "liquid": ("syrup", "elixir", "solution", "suspension", "liquid", "drops"),
    "suspension": ("suspension",),
    "solution": ("solution",),
    "spray": ("spray",),
    "pen": ("pen",),
    "injection": ("injection", "pen", "syringe"),
    "cream": ("cream",),
    "ointment": ("ointment",),
    "gel": ("gel",),
    "drops": ("drops",),
    "patch": ("patch",),
    "suppository": ("suppository",),
    "inhaler": ("inhaler", "inhalation"),
    "powder": ("powder",),
    "lozenge": ("lozenge",),
    "lotion": ("lotion",),
}
_FORM_WORDS: Final[dict[str, str]] = {
    fold(word): form
    for form, spellings in {
        "tablet": "tablet tablets tab tabs caplet caplets טבליה טבליות טבלייה טבליית טבלית",
        "capsule": "capsule capsules cap caps קפסולה קפסולות קפסולת כמוסה כמוסות",
        "pill": "pill pills כדור כדורים כדורי גלולה גלולות",
        "syrup": "syrup syrups סירופ סירופים",
        "liquid": "liquid נוזל נוזלי",
        "suspension": "suspension תרחיף",
        "solution": "solution תמיסה",
        "spray": "spray sprays תרסיס תרסיסים ספריי ספרי",
        "pen": "pen pens עט עטים",
        "injection": "injection injections shot זריקה זריקות",
        "cream": "cream creams קרם",
        "ointment": "ointment משחה משחת",
        "gel": "gel ג'ל",
        "drops": "drop drops טיפות",
        "patch": "patch patches מדבקה מדבקות",
        "suppository": "suppository suppositories נר נרות פתילה פתילות",
        "inhaler": "inhaler inhalers puffer משאף משאפים",
        "powder": "powder אבקה",
        "lozenge": "lozenge lozenges לכסנית לכסניות",
        "lotion": "lotion תחליב",
    }.items()
    for word in spellings.split()
}
_UNITS: Final[dict[str, str]] = {
    fold(word): unit for unit, spellings in UNIT_WORDS.items() for word in spellings.split()
}
_RELEASE_WORDS: Final[dict[str, str]] = {
    **dict.fromkeys(("xr", "xl", "sr", "er", "cr", "extended"), "extended"),
    **dict.fromkeys(("ec", "dr", "delayed"), "delayed"),
}
_FILLERS: Final = frozenset(map(fold, ("release", "של", "בחוזק", "במינון")))
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A query split into the words of the name and the forms, amounts and release that it asks for."""

    name_words: list[str]
    forms: frozenset[str] = frozenset()
    amounts: tuple[tuple[Decimal, str], ...] = ()
    """Numbers with their units ("" when none was given)."""
    release: str = ""

    def count_met(self, *, form: str, strength: str, release: str) -> int:
        """Return how many of the requested properties a product has."""
        form_words = set(words(form)) | {word.removesuffix("s") for word in words(form)}
        on_file = _amounts(words(strength))
        met = sum(any(word in form_words for word in _FORMS[wanted]) for wanted in self.forms)
        met += sum(any(_same_amount(wanted, amount) for amount in on_file) for wanted in self.amounts)
        return met + bool(self.release and release == self.release)


def narrowing_read(query_words: Iterable[str]) -> Narrowing:
    """Split folded words into the words of a name and what narrows it down."""
    query = list(query_words)
    name_words, forms = [], set()
    release = ""
    for word in query:
        if word in _FORM_WORDS:
            forms.add(_FORM_WORDS[word])
        elif word in _RELEASE_WORDS:
            release = _RELEASE_WORDS[word]
        elif word not in _UNITS and word not in _FILLERS and not _NUMBER.fullmatch(word):
            name_words.append(word)
    return Narrowing(name_words, frozenset(forms), tuple(_amounts(query)), release)


def _amounts(query: list[str]) -> list[tuple[Decimal, str]]:
    return [
        (Decimal(word), _UNITS.get(query[position + 1], "") if position + 1 < len(query) else "")
        for position, word in enumerate(query)
        if _NUMBER.fullmatch(word) and len(word) < 16
    ]


def _same_amount(wanted: tuple[Decimal, str], on_file: tuple[Decimal, str]) -> bool:
    """Return whether two amounts are equal in one unit; without a unit only the numbers are compared."""
    if not wanted[1] or not on_file[1]:
        return wanted[0] == on_file[0]
    return strength_key(*wanted) == strength_key(*on_file)

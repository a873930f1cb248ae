"""The words with which people narrow a product down: its form, its strength, its release. Pure: no Django models.

Such words never decide what is found ("PainAway 200 mg tablets" is PainAway); they choose among what was found.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Final

from inventory.strengths import strength_key
from pharmacy_site.lib.text import fold, words
from pharmacy_site.lib.vocabulary import UNIT_WORDS

# What a word asks for → words of which one must stand in a product's form. A "pill" may be a tablet or a capsule.
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
_IDLE: Final = frozenset(map(fold, ("release", "של", "בחוזק", "במינון")))
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a query says beside a name: the rest of its words, the forms, the amounts and the release it asks for."""

    core: list[str]
    forms: frozenset[str] = frozenset()
    amounts: tuple[tuple[Decimal, str], ...] = ()
    """A number with its unit ("" when none was given)."""
    release: str = ""
    said: list[str] = field(default_factory=list)

    def fits(self, *, form: str, strength: str, release: str) -> int:
        """Return how many of the wishes a product meets."""
        form_words = set(words(form)) | {word.removesuffix("s") for word in words(form)}
        known = _amounts(words(strength))
        met = sum(any(word in form_words for word in _FORMS[wish]) for wish in self.forms)
        met += sum(any(_same_amount(wish, amount) for amount in known) for wish in self.amounts)
        return met + bool(self.release and release == self.release)


def narrowing(query_words: Iterable[str]) -> Narrowing:
    """Split folded words into a name and what narrows it; a number is an amount only in company of a name."""
    query = list(query_words)
    core, said, forms = [], [], set()
    release = ""
    for word in query:
        if word in _FORM_WORDS:
            forms.add(_FORM_WORDS[word])
        elif word in _RELEASE_WORDS:
            release = _RELEASE_WORDS[word]
        elif word not in _UNITS and word not in _IDLE and not _NUMBER.fullmatch(word):
            core.append(word)
            continue
        said.append(word)
    return Narrowing(core, frozenset(forms), tuple(_amounts(query)), release, said)


def _amounts(query: list[str]) -> list[tuple[Decimal, str]]:
    return [
        (Decimal(word), _UNITS.get(query[place + 1], "") if place + 1 < len(query) else "")
        for place, word in enumerate(query)
        if _NUMBER.fullmatch(word) and len(word) < 16
    ]


def _same_amount(wish: tuple[Decimal, str], amount: tuple[Decimal, str]) -> bool:
    """Whether they are equal, counted in one unit; without a unit the numbers are compared."""
    if not wish[1] or not amount[1]:
        return wish[0] == amount[0]
    return _key(wish) == _key(amount)


def _key(amount: tuple[Decimal, str]) -> tuple[str, Fraction, str]:
    return strength_key(*amount)

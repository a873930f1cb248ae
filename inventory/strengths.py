"""Read strengths such as "250 mg/5 mL" as numbers, and compare two. Pure: no Django."""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

_STRENGTH: Final = re.compile(r"\s*(\d[\d,]*(?:\.\d+)?|\.\d+)\s*([^\d\s/][^/]*?)?\s*(?:/\s*(.+?))?\s*")
_PER: Final = re.compile(r"(\d+(?:\.\d+)?)?\s*(\D.*?)?")

# Units that convert into one another, each with its factor to the smallest of its kind.
_UNITS: Final[dict[str, tuple[str, int]]] = {
    "mcg": ("mass", 1), "µg": ("mass", 1), "μg": ("mass", 1), "ug": ("mass", 1),
    "mg": ("mass", 1_000), "g": ("mass", 1_000_000), "kg": ("mass", 1_000_000_000),
    "ml": ("volume", 1), "l": ("volume", 1_000),
    "unit": ("units", 1), "units": ("units", 1), "iu": ("units", 1),
}  # fmt: skip

StrengthKey = tuple[str, Fraction, str]
"""The kind of quantity, the amount, and per what ("" for a tablet, "volume" for one millilitre)."""


def strength_parse(text: str) -> tuple[Decimal, str] | None:
    """Return the amount and its unit ("250 mg/5 mL" is 250 and "mg/5 mL"), or None for anything else."""
    match = _STRENGTH.fullmatch(text)
    if not match or not match[2]:
        return None
    try:
        amount = Decimal(match[1].replace(",", ""))
    except InvalidOperation:
        return None
    return amount, match[2] + (f"/{match[3]}" if match[3] else "")


def strength_key(amount: Decimal, unit: str) -> StrengthKey:
    """Return a key that is equal for equal strengths: 0.05 mg and 50 mcg, 250 mg/5 mL and 50 mg/mL."""
    name, _, per = unit.casefold().partition("/")
    kind, factor = _UNITS.get(name.strip(), (name.strip(), 1))
    value = Fraction(amount) * factor
    match = _PER.fullmatch(per.strip())
    if not per.strip() or match is None:
        return kind, value, per.strip()
    per_kind, per_factor = _UNITS.get((match[2] or "").strip(), ((match[2] or "").strip(), 1))
    count = Fraction(match[1] or "1") * per_factor
    return (kind, value / count, per_kind) if count else (kind, value, per.strip())


def amount_text(amount: Decimal) -> str:
    """Return an amount without trailing zeros: 1.0 is "1", 0.050 is "0.05"."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

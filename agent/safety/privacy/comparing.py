"""Bring personal values into the form in which they are compared, however they were written. Pure."""

import re
from datetime import date
from typing import Final

from pharmacy_site.lib.shadow import Shadow
from pharmacy_site.lib.vocabulary import MONTH_NUMBERS
from prescriptions.masking import DATES

TRUNK: Final = ("00972", "972", "0")
"""The ways to begin a phone number of this country."""
PUBLIC_FROM: Final = 7
"""Digits of a number that is surely personal; a shorter one may be a quantity in a tool's result."""

Key = tuple[str, ...]


def key_of(kind: str, value: str) -> Key:
    """Return a value in its comparable form: a date by its parts, a phone by its national digits, else its signs."""
    plain = Shadow(value).text
    digits = "".join(filter(str.isdigit, plain))
    if kind == "DATE":
        try:
            return ("date", *(str(part) for part in date.fromisoformat(plain).timetuple()[:3]))
        except ValueError:
            found = [match for pattern in DATES for match in pattern.finditer(plain)]
            return ("date", *dates_of(found[0])[0]) if found else ("words", "".join(plain.split()))
    if kind == "EMAIL" or not digits:
        return ("words", "".join(plain.split()))
    return ("number", national(digits) if "+" in plain or len(digits) >= PUBLIC_FROM else digits)


def national(digits: str) -> str:
    """Return the digits of a phone number without the ways to begin one of this country."""
    for trunk in TRUNK[:2]:
        if digits.startswith(trunk) and len(digits) >= len(trunk) + 8:
            return digits.removeprefix(trunk).removeprefix("0")
    return digits.removeprefix("0") if len(digits) in (9, 10) else digits


def dates_of(match: "re.Match[str]") -> list[Key]:
    """Return the dates that a written one may mean, the day before the month first."""
    parts = match.groupdict()
    years = [parts["year"]] if len(parts["year"]) == 4 else [f"19{parts['year']}", f"20{parts['year']}"]
    if parts.get("name"):
        pairs = [(parts["day"], str(MONTH_NUMBERS[parts["name"]]))]
    else:
        pairs = [(parts["first"], parts["second"]), (parts["second"], parts["first"])]
        if match.start("year") == match.start():
            pairs.reverse()
    return [(year, str(int(month)), str(int(day))) for year in years for day, month in pairs]

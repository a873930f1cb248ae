"""Read how much of each medicine a request for a refill wants: "15 metformin and 30 atorvastatin"."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.message import Clause, Medicine, Unknown
from agent.state import RememberedMedication
from pharmacy_site.lib.text import compact, words
from pharmacy_site.lib.vocabulary import NUMBER_WORDS

AMOUNTS: Final = ("units", "packs", "days")
_NOUNS: Final[Mapping[str, re.Pattern[str]]] = {
    "packs": re.compile(r"packs?|packets?|boxe?s?|bottles?|חפיס\w+|קופס\w+|אריז\w+|בקבוק\w*"),
    "units": re.compile(
        r"tablets?|pills?|capsules?|tabs?|caps?|units?|מ?ה?(?:כדור\w*|טבלי\w+|קפסול\w+|יחיד\w+)"
    ),
    "days": re.compile(r"days?|ימימ|יומ"),
}
_DIGITS: Final = re.compile(r"[ולב]?(\d{1,4})")
_BEFORE_NAME: Final = frozenset(words("of the my for both את של שלי ה"))
_OF: Final = frozenset(words("of for של"))
_BEHIND_NAME: Final = frozenset(words("just only about x רק"))
_EACH: Final = re.compile(r"\b(?:each|apiece)\b|(?<!\w)[למ]?כל (?:אחד|אחת)(?!\w)")
_NUMBERS_OF: Final = frozenset(words("number no prescription rx מרשם מספר"))
"""A number behind these is that of a prescription."""
_SMALLEST: Final = 5
"""A smaller number right before a name may be packs, so that it needs a noun."""


@dataclass(frozen=True)
class Amount:
    """A number with what it counts, and where it is in its clause."""

    kind: str
    number: int
    start: int
    end: int


def wished_in(clause: Clause) -> dict[str, Any]:
    """Return how much is wanted, and whether it shall be delivered, where a clause says so.

    `amounts` are those of medicines that the clause names. Without a name the amount is that of the whole request; `unowned`
    is one of which it is unclear to which of several names it belongs.
    """
    names = _names(clause)
    wished: dict[str, Any] = {}
    amounts = _amounts_in(clause, names)
    given: list[dict[str, Any]] = []
    for amount in amounts:
        if not names:
            wished.setdefault(amount.kind, amount.number)
            continue
        owners = _owners(clause, names, amount, amounts)
        given += [_of(name, amount) for name in owners]
        if not owners:
            wished["unowned"] = True
    if wished.get("unowned") or any(_is_given_twice(one, given) for one in given):
        wished = {"unowned": True}  # one amount that is misplaced puts the others in doubt
    elif given:
        wished["amounts"] = given
    if not names:
        wished = {kind: wished[kind] for kind in ("packs", "units", "days") if kind in wished}
        wished = dict([*wished.items()][:1])  # "2 packs of 30 tablets" is two packs
        if wished and _says_each(clause.words):
            wished["each"] = True
    if clause.has("delivery"):
        wished["delivery"] = True
    return wished


def amount_of(details: Mapping[str, Any], medicine: RememberedMedication) -> dict[str, int]:
    """Return how much of a medicine the details of a refill name, by its product or by what the customer wrote."""
    written = {compact(str(medicine.get(key) or "")) for key in ("said", "query")} - {""}
    for given in details.get("amounts", ()):
        if medicine.get("id") in given["ids"] or compact(given["said"]) in written:
            return {kind: given[kind] for kind in AMOUNTS if kind in given}
    return {}


def amount_of_all(details: Mapping[str, Any]) -> dict[str, int]:
    """Return how much of the whole request the details of a refill name."""
    return {kind: details[kind] for kind in AMOUNTS if kind in details}


def is_unowned(details: Mapping[str, Any], medicines: int) -> bool:
    """Return whether an amount was named of which it is unclear to which of several medicines it belongs."""
    is_of_all = bool(amount_of_all(details)) and medicines > 1 and not details.get("each")
    return is_of_all or bool(details.get("unowned"))


def amounts_joined(first: Frame, second: Frame) -> dict[str, Any]:
    """Return the details of two requests that are one, with the amounts of both."""
    both = [*first.details.get("amounts", ()), *second.details.get("amounts", ())]
    joined = {**second.details, **first.details}
    return {**joined, "amounts": both} if both else joined


def _names(clause: Clause) -> list[Medicine | Unknown]:
    named: list[Medicine | Unknown] = [*clause.medicines]
    if len(clause.medicines) > 0:
        named += [one for one in clause.unknown if _stands_with_number(clause, one)]
    return sorted(named, key=lambda one: one.start)


def _stands_with_number(clause: Clause, name: Unknown) -> bool:
    """Return whether a number stands right before unknown words, which makes a name of them among other names."""
    return name.start > 0 and bool(_DIGITS.fullmatch(clause.words[name.start - 1]))


def _amounts_in(clause: Clause, names: Sequence[Medicine | Unknown]) -> list[Amount]:
    found: list[Amount] = []
    taken = {place for name in names for place in range(name.start, name.end)}
    for place, word in enumerate(clause.words):
        number = _number(word)
        if number is None or place in taken or _is_numbering(clause, place):
            continue
        following = clause.words[place + 1] if place + 1 < len(clause.words) else ""
        kind = next((kind for kind, nouns in _NOUNS.items() if nouns.fullmatch(following)), "")
        if kind and place + 1 not in taken:
            if found and found[-1].kind == "packs" and _is_size(clause, found[-1], place):
                continue
            found.append(Amount(kind, number, place, place + 2))
        elif number >= _SMALLEST and word[-1].isdigit() and _counts_names(clause, names, place, found):
            found.append(Amount("units", number, place, place + 1))
    return found


def _is_size(clause: Clause, packs: Amount, place: int) -> bool:
    """Return whether a number only says how big the packs are that stand before it."""
    return clause.words[packs.end : place] in ([], ["of"], ["של"], ["with"])


def _is_numbering(clause: Clause, place: int) -> bool:
    return place > 0 and clause.words[place - 1] in _NUMBERS_OF


def _counts_names(
    clause: Clause, names: Sequence[Medicine | Unknown], place: int, found: Sequence[Amount]
) -> bool:
    """Return whether a bare number counts what is behind it: "15 metformin", "15 of each"; not "metformin 500 atorvastatin"."""
    if _EACH.match(" ".join(clause.words[place + 1 :]).removeprefix("of ")):
        return True
    behind = next((name for name in names if name.start > place), None)
    if behind is None or not _only(clause.words[place + 1 : behind.start], _BEFORE_NAME):
        return False
    before = next((name for name in names if name.end == place), None)
    return before is None or any(_leads_to(clause, amount, before) for amount in found)


def _leads_to(clause: Clause, amount: Amount, name: Medicine | Unknown) -> bool:
    return amount.end <= name.start and _only(clause.words[amount.end : name.start], _BEFORE_NAME)


def _owners(
    clause: Clause, names: Sequence[Medicine | Unknown], amount: Amount, amounts: Sequence[Amount]
) -> Sequence[Medicine | Unknown]:
    """Return the names that an amount belongs to: the only one, all by "each", the one right behind or before it.

    Between two names without a word that joins it to one, the order of the clause decides, if each name has its amount:
    "metformin 15 tablets, atorvastatin 30 tablets" names first. Otherwise it belongs to none, and is asked about.
    """
    if len(names) == 1:
        return names
    if _says_each(clause.words[max(amount.start - 2, 0) : amount.end + 3]):
        return names
    behind = next((name for name in names if _leads_to(clause, amount, name)), None)
    before = next((name for name in reversed(names) if _follows(clause, amount, name)), None)
    if behind and before and not _is_joined(clause, amount, behind):
        if len(amounts) != len(names):
            return []
        return [before if names[0].start < amounts[0].start else behind]
    owner = behind or before
    return [owner] if owner else []


def _follows(clause: Clause, amount: Amount, name: Medicine | Unknown) -> bool:
    return name.end <= amount.start and _only(clause.words[name.end : amount.start], _BEHIND_NAME)


def _is_joined(clause: Clause, amount: Amount, behind: Medicine | Unknown) -> bool:
    """Return whether a word joins an amount to the name behind it: "15 of atorvastatin", "מטפורמין ו20 אטורבסטטין"."""
    between = clause.words[amount.end : behind.start]
    return clause.words[amount.start].startswith("ו") or not _OF.isdisjoint(between)


def _is_given_twice(one: Mapping[str, Any], given: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the medicine of an amount is given two amounts of one kind, of which one must be another's."""
    kinds = [kind for kind in AMOUNTS if kind in one]
    same = [other for other in given if (other["said"], other["ids"]) == (one["said"], one["ids"])]
    return sum(kind in other for other in same for kind in kinds) > 1


def _says_each(said: Sequence[str]) -> bool:
    return bool(_EACH.search(" ".join(said)))


def _of(name: Medicine | Unknown, amount: Amount) -> dict[str, Any]:
    ids = [one["id"] for one in name.candidates] if isinstance(name, Medicine) else []
    return {"said": name.text, "ids": ids, amount.kind: amount.number}


def _number(word: str) -> int | None:
    if digits := _DIGITS.fullmatch(word):
        return int(digits[1])
    return NUMBER_WORDS.get(word)


def _only(between: Sequence[str], fill: Collection[str]) -> bool:
    return all(word in fill for word in between)

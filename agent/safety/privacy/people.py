"""Find names of people in free text ("my name is Dana Levi", "קוראים לי דנה"). Pure.

After words that announce a name, any words but common ones are taken for it. After weaker words ("I'm", "זה") it must be
a listed name (`lexicon/people.yaml`): "I'm allergic" has none, and "this is Advil" names a medicine.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from agent.safety import lexicon
from agent.safety.privacy.public import WORD, Public
from pharmacy_site.lib.shadow import Shadow
from pharmacy_site.lib.text import fold, hebrew_stems
from pharmacy_site.lib.vocabulary import HEBREW_END, HEBREW_LETTER, HEBREW_START
from pharmacy_site.lib.yaml_files import yaml_read

LONGEST_NAME: Final = 4

_STRONG: Final = re.compile(
    r"\b(?:my|his|her|their|patient|patient's|customer|mother's|father's|son's|daughter's|wife's|husband's|child's|kid's|baby's|mom's|dad's)"
    r" (?:(?:full|first|last|family|given|middle|sur) ?)?name(?: is|'s|s|:| -|,)?(?: is)?"
    r"|\b(?:first|last|family) name(?: is|:| -)"
    r"|\bi'?m called|\bi am called|\bi go by|\bthey call me|\bon behalf of"
    r"|\b(?:son|daughter|mother|father|wife|husband|baby) is (?:named|called)"
    rf"|{HEBREW_START}ו?(?:קוראים לי|שמי|השם שלי(?: הוא| זה)?|שם שלי(?: הוא| זה)?|שמי המלא(?: הוא)?|השם המלא שלי(?: הוא)?|שם פרטי(?: שלי)?"
    rf"|שם משפחה(?: שלי)?|שם ה?מטופלת?|שם ה?לקוחה?){HEBREW_END}"
)
# Announce the name of a person, or of what is on the shelf: "registered under the name Cetirizine".
_OF_SOMETHING: Final = re.compile(
    r"\bfull name(?: is|'s|:| -|,)?(?: is)?|\bin the name of|\bunder the name(?: of)?"
    rf"|{HEBREW_START}ו?(?:השם המלא(?: הוא)?|שם מלא|על שם|ע\"ש|בשם){HEBREW_END}"
)
_TITLE: Final = re.compile(rf"\b(?:mr|mrs|ms|miss|prof)\.?(?= )|{HEBREW_START}(?:מר|גברת|גב')(?= )")
_DOCTOR: Final = re.compile(rf"\b(?:dr|doctor)\.?(?= )|{HEBREW_START}[הלב]?(?:ד\"ר|דוקטור)(?= )")
_WEAK: Final = re.compile(
    r"\b(?:i'?m|i am|this is|it's me|its me|it is me|it's|its|it is|call me|name is|named|called|hi|hello|hey|thanks|thank you|regards|sincerely|for|from|yours"
    r"|mother|mom|father|dad|son|daughter|wife|husband|brother|sister|baby|child|grandmother|grandfather|aunt|uncle|friend)[,:!]?(?=\s)"
    rf"|{HEBREW_START}ו?(?:אני|זה|זו|זאת|כאן|פה|מדברת?|תודה|בברכה|קוראים ל[הו]|שמה|שמו|שם|קוראים|[להבש]?(?:אמא|אבא|בן|בת|בעלי|אשתי|אחי|אחותי|סבתא|סבא)(?: שלי)?)[,:!]?(?=\s)"
)
# After these a medicine's name that is a given name too stands for a person: "I'm Nora", but not "the price for Nora".
_OF_PERSON: Final = re.compile(
    r"(?:i'?m|i am|this is|it's me|its me|it is me|call me|thanks|thank you|regards|sincerely|yours"
    r"|mother|mom|father|dad|son|daughter|wife|husband|brother|sister|baby|child|grandmother|grandfather|aunt|uncle|friend)[,:!]?"
    r"|ו?(?:אני|זו|זאת|כאן|פה|מדברת?|תודה|בברכה|[להבש]?(?:אמא|אבא|בן|בת|בעלי|אשתי|אחי|אחותי|סבתא|סבא)(?: שלי)?)[,:!]?"
)
_SAYS_WHO: Final = re.compile(r" (?:speaking|calling|מדברת?)")
_BEHIND: Final = re.compile(r" (?:here|speaking|calling|מדברת?|כאן|פה)(?!\w)")
_STREET: Final = re.compile(
    r"(?:\b(?:street|st|road|rd|avenue|ave|boulevard|blvd)|רחוב|שדרות|שד'|דרך|כיכר|סניף)\s*[.,]?\s*$"
)
_STREET_BEHIND: Final = re.compile(
    r"\s*(?:street|st|road|rd|avenue|ave|boulevard|blvd|square|branch|center|centre|mall)\b"
)
_BRANDS: Final = frozenset({"fischer", "פישר"})  # "Dr. Fischer" is on the shelf
_GAP: Final = re.compile(r"[\s:,\-\"'(]{0,4}")
_I_AM: Final = re.compile(r"\b(?:i'?m|i am) $")
_ENDS: Final = re.compile(r"\s*(?:[,.!?;\n]|$|and\b|here\b|speaking\b|calling\b)")
_BREAK: Final = re.compile(r"\s*(?:[,.;:!?\n)]|$)")


@dataclass(frozen=True)
class Token:
    """A word of the text with its folded form and whether it was typed with a capital."""

    start: int
    end: int
    folded: str
    is_capital: bool


def tokens_of(shadow: Shadow) -> list[Token]:
    """Return the words of a text."""
    return [
        Token(m.start(), m.end(), fold(m.group()), shadow.original[shadow.places[m.start()]].isupper())
        for m in WORD.finditer(shadow.text)
    ]


def is_common(folded: str) -> bool:
    """Return whether a folded word is an ordinary one and no name."""
    return folded in _common() or any(stem in _common() for stem in hebrew_stems(folded))


def is_street(text: str, start: int, end: int) -> bool:
    """Return whether the name at these places is that of a street or a branch."""
    return bool(_STREET.search(text[max(0, start - 12) : start]) or _STREET_BEHIND.match(text, end))


def names_in(shadow: Shadow, tokens: list[Token], public: Public) -> Iterator[tuple[int, int]]:
    """Yield the spans of names, without overlaps; of medicines' names only those that stand for a person."""
    text = shadow.text
    at = {token.start: place for place, token in enumerate(tokens)}
    words = [token.folded for token in tokens]
    known = (
        {place: count for place in range(len(words)) if (count := public.name_at(words, place))}
        if public.names
        else {}
    )
    done = 0
    for place, count in sorted(_found(text, tokens, at, known), key=lambda found: (found[0], -found[1])):
        if count and place >= done:
            done = place + count
            yield tokens[place].start, tokens[done - 1].end


def _found(
    text: str, tokens: list[Token], at: dict[int, int], known: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield the position of each name's first token and how many tokens it has; `known` are those of medicines."""
    for match in _STRONG.finditer(text):
        yield _without_medicine(_behind(text, tokens, at, match.end(), _announced), tokens, known)
    for match in _OF_SOMETHING.finditer(text):
        place, count = _behind(text, tokens, at, match.end(), _announced)
        if place not in known or tokens[place].folded in _given():
            yield _without_medicine((place, count), tokens, known)
    for place, count, is_of_person in _called_by_cues(text, tokens, at):
        if place not in known or is_of_person or count > 1:
            yield _without_medicine((place, count), tokens, known)
    yield from _by_themselves(text, tokens)


def _without_medicine(
    found: tuple[int, int], tokens: list[Token], known: Mapping[int, int]
) -> tuple[int, int]:
    """Return a name without the medicine behind it: "for Dana Acamol"."""
    place, count = found
    for later in range(place + 1, place + count):
        if later in known and tokens[later].folded not in _family() | _given():
            return place, later - place
    return found


def _called_by_cues(text: str, tokens: list[Token], at: dict[int, int]) -> Iterator[tuple[int, int, bool]]:
    """Yield listed names beside words that people introduce themselves with, and whether only people are introduced so."""
    ends = {token.end: place for place, token in enumerate(tokens)}
    for match in _TITLE.finditer(text):
        yield (*_behind(text, tokens, at, match.end(), _titled), True)
    for match in _DOCTOR.finditer(text):
        place, _ = _behind(text, tokens, at, match.end(), lambda *_: 1)
        yield place, int(place < len(tokens) and tokens[place].folded in _family() - _BRANDS), True
    for match in _WEAK.finditer(text):
        found = _behind(text, tokens, at, match.end(), _called)
        yield (*found, bool(_OF_PERSON.fullmatch(match.group().strip())))
    for match in _BEHIND.finditer(text):
        for back in (2, 1):
            place = ends.get(match.start(), -1) - back + 1
            if place >= 0 and _called(text, tokens, place) == back:
                yield place, back, bool(_SAYS_WHO.match(match.group()))
                break


def _by_themselves(text: str, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield a listed given name with a listed family name, in either order."""
    for place, token in enumerate(tokens[:-1]):
        following = tokens[place + 1]
        is_register = token.folded in _family() and following.folded in _given()  # "Cohen, David"
        if is_register and text[token.end : following.start] == ", ":
            yield place, 2
        are_listed = token.folded in _given() and following.folded in _family()
        if are_listed and _adjoin(text, token, following) and not is_street(text, token.start, following.end):
            yield place, 2


_Count = Callable[[str, list[Token], int], int]


def _behind(text: str, tokens: list[Token], at: dict[int, int], end: int, count: _Count) -> tuple[int, int]:
    gap = _GAP.match(text, end)
    place = at.get(gap.end() if gap else end)
    return (place, count(text, tokens, place)) if place is not None else (len(tokens), 0)


def _announced(text: str, tokens: list[Token], place: int) -> int:
    """Return how many words from here are a name that was announced."""
    count = 0
    for token in tokens[place : place + LONGEST_NAME]:
        if count and not _adjoin(text, tokens[place + count - 1], token):
            break
        listed = token.folded in _given() or token.folded in _family()
        if not listed and is_common(token.folded):
            break
        if count and tokens[place].is_capital and not token.is_capital and not _is_hebrew(token):
            break
        if count >= 2 and not (listed or token.is_capital):
            break
        count += 1
    return count


def _titled(text: str, tokens: list[Token], place: int) -> int:
    token = tokens[place]
    if token.folded not in _family() and not token.is_capital:
        return 0
    return _announced(text, tokens, place)


def _called(text: str, tokens: list[Token], place: int) -> int:
    """Return how many words from here are a listed given name with the family name after it."""
    token = tokens[place]
    if token.folded in _given():
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if following is None or not _adjoin(text, token, following):
            return 1
        if following.folded in _family():
            return 2
        looks = following.is_capital or (_is_hebrew(following) and bool(_BREAK.match(text, following.end)))
        return 2 if looks and not is_common(following.folded) else 1
    pair = tokens[place : place + 2]
    if len(pair) == 2 and all(_looks_like_a_name(text, one) for one in pair) and _adjoin(text, *pair):
        said = _I_AM.search(text[max(0, token.start - 6) : token.start])
        return 2 if said and _ENDS.match(text, pair[1].end) else 0
    return 0


def _looks_like_a_name(text: str, token: Token) -> bool:
    return token.is_capital and len(token.folded) > 2 and not is_common(token.folded)


def _adjoin(text: str, one: Token, other: Token) -> bool:
    return text[one.end : other.start] in (" ", "-", " - ", ". ")


def _is_hebrew(token: Token) -> bool:
    return bool(HEBREW_LETTER.match(token.folded))


@lru_cache(maxsize=1)
def _people() -> dict[str, frozenset[str]]:
    path = Path(lexicon.__file__).with_name("people.yaml")
    loaded = yaml_read(path)
    return {kind: frozenset(fold(name) for name in text.split()) for kind, text in loaded.items()}


def _given() -> frozenset[str]:
    return _people()["given"]


def _family() -> frozenset[str]:
    return _people()["family"]


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    path = Path(lexicon.__file__).with_name("words.yaml")
    loaded = yaml_read(path)
    return frozenset(word for text in loaded.values() for word in fold(text).split())

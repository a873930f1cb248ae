"""Find names of people in free text ("my name is Dana Levi", "קוראים לי דנה"). Pure.

After words that announce a name, any words but common ones are taken for it. After weaker words ("I'm", "זה") it must be
a listed name (`lexicon/people.yaml`): "I'm allergic" has none, and "this is Advil" names a medicine.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from agent.safety import lexicon
from pharmacy_site.lib.shadow import Shadow
from pharmacy_site.lib.text import fold, hebrew_stems
from pharmacy_site.lib.vocabulary import HEBREW_END, HEBREW_LETTER, HEBREW_START
from pharmacy_site.lib.yaml_files import yaml_read

WORD: Final = re.compile(r"[^\W\d_]+(?:['\"][^\W\d_]+)*'?")
LONGEST_NAME: Final = 4

_STRONG: Final = re.compile(
    r"\b(?:my|his|her|their|full|patient|patient's|customer|mother's|father's|son's|daughter's|wife's|husband's|child's|kid's|baby's|mom's|dad's)"
    r" (?:(?:full|first|last|family|given|middle|sur) ?)?name(?: is|'s|s|:| -|,)?(?: is)?"
    r"|\b(?:full|first|last|family) name(?: is|:| -)"
    r"|\bi'?m called|\bi am called|\bi go by|\bthey call me|\bin the name of|\bunder the name(?: of)?|\bon behalf of"
    r"|\b(?:son|daughter|mother|father|wife|husband|baby) is (?:named|called)"
    rf"|{HEBREW_START}ו?(?:קוראים לי|שמי|השם שלי(?: הוא| זה)?|שם שלי(?: הוא| זה)?|שמי המלא(?: הוא)?|השם המלא(?: שלי)?(?: הוא)?|שם מלא|שם פרטי(?: שלי)?"
    rf"|שם משפחה(?: שלי)?|שם ה?מטופלת?|שם ה?לקוחה?|על שם|ע\"ש|בשם){HEBREW_END}"
)
_TITLE: Final = re.compile(rf"\b(?:mr|mrs|ms|miss|prof)\.?(?= )|{HEBREW_START}(?:מר|גברת|גב')(?= )")
_DOCTOR: Final = re.compile(rf"\b(?:dr|doctor)\.?(?= )|{HEBREW_START}[הלב]?(?:ד\"ר|דוקטור)(?= )")
_WEAK: Final = re.compile(
    r"\b(?:i'?m|i am|this is|it's me|its me|it is me|it's|its|it is|call me|name is|named|called|hi|hello|hey|thanks|thank you|regards|sincerely|for|from|yours"
    r"|mother|mom|father|dad|son|daughter|wife|husband|brother|sister|baby|child|grandmother|grandfather|aunt|uncle|friend)[,:!]?(?=\s)"
    rf"|{HEBREW_START}ו?(?:אני|זה|זו|זאת|כאן|פה|מדברת?|תודה|בברכה|קוראים ל[הו]|שמה|שמו|שם|קוראים|[להבש]?(?:אמא|אבא|בן|בת|בעלי|אשתי|אחי|אחותי|סבתא|סבא)(?: שלי)?)[,:!]?(?=\s)"
)
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


def names_in(shadow: Shadow, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield the spans of names, without overlaps."""
    text = shadow.text
    at = {token.start: place for place, token in enumerate(tokens)}
    done = 0
    for place, count in sorted(_found(text, tokens, at), key=lambda found: (found[0], -found[1])):
        if count and place >= done:
            done = place + count
            yield tokens[place].start, tokens[done - 1].end


def _found(text: str, tokens: list[Token], at: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the position of each name's first token and how many tokens it has."""
    ends = {token.end: place for place, token in enumerate(tokens)}
    for match in _STRONG.finditer(text):
        yield _behind(text, tokens, at, match.end(), _announced)
    for match in _TITLE.finditer(text):
        yield _behind(text, tokens, at, match.end(), _titled)
    for match in _DOCTOR.finditer(text):
        place, _ = _behind(text, tokens, at, match.end(), lambda *_: 1)
        yield place, int(place < len(tokens) and tokens[place].folded in _family() - _BRANDS)
    for match in _WEAK.finditer(text):
        yield _behind(text, tokens, at, match.end(), _called)
    for match in _BEHIND.finditer(text):
        for back in (2, 1):
            place = ends.get(match.start(), -1) - back + 1
            if place >= 0 and _called(text, tokens, place) == back:
                yield place, back
                break
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

"""Tell for whom, and for which kind of medicine, an entry is written, against what somebody asks. Pure.

The words of "what counts as a fever" are the same for an adult and for a baby, and the hours of an antibiotic are not those of every
medicine: an entry for others may cover a question word by word and still mislead.
"""

import re
from collections.abc import Mapping
from typing import Final

from rapidfuzz import fuzz, process

from agent.knowledge.features import text_folded
from pharmacy_site.lib.text import hebrew_stems, words

_PEOPLE: Final[Mapping[str, frozenset[str]]] = {
    "young": frozenset(
        words(
            "baby babies infant infants newborn newborns toddler toddlers child children childs kid kids girl girls boy boys twins"
            " תינוק תינוקת תינוקות יילוד פעוט פעוטה פעוטות ילד ילדה ילדים ילדות תאומים תאומות"
        )
    ),
    "adult": frozenset(words("adult adults מבוגר מבוגרת מבוגרים")),
    "pregnant": frozenset(words("pregnant pregnancy הריון היריון הרה")),
    "nursing": frozenset(
        words("breastfeeding breastfeed breastfed nursing lactation הנקה מניקה מניקות להניק")
    ),
}
_CHILDS_AGE: Final = re.compile(
    r"\b(?:\d+|two|three|four|five|six) ?(?:day|week|month|mo)s? old|\b(?:[1-9]|1[0-7]) ?(?:yo|years? old)\b"
    r"|\bבנ?ת? (?:\d+ )?(?:ימימ|שבוע|שבועות|שבועיימ|חודש|חודשימ|חודשיימ)\b|\bבנ?ת? (?:[1-9]|1[0-7])\b"
)
_APART: Final = (frozenset({"young", "adult"}), frozenset({"pregnant", "nursing"}))
"""Groups of which one's answer is not the other's."""
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "antibiotic": frozenset(words("antibiotic antibiotics אנטיביוטיקה אנטיביוטיקות")),
    "insulin": frozenset(words("insulin אינסולין")),
    "thinner": frozenset(words("warfarin coumadin thinner thinners וורפרין קומדין מדלל מדללי")),
    "iron": frozenset(words("iron ברזל")),
    "thyroid": frozenset(words("thyroid eltroxin תריס")),
}
"""Kinds whose rules hold for no other medicine."""
_OWN: Final = frozenset({"nursing", *_KINDS})
"""What an entry says nothing about to anybody who did not name it."""
_DIABETES: Final = frozenset(words("diabetes diabetic diabetics סוכרת סוכרתי סוכרתית סוכרתיים"))
"""An entry with one of these in its question is for people with diabetes."""
_NAMES_DIABETES: Final = _DIABETES | frozenset(
    words("sugar glucose hypo insulin metformin meter strips lancets סוכר אינסולין מטפורמין היפו סטריפים")
)
"""What such people may write instead."""
_SIMILAR: Final = 80.0
"""How alike two words must be, from 0 to 100, to be spellings of one word."""


def scope_of(text: str) -> frozenset[str]:
    """Return the people and kinds of medicine that a text names, also misspelt; a child's age names a child."""
    said = _forms(text)
    return frozenset(
        {group for group, named in _PEOPLE.items() if named & said}
        | ({"young"} if _CHILDS_AGE.search(text_folded(text)) else set())
        | {kind for kind, named in _KINDS.items() if any(_is_spelt(word, named) for word in said)}
    )


def is_out_of_scope(text: str, question: str) -> bool:
    """Return whether an entry's question is about others than a text asks for: a fever "in an adult" for a baby."""
    asked, meant = scope_of(text), scope_of(question)
    if not asked.issuperset(meant & _OWN):
        return True
    if _DIABETES & _forms(question) and not any(_is_spelt(word, _NAMES_DIABETES) for word in _forms(text)):
        return True
    return any(asked & pair and meant & pair and not asked & meant & pair for pair in _APART)


def names_the_same(text: str, question: str) -> bool:
    """Return whether an entry's question names those whom a text names; true of a text that names nobody."""
    asked = scope_of(text)
    return not asked or bool(asked & scope_of(question))


def _forms(text: str) -> set[str]:
    """Return the words of a text, Hebrew ones also without prefix letters."""
    return {form for word in text_folded(text).split() for form in (word, *hebrew_stems(word))}


def _is_spelt(word: str, named: frozenset[str]) -> bool:
    return word in named or (
        len(word) > 4
        and process.extractOne(word, named, scorer=fuzz.ratio, score_cutoff=_SIMILAR) is not None
    )

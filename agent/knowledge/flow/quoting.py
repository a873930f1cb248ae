"""Cut stored answers into sentences, and quote what a model named of them. Pure.

A model shows nothing but markers: "[q1]" is an answer, "[q2.3]" one of its sentences. Whatever else it writes is dropped.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agent.knowledge.answer import Quote
from agent.knowledge.retrieval import FullQA

MOST_QUOTES: Final = 4
_SHORT: Final = 3  # sentences up to which an answer is quoted whole
_GAP: Final = " […] "
_MARKED: Final = re.compile(r"\[([^\[\]]{1,400})\]")
_NAME: Final = re.compile(r"q(\d{1,2})(?:\.(\d{1,3}))?", re.IGNORECASE)
_END: Final = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bDr\.)(?<!\betc\.)\s+(?=\S)|\s*\n\s*"
)
# A sentence with one of these words may be what makes another one safe to read; one that begins like this is no sentence alone.
_CAREFUL: Final = {
    "en": r"\b(?:not|no|never|cannot|avoid|stop|unless|except|only|without|if|but|however|until|before|doctor|dentist|"
    r"pharmacist|emergency|ambulance|poison|ask|call|seek|urgent\w*|immediately|warning|danger\w*|allerg\w*|pregnan\w*)\b|n['’]t\b",
    "he": r"לא|אין|אסור|אל|רק|אלא|למעט|חוץ|בלי|ללא|אם|אבל|אך|עד|לפני|רופא|רוקח|חירום|מיד|להפסיק|הפסיק|פנו|לפנות|פונים|"
    r"אזהר|סכנ|מסוכ|אלרג|היריון|הריון|ער[ןנ]ות",
    "vi": r"\b(?:không|chưa|đừng|chỉ|trừ|ngừng|nếu|nhưng|tránh|bác sĩ|cấp cứu|ngay|trước khi|thai)\b",
}  # fmt: skip
_LEANS: Final = {
    "en": r"(?:this|that|these|those|it|its|they|them|their|he|she|such|but|however|then|so|otherwise|therefore|instead|and|or|"
    r"also|because|both|for example|in this case|if so|if not)\b",
    "he": r"(?:זה|זו|זאת|הוא|היא|הם|הן|אלה|אלו|אבל|אך|אולם|אחרת|לכן|כך|ואז|אז|גם|וגם|או|כי|במקרה כזה|למשל)(?=[\s,])",
    "vi": r"(?:điều này|đó|đây|chúng|nó|nhưng|tuy nhiên|vì vậy|do đó|khi đó|nếu không|ngoài ra)\b",
}  # fmt: skip


@dataclass(frozen=True)
class Quotable:
    """A stored answer in its sentences, as a model is shown it; sentences of the explanation come after the answer's."""

    qa: FullQA
    language: str

    @cached_property
    def answer(self) -> tuple[str, ...]:
        """The sentences of the answer."""
        return sentences(self.qa["CAUTRALOI"])

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """All sentences, numbered from 1 for the model."""
        return (*self.answer, *sentences(self.qa["GIAITHICH"]))

    def quote(self, numbers: Sequence[int] | None = None) -> Quote:
        """Quote the whole answer, or these sentences with what must not be left out beside them."""
        text = self.qa["CAUTRALOI"]
        if numbers is not None:
            wanted = {number - 1 for number in numbers if number <= len(self.answer)}
            explained = [self.parts[number - 1] for number in numbers if number > len(self.answer)]
            # An explanation stands below the answer that it explains.
            text = "\n\n".join(filter(None, [self._said(wanted) if wanted else text, " ".join(explained)]))
        return Quote(self.qa["id"], self.qa["version"], self.qa["CAUHOI"], text, self.qa["source"])

    def _said(self, wanted: set[int]) -> str:
        """Return sentences of the answer in its order; short answers, and those whose language has no rules, whole."""
        careful, leans = _CAREFUL.get(self.language), _LEANS.get(self.language)
        if len(self.answer) <= _SHORT or not careful or not leans:
            return self.qa["CAUTRALOI"]
        places = wanted | {
            place for place, text in enumerate(self.answer) if re.search(careful, text, re.IGNORECASE)
        }
        for place in sorted(places, reverse=True):
            while place and re.match(leans, self.answer[place], re.IGNORECASE):
                place -= 1
                places.add(place)
        if len(places) == len(self.answer):
            return self.qa["CAUTRALOI"]
        text, last = "", -1
        for place in sorted(places):
            gap = "" if last < 0 else " " if place == last + 1 else _GAP
            text, last = text + gap + self.answer[place], place
        return text


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text; a line is one too."""
    return tuple(part for part in (piece.strip() for piece in _END.split(text)) if part)


def quotes_named(explanation: str, entries: Sequence[Quotable]) -> list[Quote]:
    """Return what the markers of a model's text name, each answer once, in the order in which they are named first.

    Markers of anything that was not offered are dropped, like all words.
    """
    named: dict[int, set[int] | None] = {}
    for entry, part in _names(explanation):
        if not 1 <= entry <= len(entries) or (part and part > len(entries[entry - 1].parts)):
            continue
        if part == 0:
            named[entry] = None
        elif (parts := named.setdefault(entry, set())) is not None:
            parts.add(part)
    return [
        entries[entry - 1].quote(sorted(parts) if parts is not None else None)
        for entry, parts in list(named.items())[:MOST_QUOTES]
    ]


def _names(text: str) -> Iterator[tuple[int, int]]:
    """Yield the number of an entry and that of a sentence, 0 for the whole answer, of each marker."""
    for marked in _MARKED.finditer(text):
        for name in marked.group(1).split(","):
            if found := _NAME.fullmatch(name.strip()):
                part = found.group(2)
                if part is None or int(part):
                    yield int(found.group(1)), int(part or 0)

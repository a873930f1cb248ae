"""Put an answer together from a language model's text while it is generated: its words, and facts in place of markers.

"Happy to check! [f1] [f3] Shall I look elsewhere?" names two facts of the menu. Words that state something themselves are
dropped, and the rest stays.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from agent.answers.answer import Answer, Piece, text_beside
from agent.answers.cards import Card
from agent.answers.connecting_sentences import CONNECTING
from agent.answers.facts.fact import MARKER, Fact, Menu, is_said, names_in_marker
from agent.answers.glue import verdict_removed
from agent.inference.base import Withheld

LONGEST_SENTENCE: Final = 1_500  # characters without any end
_GAP: Final = re.compile(r"(?<=[.!?:…])\s*\n\s*|(?<=[.!?…])(?<!\d\.)\s+|\n\s*\n\s*")
"""Where a sentence ends; a lone line break without a mark before it does not end one."""
_LONG: Final = 160  # characters from which a fact is a paragraph of its own
_SHORTEST_REPEATED: Final = 20  # characters; shorter words stand in facts by chance
_ISOLATES: Final = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
_READY: Final = frozenset(text for texts in CONNECTING.values() for text in texts)
_HEADS: Final = {
    text: kinds
    for name, kinds in (("from_leaflet", "leaflet"), ("prices", "price"), ("hours", "hours"))
    for text in CONNECTING[name]
}
"""Announcements that name where the next fact comes from, and the beginning of its kind."""
_WARNINGS: Final = frozenset({"interaction", "allergy"})
_OPEN_ENDS: Final = ".!?:,;–—-…"


@dataclass(frozen=True)
class Dropped:
    """A piece of a model's text that was not shown, and why."""

    text: str
    faults: Sequence[str]


@dataclass
class _Words:
    """Words of the model that wait for what follows them, with the line breaks before them."""

    text: str
    breaks: int


@dataclass
class Composition:
    """The answer of one request to a language model."""

    menu: Menu
    faults: Callable[[str], Awaitable[list[str]]]
    """Says why a connecting sentence may not be shown."""
    show: Callable[..., None]
    """Shows the next piece of the answer, and its brief form beside the cards where that differs."""
    cards: Sequence[Card] = ()
    """The cards that the answer will have."""
    message: str = ""
    """What the customer wrote."""
    answer: Answer = field(default_factory=Answer)
    """What is shown so far."""
    chosen: list[Fact] = field(default_factory=list)
    """Those of them that the model named."""
    words: list[str] = field(default_factory=list)
    """The model's own sentences in the answer."""
    dropped: list[Dropped] = field(default_factory=list)
    written: str = ""
    """What the model wrote."""
    _held: str = ""
    _breaks: int = 0
    _waiting: list[_Words] = field(default_factory=list)
    _is_after_paragraph: bool = False

    async def hear(self, piece: str) -> None:
        """Take the next piece of the model's text. Raises Withheld for a sentence without an end."""
        self._held += piece
        self.written += piece
        while (marker := MARKER.search(self._held)) or _GAP.search(self._held):
            gap = _GAP.search(self._held)
            if marker and (gap is None or marker.start() <= gap.start()):
                words, self._held = self._held[: marker.start()], self._held[marker.end() :]
                await self._take_words(words, is_before_fact=True)
                if words.rstrip(" ").endswith("\n"):
                    self._breaks = max(self._breaks, 1)
                for name in names_in_marker(marker.group()):
                    if name in CONNECTING:
                        self._take_connecting(name)
                    else:
                        self._take_fact(name)
            elif gap:
                words, self._held = self._held[: gap.start()], self._held[gap.end() :]
                await self._take_words(words)
                self._breaks = max(self._breaks, gap.group().count("\n"))
        if len(self._held) > LONGEST_SENTENCE:
            raise Withheld(["run_on"])

    async def end(self) -> None:
        """Take what is left, then add the facts that must be there, before the closing question."""
        held, self._held = self._held, ""
        await self._take_words(held)
        questions: list[_Words] = []
        while self._waiting and self._waiting[-1].text[-1] in "?:":
            words = self._waiting.pop()
            if words.text.endswith("?"):  # an announcement that nothing follows is left out
                questions.insert(0, words)
        self._release(None)
        self.add(self.menu.required)
        self.add([fact.companion for fact in self.used if fact.companion])
        self._waiting = questions
        self._release(None)

    def add(self, facts: Sequence[Fact]) -> None:
        """Add facts that the answer must have and that it has not; each is a paragraph."""
        for fact in facts:
            if not self._has(fact):
                self._breaks = 2
                self._put_fact(fact)

    @property
    def text(self) -> str:
        """The text so far."""
        return self.answer.text

    @property
    def used(self) -> list[Fact]:
        """The facts in the answer, in their order."""
        return self.answer.facts

    @property
    def is_answer(self) -> bool:
        """Whether what is shown answers: by a fact, or in words of which none had to be dropped and which end.

        A warning that was added does not: the question may have been about something else.
        """
        if any(fact in self.chosen or fact.kind not in _WARNINGS for fact in self.used):
            return True
        return bool(self.words) and not self.dropped and not self.words[-1].endswith(":")

    async def _take_words(self, raw: str, *, is_before_fact: bool = False) -> None:
        # Marks that belonged to a fact's sentence, and list signs, are no words.
        text = " ".join(raw.split()).lstrip(".,;•*-–—) ")
        if raw.lstrip(" ").startswith("\n"):
            self._breaks = max(self._breaks, 1)
        if not any(char.isalpha() for char in text):
            return
        follows_fact = self.used and not self._waiting and not self._breaks
        if follows_fact and text[:1].islower() and not is_before_fact:
            self.dropped.append(Dropped(text, ["fragment"]))
            return
        if is_before_fact and text[-1] not in _OPEN_ENDS:
            text += ":"
        body = verdict_removed(text, None)
        if body and self._is_of_a_fact(body):
            self.dropped.append(Dropped(text, ["repeated"]))
            return
        # A sentence that is a yes and nothing else may be consent to a deed.
        if text not in _READY and (faults := await self.faults(body or text)):
            self.dropped.append(Dropped(text, faults))
            return
        self._wait(text)

    def _take_connecting(self, name: str) -> None:
        """Take a sentence of ours that the model named; it needs no check."""
        english, hebrew = CONNECTING[name]
        self._wait(english if self.menu.language == "en" else hebrew)

    def _wait(self, text: str) -> None:
        """Let words wait for what follows them: a question at the end comes after the facts that have to be added."""
        self._waiting.append(_Words(text, self._breaks))
        self._breaks = 0
        if verdict_removed(text, None) == text and text[-1] not in "?:" and len(self._waiting) == 1:
            self._release(None)

    def _is_of_a_fact(self, text: str) -> bool:
        """Return whether these words are a fact's own, which only code says."""
        bare = text.translate(_ISOLATES).strip(" .:!")
        return len(bare) >= _SHORTEST_REPEATED and any(
            bare in fact.text.translate(_ISOLATES) for fact in self.menu.facts
        )

    def _take_fact(self, name: str) -> None:
        fact = self.menu.get(name)
        if fact is None:
            self.dropped.append(Dropped(f"[{name}]", ["unknown_fact"]))
        elif not self._has(fact):
            self._release(fact)
            self.chosen.append(fact)
            self._put_fact(fact)

    def _release(self, following: Fact | None) -> None:
        """Show the words that waited, without a yes or no that this fact does not bear out."""
        waiting, self._waiting = self._waiting, []
        breaks_after, self._breaks = self._breaks, 0
        for words in waiting:
            shown = verdict_removed(words.text, following, self.message)
            if shown in _HEADS and not (following and following.kind.startswith(_HEADS[shown])):
                continue  # "From the leaflet:" names the source of what follows
            if shown != words.text:
                self.dropped.append(Dropped(words.text, ["verdict"]))
            self._breaks = max(self._breaks, words.breaks)
            if any(char.isalpha() for char in shown):
                self.words.append(shown)
                self._put(shown, is_paragraph=False)
        self._breaks = max(self._breaks, breaks_after)

    def _put_fact(self, fact: Fact) -> None:
        self._put(fact, is_paragraph="\n" in fact.text or len(fact.text) > _LONG)

    def _put(self, piece: Piece, *, is_paragraph: bool) -> None:
        if not self.answer.pieces:
            gap = ""
        elif is_paragraph or self._is_after_paragraph or self._breaks > 1:
            gap = "\n\n"
        else:
            gap = "\n" if self._breaks else " "
        self._breaks, self._is_after_paragraph = 0, is_paragraph
        before, whole_before = text_beside(self.answer.pieces, self.cards), self.text
        self.answer.pieces = [*self.answer.pieces, *([gap] if gap else []), piece]
        beside = text_beside(self.answer.pieces, self.cards)
        shown, whole = beside[len(before) :], self.text[len(whole_before) :]
        self.show(whole, *([shown] if shown != whole else []))

    def _has(self, fact: Fact) -> bool:
        return is_said(fact, self.used)

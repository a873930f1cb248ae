"""Put an answer together from a language model's text while it is generated: sentences of ours in place of markers.

"[hello] [f1] [f3] [offer_stock]" names two facts of the menu and two connecting sentences. Whatever else the model writes is
dropped: no rule tells a harmless sentence of its own from one that misleads.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from agent.answers.answer import Answer, Piece, text_beside
from agent.answers.card_types import Card
from agent.answers.connecting_sentences import (
    BEFORE_KINDS,
    CONNECTING,
    OFFERS_PERSON,
    name_of,
    sentence_named,
)
from agent.answers.facts.fact import MARKER, Fact, Menu, is_said, names_in_marker
from agent.inference.base import Withheld

LONGEST_SENTENCE: Final = 1_500  # characters without any end
_GAP: Final = re.compile(r"(?<=[.!?:…])\s*\n\s*|(?<=[.!?…])(?<!\d\.)\s+|\n\s*\n\s*")
"""Where a sentence ends; a lone line break without a mark before it does not end one."""
_LONG: Final = 160  # characters from which a fact is a paragraph of its own
_WARNINGS: Final = frozenset({"interaction", "allergy"})


@dataclass(frozen=True)
class Dropped:
    """A piece of a model's text that was not shown, and why."""

    text: str
    fault: str


@dataclass
class _Waiting:
    """A connecting sentence that waits for what follows it, with the line breaks before it."""

    name: str
    text: str
    breaks: int


@dataclass
class Composition:
    """The answer of one request to a language model."""

    menu: Menu
    show: Callable[..., None]
    """Shows the next piece of the answer, and its brief form beside the cards where that differs."""
    cards: Sequence[Card] = ()
    """The cards that the answer will have."""
    answer: Answer = field(default_factory=Answer)
    """What is shown so far."""
    chosen: list[Fact] = field(default_factory=list)
    """Those of them that the model named."""
    connecting: list[str] = field(default_factory=list)
    """The names of the connecting sentences in the answer."""
    dropped: list[Dropped] = field(default_factory=list)
    written: str = ""
    """What the model wrote."""
    _held: str = ""
    _breaks: int = 0
    _waiting: list[_Waiting] = field(default_factory=list)
    _is_after_paragraph: bool = False

    async def hear(self, piece: str) -> None:
        """Take the next piece of the model's text. Raises Withheld for a sentence without an end."""
        self._held += piece
        self.written += piece
        while (marker := MARKER.search(self._held)) or _GAP.search(self._held):
            gap = _GAP.search(self._held)
            if marker and (gap is None or marker.start() <= gap.start()):
                words, self._held = self._held[: marker.start()], self._held[marker.end() :]
                self._take_words(words)
                if words.rstrip(" ").endswith("\n"):
                    self._breaks = max(self._breaks, 1)
                for name in names_in_marker(marker.group()):
                    if name in CONNECTING:
                        self._take_connecting(name)
                    else:
                        self._take_fact(name)
            elif gap:
                words, self._held = self._held[: gap.start()], self._held[gap.end() :]
                self._take_words(words)
                self._breaks = max(self._breaks, gap.group().count("\n"))
        if len(self._held) > LONGEST_SENTENCE:
            raise Withheld(["run_on"])

    async def end(self) -> None:
        """Take what is left, then add the facts that must be there, before the closing question."""
        held, self._held = self._held, ""
        self._take_words(held)
        questions: list[_Waiting] = []
        while self._waiting and self._waiting[-1].text[-1] in "?:":
            sentence = self._waiting.pop()
            if sentence.text.endswith("?"):  # an announcement that nothing follows is left out
                questions.insert(0, sentence)
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
        """Whether what is shown answers: by a fact, or in connecting sentences beside which nothing had to be dropped.

        A warning that was added does not: the question may have been about something else.
        """
        if any(fact in self.chosen or fact.kind not in _WARNINGS for fact in self.used):
            return True
        return bool(self.connecting) and not self.dropped

    @property
    def offers_person(self) -> bool:
        """Return whether the answer asks the customer whether a pharmacist shall take over."""
        return OFFERS_PERSON in self.connecting

    def _take_words(self, raw: str) -> None:
        """Take words outside of markers: they are dropped unless they are a connecting sentence."""
        if raw.lstrip(" ").startswith("\n"):
            self._breaks = max(self._breaks, 1)
        if not any(char.isalpha() for char in raw):
            return  # marks that belonged to a fact's sentence, and list signs, are no words
        if name := name_of(raw, self.menu.language):
            self._take_connecting(name)
        else:
            self.dropped.append(Dropped(" ".join(raw.split()), "own_words"))

    def _take_connecting(self, name: str) -> None:
        """Let a connecting sentence wait for what follows it: a closing question comes after the facts that have to be added."""
        text = sentence_named(name, self.menu.language)
        self._waiting.append(_Waiting(name, text, self._breaks))
        self._breaks = 0
        if text[-1] not in "?:" and len(self._waiting) == 1:
            self._release(None)

    def _take_fact(self, name: str) -> None:
        fact = self.menu.get(name)
        if fact is None:
            self.dropped.append(Dropped(f"[{name}]", "unknown_fact"))
        elif not self._has(fact):
            self._release(fact)
            self.chosen.append(fact)
            self._put_fact(fact)

    def _release(self, following: Fact | None) -> None:
        """Show what waited, without an announcement that this fact does not belong to."""
        waiting, self._waiting = self._waiting, []
        breaks_after, self._breaks = self._breaks, 0
        for sentence in waiting:
            kinds = BEFORE_KINDS.get(sentence.name)
            if kinds and not (following and following.kind.startswith(kinds)):
                continue
            self._breaks = max(self._breaks, sentence.breaks)
            self.connecting.append(sentence.name)
            self._put(sentence.text, is_paragraph=False)
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

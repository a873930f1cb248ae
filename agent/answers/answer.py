"""Define an answer: facts and the words between them, in their order. Every reply to a customer is composed of answers.

Its text exists twice: whole, and brief for a client that shows the cards beside it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from agent.answers.card_texts import bare, texts_shown
from agent.answers.card_types import Card
from agent.answers.facts.fact import Fact, is_said
from agent.inference.base import Reply
from agent.state import ConversationState
from pharmacy_site.lib.text import Language

Piece = Fact | str
"""A fact, or words that connect facts: a greeting, a head, a question."""
MOST_CARDS: Final = 4
_MOST_SUGGESTIONS: Final = 3


@dataclass
class Answer:
    """What a customer is told. `state` is merged into the conversation's state."""

    pieces: Sequence[Piece] = ()
    """Each is a paragraph, unless there is white space at the edge of a piece: then that stands between the two."""
    cards: Sequence[Card] = ()
    suggestions: Sequence[str] = ()
    state: ConversationState = field(default_factory=ConversationState)

    @property
    def text(self) -> str:
        """The whole text."""
        return text_beside(self.pieces, ())

    @property
    def facts(self) -> list[Fact]:
        """The facts in it, in their order."""
        return [piece for piece in self.pieces if isinstance(piece, Fact)]

    @property
    def quoted(self) -> list[str]:
        """The leaflet texts in it, which may say what no other sentence may."""
        return [quote for fact in self.facts for quote in fact.quotes]


def text_beside(pieces: Iterable[Piece], cards: Sequence[Card]) -> str:
    """Return the text of these pieces beside these cards: a fact is brief if one of them shows its details.

    With one more piece the text only grows, so it can be shown while the pieces come.
    """
    shown = [texts_shown(card) for card in cards]
    text, gap = "", ""
    said: set[tuple[str, ...]] = set()
    for piece in pieces:
        words = piece if isinstance(piece, str) else _said(piece, shown, text, said)
        if not words.strip():
            gap = max(gap, words, key=len)
            continue
        if text and not (text[-1].isspace() or words[0].isspace()):
            text += gap or "\n\n"
        text, gap = text + words, ""
    return text


def _said(fact: Fact, shown: Iterable[set[str]], before: str, said: set[tuple[str, ...]]) -> str:
    """Return what is said of a fact after this text. `said`: of which products the stock was told."""
    is_first = fact.kind == "stock" and not (fact.polarity and fact.on_card[:1] in said)
    if fact.kind == "stock" and fact.polarity:
        said.add(fact.on_card[:1])
    details = {bare(text) for text in fact.on_card}
    if fact.brief is None or not any(details <= texts for texts in shown):
        return fact.text
    if not fact.brief and (is_first or before.endswith(":")):
        return fact.text
    return fact.brief


def spaced(pieces: Iterable[Piece], gap: str = " ") -> list[Piece]:
    """Return pieces that stand in one paragraph, with this white space between them."""
    joined: list[Piece] = []
    for piece in pieces:
        joined += [gap, piece] if joined else [piece]
    return joined


def joined(answers: Iterable[Answer]) -> Answer:
    """Return several answers as one; what two of them say in the same words is said once."""
    whole, said = Answer(), set()
    for answer in answers:
        if answer.text not in said:
            warned = [fact for fact in whole.facts if fact.saying]
            fresh = [one for one in answer.pieces if isinstance(one, str) or not is_said(one, warned)]
            whole.pieces = [*whole.pieces, *fresh]
        said.add(answer.text)
        whole.cards = [*whole.cards, *(card for card in answer.cards if not _is_repeated(card, whole.cards))]
        whole.suggestions = [*whole.suggestions, *answer.suggestions]
        whole.state = {**whole.state, **answer.state}
    return whole


def _is_repeated(card: Card, before: Sequence[Card]) -> bool:
    """Return whether these cards have the medicine of a card already: two answers about it need one."""
    titles = [one["data"].get("title") for one in before if one["kind"] == "medication"]
    return card["kind"] == "medication" and card["data"].get("title") in titles


def compose(
    answers: Iterable[Answer],
    language: Language,
    state: ConversationState,
    *,
    fixed: bool = False,
    free: bool = False,
) -> Reply:
    """Return these answers as the reply to a customer, after which the conversation has this state."""
    whole = joined(answers)
    text, cards = whole.text, whole.cards[:MOST_CARDS]
    brief = text_beside(whole.pieces, cards) or text
    known = {key: value for key, value in state.items() if value not in (None, "", [])}
    return Reply(
        text=text,
        language=language,
        state=cast(ConversationState, known),
        brief=brief if brief != text else "",
        cards=cards,
        suggestions=list(dict.fromkeys(whole.suggestions))[:_MOST_SUGGESTIONS],
        quoted=whole.quoted,
        fixed=fixed,
        free=free,
    )

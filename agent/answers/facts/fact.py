"""Define a fact, and the menu of facts that a language model chooses from."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.answers.connecting_sentences import CONNECTING
from agent.state import RememberedFact
from pharmacy_site.lib.text import Language

MARKER: Final = re.compile(rf"\[\s*(?:(?:[fF]\d{{1,4}}|{'|'.join(map(re.escape, CONNECTING))})[\s,;]*)+\]")
"""How a language model names facts and connecting sentences inside its text: "[f3]", or several at once: "[f3, f4]"."""
_NAME: Final = re.compile(r"[fF]\d+|[a-z_]+")
_MOST_REMEMBERED: Final = 60


def names_in_marker(marker: str) -> list[str]:
    """Return the ids and names in a marker: "[f3, F04]" has "f3" and "f4"."""
    found = _NAME.findall(marker)
    return [f"f{int(name[1:])}" if name[1:].isdigit() else name for name in found]


@dataclass(frozen=True)
class Fact:
    """One thing that is on file, as the sentence that a customer reads."""

    kind: str
    """What it tells: "price", "stock", "leaflet.dosage", …"""
    subject: str
    """The medicine, branch or prescription that it is about, by the name that customers know."""
    text: str
    """The sentence, in the answer's language; a list has a line for each entry."""
    polarity: bool | None = None
    """Whether it answers "is there any?" or "is it possible?" with yes or no; None where neither is its answer."""
    is_required: bool = False
    """Whether the answer must have it, whatever the model chooses."""
    is_lasting: bool = True
    """Whether it may be repeated in later turns; stock, opening hours and prescriptions are read anew."""
    quotes: tuple[str, ...] = ()
    """Leaflet texts inside it, which may say what no other sentence may."""
    brief: str | None = None
    """What is said instead of `text` where a card of the answer shows `on_card`; empty: nothing. None: always `text`."""
    on_card: tuple[str, ...] = ()
    """The texts that `brief` leaves to a card, its title first if one product's facts are told from another's."""
    companion: "Fact | None" = None
    """A fact that has to be in the answer whenever this one is: that a prescription is needed, beside stock or price."""
    saying: str = ""
    """What it says, where others say the same in other words: two medicines, named in either order."""
    id: str = ""
    """Its name on the menu, "f3"; empty before it is on one."""


def is_said(fact: Fact, said: Iterable[Fact]) -> bool:
    """Return whether one of these facts says the same."""
    return any(fact.text == one.text or (fact.saying and fact.saying == one.saying) for one in said)


def chosen(facts: Iterable[Fact], *kinds: str, about: str = "") -> list[Fact]:
    """Return the facts of these kinds, in this order of the kinds; with `about` only those about this subject."""
    found = list(facts)
    return [fact for kind in kinds for fact in found if fact.kind == kind and about in ("", fact.subject)]


class Menu:
    """The facts that one conversation's language model may use: those remembered from earlier turns and the new ones."""

    def __init__(self, remembered: Sequence[RememberedFact], language: Language) -> None:
        """Put remembered facts on the menu under their old ids; those in the other language keep theirs unused."""
        self.language = language
        self._next = 1 + max((int(one["id"][1:]) for one in remembered), default=0)
        self._facts = {one["id"]: _recalled(one) for one in remembered if one["language"] == language}
        self.remembered = list(self._facts.values())

    def add(self, facts: Iterable[Fact]) -> list[Fact]:
        """Put facts on the menu and return them with their ids; a fact that is on it already keeps its id."""
        ids = {(fact.kind, fact.subject, fact.text): fact.id for fact in self._facts.values()}
        added = []
        for fact in facts:
            key = (fact.kind, fact.subject, fact.text)
            if fact.id:
                ids[key] = fact.id
            if key not in ids:
                ids[key] = f"f{self._next}"
                self._next += 1
            named = replace(fact, id=ids[key])
            self._facts[named.id] = named
            added.append(named)
        return added

    def get(self, name: str) -> Fact | None:
        """Return the fact with this id, None when the menu has none."""
        return self._facts.get(name)

    def release(self, facts: Iterable[Fact]) -> None:
        """Let an answer be without these facts of the menu, since others say the same."""
        for fact in facts:
            self._facts[fact.id] = replace(self._facts[fact.id], is_required=False, is_lasting=False)

    @property
    def facts(self) -> list[Fact]:
        """All facts on the menu."""
        return list(self._facts.values())

    @property
    def required(self) -> list[Fact]:
        """The facts that the answer must have."""
        return [fact for fact in self._facts.values() if fact.is_required]

    def to_remember(self) -> list[RememberedFact]:
        """Return the newest lasting facts for the conversation's state."""
        lasting = [fact for fact in self._facts.values() if fact.is_lasting and not fact.is_required]
        return [_to_remember(fact, self.language) for fact in lasting[-_MOST_REMEMBERED:]]


def _to_remember(fact: Fact, language: Language) -> RememberedFact:
    """Return a fact as a conversation's state has it."""
    remembered = RememberedFact(
        id=fact.id,
        kind=fact.kind,
        subject=fact.subject,
        text=fact.text,
        quotes=list(fact.quotes),
        language=language,
    )
    if fact.companion:
        remembered["companion"] = _to_remember(fact.companion, language)
    return remembered


def _recalled(one: RememberedFact) -> Fact:
    """Return a remembered fact."""
    fact = Fact(one["kind"], one["subject"], one["text"], quotes=tuple(one["quotes"]), id=one["id"])
    return replace(fact, companion=_recalled(one["companion"])) if "companion" in one else fact

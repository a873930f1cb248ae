"""Assistants that prove the scenarios: one plays the gold, one does nothing, one always hands off.

They are models like any other, named by `CHAT_MODEL`; the trial tells them at which turn it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.inference.base import Model, Reply, Session, Speech, Step, StepResult, Turn
from evaluation import scenario as data
from evaluation.wording import spoken
from pharmacy_site.lib.text import as_language

_SORRY = {"en": "I'm sorry.", "he": "מצטער."}
_OPENING = {"en": "Here it is:", "he": "הנה:"}
_HANDED = {
    "en": "I've passed your request on to our staff. Your number is {number}.",
    "he": "העברתי את הפנייה לצוות שלנו. מספר הפנייה הוא {number}.",
}


@dataclass
class Stage:
    """Where the trial of this process is."""

    turn: data.Turn = field(default_factory=data.Turn)
    closing: Sequence[data.Wanted] = ()  # what must have been told by the end, on the last turn


stage = Stage()


def stage_set(scenario: data.Scenario, turn: data.Turn) -> None:
    """Tells the players what is played now."""
    stage.turn = turn
    stage.closing = scenario.communicate if turn is scenario.turns[-1] else ()


@dataclass
class Player:
    """A model that plays every turn by one kind of session."""

    name: str
    session: type[Session]

    async def open(self, turn: Turn) -> Session:
        """Begin a turn."""
        return self.session(turn)


class Oracle(Session):
    """Calls what the gold calls and says what must be said."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the gold's calls, then the answer."""
        gold = [Step(name, arguments) for call in stage.turn.gold for name, arguments in call.items()]
        if gold and not results:
            return gold
        language = as_language(stage.turn.lang or self.turn.language)
        told = [spoken(wanted, language) for wanted in (*stage.turn.must, *stage.closing)]
        text = "\n".join([_OPENING[language], *(f"{line}." for line in told)])
        return Reply(text, language, dict(self.turn.state))


class Nothing(Session):
    """Apologises, whatever is asked."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Reply:
        """Return an apology."""
        return Reply(_SORRY[self.turn.language], self.turn.language, dict(self.turn.state))


class AlwaysHandoff(Session):
    """Passes everything to a person."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return a hand-off, then its number."""
        if not results:
            return [Step("handoff.open", {"reason": "customer_asked"})]
        text = _HANDED[self.turn.language].format(number=results[0].result["number"])
        return Reply(text, self.turn.language, dict(self.turn.state))


def oracle() -> Model:
    """Return the model that plays the gold."""
    return Player("oracle", Oracle)


def nothing() -> Model:
    """Return the model that does nothing."""
    return Player("nothing", Nothing)


def handoff() -> Model:
    """Return the model that always hands off."""
    return Player("handoff", AlwaysHandoff)

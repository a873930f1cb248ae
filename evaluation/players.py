"""Define assistants that test the scenarios themselves: one plays the gold, one does nothing, one always hands off.

They are models like any other, named by `CHAT_MODEL`; the trial sets which turn is played.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.inference.base import Model, Reply, Session, Speech, Step, StepResult, Turn
from evaluation import scenario as data
from evaluation.wording import phrase_for
from pharmacy_site.lib.text import as_language

_SORRY = {"en": "I'm sorry.", "he": "מצטער."}
_OPENING = {"en": "Here it is:", "he": "הנה:"}
_HANDED_OFF = {
    "en": "I've passed your request on to our staff. Your number is {number}.",
    "he": "העברתי את הפנייה לצוות שלנו. מספר הפנייה הוא {number}.",
}


@dataclass
class Stage:
    """The turn that this process plays now."""

    turn: data.Turn = field(default_factory=data.Turn)
    closing: Sequence[data.Wanted] = ()
    """On the last turn, what must have been said by the end of the conversation."""


stage = Stage()


def stage_set(scenario: data.Scenario, turn: data.Turn) -> None:
    """Set the turn that is played now."""
    stage.turn = turn
    stage.closing = scenario.communicate if turn is scenario.turns[-1] else ()


@dataclass
class Player:
    """A model that plays every turn by one kind of session."""

    name: str
    session: type[Session]
    says_refusals: bool = False

    async def open(self, turn: Turn) -> Session:
        """Begin a turn."""
        return self.session(turn)


class Oracle(Session):
    """Calls what the gold calls and says what the turn requires."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the gold's calls, then the answer."""
        gold = [Step(name, arguments) for call in stage.turn.gold for name, arguments in call.items()]
        if gold and not results:
            return gold
        language = as_language(stage.turn.lang or self.turn.language)
        sentences = [phrase_for(wanted, language) for wanted in (*stage.turn.must, *stage.closing)]
        text = "\n".join([_OPENING[language], *(f"{line}." for line in sentences)])
        return Reply(text, language, self.turn.state)


class Nothing(Session):
    """Apologises to every message."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Reply:
        """Return an apology."""
        return Reply(_SORRY[self.turn.language], self.turn.language, self.turn.state)


class AlwaysHandoff(Session):
    """Passes everything to a person."""

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return a hand-off, then its number."""
        if not results:
            return [Step("handoff.open", {"reason": "customer_asked"})]
        text = _HANDED_OFF[self.turn.language].format(number=results[0].result["number"])
        return Reply(text, self.turn.language, self.turn.state)


def oracle() -> Model:
    """Return the model that plays the gold."""
    return Player("oracle", Oracle)


def nothing() -> Model:
    """Return the model that does nothing."""
    return Player("nothing", Nothing)


def handoff() -> Model:
    """Return the model that always hands off."""
    return Player("handoff", AlwaysHandoff)

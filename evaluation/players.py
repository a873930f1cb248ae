"""Assistants that prove the scenarios: one plays the gold, one does nothing, one always hands off.

They are models like any other, named by `CHAT_MODEL`; the trial tells them at which turn it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.inference.base import Language, Model, Reply, Speech, Step, Turn
from evaluation import scenario as data
from evaluation.wording import phrase_for

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


class Oracle:
    """Calls what the gold calls and says what must be said."""

    name = "oracle"

    async def next(self, turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
        """The gold's calls, then the answer."""
        gold = [Step(name, arguments) for call in stage.turn.gold for name, arguments in call.items()]
        if gold and not turn.results:
            return gold
        language: Language = "he" if (stage.turn.lang or turn.language) == "he" else "en"
        told = [phrase_for(wanted, language) for wanted in (*stage.turn.must, *stage.closing)]
        text = "\n".join([_OPENING[language], *(f"{line}." for line in told)])
        return Reply(text, language, dict(turn.state))


class Nothing:
    """Apologises, whatever is asked."""

    name = "nothing"

    async def next(self, turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
        """An apology."""
        return Reply(_SORRY[turn.language], turn.language, dict(turn.state))


class AlwaysHandoff:
    """Passes everything to a person."""

    name = "handoff"

    async def next(self, turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
        """A hand-off, then its number."""
        if not turn.results:
            return [Step("handoff.open", {"reason": "customer_asked"})]
        number = turn.results[0].result["number"]
        return Reply(_HANDED[turn.language].format(number=number), turn.language, dict(turn.state))


def oracle() -> Model:
    """The model that plays the gold."""
    return Oracle()


def nothing() -> Model:
    """The model that does nothing."""
    return Nothing()


def handoff() -> Model:
    """The model that always hands off."""
    return AlwaysHandoff()

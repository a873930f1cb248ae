"""Pass on what a customer writes after staff asked them something about a refill, and answer it all the same.

A message that only answers staff gets one sentence; one that asks something of ours is answered as usual, with that
sentence at the end. While a person has the conversation nothing is said. Emergencies, codes and buttons come first and
are no answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agent.answers.answer import Answer, compose
from agent.answers.render import listed, say
from agent.inference.base import Model, Reply, Session, Speech, Step, StepResult, Turn
from agent.llm.offline.frames import SURE, Frame
from agent.llm.offline.understand import understand
from agent.models import Conversation, Run
from agent.threads import run_db
from agent.turn import open_emergency
from agent.turn.context import TurnContext
from agent.turn.refills import message_of
from pharmacy_site.lib.text import Language
from prescriptions.refill.questions import questions_wait

_NO_WISH: Final = frozenset({"thanks", "declined", "declined_name", "nothing_asked", "greeting", "bye"})
"""Intents that are only polite: "good morning, since March" is still an answer to what staff asked."""


def is_answer(context: TurnContext) -> bool:
    """Return whether staff wait for what this customer writes now."""
    turn, patient = context.turn, context.patient
    if patient is None or context.run.kind != Run.Kind.MESSAGE or turn.code or turn.resumed:
        return False
    return questions_wait(message_of(context.run), patient)


def asks_something(turn: Turn) -> bool:
    """Return whether the message by itself clearly wants something of ours.

    What we talked about and asked before counts for nothing: "three weeks ago" is neither an answer to where a refill is
    picked up nor the name of a prescription.
    """
    understood = understand(replace(turn, state={}))
    return (
        bool(turn.refused)
        or bool(understood.allergies)
        or any(clause.asks for clause in understood.message.clauses)
        or any(_is_wish(frame) for frame in understood.frames)
    )


def _is_wish(frame: Frame) -> bool:
    """Return whether a frame is certain, and takes no words that are no name for a medicine."""
    unknown = bool(frame.medicines) and not any("id" in one or "candidates" in one for one in frame.medicines)
    return frame.confidence >= SURE and frame.intent not in _NO_WISH and not unknown


async def passing_on(context: TurnContext, answering: Model | Session) -> Session | None:
    """Return the session that passes the message on, then lets this model or session answer; None when staff asked nothing."""
    turn, mode = context.turn, context.conversation.mode
    if context.in_every_mode or open_emergency.is_open(turn.state) or not await run_db(is_answer)(context):
        return None
    if mode == Conversation.Mode.HUMAN:
        return PassedOn(turn, answering, asks=True, is_said=False)
    asks = await run_db(asks_something)(turn)
    return PassedOn(turn, answering, asks=asks)


class PassedOn(Session):
    """Stores the message as the answer to staff, then lets the model answer what it asks.

    `is_said`: whether that is said also where nothing else is.
    """

    def __init__(self, turn: Turn, answering: Model | Session, *, asks: bool, is_said: bool = True) -> None:
        super().__init__(turn)
        self._answering, self._asks, self._is_said = answering, asks, is_said
        self._inner: Session | None = None
        self._said: str | None = None

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self._inner.language if self._inner else self.turn.language

    @property
    def further_steps(self) -> int:
        """How many steps the turn may take beyond its limit: passing on is one."""
        return 1 + (self._inner.further_steps if self._inner else 0)

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Pass the message on; then return the model's steps and answer, with what became of it."""
        if self._said is None and not results:
            return [Step("refill.answer")]
        if self._said is None:
            taken = results[0].result.get("numbers") or []
            numbers = listed(taken, self.turn.language)
            self._said = say("staff_answered", self.turn.language, numbers=numbers) if taken else ""
            results = ()
            # The question may have been settled meanwhile: then the message is one like any other.
            if self._said and not self._asks:
                return compose([Answer([self._said])], self.turn.language, self.turn.state)
        if self._inner is None:
            answering = self._answering
            self._inner = answering if isinstance(answering, Session) else await answering.open(self.turn)
            self.usage = self._inner.usage
        self._inner.turn = self.turn
        answered = await self._inner.next(results, speech)
        if not isinstance(answered, Reply):
            return answered
        if answered.silent and self._is_said and self._said:
            return compose([Answer([self._said])], self.turn.language, answered.state)
        # Nothing stands beside an emergency's number.
        if answered.silent or answered.state.get("emergency"):
            return answered
        return answered.framed(after=self._said)

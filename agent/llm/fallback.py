"""Answer by the language model, and by the offline model within the same turn whatever goes wrong.

The offline model also answers what is settled by words alone (a person, a code, a yes to our own question) and asks back
when the medicine is not certain: no model chooses between two.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.answers.emergencies import alarm_reply
from agent.answers.render import say
from agent.inference.base import (
    ModelUnavailable,
    Reply,
    Session,
    Speech,
    Step,
    StepResult,
    Turn,
    Withheld,
)
from agent.llm import obligations
from agent.llm.dialogue import LanguageModel
from agent.llm.functions import Procedure, frame_of
from agent.llm.offline.frames import NEEDS_TOOL, SETTLED, SURE, Frame
from agent.llm.offline.session import OfflineModel, OfflineSession
from agent.llm.offline.understand import Understood, understand
from agent.state import ConversationState
from agent.threads import run_db
from pharmacy_site.lib.text import Language

log = logging.getLogger(__name__)
_CORRECTIONS: Final = 1
_NO_VERDICT: Final = frozenset({"interaction", "section", "health"})
"""What nobody here answers by yes or no."""


class FirstAvailable:
    """A language model with the offline model behind it, as one model."""

    def __init__(self, first: LanguageModel) -> None:
        self._first = first
        self.name = OfflineModel.name

    async def open(self, turn: Turn) -> Session:
        """Read the message; what it settles is the offline model's, the rest the language model's."""
        understood = await run_db(understand)(turn)
        if settled(understood, turn):
            return OfflineSession(turn, understood)
        return FallbackSession(turn, understood, self._first)


@dataclass
class FallbackState:
    """Whether the offline model has taken over, and how often the language model was corrected."""

    offline: OfflineSession | None = None
    is_announced: bool = False
    """Whether the answer says that the assistant works in basic mode."""
    corrections: int = 0


class FallbackSession(Session):
    """A turn that the language model answers as long as it can."""

    def __init__(self, turn: Turn, understood: Understood, first: LanguageModel) -> None:
        super().__init__(turn)
        self._understood = understood
        self._first = first.open(turn, understood.renderer.language, self.usage)
        self._due = obligations.due(understood)
        self._results: list[StepResult] = []
        self._state = FallbackState()

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self._understood.renderer.language

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the next steps, or the answer, of whichever model can give one."""
        if self._state.offline:
            return await self._next_offline(self._state.offline, results, speech)
        self._results += results
        if self._due:
            due, self._due = self._due, []
            return due
        speech.verdict_forbidden = any(frame.intent in _NO_VERDICT for frame in self._understood.frames)
        while True:
            try:
                answered = await self._first.next(results, speech)
                if isinstance(answered, Reply) and await self._is_incomplete(answered):
                    raise Withheld(["no_tool"])
                break
            except ModelUnavailable as error:
                return await self._fall_back(speech, error.reason, announce=True)
            except Withheld as error:
                log.warning("a model's answer was withheld: %s", ",".join(sorted(set(error.problems))))
                speech.restart()
                if self._state.corrections >= _CORRECTIONS:
                    return await self._fall_back(speech, "withheld")
                self._state.corrections += 1
                self._first.correct(error.problems)
                results = ()
        self.usage.model = self._first.name
        if isinstance(answered, Procedure):
            return await self._carry_out(answered, speech)
        if isinstance(answered, Reply):
            return obligations.completed(self._understood, self.turn, self._results, answered)
        return answered

    async def _is_incomplete(self, reply: Reply) -> bool:
        """Return whether an answer leaves out a question, or names a medicine, that was not looked up."""
        return _left_out(self._understood, self._results) or await run_db(obligations.names_unknown)(
            reply.text, self.turn, self._results
        )

    async def _carry_out(self, procedure: Procedure, speech: Speech) -> Sequence[Step] | Reply:
        """Do what the language model may only ask for: raise an emergency, or let the offline model carry out a plan."""
        if procedure.emergency:
            speech.restart()
            return alarm_reply(self.turn, [], [procedure.emergency])
        if obligations.due(
            self._understood
        ):  # two medicines in one message: our own plans say what they must
            return await self._fall_back(speech, "procedure")
        frame = await run_db(frame_of)(procedure)
        self._state.offline = OfflineSession(self.turn, replace(self._understood, frames=(frame,), parts=()))
        return await self._next_offline(self._state.offline, (), speech)

    async def _fall_back(
        self, speech: Speech, reason: str, *, announce: bool = False
    ) -> Sequence[Step] | Reply:
        """Let the offline model answer this turn from its beginning."""
        speech.restart()
        self.usage.fallback = reason
        self._state.is_announced = announce
        self._state.offline = OfflineSession(self.turn, self._understood)
        return await self._next_offline(self._state.offline, (), speech)

    async def _next_offline(
        self, offline: OfflineSession, results: Sequence[StepResult], speech: Speech
    ) -> Sequence[Step] | Reply:
        offline.turn = self.turn
        answered = await offline.next(results, speech)
        if not isinstance(answered, Reply) or not self._state.is_announced:
            return answered
        state: ConversationState = {**answered.state, "basic": True}
        if self.turn.state.get("basic"):
            return replace(answered, state=state)
        text = f"{say('basic_mode', answered.language)}\n\n{answered.text}"
        return replace(answered, state=state, text=text)


def settled(understood: Understood, turn: Turn) -> bool:
    """Return whether the offline model answers without the language model: the words settle it, or the medicine is not certain."""
    if turn.resumed or turn.code.get("outcome") or understood.answers_question:
        return True
    if any(frame.intent in SETTLED and frame.confidence >= SURE for frame in understood.frames):
        return True
    if any(
        frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each")
        for frame in understood.frames
    ):
        return True
    if any(_cannot_be_assessed(frame) for frame in understood.frames):
        return True
    named = [medicine for clause in understood.message.clauses for medicine in clause.medicines]
    return any(len(medicine.candidates) != 1 for medicine in named)


def _cannot_be_assessed(frame: Frame) -> bool:
    """Return whether the customer asks about an interaction with a name that is not in the catalogue."""
    asked = (*frame.medicines, *frame.details.get("others", ()))
    return frame.intent == "interaction" and any("id" not in medicine for medicine in asked)


def _left_out(understood: Understood, results: Sequence[StepResult]) -> bool:
    """Return whether the message surely asks for what only a tool knows, and for a medicine of it no tool was called."""
    for frame in understood.frames:
        if frame.intent not in NEEDS_TOOL or frame.confidence < SURE:
            continue
        # The check of two medicines together tells nothing else of them.
        found = obligations.looked_up(results, with_check=frame.intent == "interaction")
        named = {one["id"] for one in frame.medicines if "id" in one and not frame.assumed}
        if not results or not named <= found:
            return True
    return False

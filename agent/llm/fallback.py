"""The language model first, the offline model behind it: within one turn, whatever goes wrong.

The offline model also answers what is settled by words alone (a person, a code, a yes to our own question) and asks back
when the medicine is not certain: no model chooses between two.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.answers.render import say
from agent.inference.base import ModelUnavailable, Reply, Speech, Step, Turn, Withheld
from agent.llm import obligations
from agent.llm.dialogue import LanguageModel
from agent.llm.functions import Procedure, frame_of
from agent.llm.offline import OfflineModel, Understood, understand
from agent.llm.offline.frames import NEEDS_TOOL, SETTLED, SURE, Frame
from agent.threads import run_db
from agent.turn.answer_check import NO_VERDICT

log = logging.getLogger(__name__)
_CORRECTIONS: Final = 1
_NO_VERDICT: Final = frozenset({"interaction", "section", "health"})


@dataclass
class _Way:
    """How far a turn has come. `since` is the result behind which the offline model's own begin."""

    offline: bool = False
    since: int = 0
    notice: bool = False
    corrections: int = 0


class FirstAvailable:
    """Two models as one."""

    def __init__(self, first: LanguageModel, second: OfflineModel) -> None:
        self._first, self._second = first, second
        self.name = second.name

    async def next(self, turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
        """The next steps, or the answer of whichever model can give one."""
        way: _Way = turn.memo.setdefault("way", _Way())
        work: Understood | None = turn.memo.get("understood")
        if work is None:
            work = turn.memo["understood"] = await run_db(understand)(turn)
            way.offline = settled(work, turn)
            turn.memo[NO_VERDICT] = any(frame.intent in _NO_VERDICT for frame in work.frames)
            if not way.offline and (due := obligations.due(work)):
                return due
        if way.offline:
            return await self._behind(way, turn, speech)
        while True:
            try:
                said = await self._first.next(turn, speech, work.view.language)
                if isinstance(said, Reply) and (
                    _left_out(work, turn) or await run_db(obligations.names_unknown)(said.text, turn)
                ):
                    raise Withheld(["no_tool"])
                break
            except ModelUnavailable as error:
                return await self._fall(way, turn, speech, error.reason, notice=True)
            except Withheld as error:
                log.warning("a model's answer was withheld: %s", ",".join(sorted(set(error.problems))))
                speech.restart()
                if way.corrections >= _CORRECTIONS:
                    return await self._fall(way, turn, speech, "withheld", notice=False)
                way.corrections += 1
                self._first.correct(turn, error.problems)
        turn.account.model = self._first.name
        if isinstance(said, Procedure):
            if obligations.due(work):  # two medicines in one message: our own plans say what they must
                return await self._fall(way, turn, speech, "procedure", notice=False)
            frame = await run_db(frame_of)(said)
            turn.memo["understood"] = Understood(work.view, (frame,), work.message, [])
            way.offline, way.since = True, len(turn.results)
            return await self._behind(way, turn, speech)
        return obligations.completed(work, turn, said) if isinstance(said, Reply) else said

    async def _fall(
        self, way: _Way, turn: Turn, speech: Speech, reason: str, *, notice: bool
    ) -> Sequence[Step] | Reply:
        """From here on the offline model answers this turn, from its beginning."""
        speech.restart()
        turn.account.fallback = reason
        way.offline, way.since = True, len(turn.results)
        way.notice = notice
        return await self._behind(way, turn, speech)

    async def _behind(self, way: _Way, turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
        said = await self._second.next(replace(turn, results=turn.results[way.since :]), speech)
        if not isinstance(said, Reply) or not way.notice:
            return said
        state = {**said.state, "basic": True}
        if turn.state.get("basic"):
            return replace(said, state=state)
        return replace(said, state=state, text=f"{say('basic_mode', said.language)}\n\n{said.text}")


def settled(work: Understood, turn: Turn) -> bool:
    """Whether no language model is asked: the words settle it, or the medicine is not certain."""
    if turn.resumed or turn.code.get("outcome") or work.answers_question:
        return True
    if any(frame.intent in SETTLED and frame.confidence >= SURE for frame in work.frames):
        return True
    if any(
        frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each") for frame in work.frames
    ):
        return True
    if any(_cannot_be_assessed(frame) for frame in work.frames):
        return True
    named = [medicine for clause in work.message.clauses for medicine in clause.medicines]
    return any(len(medicine.candidates) != 1 for medicine in named)


def _cannot_be_assessed(frame: Frame) -> bool:
    """Whether an interaction is asked about with a name that nothing of ours is called."""
    asked = (*frame.medicines, *frame.details.get("others", ()))
    return frame.intent == "interaction" and any("id" not in medicine for medicine in asked)


def _left_out(work: Understood, turn: Turn) -> bool:
    """Whether the message surely asks for what only a tool knows, and it was not looked up: of all or of one medicine."""
    for frame in work.frames:
        if frame.intent not in NEEDS_TOOL or frame.confidence < SURE:
            continue
        # The check of two medicines together tells nothing else of them.
        found = obligations.looked_up(turn.results, with_check=frame.intent == "interaction")
        named = {one["id"] for one in frame.medicines if "id" in one and not frame.assumed}
        if not turn.results or not named <= found:
            return True
    return False

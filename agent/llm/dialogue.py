"""A language model as a model of the loop: what it is told, and what its answer means."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any, Final

from django.conf import settings

from agent.conversation import spending
from agent.inference.base import ModelUnavailable, Reply, Speech, Step, Turn, Withheld
from agent.inference.openai import Call, ChatCompletions
from agent.llm import prompt
from agent.llm.functions import Procedure, functions_told, procedure_of, steps_of, with_identifiers
from agent.safety.privacy.placeholders import Placeholders
from agent.threads import run_db
from pharmacy_site.lib.text import Language, is_invisible

_LONGEST_PLACEHOLDER: Final = 24
_EMPHASIS: Final = str.maketrans("", "", "*`")


@dataclass
class _Dialogue:
    """One turn's exchange with the model."""

    hidden: Placeholders
    language: Language
    messages: list[prompt.Message]
    asked: list[Call] = field(default_factory=list)  # whose results have not been told yet
    heard: int = 0  # results that the model knows
    until: float = 0.0  # the event loop's time by which the turn must have its answer


class LanguageModel:
    """Asks a language model, for so many seconds in a turn. It never writes anything: see `functions`."""

    def __init__(self, completions: ChatCompletions, seconds: float) -> None:
        self._completions, self._seconds = completions, seconds
        self.name = completions.model

    async def next(
        self, turn: Turn, speech: Speech, language: Language
    ) -> Sequence[Step] | Reply | Procedure:
        """Steps, an answer that was heard whole, or a procedure of ours. Raises ModelUnavailable and Withheld."""
        dialogue: _Dialogue | None = turn.memo.get("dialogue")
        if dialogue is None:
            dialogue = turn.memo["dialogue"] = await _opened(turn, language)
            dialogue.until = asyncio.get_running_loop().time() + self._seconds
            turn.account.prompt = prompt.version()
        _tell_results(dialogue, turn)
        text = _Text(dialogue.hidden, partial(speech.hear, language=dialogue.language))
        completion = await self._completions.complete(
            dialogue.messages, functions_told(turn), turn.account, text.hear, dialogue.until
        )
        if completion.calls:
            speech.restart()
            if procedure := procedure_of(completion.calls):
                return procedure
            if len(turn.results) + len(completion.calls) > settings.CHAT_STEPS:
                raise ModelUnavailable("too_many_calls")
            steps = steps_of(completion.calls)
            _keep_calls(dialogue, completion.text, completion.calls)
            return [with_identifiers(step, dialogue.hidden) for step in steps]
        if completion.is_cut:
            raise Withheld(["length"])
        await text.end()
        await speech.end(dialogue.language)
        if not text.whole.strip():
            raise ModelUnavailable("empty")
        return Reply(text.whole.strip(), dialogue.language, turn.state, free=True)

    def correct(self, turn: Turn, problems: Sequence[str]) -> None:
        """Tells the model what its answer broke, before it is asked again."""
        dialogue: _Dialogue = turn.memo["dialogue"]
        dialogue.messages.append(
            {"role": "system", "content": prompt.correction(problems, dialogue.language)}
        )


class _Text:
    """The text as it comes: placeholders put back, also those that come in pieces; no emphasis marks."""

    def __init__(self, hidden: Placeholders, hear: Callable[[str], Awaitable[None]]) -> None:
        self._hidden, self._hear = hidden, hear
        self._held = ""
        self.whole = ""

    async def hear(self, piece: str) -> None:
        """Takes a piece; what may be the beginning of a placeholder waits."""
        self._held += "".join(char for char in piece if char in "\n " or not is_invisible(char))
        begun = self._held.rfind("[", max(0, len(self._held) - _LONGEST_PLACEHOLDER))
        if begun > 0 and self._held[begun - 1] == "[":
            begun -= 1
        if begun >= 0 and "]]" not in self._held[begun:]:
            ready, self._held = self._held[:begun], self._held[begun:]
        else:
            ready, self._held = self._held, ""
        await self._pass(ready)

    async def end(self) -> None:
        """There is no more."""
        ready, self._held = self._held, ""
        await self._pass(ready)

    async def _pass(self, ready: str) -> None:
        if ready:
            shown = str(self._hidden.restore(ready.translate(_EMPHASIS)))
            self.whole += shown
            await self._hear(shown)


async def _opened(turn: Turn, language: Language) -> _Dialogue:
    """The beginning of a turn's exchange, within the budget. Raises ModelUnavailable."""
    if spending.day.is_old:
        await run_db(spending.day.read)()
    spending.budget_check(turn.tokens_spent)
    said_before = turn.earlier()
    turn.account.personal = bool(turn.identifier) and any(payload.get("personal") for payload in said_before)
    hidden = Placeholders(turn.personal)
    return _Dialogue(hidden, language, prompt.messages_of(turn, said_before, hidden, language))


def _tell_results(dialogue: _Dialogue, turn: Turn) -> None:
    """Adds the results that came since the model was last asked: each to its call, or as looked up by us."""
    for call, result in zip_longest(dialogue.asked, turn.results[dialogue.heard :]):
        content = prompt.result_told(result, dialogue.hidden, dialogue.language)
        if call:
            dialogue.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        else:
            told = f"The system has already called {result.step.name}: {content}"
            dialogue.messages.append({"role": "system", "content": told})
    dialogue.asked = []
    dialogue.heard = len(turn.results)


def _keep_calls(dialogue: _Dialogue, text: str, calls: Sequence[Call]) -> None:
    told: list[dict[str, Any]] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": prompt.as_json(call.arguments)},
        }
        for call in calls
    ]
    dialogue.messages.append({"role": "assistant", "content": text or None, "tool_calls": told})
    dialogue.asked = list(calls)

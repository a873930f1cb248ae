"""Talk with a language model within one turn: write what it is sent, and interpret what it answers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, Final

from django.conf import settings

from agent.conversation import spending
from agent.inference.base import (
    ModelUnavailable,
    Reply,
    Speech,
    Step,
    StepResult,
    Turn,
    Usage,
    Withheld,
)
from agent.inference.openai import Call, ChatCompletions
from agent.llm import prompt
from agent.llm.functions import Procedure, functions_offered, procedure_of, steps_of, with_identifiers
from agent.safety.privacy.placeholders import Placeholders
from agent.threads import run_db
from pharmacy_site.lib.text import Language, is_invisible

_LONGEST_PLACEHOLDER: Final = 24
_EMPHASIS: Final = str.maketrans("", "", "*`")


class LanguageModel:
    """Asks a language model, for so many seconds in a turn. It never writes anything: see `functions`."""

    def __init__(self, completions: ChatCompletions, seconds: float) -> None:
        self._completions, self._seconds = completions, seconds
        self.name = completions.model

    def open(self, turn: Turn, language: Language, usage: Usage) -> "LanguageSession":
        """Begin a turn that is to be answered in this language; what it uses is added to `usage`."""
        return LanguageSession(self._completions, self._seconds, turn, language, usage)


class LanguageSession:
    """One turn's dialogue with a language model. The budget is checked by the first `next`."""

    def __init__(
        self, completions: ChatCompletions, seconds: float, turn: Turn, language: Language, usage: Usage
    ) -> None:
        self.name = completions.model
        self._completions, self._seconds = completions, seconds
        self._turn, self._language, self._usage = turn, language, usage
        self._hidden = Placeholders(turn.personal)
        self._messages: list[prompt.Message] = []
        self._open_calls: Sequence[Call] = ()  # of which the model has not been sent the results
        self._sent_results = 0
        self._deadline = 0.0  # in the event loop's time

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply | Procedure:
        """Return steps, an answer that was spoken to its end, or a procedure of ours.

        `results` are those that the model has not been sent. Raises ModelUnavailable and Withheld.
        """
        if not self._messages:
            await self._begin()
        self._send(results)
        text = _Text(self._hidden, partial(speech.hear, language=self._language))
        completion = await self._completions.complete(
            self._messages, functions_offered(self._turn), self._usage, text.hear, self._deadline
        )
        if completion.calls:
            speech.restart()
            if procedure := procedure_of(completion.calls):
                return procedure
            if self._sent_results + len(completion.calls) > settings.CHAT_STEPS:
                raise ModelUnavailable("too_many_calls")
            steps = steps_of(completion.calls)
            self._append_calls(completion.text, completion.calls)
            return [with_identifiers(step, self._hidden) for step in steps]
        if completion.is_cut:
            raise Withheld(["length"])
        await text.end()
        await speech.end(self._language)
        if not text.whole.strip():
            raise ModelUnavailable("empty")
        return Reply(text.whole.strip(), self._language, self._turn.state, free=True)

    def correct(self, problems: Sequence[str]) -> None:
        """Tell the model which rules its answer broke, before the next request."""
        self._messages.append({"role": "system", "content": prompt.correction(problems, self._language)})

    async def _begin(self) -> None:
        """Write the first messages, if the budget allows it. Raises ModelUnavailable."""
        if spending.day.is_old:
            await run_db(spending.day.read)()
        spending.budget_check(self._turn.tokens_spent)
        earlier = self._turn.earlier()
        self._usage.prompt = prompt.version()
        self._usage.personal = bool(self._turn.identifier) and any(
            payload.get("personal") for payload in earlier
        )
        self._deadline = asyncio.get_running_loop().time() + self._seconds
        self._messages = prompt.messages_of(self._turn, earlier, self._hidden, self._language)

    def _send(self, results: Sequence[StepResult]) -> None:
        """Add these results to the messages: each to its call, or as looked up by us."""
        for call, result in zip_longest(self._open_calls, results):
            content = prompt.result_json(result, self._hidden, self._language)
            if call:
                self._messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            else:
                called = f"The system has already called {result.step.name}: {content}"
                self._messages.append({"role": "system", "content": called})
        self._open_calls = ()
        self._sent_results += len(results)

    def _append_calls(self, text: str, calls: Sequence[Call]) -> None:
        written: list[dict[str, Any]] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": prompt.as_json(call.arguments)},
            }
            for call in calls
        ]
        self._messages.append({"role": "assistant", "content": text or None, "tool_calls": written})
        self._open_calls = calls


class _Text:
    """Passes a text on while it is generated: placeholders put back, also split ones; no emphasis marks."""

    def __init__(self, hidden: Placeholders, hear: Callable[[str], Awaitable[None]]) -> None:
        self._hidden, self._hear = hidden, hear
        self._held = ""
        self.whole = ""

    async def hear(self, piece: str) -> None:
        """Take a piece; what may be the beginning of a placeholder waits."""
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
        """Pass on what still waits."""
        ready, self._held = self._held, ""
        await self._pass(ready)

    async def _pass(self, ready: str) -> None:
        if ready:
            shown = str(self._hidden.restore(ready.translate(_EMPHASIS)))
            self.whole += shown
            await self._hear(shown)

"""Talk with a language model within one turn: write what it is sent, and interpret what it answers."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Final

from django.conf import settings

from agent.answers.composition import Composition
from agent.answers.facts.fact import Fact, Menu
from agent.conversation import spending
from agent.inference.base import (
    ModelUnavailable,
    Step,
    StepResult,
    Turn,
    Usage,
    Withheld,
)
from agent.inference.openai import Call, ChatCompletions
from agent.llm import prompt
from agent.llm.functions import (
    NOTE,
    Procedure,
    functions_offered,
    notes_of,
    procedure_of,
    steps_of,
    with_identifiers,
)
from agent.llm.offline.understand import Understood
from agent.llm.public_names import public_in
from agent.safety.privacy.placeholders import Placeholders
from agent.threads import run_db
from inventory.categories import category_names
from pharmacy_site.lib.text import is_invisible

_BEGUN: Final = re.compile(r"\\?\[(?:\\?\[)?[^\[\]\n]{0,24}\\?\]?$")
"""The beginning of a placeholder ("[[EMAIL_1]") or of a fact's marker ("[f1") at the end of a text."""
_EMPHASIS: Final = str.maketrans("", "", "*`")


class LanguageModel:
    """Asks a language model, for so many seconds in a turn. It never writes anything: see `functions`."""

    def __init__(self, completions: ChatCompletions, seconds: float) -> None:
        self._completions, self._seconds = completions, seconds
        self.name = completions.model

    def open(self, turn: Turn, understood: Understood, usage: Usage) -> "LanguageSession":
        """Begin a turn, with our own reading of its message as a hint; what it uses is added to `usage`."""
        return LanguageSession(self._completions, self._seconds, turn, understood, usage)


class LanguageSession:
    """One turn's dialogue with a language model. The budget is checked by the first `next`."""

    def __init__(
        self, completions: ChatCompletions, seconds: float, turn: Turn, understood: Understood, usage: Usage
    ) -> None:
        self.name = completions.model
        self._completions, self._seconds = completions, seconds
        self._turn, self._language, self._usage = turn, understood.renderer.language, usage
        self._reading = prompt.reading_of(understood.frames)
        self._hidden = Placeholders(turn.personal)
        self._messages: list[prompt.Message] = []
        self._open_calls: Sequence[Call] = ()  # of which the model has not been sent the results
        self._sent_results = 0
        self._deadline = 0.0  # in the event loop's time

    async def next(
        self, results: Sequence[tuple[StepResult, Sequence[Fact]]], answer: Composition
    ) -> Sequence[Step] | Procedure | None:
        """Return steps, a procedure of ours, or None when the answer was written to its end.

        `results` are those that the model has not been sent, each with its facts. Raises ModelUnavailable and Withheld.
        """
        if not self._messages:
            await self._begin(answer.menu)
        self._send(results)
        text = _Text(self._hidden, answer.hear)
        left = settings.CHAT_STEPS - self._sent_results
        completion = await self._completions.complete(
            self._messages,
            functions_offered(self._turn),
            self._usage,
            text.hear,
            self._deadline,
            may_call=left > 0,  # with the facts that are there the model can still answer
        )
        if completion.calls:
            if procedure := procedure_of(completion.calls):
                return replace(procedure, notes=notes_of(completion.calls))
            if self._turn.refused and any(call.name != NOTE for call in completion.calls):
                raise ModelUnavailable("unknown_tool")  # advice is refused without looking anything up
            if not left:
                raise ModelUnavailable("too_many_calls")
            steps = steps_of(completion.calls[:left])
            self._append_calls(completion.text, completion.calls)
            return [with_identifiers(step, self._hidden) for step in steps]
        if completion.is_cut:
            raise Withheld(["length"])
        await text.end()
        await answer.end()
        if not answer.written.strip():
            raise ModelUnavailable("empty")
        return None

    def correct(self, answer: Composition) -> None:
        """Show the model its answer and what of it could not be shown, before the next request."""
        if answer.written:
            self._messages.append({"role": "assistant", "content": self._hidden.hide(answer.written)})
        correction = prompt.correction(answer.dropped, self._hidden, self._language)
        self._messages.append({"role": "system", "content": correction})

    async def _begin(self, menu: Menu) -> None:
        """Write the first messages, if the budget allows it. Raises ModelUnavailable."""
        if spending.limits_old():
            await run_db(spending.limits_read)()
        spending.budget_check(self._turn.tokens_spent)
        earlier = self._turn.earlier()
        self._usage.prompt = prompt.version()
        self._usage.personal = bool(self._turn.identifier) and any(
            payload.get("personal") for payload in earlier
        )
        self._deadline = asyncio.get_running_loop().time() + self._seconds
        own = [str(payload["text"]) for payload in earlier if payload["role"] == "user"]
        self._hidden.publish(await run_db(public_in)([self._turn.text, *reversed(own)]))
        hints = prompt.Hints(self._reading, await run_db(category_names)())
        self._messages = prompt.messages_of(self._turn, earlier, menu, hints, self._hidden, self._language)

    def _send(self, results: Sequence[tuple[StepResult, Sequence[Fact]]]) -> None:
        """Add these results to the messages: each to its call, or as looked up by us."""
        for call, found in zip_longest(self._open_calls, results):
            if found is None:  # beyond what a turn may call
                refused = {"role": "tool", "tool_call_id": call.id, "content": prompt.LIMIT_REACHED}
                self._messages.append(refused)
                continue
            result, facts = found
            content = prompt.result_json(result, facts, self._hidden, self._language)
            if call:
                self._messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            elif facts:  # a check of ours that found nothing is no news
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

    async def hear(self, piece: str) -> None:
        """Take a piece; what may be the beginning of a placeholder or of a marker waits."""
        self._held += "".join(char for char in piece if char in "\n " or not is_invisible(char))
        begun = _BEGUN.search(self._held)
        cut = begun.start() if begun else len(self._held)
        ready, self._held = self._held[:cut], self._held[cut:]
        await self._pass(ready)

    async def end(self) -> None:
        """Pass on what still waits."""
        ready, self._held = self._held, ""
        await self._pass(ready)

    async def _pass(self, ready: str) -> None:
        if ready:
            await self._hear(str(self._hidden.restore(ready.translate(_EMPHASIS))))

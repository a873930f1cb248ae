"""Let the language model look for the person who decides a refill; `prescriptions.refill.central` runs the loop.

The model gets codes and numbers only: no patient, no medicine, no name of a member of staff.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

from agent.conversation import spending
from agent.inference.base import ModelUnavailable, Usage, Withheld
from agent.llm.chosen import BREAKER_FAILURES, BREAKER_SECONDS, has_language_model
from agent.llm.functions import function_definition
from pharmacy_site.lib.breaker import Breaker
from prescriptions.refill.contacts import DECIDERS
from prescriptions.refill.reasoning import TOOLS, Reasoner, ReasonerFailed, ReasoningStep, Thought

if TYPE_CHECKING:
    from agent.inference.openai import ChatCompletions, Completion

_PROMPT: Final = (
    "A refill request at a pharmacy waits for a person to decide it. Find out who: call the functions to see why it "
    "waits, which roles may decide, at which branch it is, and who is on call there now. Then call `choose` with a role "
    "that may decide and the number of somebody who is on call; person is null only if nobody is. Do not choose somebody "
    "who made the request. Call one function at a time and say in `thought`, in one sentence, why."
)
_THOUGHT: Final = {"thought": {"type": "string"}}
_ROLE: Final = {"role": {"type": "string", "enum": [*DECIDERS]}}
_BRANCH: Final = {"branch": {"type": "integer"}}
_PROPERTIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "working_hours": _BRANCH,
    "on_call": {**_ROLE, **_BRANCH},
}
FUNCTIONS: Final = (
    *(
        function_definition(name, description, {**_THOUGHT, **_PROPERTIES.get(name, {})})
        for name, description in TOOLS.items()
    ),
    function_definition(
        "choose",
        "Propose who decides. Ends the task.",
        {**_THOUGHT, **_ROLE, "person": {"type": ["integer", "null"]}},
    ),
)


def reasoner_open(seconds: float) -> AbstractContextManager[Reasoner] | None:
    """Open the language model for one request; None without one, or when the tokens of the day are used up."""
    if not has_language_model():
        return None
    spending.limits_read()
    try:
        spending.budget_check(0)
    except ModelUnavailable as refusal:
        raise ReasonerFailed(refusal.reason) from None
    return _opened(seconds)


@contextmanager
def _opened(seconds: float) -> Iterator[Reasoner]:
    # Not above: the library is slow to load, and useless without a language model.
    from agent.inference.openai import ChatCompletions, client_open

    # The walk is synchronous: the client lives in an event loop of its own, as long as this request is looked at.
    with asyncio.Runner() as runner:
        client = client_open(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL, seconds)
        try:
            completions = ChatCompletions(
                client,
                model=settings.OPENAI_MODEL,
                breaker=_breaker(settings.OPENAI_BASE_URL, settings.OPENAI_MODEL),
                first_token=min(seconds, settings.OPENAI_FIRST_TOKEN_TIMEOUT),
            )
            model = RoutingModel(completions, runner, runner.get_loop().time() + seconds)
            try:
                yield model
            finally:
                spending.use_record("routing", model.usage)
        finally:
            runner.run(client.close())


class RoutingModel:
    """A language model as a reasoner, until a time of the runner's event loop."""

    def __init__(self, completions: "ChatCompletions", runner: asyncio.Runner, until: float) -> None:
        self._completions, self._runner, self._until = completions, runner, until
        self.usage = Usage()

    def next(self, steps: Sequence[ReasoningStep]) -> Thought:
        """Ask the model what to do after these steps. Raises ReasonerFailed."""
        try:
            completion = self._runner.run(self._asked(_messages(steps)))
        except ModelUnavailable as error:
            raise ReasonerFailed(error.reason) from None
        except Withheld:
            raise ReasonerFailed("withheld") from None
        if not completion.calls:
            raise ReasonerFailed("no_action")
        call = completion.calls[0]
        arguments = {name: value for name, value in call.arguments.items() if name != "thought"}
        return Thought(str(call.arguments.get("thought") or completion.text), call.name, arguments)

    async def _asked(self, messages: Sequence[Mapping[str, Any]]) -> "Completion":
        return await self._completions.complete(messages, FUNCTIONS, self.usage, _unheard, self._until)


async def _unheard(piece: str) -> None:
    """Ignore a text beside the calls: nobody waits for it."""


def _messages(steps: Sequence[ReasoningStep]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _PROMPT},
        {"role": "user", "content": "Who decides this request?"},
    ]
    for place, step in enumerate(steps):
        arguments = json.dumps({"thought": step.thought, **step.arguments}, ensure_ascii=False)
        call = {
            "id": f"step_{place}",
            "type": "function",
            # A name that no server takes back would end the whole dialogue.
            "function": {"name": step.action if step.action in TOOLS else "choose", "arguments": arguments},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(step.observation)},
        ]
    return messages


@lru_cache(maxsize=8)
def _breaker(base_url: str, model: str) -> Breaker:
    """Return this process's breaker, apart from the chat's: here a model has less time, and being slow counts as failing."""
    return Breaker(f"routing model {model}", failures=BREAKER_FAILURES, seconds=BREAKER_SECONDS)

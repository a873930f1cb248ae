"""Ask the language model: the specification's `call_llm`, its overload, and replies in YAML that are checked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from agent.inference.base import ModelUnavailable
from agent.knowledge.flow.running import Running
from agent.knowledge.parsing import AnswerMalformed, parse_yaml_with_schema

T = TypeVar("T")
_POINTLESS: Final = ("breaker_open", "key", "request", "time", "calls", "cap_")
"""Reasons, or their beginnings, that a further try would only repeat."""


class APIOverload(Exception):
    """The model cannot answer now; `reason` is a short code: "overloaded", "timeout", "malformed", "time" …"""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def is_final(self) -> bool:
        """Whether trying again cannot help."""
        return self.reason.startswith(_POINTLESS)


def call_llm(prompt: str, fast_mode: bool = False, max_retry_time: int = 1, *, running: Running) -> str:
    """Return the model's text for a prompt. Raises APIOverload.

    `fast_mode` asks for a short answer in half the time; `max_retry_time` is how often a busy server is asked again. Nothing is asked once
    the run's time or its number of requests is used up.
    """
    assert running.model is not None
    if running.remaining <= 0:
        raise APIOverload("time")
    if running.calls >= running.limits.calls:
        raise APIOverload("calls")
    running.calls += 1
    seconds = running.limits.call_seconds * (1 if fast_mode else 2)
    try:
        return running.model.ask(
            prompt,
            fast=fast_mode,
            retries=max_retry_time,
            seconds=min(seconds, running.remaining),
            usage=running.usage,
        )
    except ModelUnavailable as error:
        raise APIOverload(error.reason) from None


def ask_yaml(
    running: Running,
    prompt: str,
    required: Mapping[str, type | tuple[type, ...]],
    check: Callable[[dict[str, Any]], T],
    *,
    optional: Mapping[str, type | tuple[type, ...]] | None = None,
    fast_mode: bool = True,
    max_retry_time: int = 1,
    tries: int = 2,
) -> T:
    """Ask for YAML with these fields and return what `check` makes of them.

    A reply that breaks the schema, or that `check` refuses with AnswerMalformed, is asked for again, and counts as overload
    after the last try. Raises APIOverload.
    """
    optional = optional or {}
    for _ in range(tries):
        text = call_llm(prompt, fast_mode, max_retry_time, running=running)
        try:
            return check(
                parse_yaml_with_schema(text, list(required), list(optional), {**required, **optional})
            )
        except AnswerMalformed:
            continue
    raise APIOverload("malformed")


def tried(work: Callable[[], T], running: Running, *, tries: int, wait: float = 0.0) -> T:
    """Do a node's work so many times at most, with a wait between. Raises the last APIOverload."""
    left = tries
    while True:
        try:
            return work()
        except APIOverload as error:
            left -= 1
            if not left or error.is_final or (wait and not running.pause(wait)):
                raise


def one_of(names: Sequence[str]) -> Callable[[object], str]:
    """Return a check of a value that must be one of these words."""

    def check(value: object) -> str:
        word = str(value).strip().lower()
        if word not in names:
            raise AnswerMalformed("no such choice")
        return word

    return check

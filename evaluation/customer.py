"""Play the customer by the scenario's script, word for word."""

import asyncio
import json
import urllib.parse
import urllib.request
from typing import Final, Protocol

from evaluation.chat import Answer, Chat, turn_message
from evaluation.clock import Clock
from evaluation.players import stage_set
from evaluation.scenario import Scenario

POLL_SECONDS: Final = 0.05


class Spoilt(Exception):
    """A simulated customer invented a fact; the trial says nothing about the assistant."""


class NoCode(Exception):
    """The customer waits for a code that was never sent; `answers` is the conversation so far."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers


class Customer(Protocol):
    """Somebody who talks to the assistant."""

    async def talk(self, chat: Chat, site_url: str) -> list[Answer]:
        """Lead the whole conversation and return each answer. Raises NoCode and Spoilt."""
        ...


class ScriptedCustomer:
    """A customer who says exactly what the scenario says."""

    def __init__(self, scenario: Scenario, clock: Clock | None = None) -> None:
        self._scenario, self._clock = scenario, clock
        # A worker, which has a clock, delivers the code before its run ends.
        self._code_seconds = 0.2 if clock else 15

    async def talk(self, chat: Chat, site_url: str) -> list[Answer]:
        """Play the script and return one answer per turn."""
        answers: list[Answer] = []
        codes_typed, confirm_id = 0, ""
        for turn in self._scenario.turns:
            stage_set(self._scenario, turn)
            if self._clock:
                self._clock.pass_minutes(turn.wait)
            code = ""
            if turn.code_typed == "demo":
                code = await demo_code(site_url, chat.secret, seen=codes_typed, seconds=self._code_seconds)
                codes_typed += 1
                if not code:
                    raise NoCode(answers)
            answers.append(await chat.ask(turn_message(turn, self._scenario, code, confirm_id)))
            confirm_id = answers[-1].confirm_id or ("" if turn.confirm else confirm_id)
        return answers


async def demo_code(site_url: str, secret: str, *, seen: int, seconds: float) -> str:
    """Return the newest code in the demo inbox after `seen` older ones, "" if none comes in time."""
    address = f"{site_url}/demo/inbox/?conversation={urllib.parse.quote(secret)}"
    for _ in range(max(1, round(seconds / POLL_SECONDS))):
        codes = await asyncio.to_thread(_codes, address)
        if len(codes) > seen:
            return codes[-1]
        await asyncio.sleep(POLL_SECONDS)
    return ""


def _codes(address: str) -> list[str]:
    with urllib.request.urlopen(address, timeout=5) as answer:
        return [message["code"] for message in json.load(answer)["messages"] if message["code"]]

"""Check an answer: rules of policy, numbers that results prove, promises that rows prove.

One object looks after one turn: at the sentences of a language model as they come, and at the whole answer in any case.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from django.conf import settings

from agent.inference.base import Reply, StepResult
from agent.llm import prompt
from agent.safety import claims, policy
from agent.safety.disclosure import facts_of
from agent.safety.grounding import Grounds, numbers_of
from agent.turn.context import TurnContext
from pharmacy_site.lib.json_values import walk

_PROMISES: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("handoff.open", "refill.pass_on"): (
        "passed you on",
        "passed your request",
        "העברתי את",
        "with our staff. Your number",
        "כבר אצל הצוות",
    ),
    ("identity.code",): ("we've sent a code", "שלחנו קוד"),
}


class OutputCheck:
    """Checks the words of one turn against its results so far."""

    def __init__(
        self, context: TurnContext, numbers_before: Callable[[TurnContext], Awaitable[list[str]]]
    ) -> None:
        self._context, self._numbers_before = context, numbers_before
        turn = context.turn
        self._grounds = Grounds(
            [dict(turn.code)],
            allowed=[
                turn.text,
                settings.EMERGENCY_MEDICAL,
                settings.EMERGENCY_CRISIS,
                settings.EMERGENCY_POISON,
                f"{turn.now:%H:%M}",
                str(settings.IDENTITY_CODE_TTL // 60),
                "6",
            ],
        )
        self._results: list[StepResult] = []
        self._looked_back = False

    def take(self, results: Sequence[StepResult]) -> None:
        """Take the results that are new since the last call."""
        fresh = results[len(self._results) :]
        self._results += fresh
        for result in fresh:
            self._grounds.prove(numbers_of(result.result, result.evidence))

    async def of_reply(self, reply: Reply) -> list[str]:
        """Return the rules that a whole answer breaks."""
        check = policy.check_free if reply.free else policy.check_output
        problems = check(reply.text, reply.language, quoted=reply.quoted)
        problems += [
            f"promise:{names[0]}" for names, signs in _PROMISES.items() if self._promised(reply, names, signs)
        ]
        return problems + await self._numbers(_shown(reply, self._directions()))

    async def of_sentence(
        self, text: str, quoted: Sequence[str], *, verdict_forbidden: bool = False
    ) -> list[str]:
        """Return the rules that a sentence of a language model breaks; its language is checked in the whole answer."""
        found = [rule for rule in policy.check_free(text, "en", quoted=quoted) if rule != "wrong_language"]
        if prompt.recites(text):
            found.append("prompt_leak")
        own = text
        for quote in quoted:
            own = own.replace(quote, " ")
        if verdict_forbidden and claims.is_verdict(own):
            found.append("verdict")
        if claims.counts_unproven(
            own, [facts_of(result.result, result.evidence) for result in self._results]
        ):
            found.append("number")
        if claims.contradicts_prescription(own, [bool(facts["rx"]) for facts in self._products()]):
            found.append("contradiction")
        return found + await self._numbers(f"{claims.figures(own)}\n{text}")

    def _directions(self) -> set[str]:
        """Return the directions of prescriptions that were read: only a card shows them, word for word."""
        return {
            str(value)
            for result in self._results
            for key, value in walk(result.evidence)
            if key.startswith("directions_")
        }

    def _products(self) -> list[Mapping[str, Any]]:
        """Return the products that were looked up in this turn."""
        found = []
        for result in self._results:
            one = result.evidence.get("medication")
            many = [*result.evidence.get("medications", ()), *result.evidence.get("equivalents", ())]
            found += [facts for facts in (one, *many) if isinstance(facts, Mapping) and "rx" in facts]
        return found

    async def _numbers(self, shown: str) -> list[str]:
        missing = self._grounds.missing(shown)
        if missing and not self._looked_back:
            self._looked_back = True
            state = self._context.turn.state
            earlier = await self._numbers_before(self._context)
            self._grounds.add([*earlier, *_names(state)])
            self._grounds.prove(f"count:{length}" for length in _lengths(state))
            missing = self._grounds.missing(shown)
        return ["number"] if missing else []

    def _promised(self, reply: Reply, names: Sequence[str], signs: Sequence[str]) -> bool:
        """Return whether the text promises what no row of this turn proves."""
        if not any(sign in reply.text for sign in signs):
            return False
        return not any(result.step.name in names and result.ok for result in self._results)


def _lengths(value: Any) -> list[int]:
    """Return the length of every list inside a value: an answer may say how many things there are."""
    return [len(inner) for _, inner in walk(value) if isinstance(inner, list | tuple)]


def _names(state: Mapping[str, Any]) -> list[str]:
    """Return the names of products that the conversation is about: their digits are part of a name."""
    return [
        str(inner[key])
        for _, inner in walk(state)
        if isinstance(inner, Mapping)
        for key in ("en", "he", "name", "strength", "query")
        if key in inner
    ]


def _shown(reply: Reply, known: Collection[str]) -> str:
    """Return all text of a reply that a customer can read, and the numbers of its cards (a map's coordinates).

    Texts of a card that are `known` word for word need no other proof.
    """
    texts = [reply.text]
    for _, value in walk([card["data"] for card in reply.cards]):
        if isinstance(value, str):
            texts += [] if value in known else [value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            texts.append(format(Decimal(str(value)), "f"))
    return "\n".join(texts)

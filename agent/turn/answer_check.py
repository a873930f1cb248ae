"""Check an answer: rules of policy, numbers that results prove, promises that rows prove.

One object looks after one turn. What a language model composed needs no such check: all its sentences are ours.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from django.conf import settings

from agent.inference.base import Reply, StepResult
from agent.safety import policy
from agent.safety.grounding import Grounds, numbers_of
from agent.turn.context import TurnContext
from pharmacy_site.lib.json_values import walk

_NAME_KEYS: Final = (
    "en", "he", "name", "subject", "strength", "query", "label_en", "label_he", "generic_en", "generic_he",
    "category_en", "category_he", "city_en", "city_he",
)  # fmt: skip
_LONGEST_NAME: Final = 60  # characters; what is longer under these keys is a leaflet's text
_PROMISES: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    # A refill that is given up is handed over with its own row.
    ("handoff.open", "refill.give_up"): (
        "passed you on",
        "passed your request",
        "passed the request on",
        "העברתי את",
        "with our staff. Your number",
        "כבר אצל הצוות",
    ),
    ("refill.answer",): ("was passed on to our staff", "הועבר לצוות שלנו"),
    ("handoff.withdraw",): ("Withdrawn, as you asked", "בוטל לבקשתכם"),
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
        if reply.free:
            return []  # facts and connecting sentences, which code words
        texts = [reply.text, *([reply.brief] if reply.brief else [])]
        problems = [
            problem
            for text in texts
            for problem in policy.check_output(text, reply.language, quoted=reply.quoted)
        ]
        problems += [
            f"promise:{names[0]}" for names, signs in _PROMISES.items() if self._promised(reply, names, signs)
        ]
        return problems + await self._numbers(_shown(reply, self._directions()))

    def _directions(self) -> set[str]:
        """Return the directions of prescriptions that were read: only a card shows them, word for word."""
        return {
            str(value)
            for result in self._results
            for key, value in walk(result.evidence)
            if key.startswith("directions_")
        }

    async def _numbers(self, shown: str) -> list[str]:
        missing = self._grounds.missing(shown)
        if missing and not self._looked_back:
            self._looked_back = True
            state = self._context.turn.state
            earlier = await self._numbers_before(self._context)
            self._grounds.add([*earlier, *names_in(state)])
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


def names_in(value: Any) -> list[str]:
    """Return the names of products, stores and the like inside JSON: their digits and letters are part of a name."""
    return [
        str(inner[key])
        for _, inner in walk(value)
        if isinstance(inner, Mapping)
        for key in _NAME_KEYS
        if inner.get(key) and len(str(inner[key])) <= _LONGEST_NAME
    ]


def _shown(reply: Reply, known: Collection[str]) -> str:
    """Return all text of a reply that a customer can read, and the numbers of its cards (a map's coordinates).

    Texts of a card that are `known` word for word need no other proof.
    """
    texts = [reply.text, reply.brief]
    for _, value in walk([card["data"] for card in reply.cards]):
        if isinstance(value, str):
            texts += [] if value in known else [value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            texts.append(format(Decimal(str(value)), "f"))
    return "\n".join(texts)

"""What holds whatever a model does: emergencies first, advice refused, codes settled, every answer checked.

`stand` may take the turn before any model sees it. `checked` lets an answer pass, or puts a safe one in its place.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from agent import emergency, policy
from agent.grounding import ungrounded_numbers
from agent.llm.base import Reply, Step, StepResult, Turn
from agent.llm.offline import OfflineModel
from agent.llm.offline.answer import View
from agent.llm.offline.recognise import cue_lexicon
from agent.llm.offline.talk import handed_off
from agent.models import Run
from agent.tools.base import redact
from agent.turns import Work, turn_of, verified_now
from agent.wording import count, say
from prescriptions.models import Patient

log = logging.getLogger(__name__)
Stand = Callable[[Turn], Awaitable[Sequence[Step] | Reply]]
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:])(?<!\d\.)\s+|\n+")
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


def warm_up() -> None:
    """Loads every lexicon: a broken one stops the start, not the first customer."""
    emergency.detect("hello")
    policy.check_input("hello")
    cue_lexicon()


def stand(work: Work) -> tuple[Stand | None, Turn]:
    """Who answers this turn: the server itself, or (None) a model; and the turn as that one may see it."""
    turn = work.turn
    kinds = emergency.detect_all(turn.text) if turn.text else []
    if kinds:
        return _fixed(_emergency(turn, kinds)), turn
    if work.run.kind == Run.Kind.HANDOFF:
        return _handoff("customer_asked"), turn
    if work.run.kind == Run.Kind.CONFIRM:
        return _confirmed(work.run.input["confirm"]["decision"]), turn
    outcome = turn.code.get("outcome")
    if outcome == "locked":
        return _handoff("identity_failed"), turn
    if outcome in ("wrong", "expired"):
        return _fixed(_code_reply(turn, outcome)), turn
    verdict = policy.check_input(turn.text) if turn.text and not outcome else policy.InputVerdict.ANSWER
    if verdict != policy.InputVerdict.ANSWER:
        # Advice is refused by code, whichever model is installed.
        return OfflineModel().next, replace(turn, refused=str(verdict.name))
    return None, turn


def _fixed(reply: Reply) -> Stand:
    async def answer(turn: Turn) -> Reply:
        return reply

    return answer


def _handoff(reason: str) -> Stand:
    async def answer(turn: Turn) -> Sequence[Step] | Reply:
        if not turn.results:
            return [Step("handoff.open", {"reason": reason})]
        part = handed_off(View(turn, turn.language), turn.results[0].result)
        text = part.text
        if reason == "identity_failed":
            text = say("code_locked", turn.language, number=turn.results[0].result["number"])
        return Reply(text, turn.language, {**turn.state, "pending": None}, cards=part.cards)

    return answer


def _confirmed(decision: str) -> Stand:
    """Carries out what the customer said to a confirmation."""

    async def answer(turn: Turn) -> Sequence[Step] | Reply:
        state = {**turn.state, "pending": None}
        if decision == "no":
            return Reply(say("confirm_declined", turn.language), turn.language, state, fixed=True)
        if not turn.results:
            return [Step("refill.pass_on")]
        result = turn.results[0].result
        if "number" not in result:
            return Reply(say("confirm_over", turn.language), turn.language, state, fixed=True)
        part = handed_off(View(turn, turn.language), result)
        return Reply(part.text, turn.language, state, cards=part.cards)

    return answer


def _emergency(turn: Turn, kinds: Sequence[emergency.Emergency]) -> Reply:
    """The redirect, with the configured numbers; no tool and no model stands before it."""
    numbers = {
        "medical": settings.EMERGENCY_MEDICAL,
        "crisis": settings.EMERGENCY_CRISIS,
        "poison": settings.EMERGENCY_POISON,
    }
    texts = [say(f"emergency_{kind.name}", turn.language, **numbers) for kind in kinds]
    if settings.EMERGENCY_POISON and {kind.name for kind in kinds} & {"POISONING", "EXTRA_DOSE"}:
        texts.append(say("emergency_poison_centre", turn.language, **numbers))
    text = "\n\n".join(texts)
    return Reply(
        text,
        turn.language,
        {**turn.state, "pending": None},
        suggestions=[say("chip_person", turn.language)],
        fixed=True,
        phones=[
            number for number in numbers.values() if number and re.search(rf"\b{re.escape(number)}\b", text)
        ],
    )


def _code_reply(turn: Turn, outcome: str) -> Reply:
    if outcome == "wrong":
        text = count("code_wrong", turn.language, int(turn.code.get("tries_left", 0)))
    else:
        text = say("code_expired", turn.language)
    state = dict(turn.state)
    if outcome == "expired" and state.get("waiting"):
        state["pending"] = {"kind": "identifier", "frame": state["waiting"]}
    return Reply(text, turn.language, state, suggestions=[say("chip_person", turn.language)], fixed=True)


def identity_taken(work: Work) -> tuple[Patient | None, Turn]:
    """The patient and turn after an action proved who asks (policy `identifier`)."""
    patient = verified_now(work.conversation.pk)
    return patient, turn_of(work.turn, patient)


async def checked(
    work: Work,
    reply: Reply,
    results: Sequence[StepResult],
    *,
    numbers_before: Callable[[UUID], Awaitable[list[str]]],
) -> Reply:
    """The reply when it holds, else a safe sentence: rules of policy, numbers with a source, promises with a row."""
    if reply.fixed:
        return reply  # the server's own words: an emergency's redirect is never held back by a check
    shown = _shown(reply)
    problems = policy.check_output(reply.text, reply.language, quoted=reply.quoted)
    problems += [
        f"promise:{names[0]}" for names, signs in _PROMISES.items() if _promised(reply, results, names, signs)
    ]
    evidence: list[object] = [(result.result, result.evidence) for result in results]
    evidence += [dict(work.turn.code), _counts(results)]
    allowed = [
        work.turn.text,
        settings.EMERGENCY_MEDICAL,
        settings.EMERGENCY_CRISIS,
        settings.EMERGENCY_POISON,
        f"{work.turn.now:%H:%M}",
        str(settings.IDENTITY_CODE_TTL // 60),
        "6",
    ]
    loose = ungrounded_numbers(shown, evidence=evidence, allowed=allowed)
    if loose:
        evidence += await numbers_before(work.conversation.pk)
        evidence += [_names(work.turn.state), _lengths(work.turn.state)]
        loose = ungrounded_numbers(shown, evidence=evidence, allowed=allowed)
    if loose:
        problems.append("number")
    if not problems:
        return reply
    # Codes only: the answer may hold what a log may not.
    log.error("answer of run %s withheld: %s", work.run.pk, ",".join(sorted(set(problems))))
    return apology(work.turn)


def apology(turn: Turn) -> Reply:
    """What is said when no checked answer could be made."""
    pending = {"kind": "offer_person", "reason": "unverifiable"}
    chips = [say("chip_person", turn.language)]
    return Reply(
        say("apology", turn.language), turn.language, {**turn.state, "pending": pending}, suggestions=chips
    )


def _promised(
    reply: Reply, results: Sequence[StepResult], names: Sequence[str], signs: Sequence[str]
) -> bool:
    """Whether the text promises what this turn has no row for."""
    if not any(sign in reply.text for sign in signs):
        return False
    return not any(result.step.name in names and result.ok for result in results)


def _counts(results: Sequence[StepResult]) -> list[int]:
    """How many things each result lists: counts of shown items are facts of theirs."""
    return [size for result in results for size in _lengths((result.result, result.evidence))]


def _lengths(value: Any) -> list[int]:
    """The length of every list inside a value."""
    if isinstance(value, Mapping):
        return [size for item in value.values() for size in _lengths(item)]
    if isinstance(value, list | tuple):
        return [len(value), *(size for item in value for size in _lengths(item))]
    return []


def _names(state: Mapping[str, Any]) -> list[str]:
    """Names of products that the conversation is about: their digits are part of a name."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, Mapping):
            found.extend(str(value[key]) for key in ("en", "he", "name", "strength", "query") if key in value)
            for item in value.values():
                walk(item)
        elif isinstance(value, list | tuple):
            for item in value:
                walk(item)

    walk(state)
    return found


def _shown(reply: Reply) -> str:
    """All text of a reply that a customer can read, and the numbers of its cards (a map's coordinates)."""
    texts = [reply.text]

    def walk(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            texts.append(format(Decimal(str(value)), "f"))
        elif isinstance(value, Mapping):
            for item in value.values():
                walk(item)
        elif isinstance(value, list | tuple):
            for item in value:
                walk(item)

    for card in reply.cards:
        walk(card["data"])
    return "\n".join(texts)


def sentences(text: str) -> list[str]:
    """A text in sentences that join to the same text again."""
    parts, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        parts.append(text[start : match.end()])
        start = match.end()
    return [*parts, text[start:]] if start < len(text) else parts


def arguments_shown(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments as the activity panel shows them."""
    return redact(arguments)

"""What holds whatever a model does: emergencies first, advice refused, codes settled, every answer checked.

`stand` may take the turn before any model sees it. `checked` lets an answer pass, or puts a safe one in its place.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from agent.answers.render import MASK, count, say
from agent.inference.base import Reply, Speech, Step, Turn
from agent.llm.offline import OfflineModel
from agent.llm.offline.answer import View
from agent.llm.offline.recognise import cue_lexicon
from agent.llm.offline.talk import handed_off
from agent.models import Run
from agent.safety import emergency, policy
from agent.tools.base import redact
from agent.turn.answer_check import OutputCheck
from agent.turn.context import Work

log = logging.getLogger(__name__)
# What a name or a place may be without saying anything.
_HARMLESS: Final = frozenset({"off_topic", "wrong_language", "foreign_language", "contact"})
_CODE: Final = re.compile(r"\s*\d{6}\s*")
Stand = Callable[[Turn, Speech], Awaitable[Sequence[Step] | Reply]]


def warm_up() -> None:
    """Loads every lexicon and the model's library: what is broken stops the start, and no customer waits for either."""
    import_string(settings.CHAT_MODEL)
    emergency.detect("hello")
    policy.check_input("hello")
    policy.check_free("hello", "en")
    cue_lexicon()


def stand(work: Work) -> tuple[Stand | None, Turn]:
    """Who answers this turn: the server itself, or (None) a model; and the turn as that one may see it."""
    turn = work.turn
    kinds = emergency.detect_all(turn.text) if turn.text else []
    if kinds:
        return _fixed(_emergency(turn, kinds)), turn
    if turn.asked_by_another:
        return _fixed(
            Reply(say("asked_by_another", turn.language), turn.language, turn.state, fixed=True)
        ), turn
    if work.run.kind == Run.Kind.HANDOFF:
        return _handoff("customer_asked"), turn
    if work.run.kind == Run.Kind.CONFIRM:
        return _confirmed(work.run.input["confirm"]["decision"]), turn
    outcome = turn.code.get("outcome")
    if outcome == "locked":
        return _handoff("identity_failed"), turn
    if turn.state.get("waiting") and not (turn.challenge_open or outcome) and _CODE.fullmatch(turn.text):
        outcome = "expired"  # nothing waits for it any more, so nobody read it as a code
    if outcome in ("wrong", "expired"):
        return _fixed(_code_reply(turn, outcome)), turn
    verdict = policy.check_input(turn.text) if turn.text and not outcome else policy.InputVerdict.ANSWER
    if verdict != policy.InputVerdict.ANSWER:
        # Advice is refused by code, whichever model is installed.
        return OfflineModel().next, replace(turn, refused=str(verdict.name))
    return None, turn


def _fixed(reply: Reply) -> Stand:
    async def answer(turn: Turn, speech: Speech) -> Reply:
        return reply

    return answer


def _handoff(reason: str) -> Stand:
    async def answer(turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
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

    async def answer(turn: Turn, speech: Speech) -> Sequence[Step] | Reply:
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


async def checked(work: Work, reply: Reply, check: OutputCheck) -> Reply:
    """The reply when it holds, else a safe sentence: rules of policy, numbers with a source, promises with a row."""
    if reply.fixed:
        return reply  # the server's own words: an emergency's redirect is never held back by a check
    problems = await check.of_reply(reply)
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


def arguments_shown(arguments: Mapping[str, Any], said: str) -> dict[str, Any]:
    """A call's arguments as a customer may see them: no identifiers, and no words of a model's that an answer may not say."""
    shown = redact(arguments)
    for name, value in shown.items():
        own = isinstance(value, str) and value.casefold() not in said.casefold()
        if own and set(policy.check_free(value, "en")) - _HARMLESS:
            shown[name] = MASK
    return shown

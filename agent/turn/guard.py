"""Apply the checks of every model: emergencies, advice refusal, code replies, the final check of the answer.

`intercept` may take the turn before any model sees it. `checked` lets an answer pass, or puts a safe one in its place.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from agent.answers.answer import Answer, compose
from agent.answers.emergencies import alarm_reply
from agent.answers.facts.fact import Fact
from agent.answers.handoffs import handed_off, person_offered
from agent.answers.render import MASK, count, say
from agent.answers.renderer import Renderer
from agent.inference.base import FixedReply, Model, Reply, Session, Speech, Step, StepResult, Turn
from agent.llm import chosen
from agent.llm.offline.reading.known_words import cue_lexicon
from agent.llm.offline.session import OfflineModel
from agent.llm.offline.understand import is_plain_remark
from agent.models import Run
from agent.safety import emergency, policy
from agent.safety.emergency.after import remark_in
from agent.state import ConversationState
from agent.threads import run_db
from agent.tools.base import redact
from agent.turn import open_emergency
from agent.turn.answer_check import OutputCheck
from agent.turn.context import TurnContext
from agent.understanding import glue
from inventory import catalog
from pharmacy_site.lib.text import words
from stores.places import CityPlace, StorePlace, place_find

log = logging.getLogger(__name__)
_ONE_WORD: Final = re.compile(r"[\w-]{1,24}")
_CODE: Final = re.compile(r"\s*\d{6}\s*")


def warm_up() -> None:
    """Load every lexicon and the model's library: what is broken stops the start, and no customer waits for either."""
    import_string(settings.CHAT_MODEL)
    chosen.warm_up()
    emergency.detect("hello")
    remark_in("hello")
    policy.check_input("hello")
    glue.warm_up()
    cue_lexicon()


async def intercept(context: TurnContext, model: Model) -> Session | None:
    """Return the session that answers this turn in place of the model, or None."""
    turn = context.turn
    alarms = open_emergency.alarms_in(turn)
    if alarms:
        return FixedReply(turn, alarm_reply(turn, alarms, emergency.kinds_of(alarms)))
    session = await _settled(context)
    if not open_emergency.is_open(turn.state):
        turn = context.turn = await run_db(_with_refusal)(turn)
        if turn.refused and not session and not model.says_refusals:
            return await OfflineModel().open(turn)
        return session
    return open_emergency.under_alarm(session) if session else await open_emergency.session_for(turn)


async def _settled(context: TurnContext) -> Session | None:
    """Return the session for a turn that no words have to be understood for: a button, a code."""
    turn = context.turn
    if turn.asked_by_another:
        asked = Answer([say("asked_by_another", turn.language)])
        return FixedReply(turn, compose([asked], turn.language, turn.state, fixed=True))
    if context.run.kind == Run.Kind.HANDOFF:
        return HandoffSession(turn, "customer_asked")
    if context.run.kind == Run.Kind.CONFIRM:
        return ConfirmationSession(turn, context.run.input["confirm"]["decision"])
    outcome = turn.code.get("outcome")
    if outcome == "locked":
        return HandoffSession(turn, "identity_failed")
    if turn.state.get("waiting") and not (turn.challenge_open or outcome) and _CODE.fullmatch(turn.text):
        outcome = "expired"  # nothing waits for it any more, so nobody read it as a code
    if outcome in ("wrong", "expired"):
        return FixedReply(turn, _code_reply(turn, outcome))
    return None


def _with_refusal(turn: Turn) -> Turn:
    """Return the turn with the rule by which a request for advice is refused; every model has to say the refusal."""
    if not turn.text or turn.code.get("outcome"):
        return turn
    verdict = policy.check_input(turn.text)
    if verdict == policy.InputVerdict.ANSWER or is_plain_remark(turn):
        return turn
    return replace(turn, refused=str(verdict.name))


@dataclass
class HandoffSession(Session):
    """Brings in a person, and tells the customer the number."""

    reason: str

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Open the hand-off, then say so."""
        if not results:
            return [Step("handoff.open", {"reason": self.reason})]
        turn, opened = self.turn, results[0].result
        answer = handed_off(Renderer(turn, turn.language), opened)
        if self.reason == "identity_failed":
            locked = say("code_locked", turn.language, number=opened["number"])
            answer.pieces = [Fact("handoff", opened["number"], locked, is_lasting=False)]
        return compose([answer], turn.language, {**turn.state, "pending": None})


@dataclass
class ConfirmationSession(Session):
    """Carries out what the customer answered to a confirmation."""

    decision: str

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Pass the refill on after a yes, then say so."""
        turn = self.turn
        state: ConversationState = {**turn.state, "pending": None}
        if self.decision == "no":
            return compose(
                [Answer([say("confirm_declined", turn.language)])], turn.language, state, fixed=True
            )
        if not results:
            return [Step("refill.pass_on")]
        passed_on = results[0].result
        if "number" not in passed_on:
            return compose([Answer([say("confirm_over", turn.language)])], turn.language, state, fixed=True)
        return compose([handed_off(Renderer(turn, turn.language), passed_on)], turn.language, state)


def _code_reply(turn: Turn, outcome: str) -> Reply:
    if outcome == "wrong":
        text = count("code_wrong", turn.language, int(turn.code.get("tries_left", 0)))
    else:
        text = say("code_expired", turn.language)
    state = turn.state.copy()
    waiting = state.get("waiting")
    if outcome == "expired" and waiting:
        state["pending"] = {"kind": "identifier", "frame": waiting}
    answer = Answer([text], suggestions=[say("chip_person", turn.language)])
    return compose([answer], turn.language, state, fixed=True)


async def checked(context: TurnContext, reply: Reply, check: OutputCheck) -> Reply:
    """Return the reply if it breaks no rule of policy and its numbers and promises are proven, else an apology."""
    if reply.fixed:
        return reply  # an emergency's redirect is never held back by a check
    problems = await check.of_reply(reply)
    if not problems:
        return reply
    # Codes only: the answer may hold what a log may not.
    log.error("answer of run %s withheld: %s", context.run.pk, ",".join(sorted(set(problems))))
    return apology(context.turn)


def apology(turn: Turn) -> Reply:
    """Return the answer for a turn without one that passed the checks."""
    state: ConversationState = {**turn.state, "pending": person_offered("unverifiable")}
    answer = Answer([say("apology", turn.language)], suggestions=[say("chip_person", turn.language)])
    return compose([answer], turn.language, state)


def arguments_shown(arguments: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Return a call's arguments as a customer may see them: no identifiers, and no sentence of a model's own.

    A text is shown if the customer wrote it, if it is a single word, or a name of ours.
    """
    shown = redact(arguments)
    for name, value in shown.items():
        if not isinstance(value, str) or value.casefold() in message.casefold():
            continue
        if not _ONE_WORD.fullmatch(value) and not _is_name(value):
            shown[name] = MASK
    return shown


def _is_name(text: str) -> bool:
    """Return whether a whole text is the name of a medicine, a branch or a city."""
    length = len(words(text))
    if any((mention.start, mention.end) == (0, length) for mention in catalog.mentions_in(text)):
        return True
    return isinstance(place_find(text), StorePlace | CityPlace)

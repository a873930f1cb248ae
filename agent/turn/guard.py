"""Apply the checks of every model: emergencies, advice refusal, code replies, the final check of the answer.

`intercept` may take the turn before any model sees it. `checked` lets an answer pass, or puts a safe one in its place.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from agent.answers.answer import Answer, compose
from agent.answers.emergencies import alarm_reply
from agent.answers.facts.fact import Fact
from agent.answers.handoffs import handed_off, person_offered, refill_question
from agent.answers.refills import refill_outcomes
from agent.answers.render import MASK, count, say
from agent.answers.renderer import Renderer
from agent.conversation.confirmations import CANCEL
from agent.inference.base import FixedReply, Model, Reply, Session, Speech, Step, StepResult, Turn
from agent.llm import chosen
from agent.llm.offline.reading.health import is_reviewed_question
from agent.llm.offline.reading.known_words import cue_lexicon, explained_words
from agent.llm.offline.session import OfflineModel
from agent.llm.offline.understand import is_plain_remark
from agent.models import Run
from agent.safety import emergency, policy
from agent.safety.emergency.after import remark_in
from agent.state import ConversationState
from agent.threads import run_db
from agent.tools.base import redact
from agent.turn import calling_off, open_emergency, staff_question
from agent.turn.answer_check import OutputCheck
from agent.turn.closed import closed_session
from agent.turn.context import TurnContext
from agent.turn.with_staff import session_with_staff
from inventory import catalog
from pharmacy_site.lib.text import words
from stores.places import CityPlace, StorePlace, place_find

log = logging.getLogger(__name__)
_ONE_WORD: Final = re.compile(r"[\w-]{1,24}")
_WORDED: Final[Mapping[str, Mapping[str, str]]] = {
    "code": {"wrong": "code_wrong", "expired": "code_expired", "locked": "code_locked"},
    "birth": {
        "wrong": "birth_wrong",
        "expired": "birth_expired",
        "locked": "birth_locked",
        "unreadable": "birth_unreadable",
    },
}
_CODE: Final = re.compile(r"\s*\d{6}\s*")


def warm_up() -> None:
    """Load every lexicon and the model's library: what is broken stops the start, and no customer waits for either."""
    # Not above: LangGraph takes more than a second to load, which other commands need not wait for.
    from agent.knowledge.flow.graph import flow_graph
    from agent.knowledge.general import health_margin

    import_string(settings.CHAT_MODEL)
    chosen.warm_up()
    emergency.detect("hello")
    remark_in("hello")
    policy.check_input("hello")
    cue_lexicon()
    explained_words(in_sentence=True)
    if settings.KNOWLEDGE_ROLE:
        flow_graph()
        health_margin("hello")


async def intercept(context: TurnContext, model: Model) -> Session | None:
    """Return the session that answers this turn in place of the model, or None."""
    turn = context.turn
    alarms = open_emergency.alarms_in(turn)
    meant: calling_off.Meant | None = None
    if closed := await closed_session(context):
        if not alarms:
            return closed
    elif all(alarm.rule == emergency.CLASSIFIER for alarm in alarms) and not open_emergency.is_open(
        turn.state
    ):
        meant = await run_db(calling_off.meant_by)(context)
        if meant and meant.rest:  # what is left is answered like a message of its own
            alarms = alarms or emergency.alarms(meant.rest)
    if alarms and not (meant and meant.is_alone):
        context.in_every_mode = True
        return FixedReply(turn, alarm_reply(turn, alarms, emergency.kinds_of(alarms)))
    session = await _settled(context)
    if session:
        context.in_every_mode = True
    elif meant:
        return await run_db(calling_off.session_of)(context, meant, partial(_rest_opened, model), alarms)
    elif held := await run_db(session_with_staff)(context):
        return await staff_question.passing_on(context, held) or held
    turn = context.turn
    if not open_emergency.is_open(turn.state):
        turn = context.turn = await run_db(_with_refusal)(turn)
        if session:
            return session
        answering = _answering(turn, model)
        if passed_on := await staff_question.passing_on(context, answering):
            return passed_on
        return None if answering is model else await answering.open(turn)
    return open_emergency.under_alarm(session) if session else await open_emergency.session_for(turn)


def _answering(turn: Turn, model: Model) -> Model:
    """Return the model that answers a turn: the offline one says the refusals that another does not."""
    return OfflineModel() if turn.refused and not model.says_refusals else model


async def _rest_opened(model: Model, turn: Turn) -> Session:
    """Return the session for what a message says beside calling something off: advice is refused there, too."""
    turn = await run_db(_with_refusal)(turn)
    return await _answering(turn, model).open(turn)


async def _settled(context: TurnContext) -> Session | None:
    """Return the session for a turn that no words have to be understood for: a button, a code."""
    turn = context.turn
    if turn.asked_by_another:
        asked = Answer([say("asked_by_another", turn.language)])
        return FixedReply(turn, compose([asked], turn.language, turn.state, fixed=True))
    if context.run.kind == Run.Kind.HANDOFF:
        return HandoffSession(turn, "customer_asked")
    if context.run.kind == Run.Kind.CONFIRM:
        answer = context.run.input["confirm"]
        return ConfirmationSession(turn, answer["decision"], answer["action"])
    outcome = turn.code.get("outcome")
    if outcome == "locked":
        return HandoffSession(turn, "identity_failed")
    by_code = turn.identity_policy == "otp"
    if (
        by_code
        and turn.state.get("waiting")
        and not (turn.challenge_open or outcome)
        and _CODE.fullmatch(turn.text)
    ):
        outcome = "expired"  # nothing waits for it any more, so nobody read it as a code
    if outcome in ("wrong", "expired", "unreadable"):
        return FixedReply(turn, _code_reply(turn, outcome))
    return None


def _with_refusal(turn: Turn) -> Turn:
    """Return the turn with the rule by which a request for advice is refused; every model has to say the refusal."""
    if not turn.text or turn.code.get("outcome"):
        return turn
    verdict = policy.check_input(turn.text)
    if verdict == policy.InputVerdict.ANSWER or is_plain_remark(turn):
        return turn
    if is_reviewed_question(turn):
        return replace(turn, is_reviewed=True)
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
        if self.reason == "identity_failed" and "number" in opened:
            locked = say(_worded(turn, "locked"), turn.language, number=opened["number"])
            answer.pieces = [Fact("handoff", opened["number"], locked, is_lasting=False)]
        return compose([answer], turn.language, {**turn.state, "pending": refill_question(turn.state)})


@dataclass
class ConfirmationSession(Session):
    """Carries out what the customer answered to a confirmation."""

    decision: str
    action: str

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Submit or cancel the refill after a yes, then say what became of it."""
        turn = self.turn
        state: ConversationState = {**turn.state, "pending": None, "refills": []}
        if self.decision == "no":
            key = "confirm_kept" if self.action == CANCEL else "confirm_declined"
            return compose([Answer([say(key, turn.language)])], turn.language, state, fixed=True)
        if not results:
            return [Step(self.action)]
        return compose(
            [refill_outcomes(Renderer(turn, turn.language), results[0].result)], turn.language, state
        )


def _worded(turn: Turn, outcome: str) -> str:
    """Return the key of the sentence for an outcome of what proves who asks."""
    return _WORDED["birth" if turn.identity_policy == "dob" else "code"][outcome]


def _code_reply(turn: Turn, outcome: str) -> Reply:
    if outcome == "wrong":
        text = count(_worded(turn, "wrong"), turn.language, int(turn.code.get("tries_left", 0)))
    else:
        text = say(_worded(turn, outcome), turn.language)
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

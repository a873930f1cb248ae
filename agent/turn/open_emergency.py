"""Answer while an emergency is open: nothing about medicines, the number first, until it is over.

No language model takes part. The emergency ends when the customer says so, or after three calm messages in a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.answers.emergencies import IS_IT_OVER, ended_reply, headed, held_reply, remark_reply, with_buttons
from agent.answers.render import say
from agent.inference.base import FixedReply, Reply, Session, Speech, Step, StepResult, Turn
from agent.llm.offline.session import OfflineSession
from agent.llm.offline.understand import understand
from agent.safety import emergency, policy
from agent.safety.emergency import CALL_NOW, CLASSIFIER, Alarm, Emergency
from agent.safety.emergency.after import is_end, remark_in
from agent.state import ConversationState, OpenEmergency
from agent.threads import run_db
from pharmacy_site.lib.text import Language

CALM_MESSAGES: Final = 3
"""So many ordinary messages in a row end an emergency."""
_STILL_ANSWERED: Final = frozenset(
    {"hours", "branch", "person", "language", "who", "help", "logout", "resend"}
)
_COURTESIES: Final = frozenset({"greeting", "thanks", "bye", "declined", "nothing_asked"})
_OF_MEDICINES: Final = frozenset(
    {
        "price",
        "interaction",
        "list_at",
        "stock_place",
        "prescriptions",
        "refill_status",
        "renew",
        "what_refill",
    }
)
_NOT_CALM: Final = frozenset({"person", "health", "upset", "unknown", "allergy_noted"})


def is_open(state: ConversationState) -> bool:
    """Return whether an emergency is open in the conversation."""
    return bool(state.get("emergency"))


def alarms_in(turn: Turn) -> list[Alarm]:
    """Return the alarms of a message.

    While a pharmacist or doctor is enough, a worrying message is an alarm already. While a call is needed, what only the
    classifier takes for an alarm is none, except pills that were taken after a farewell: those need another number.
    """
    found = turn.state.get("emergency")
    alarms = emergency.alarms(turn.text) if turn.text else []
    if not found:
        return alarms
    kinds = {Emergency(kind) for kind in found["kinds"]}
    if kinds & CALL_NOW:
        crisis = {Emergency.SELF_HARM}
        pills_taken = CALL_NOW - crisis if kinds & CALL_NOW == crisis else frozenset()
        if (
            pills_taken
        ):  # "I feel so sleepy", "she only took a few": by themselves no alarm, but after a farewell they are
            alarms += [alarm for alarm in emergency.deeds(turn.text) if alarm.kind in pills_taken]
        alarms = [alarm for alarm in alarms if alarm.rule != CLASSIFIER or alarm.kind in pills_taken]
        is_retold = not (pills_taken | (crisis - kinds)) & {alarm.kind for alarm in alarms}
        # "The ambulance came, he could not breathe, but he is fine": the question whether it is over has the number too.
        return [] if is_retold and remark_in(turn.text) == "over" else alarms
    by_rules = [alarm for alarm in alarms if alarm.rule != CLASSIFIER]
    is_call_new = any(alarm.kind in CALL_NOW for alarm in by_rules)
    if turn.text and emergency.sounds_urgent(turn.text) and not is_call_new:
        # Whichever kind the classifier would say: somebody alone with a reaction is in no crisis.
        return [Alarm(Emergency.MEDICAL, CLASSIFIER), *by_rules]
    return by_rules


def _is_asked(state: ConversationState) -> bool:
    """Return whether the answer before asked if the emergency is over."""
    return (state.get("pending") or {}).get("kind") == IS_IT_OVER


async def session_for(turn: Turn) -> Session:
    """Return the session that answers a message while an emergency is open."""
    worrying = emergency.sounds_urgent(turn.text)
    kinds, was_asked = (turn.state.get("emergency") or {"kinds": []})["kinds"], _is_asked(turn.state)
    if is_end(turn.text, in_crisis=Emergency.SELF_HARM in kinds, was_asked=was_asked):
        return FixedReply(turn, ended_reply(turn))
    if remark := remark_in(turn.text):
        return FixedReply(turn, remark_reply(turn, remark))
    if was_asked:
        turn = replace(turn, state={**turn.state, "pending": None})
    understood = await run_db(understand)(turn)
    # The online store delivers medicines, which somebody in danger must not be sent for.
    answered = tuple(
        frame
        for frame in understood.frames
        if frame.intent in _STILL_ANSWERED and not frame.details.get("online")
    )
    asks_advice = policy.check_input(turn.text) != policy.InputVerdict.ANSWER
    is_calm = (
        bool(understood.frames)
        and emergency.is_surely_harmless(turn.text)
        and not turn.resumed
        and not asks_advice
        and not any(frame.intent in _NOT_CALM for frame in understood.frames)
        and not any("query" in medicine for frame in understood.frames for medicine in frame.medicines)
    )
    if understood.frames and all(frame.intent in _COURTESIES for frame in understood.frames):
        return FixedReply(turn, _after(remark_reply(turn, "forget"), turn, calm=is_calm))
    if not answered:
        asks_medicine = any(
            frame.intent in _OF_MEDICINES or any("id" in medicine for medicine in frame.medicines)
            for frame in understood.frames
        )
        reply = held_reply(turn) if asks_medicine and not worrying else remark_reply(turn, "what_now")
        return FixedReply(turn, _after(reply, turn, calm=is_calm))
    offline = OfflineSession(turn, replace(understood, frames=answered, answers=()))
    held = "" if len(answered) == len(understood.frames) else say("emergency_held", offline.language)
    return UnderAlarm(turn, offline, held, is_calm)


def under_alarm(session: Session) -> Session:
    """Return a session of ours (a hand-off, a confirmation) whose answer has the number in its first line."""
    return UnderAlarm(session.turn, session, "", is_calm=False)


@dataclass
class UnderAlarm(Session):
    """Puts the number to call before the answer of another session, and keeps the emergency open."""

    inner: Session
    held: str
    is_calm: bool

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self.inner.language

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the steps of the other session, or its answer below the number."""
        self.inner.turn = self.turn
        answered = await self.inner.next(results, speech)
        if not isinstance(answered, Reply):
            return answered
        opened = self.turn.state.get("emergency")
        if not opened:
            return answered
        state = answered.state
        if _is_asked(state):  # nobody answered it, and a later yes must not
            state = {**state, "pending": None}
        answered = replace(answered, state=state).framed(after=self.held)
        answered = with_buttons(headed(answered, opened["kinds"]), self.turn, can_end=bool(self.held))
        return _after(answered, self.turn, calm=self.is_calm)


def _after(reply: Reply, turn: Turn, *, calm: bool) -> Reply:
    """Return the reply with the state of the emergency after it."""
    before = turn.state.get("emergency")
    if not before:
        return reply
    after: OpenEmergency | None = {**before, "calm": before["calm"] + 1 if calm else 0}
    if after and after["calm"] >= CALM_MESSAGES:
        after = None
    return replace(reply, state={**reply.state, "emergency": after})

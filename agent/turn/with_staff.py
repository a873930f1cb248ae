"""Decide by code what is still answered while the customer waits for a person, or a person has the conversation.

Emergencies, buttons and codes come before this, in every mode. A language model sees only what is answered as usual.
"""

import re
from dataclasses import replace
from typing import Final

from django.conf import settings
from django.utils import timezone

from agent.answers.answer import Answer, compose
from agent.answers.handoffs import queue_words, taken_said, waiting_rows
from agent.answers.render import label, say
from agent.conversation.handoff import number_known, oldest_waiting
from agent.conversation.stores import store_of_staff
from agent.inference.base import FixedReply, Session, Silence, Turn
from agent.llm.offline.frames import SURE, Frame
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.recognise import recognise
from agent.llm.offline.understand import understand
from agent.models import Conversation, Event
from agent.safety import emergency, policy
from agent.state import ConversationState
from agent.turn import open_emergency
from agent.turn.context import TurnContext
from agent.turn.withdrawal import withdrawal_session
from pharmacy_site.lib.text import Language, words
from pharmacy_site.lib.vocabulary import EMAIL
from prescriptions.handoffs.selectors import waiting_before
from prescriptions.models import Handoff

_Mode = Conversation.Mode
_FOR_STAFF: Final = frozenset(
    {"thanks", "greeting", "bye", "nothing_asked", "declined", "cancelled", "upset", "health", "offer_person"}
    | {"out_of_scope", "identify", "is_anybody_there"}
)  # fmt: skip
"""Intents of messages that answer nothing of the assistant's, or that it could only pass on."""
_OUTRIGHT: Final = 0.95
_NUMBER: Final = re.compile(r"\+?[\d\s\-\u2010-\u2015()]+")
_OF_WAITING: Final = (
    "waiting_long",
    "waiting_words",
    "person",
    "anybody_there",
    "greeting",
    "thanks",
    "upset",
    "help",
)
_FILL: Final = frozenset(
    words(
        "i im ive we weve do does is are it of be will what whats why until till for a an the to me us you your in so please now more still have"
        " answer answers answered reply replies respond call someone somebody anyone anybody here there already and but ok it this"
        " that minutes minute min hours hour half about an wait before with from get"
        " אני אנחנו זה לי לנו עוד עד ש של שלי כבר פה כאן בבקשה מה למה צריך צריכה צריכים אצטרך נצטרך תשובה לתשובה מענה למענה דקות"
        " דקה שעה שעות חצי יענו תענו מישהו שמישהו יענה שיענו שתענו לכם ו נו אז"
    )
)
"""Words of a question about the wait that have no meaning of their own."""
_ADVICE: Final = frozenset({"ADVICE", "COMPARISON", "DOSE_FOR_PERSON", "DIAGNOSIS"})


def session_with_staff(context: TurnContext) -> Session | None:
    """Return the session that takes the place of the assistant's; None when the assistant answers as usual."""
    turn, mode = context.turn, context.conversation.mode
    if mode == _Mode.HUMAN:
        if _proves_identity(turn) or not _is_read(context):
            context.in_every_mode = True
            return None
        return _urgent(context) or Silence(turn)
    if mode == _Mode.QUEUED and not open_emergency.is_open(turn.state) and not _proves_identity(turn):
        if _asks_how_long(turn):
            return _told(context, again=True)
        if withdrawal := withdrawal_session(context):
            return withdrawal
        turn = context.turn
        if _asks_only_advice(turn):
            return _advice_left(context)
        if _is_for_staff(turn):
            return _told(context)
    return None


def _proves_identity(turn: Turn) -> bool:
    """Return whether a message is a step of proving who writes it, or the question that waited for that."""
    if turn.resumed or turn.code.get("outcome"):
        return True
    if not any(frame.intent == "identify" for frame in understand(turn).frames):
        return False
    pending = turn.state.get("pending") or {}
    return pending.get("kind") == "identifier" or (turn.identifier is None and _gives_contact(turn.text))


def _gives_contact(text: str) -> bool:
    """Return whether a message has an e-mail address, or is a number and nothing else: one in a sentence is for who reads it."""
    return bool(EMAIL.search(text)) or bool(_NUMBER.fullmatch(text.strip()))


def _asks_how_long(turn: Turn) -> bool:
    """Return whether a message asks only how long the wait is: every word must be of that, as in "how long should I wait".

    With words of anything else, "how long should I wait before the next pill", the rules about advice come first.
    """
    clauses = recognise(turn.text).clauses
    return any(clause.has("waiting_long") for clause in clauses) and all(
        _is_of_waiting(clause) for clause in clauses
    )


def _is_of_waiting(clause: Clause) -> bool:
    read = {place for cue in _OF_WAITING for span in clause.cues.spans(cue) for place in range(*span)}
    return not clause.medicines and all(
        place in read or word in _FILL or word.isdigit() for place, word in enumerate(clause.words)
    )


def _is_read(context: TurnContext) -> bool:
    """Return whether whoever has a hand-off of this conversation reads this message: it is its patient's, or nobody's."""
    pk, seq = context.conversation.pk, context.run.input_seq
    owner = Event.objects.filter(conversation_id=pk, seq=seq).values_list("patient_id", flat=True).first()
    if owner is None:
        return True
    theirs = Handoff.objects.waiting().filter(conversation_id=pk, patient_id=owner)
    return theirs.exclude(reason=Handoff.Reason.IDENTITY_FAILED).exists()


def _asks_only_advice(turn: Turn) -> bool:
    """Return whether a message asks for advice and for no fact beside it."""
    verdict = policy.check_input(turn.text)
    if verdict == policy.InputVerdict.ANSWER:
        return any(frame.intent == "health" for frame in understand(turn).frames)
    return verdict.name in _ADVICE and not understand(replace(turn, refused=verdict.name)).frames


def _is_for_staff(turn: Turn) -> bool:
    """Return whether a message is meant for the person who is waited for: no question that the assistant can answer."""
    if policy.check_input(turn.text) != policy.InputVerdict.ANSWER:
        return False
    understood = understand(turn)
    is_open = turn.state.get("pending") or turn.state.get("refills")
    if is_open and any(frame.intent == "cancelled" for frame in understood.frames):
        return False
    if understood.answers_question and not any(
        frame.intent == "person" or _misses_place(turn, frame) for frame in understood.frames
    ):
        return False
    return all(
        frame.intent in _FOR_STAFF or _says_no_more(frame) or _misses_place(turn, frame)
        for frame in understood.frames
    )


def _misses_place(turn: Turn, frame: Frame) -> bool:
    """Return whether a frame only counts that a message does not say where a refill is picked up."""
    pending = turn.state.get("pending") or {}
    if pending.get("kind") != "pickup":
        return False
    before = pending["frame"]["details"].get("turns")
    return frame.details.get("turns") not in (None, before)


def _says_no_more(frame: Frame) -> bool:
    """Return whether a frame complains of waiting, or only takes words for a medicine: "anybody", "hurry"."""
    if frame.intent == "person":
        # "Can somebody answer me?"; who asks outright is told that they have asked already.
        return frame.confidence < _OUTRIGHT
    is_complaint = frame.intent == "site" and frame.details.get("topic") in ("complaint", "manager")
    unknown = bool(frame.medicines) and not any("id" in one or "candidates" in one for one in frame.medicines)
    return is_complaint or (unknown and frame.confidence < SURE)


def _urgent(context: TurnContext) -> Session | None:
    """Return the number to call, when a message may be an emergency in words that no rule knows."""
    turn = context.turn
    if not (turn.text and emergency.sounds_urgent(turn.text)):
        return None
    context.in_every_mode = True
    return _fixed(turn, _urgent_line(turn.language))


def _urgent_line(language: Language) -> str:
    return say("urgent_line", language, medical=settings.EMERGENCY_MEDICAL)


def _fixed(turn: Turn, *texts: str, state: ConversationState | None = None) -> Session:
    reply = compose([Answer([*texts])], turn.language, turn.state if state is None else state, fixed=True)
    return FixedReply(turn, reply)


def _advice_left(context: TurnContext) -> Session | None:
    """Leave a question for advice to staff, who read it, and say so each time."""
    turn = context.turn
    handoff = oldest_waiting(context.conversation.pk)
    if handoff is None:
        return None
    left = say("waiting_advice", turn.language, number=number_known(handoff))
    return _fixed(turn, left, _urgent_line(turn.language))


def _told(context: TurnContext, *, again: bool = False) -> Session:
    """Say once for each hand-off who reads this and when; after that, nothing, unless that is what was asked (`again`)."""
    turn, conversation = context.turn, context.conversation
    handoff = oldest_waiting(conversation.pk)
    if handoff is None or (turn.state.get("waiting_told") == handoff.number and not again):
        return _urgent(context) or Silence(turn)
    language = turn.language
    place = turn.state.get("place") or {}
    rows = waiting_rows("", store_of_staff(place.get("store")), timezone.localdate(), language)
    shown = [label("column", name, language) for name in ("when", "phone")]
    said = [
        say("waiting_for_staff", language, number=number_known(handoff)),
        taken_said(handoff.contact, language)
        if handoff.claimed_by_id
        else f"{queue_words(waiting_before(handoff), language)}.",
        *_lines([row for row in rows if row[0] in shown], language),
        say("waiting_meanwhile", language),
    ]
    state: ConversationState = {**turn.state, "waiting_told": handoff.number}
    urgent = [_urgent_line(language)] if turn.text and emergency.sounds_urgent(turn.text) else []
    return _fixed(turn, "\n".join(said), *urgent, state=state)


def _lines(rows: list[list[str]], language: Language) -> list[str]:
    return [say("waiting_row", language, name=name, text=text) for name, text in rows]

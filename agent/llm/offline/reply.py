"""Make the reply to a message that was read, and say what the conversation is about afterwards."""

from collections.abc import Sequence
from typing import Final

from django.conf import settings

from agent.answers.answer import Answer, compose
from agent.inference.base import Reply, Turn
from agent.llm.offline.frames import REPEATABLE
from agent.llm.offline.reading.taken import medicines_taken
from agent.llm.offline.understand import Understood
from agent.safety import emergency
from agent.state import ConversationState, PendingQuestion, RememberedMedication
from pharmacy_site.lib.text import words

_ASKING: Final = frozenset(
    words("what which should can could is do does how when who מה איזה איזו כדאי האם אפשר מתי כמה איך")
)
_REMEMBERED: Final = frozenset({*REPEATABLE, "interaction", "same", "list"})
_OF_REFILLS: Final = ("pickup", "confirm")
_ENDING: Final = frozenset({"cancelled", "declined", "person", "logout"})
_OF_HEALTH: Final = frozenset({"health", "knowledge"})
_MOST_TAKEN: Final = 12
_MOST_ALLERGIES: Final = 20
_FORGOTTEN: Final = frozenset({"text", "others", "places", "offered"})


def reply_of(understood: Understood, answers: Sequence[Answer], turn: Turn, *, free: bool = False) -> Reply:
    """Return these answers as one reply, with what the conversation is about from here on."""
    renderer = understood.renderer
    state = _state_after(understood, answers, turn.state)
    if _may_be_urgent(understood, turn):
        answers = [*answers, Answer([renderer.say("urgent_line", medical=settings.EMERGENCY_MEDICAL)])]
    return compose(answers, renderer.language, state, free=free)


def _state_after(
    understood: Understood, answers: Sequence[Answer], before: ConversationState
) -> ConversationState:
    state = before.copy()
    focus = before.get("focus", [])
    state["pending"] = _still_open(understood, before)
    if not (answers and "misses" in answers[0].state):
        state["misses"] = 0
    if "refusals" in state and understood.frames:
        state["refused_with"] = ""
    for answer in answers:
        state.update(answer.state)
    for frame in understood.frames:
        if frame.intent in _REMEMBERED:
            question = frame.remembered()
            question["details"] = {
                key: value for key, value in frame.details.items() if key not in _FORGOTTEN
            }
            state["last"] = question
        state["last_branch"] = frame.remembered() if frame.intent in ("hours", "branch") else None
        state["intent"] = frame.intent
        if frame.place:
            state["place"] = frame.place.copy()
    taken = {one["id"]: one for one in (*before.get("takes", ()), *medicines_taken(understood.message))}
    if taken:
        state["takes"] = list(taken.values())[-_MOST_TAKEN:]
    allergies = {(one["en"], one["he"]): one for one in (*before.get("allergies", ()), *understood.allergies)}
    if allergies:
        state["allergies"] = list(allergies.values())[-_MOST_ALLERGIES:]
    state["focus"] = _named(state.get("focus", []), [*_medicines(understood), *focus])
    ids = [medicine.get("id") for medicine in state["focus"]]
    if focus and [medicine.get("id") for medicine in focus] != ids:
        state["earlier"] = focus
    return state


def _still_open(understood: Understood, before: ConversationState) -> PendingQuestion | None:
    """Return the question about a refill that is being collected: another question in between does not end it."""
    pending = before.get("pending")
    if not pending or not before.get("refills") or pending["kind"] not in _OF_REFILLS:
        return None
    ends = any(frame.intent in _ENDING for frame in understood.frames)
    return None if ends else pending


def _may_be_urgent(understood: Understood, turn: Turn) -> bool:
    """Return whether a message that got no facts may be an emergency in words that no rule knows."""
    unknown = any("query" in medicine for medicine in _medicines(understood))
    answered = (
        understood.frames
        and not unknown
        and not any(frame.intent in _OF_HEALTH for frame in understood.frames)
    )
    if answered and not turn.refused:
        return False
    if emergency.sounds_urgent(turn.text) or any(
        clause.has("unwell") for clause in understood.message.clauses
    ):
        return True
    # A complaint ("I feel awful"), as against a question for advice ("what is good for a cold?").
    return (
        turn.refused in ("ADVICE", "DIAGNOSIS")
        and not any(clause.medicines or clause.asks for clause in understood.message.clauses)
        and not any(clause.words[0] in _ASKING for clause in understood.message.clauses)
    )


def _medicines(understood: Understood) -> list[RememberedMedication]:
    return [medicine for frame in understood.frames for medicine in frame.medicines]


def _named(
    focus: Sequence[RememberedMedication], known: Sequence[RememberedMedication]
) -> list[RememberedMedication]:
    """Return the medicines talked about, still called as they were chosen: names of a large catalogue repeat."""
    names = {one["id"]: one["name"] for one in known if "id" in one and "name" in one}
    named = []
    for medicine in focus:
        one = medicine.copy()
        if one.get("id") in names:
            one["name"] = names[one["id"]]
        named.append(one)
    return named

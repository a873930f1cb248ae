"""Read a message: what the customer wants, as frames, and in which language to answer.

normalise and recognise (`recognise`) → decide (`decide`); the plans of `plans` answer the frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.answers.answer import Answer
from agent.answers.refusals import not_understood, refusal
from agent.answers.renderer import Renderer
from agent.inference.base import Turn
from agent.llm.offline.frames import LOST, PLAIN_FACTS, SURE, Frame
from agent.llm.offline.reading.allergies import allergies_apart
from agent.llm.offline.reading.decide import decide
from agent.llm.offline.reading.health import health_frames, reviewed_instead
from agent.llm.offline.reading.message import Message
from agent.llm.offline.reading.recognise import recognise
from agent.safety import policy
from agent.state import RememberedAllergen
from pharmacy_site.lib.text import Language, language_of


@dataclass(frozen=True)
class Understood:
    """What was read from a message: what the customer wants, as frames, and what is said in any case (`answers`)."""

    renderer: Renderer
    frames: tuple[Frame, ...]
    message: Message
    answers: tuple[Answer, ...] = ()
    answers_question: bool = False
    """Whether the message answers a question of ours: a name, a choice, a yes, an identifier."""
    allergies: tuple[RememberedAllergen, ...] = ()
    """The allergies that it mentions; `message` is without them, so that none is taken for a medicine that is asked for."""


def understand(turn: Turn) -> Understood:
    """Recognise the message and decide what to do; reads only the indexes of names."""
    if turn.resumed or (turn.code.get("outcome") == "ok" and turn.state.get("waiting")):
        waiting = turn.state.get("waiting")
        frame = Frame.recalled(waiting) if waiting else Frame("prescriptions", 0.9)
        # The code went to that person's own contact: whose prescriptions they are is proven now.
        frame = replace(frame, details={k: v for k, v in frame.details.items() if k != "other_person"})
        return Understood(Renderer(turn, turn.language), (frame,), Message("", (), ()))
    whole = recognise(turn.text)
    renderer = Renderer(turn, _language(turn, whole))
    said, message = allergies_apart(whole)
    understood = _understood(turn, renderer, message, said)
    return replace(understood, allergies=tuple(said))


def _understood(
    turn: Turn, renderer: Renderer, message: Message, said: Sequence[RememberedAllergen]
) -> Understood:
    """Decide what a message wants beside the allergies that it mentions; they are what is answered if nothing else is."""
    decided = decide(message, turn.state)
    frames = decided.frames
    if turn.refused:
        return _refused(turn, renderer, message, frames)
    if turn.is_reviewed or not decided.answers_question:
        frames = health_frames(turn, message, frames, renderer.language)
    first = frames[0] if frames else Frame("unknown", 0.4)
    if "language" in first.details:
        renderer = Renderer(turn, first.details["language"])
    if said and (first.confidence < LOST or first.intent == "unknown"):
        return Understood(renderer, (Frame("allergy_noted", 0.95, details={"allergies": said}),), message)
    if (first.confidence < LOST and first.intent != "refill") or first.intent == "unknown":
        misses = int(turn.state.get("misses") or 0) + 1
        return Understood(renderer, (), message, (not_understood(renderer, misses),))
    answers_question = decided.answers_question and not turn.is_reviewed
    return Understood(renderer, frames, message, answers_question=answers_question)


def _language(turn: Turn, message: Message) -> Language:
    """Return the language of the message; of names, numbers and identifiers alone, the conversation's."""
    found = language_of(turn.text)
    if found is None or (found == "en" and message.names_only):
        return turn.conversation_language
    return found


def _refused(turn: Turn, renderer: Renderer, message: Message, frames: Sequence[Frame]) -> Understood:
    """Refuse advice; a plain fact that is asked for in a clause of its own is still answered."""
    medicines = [medicine for frame in frames for medicine in frame.medicines]
    part = refusal(renderer, turn.refused, turn.state, medicines)
    if questions := reviewed_instead(turn, renderer.language):
        part.suggestions = [*part.suggestions, *questions]
        part.state["knowledge"] = {"question": questions[0], "entries": [], "offered": questions}
    plain: list[Frame] = []
    if len(message.clauses) > 1:
        allowed = [
            clause
            for clause in message.clauses
            if policy.check_input(clause.text) == policy.InputVerdict.ANSWER
        ]
        if allowed and len(allowed) < len(message.clauses):
            rest = Message(
                message.text,
                tuple(clause for clause in allowed if clause.asks or clause.has("stock", "price")),
                (),
            )
            found = decide(rest, {**turn.state, "pending": None}).frames if rest.clauses else ()
            plain = [frame for frame in found if frame.intent in PLAIN_FACTS and frame.confidence >= SURE]
    return Understood(renderer, tuple(plain), message, (part,))


def is_plain_remark(turn: Turn) -> bool:
    """Return whether a message mentions an allergy and asks, at most, for facts that no advice can hide in."""
    said, rest = allergies_apart(recognise(turn.text))
    if not said or policy.check_input(rest.text) != policy.InputVerdict.ANSWER:
        return False
    frames = decide(rest, {**turn.state, "pending": None}).frames if rest.clauses else ()
    return all(frame.intent in PLAIN_FACTS for frame in frames)

"""Decide which messages are general health questions, which the knowledge base answers.

What names a product, a branch or the customer's own prescriptions is answered from their data, as a leaflet says it of this product.
Of the rest, and of what the rules misread, a classifier says whether it is about health in general (`fixtures/understanding/subjects.jsonl`),
and the search whether a published entry covers it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.inference.base import Turn
from agent.knowledge.coverage import (
    ANSWERS,
    MAYBE,
    TOGETHER,
    Covered,
    coverage_find,
    follow_up_find,
    near_find,
    shown_holds,
)
from agent.knowledge.general import (
    health_margin,
    is_answered_in_general,
    names_no_product,
)
from agent.knowledge.index import IndexUnavailable
from agent.knowledge.indexing import collection_may_have_question
from agent.knowledge.retrieval import get_full_qa_by_ids
from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.general_question import (
    COURTESIES,
    LACKS_MEDICINE,
    LEAST_MARGIN,
    LIKELY,
    MISREAD,
    SENTENCE,
    TOLD,
    answered_from_product,
    is_health,
    says_nothing,
)
from agent.llm.offline.reading.message import SHORTEST_NAME, Clause, Message
from agent.safety import emergency
from agent.state import RememberedAnswer
from pharmacy_site.lib.text import Language, as_language

_MOST_INSTEAD: Final = 2
_COURTESY: Final = 3  # words of "ok thank you"
_FOLLOW_UP_WORDS: Final = 10
_LEANING_WORDS: Final = 14
"""The same where it begins with "and" or has a word for "that"."""
_SHORT: Final = 6
"""So many words after "and" lean on the question before, even if they could be one of their own."""
_GOES_ON: Final = frozenset({"and", "but", "אבל"})


def is_reviewed_question(turn: Turn) -> bool:
    """Return whether a message that would be refused is a general question whose answer was reviewed, as one is that was offered."""
    if not turn.knowledge_role or not turn.text:
        return False
    if turn.text.strip() in _remembered(turn.state)["offered"]:
        return True
    return is_answered_in_general(turn.text, turn.knowledge_role, language=turn.language)


def reviewed_instead(turn: Turn, language: Language) -> list[str]:
    """Return published questions that a refused message is close to, to be offered instead.

    Their answers are general and were reviewed; what is right for this customer stays refused.
    """
    if not turn.knowledge_role:
        return []
    near = near_find(turn.text, turn.knowledge_role, language=language)
    return [question for question in near if not emergency.alarms(question)][:_MOST_INSTEAD]


def health_frames(
    turn: Turn, message: Message, frames: Sequence[Frame], language: Language
) -> tuple[Frame, ...]:
    """Return the frames of a message with its general health questions as such; unchanged where no collection answers."""
    if not turn.knowledge_role or not turn.text or message.contacts:
        return tuple(frames)
    before = _remembered(turn.state)
    if turn.is_reviewed or turn.text.strip() in before["offered"]:
        return (_asked(turn.text),)
    if not message.clauses:
        return tuple(frames)  # nothing but an allergy was said, which is noted
    if _is_of_products(turn, message, frames):
        return tuple(frames)
    text, whole = _covered_text(turn, message, language)
    asks_language = bool(frames) and frames[0].intent == "language"
    # "Do I need a letter in English?" asks for no other language.
    if whole and (whole.is_asked or (asks_language and whole.confidence >= TOLD)):
        return (_asked(text),)
    if asks_language and turn.state.get("intent") == "knowledge":
        return _in_other_language(turn, before, as_language(frames[0].details["language"])) or tuple(frames)
    if whole and len(frames) > 1 and _is_one_question(message, frames, text, whole):
        return (_asked(text),)
    if len(frames) > 1 and not (whole and all(is_health(message, frame, text, whole) for frame in frames)):
        return tuple(_alone(turn, message, frame, language) for frame in frames)
    if followed := _follow_up(turn, message, frames, before, language):
        return (followed,)
    frame = frames[0] if frames else Frame("unknown", 0.4)
    if frame.intent in COURTESIES and text != turn.text:
        frame = Frame("unknown", 0.4)  # the courtesy is not all that was said
    if is_health(message, frame, text, whole) or _may_be_near(turn, message, frame, text, language):
        return (_asked(text),)
    # "You are a legend" names no medicine.
    if (
        frame.medicines
        and all({*one} <= {"query"} for one in frame.medicines)
        and names_no_product(turn.text)
    ):
        thanks = any(clause.has("thanks") for clause in message.clauses)
        return (Frame("thanks", 0.9) if thanks else Frame("unknown", 0.4),)
    return tuple(frames)


def _is_of_products(turn: Turn, message: Message, frames: Sequence[Frame]) -> bool:
    """Return whether the catalogue answers the whole message, so that the knowledge base need not be searched.

    Not for a published question, which its own entry answers. A search takes a tenth of a turn's work.
    """
    names = any(clause.medicines for clause in message.clauses)
    if not names or not all(answered_from_product(frame) for frame in frames):
        return False
    rest = _without_courtesies(message)
    texts = [turn.text, *(clause.text for clause in rest), " ".join(clause.text for clause in rest)]
    return not collection_may_have_question(turn.knowledge_role, texts)


def _is_one_question(message: Message, frames: Sequence[Frame], text: str, covered: Covered) -> bool:
    """Return whether an entry surely answers a message that names no product, although the rules read several questions into it."""
    if covered.confidence < TOLD or health_margin(text) < LIKELY:
        return False
    names = any(clause.medicines for clause in message.clauses)
    return not names and all(frame.intent in MISREAD for frame in frames)


def _covered_text(turn: Turn, message: Message, language: Language) -> tuple[str, Covered | None]:
    """Find the question in a message and the entry that covers it; return both.

    Courtesies around a question are left out. If no entry covers all of it, what is asked, or said last, may be covered: people tell a
    story first.
    """
    rest = _without_courtesies(message)
    text = " ".join(clause.text for clause in rest) if 0 < len(rest) < len(message.clauses) else turn.text
    found = coverage_find(text, turn.knowledge_role, language=language)
    if found or len(rest) < 2:
        return text, found
    sentences = [
        one.text
        for one in rest
        if len(one.words) >= SENTENCE and (one.asks or one is rest[-1]) and health_margin(one.text) >= 0
    ]
    covered = [(one, coverage_find(one, turn.knowledge_role, language=language)) for one in sentences]
    return max(
        ((one, found) for one, found in covered if found and found.confidence >= ANSWERS),
        key=lambda each: each[1].confidence,
        default=(text, None),
    )


def _without_courtesies(message: Message) -> list[Clause]:
    return [
        clause
        for clause in message.clauses
        if clause.asks
        or len(clause.words) > _COURTESY
        or not clause.has("thanks", "greeting", "cancel", "yes")
    ]


def _may_be_near(turn: Turn, message: Message, frame: Frame, text: str, language: Language) -> bool:
    """Return whether to offer published questions that may be meant, instead of saying that nothing was understood."""
    is_lost = says_nothing(message, frame, text)
    if health_margin(text) < LEAST_MARGIN or not (is_lost or frame.intent == "unknown"):
        return False
    least = TOGETHER if is_lost else MAYBE
    return bool(near_find(text, turn.knowledge_role, language=language, least=least))


def _alone(turn: Turn, message: Message, frame: Frame, language: Language) -> Frame:
    """Return one of several questions, read as a health question if it is one."""
    text = str(frame.details.get("text") or "")
    if not text:
        return frame
    found = coverage_find(text, turn.knowledge_role, language=language)
    return _asked(text) if is_health(message, frame, text, found) else frame


def _follow_up(
    turn: Turn, message: Message, frames: Sequence[Frame], before: RememberedAnswer, language: Language
) -> Frame | None:
    """Return what a short message adds to the question that the knowledge base answered before: "what about children?"."""
    clauses = message.clauses
    if turn.state.get("intent") != "knowledge" or not before["question"]:
        return None
    leans = _goes_on(message) or any(clause.has("follow", "it") for clause in clauses)
    if sum(len(clause.words) for clause in clauses) > (_LEANING_WORDS if leans else _FOLLOW_UP_WORDS):
        return None
    if any(clause.medicines or clause.places for clause in clauses):
        return None
    if any(frame.intent not in MISREAD for frame in frames):
        return None
    whole = f"{before['question']} {turn.text}"
    if health_margin(whole) < LEAST_MARGIN:
        return None
    own = coverage_find(turn.text, turn.knowledge_role, language=language)
    is_own = own is not None and own.confidence >= MAYBE and health_margin(turn.text) >= LEAST_MARGIN
    if is_own and not (leans and sum(len(clause.words) for clause in clauses) <= _SHORT):
        return None
    if held := shown_holds(turn.text, before["entries"], turn.knowledge_role, language=language):
        return _asked(held)
    found = follow_up_find(
        turn.text, whole, turn.knowledge_role, language=language, without=before["entries"]
    )
    if found and found.is_asked:
        return _asked(found.question)
    frame = frames[0] if frames else Frame("unknown", 0.4)
    if not found and (is_own or not leans or frame.intent not in LACKS_MEDICINE):
        return None
    if not found and near_find(turn.text, turn.knowledge_role, language=language, least=TOGETHER):
        return _asked(turn.text)  # what may be meant is offered
    return replace(_asked(whole), details={"question": whole, "without": before["entries"]})


def _goes_on(message: Message) -> bool:
    """Return whether a message begins with "and" or "but", as what follows on an answer does."""
    first = next((word for clause in message.clauses for word in clause.words), "")
    return first in _GOES_ON or (first.startswith("ו") and len(first) >= SHORTEST_NAME)


def _in_other_language(turn: Turn, before: RememberedAnswer, language: Language) -> tuple[Frame, ...]:
    """Return the question that was answered last, as the collection has it in the other language."""
    try:
        entries = get_full_qa_by_ids(before["entries"][:1], turn.knowledge_role, language=language)
    except IndexUnavailable:
        return ()
    return tuple(
        replace(_asked(entry["CAUHOI"]), details={"question": entry["CAUHOI"], "language": language})
        for entry in entries
    )


def _asked(text: str) -> Frame:
    return Frame("knowledge", 0.9, details={"question": text.strip(), "text": text})


def _remembered(state: Mapping[str, Any]) -> RememberedAnswer:
    found: RememberedAnswer | None = state.get("knowledge")
    return found or {"question": "", "entries": [], "offered": []}

"""Say why a person is asked for, by what the customer wrote and what was talked about; the reason decides who takes it.

A pharmacist takes it, unless every word of the message is known to be about stock, a pick-up or a complaint: "my parcel" may be
followed by "had the wrong tablets", or by a rash.
"""

from typing import Any, Final

from agent.answers.handoffs import REASON_OF_TOPIC
from agent.conversation.typed import message_text
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.recognise import recognise
from agent.llm.offline.reading.talk_intents import SITE_TOPICS
from agent.models import Run
from agent.safety import policy
from pharmacy_site.lib.text import words
from prescriptions.models import Handoff

_Reason: Final = Handoff.Reason
_OF_STOCK: Final = frozenset({"stock", "stock_place", "restock", "list_at"})
_PHARMACIST: Final = ("pharmacist_named",)
_PLAIN: Final = (
    *(f"site_{topic}" for topic in REASON_OF_TOPIC), "person", "strong_person", "pickup_named", "stock_named", "question",
    "greeting", "thanks", "yes",
)  # fmt: skip
"""Cues of a wish for a person and of what a technician takes; nothing else fits into one of their phrases."""
_FILL: Final = frozenset(
    words(
        "i id im we want wanted need needs like would could can may please to with about regarding concerning on of for the a an my"
        " our is are it in at and me us you your this that now get have has where when what status order parcel package"
        " אני אנחנו רוצה רוצים צריך צריכה אפשר בבקשה על לגבי בנוגע בקשר של שלי שלנו את איפה מתי מה זה זו היא הוא לי לנו יש האם"
        " עכשיו הזמנה ההזמנה החבילה חבילה ה ו"
    )
)


def reason_asked(run: Run) -> str:
    """Return the reason for a customer who asks for a person, without having said one that the conversation knows.

    What they write now counts first, then what the last answer was about. Who asks for a pharmacist gets one, and so does who
    writes anything that was not read as a matter for others.
    """
    text = message_text(run)
    clauses = recognise(text).clauses if text else ()
    if policy.check_input(text) != policy.InputVerdict.ANSWER or not all(_is_plain(one) for one in clauses):
        return _Reason.CUSTOMER_ASKED
    for clause in clauses:
        if reason := _of_clause(clause):
            return reason
    if any(clause.has(*_PHARMACIST) for clause in clauses):
        return _Reason.CUSTOMER_ASKED
    return _of_state(run.conversation.state or {})


def _of_clause(clause: Clause) -> str:
    topic = next((one for one in SITE_TOPICS if clause.has(f"site_{one}")), "")
    if topic in REASON_OF_TOPIC:
        return REASON_OF_TOPIC[topic]
    if clause.has("pickup_named"):
        return _Reason.PICKUP
    return _Reason.STOCK if clause.has("stock_named") else ""


def _is_plain(clause: Clause) -> bool:
    """Return whether each word of a clause is of a known cue, a branch, or without a meaning of its own."""
    read = {place for cue in _PLAIN for span in clause.cues.spans(cue) for place in range(*span)}
    read |= {place for branch in clause.places for place in range(branch.start, branch.end)}
    return all(place in read or word in _FILL for place, word in enumerate(clause.words))


def _of_state(state: dict[str, Any]) -> str:
    intent = state.get("intent") or ""
    if intent in _OF_STOCK:
        return _Reason.STOCK
    if intent == "site":
        last = (state.get("pending") or {}).get("reason", "")
        return str(last) if last in (_Reason.PICKUP, _Reason.COMPLAINT) else _Reason.CUSTOMER_ASKED
    return _Reason.CUSTOMER_ASKED

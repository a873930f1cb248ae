"""Answer that a person was brought in, with its card."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from agent.answers.answer import Answer
from agent.answers.branches import WEEK, StoreDescription
from agent.answers.card_types import Row
from agent.answers.cards import handoff_card
from agent.answers.facts.fact import Fact
from agent.answers.render import count, label, say
from agent.answers.renderer import Renderer
from agent.state import ConversationState, PendingQuestion
from pharmacy_site.lib.text import Language


def person_offered(reason: str = "customer_asked") -> PendingQuestion:
    """Return the question whether a person shall be brought in, for this reason."""
    return {"kind": "offer_person", "reason": reason}


REASON_OF_TOPIC: Final = {
    "complaint": "complaint", "manager": "complaint", "delivery": "pickup", "orders": "pickup", "hold": "pickup",
}  # fmt: skip
"""Why a person is brought in after a question about this subject of `stores.SiteAnswer`."""


def person_question(
    renderer: Renderer, key: str = "offer_person", *, reason: str = "customer_asked"
) -> Answer:
    """Ask whether a person shall be brought in for this reason, in the words of this sentence."""
    return Answer(
        [renderer.say(key)],
        suggestions=[renderer.say("chip_yes"), renderer.say("chip_no")],
        state={"pending": person_offered(reason)},
    )


def handed_off(renderer: Renderer, handoff: Mapping[str, Any]) -> Answer:
    """Tell the customer the number of a hand-off, as the action that opened it returns it, or whom to call instead."""
    kept = refill_question(renderer.turn.state)
    if handoff.get("limited"):
        text = _with_phone("handoff_limited", handoff.get("store"), renderer.language)
        return Answer([text], state={"pending": kept, "misses": 0})
    number, reason = handoff["number"], str(handoff.get("reason") or "")
    key = "handoff_again" if handoff.get("again") else "handoff_done"
    card = handoff_card(renderer, number, reason)
    done = Fact("handoff", number, renderer.say(key, number=number), is_lasting=False)
    return Answer([done], cards=[card], state={"pending": kept, "misses": 0})


def refill_question(state: ConversationState) -> PendingQuestion | None:
    """Return the open question of a refill that is being collected: a person who is brought in does not end it."""
    pending = state.get("pending")
    return pending if pending and pending["kind"] in ("pickup", "confirm") else None


def queue_words(before: int, language: Language) -> str:
    """Return the state of a waiting hand-off: how many are before it."""
    return count("handoff_before", language, before) if before else say("handoff_next", language)


def waiting_rows(
    reason: str, store: StoreDescription | None, today: date, language: Language, *, is_read: bool = True
) -> list[Row]:
    """Return what a customer who waits wants to know: when staff of this branch read it, what comes next, its phone, why.

    `is_read`: staff answer in this conversation.
    """
    rows: dict[str, str] = {}
    if is_read:
        if store is not None:
            rows["when"] = _when(store, today, language)
        rows["next"] = say("handoff_reading", language)
    if store is not None and store["phone"]:
        rows["phone"] = say("staff_phone", language, store=_name(store, language), phone=store["phone"])
    why = label("reason", reason, language)
    if why != reason:
        rows["reason"] = why
    return [[label("column", key, language), text] for key, text in rows.items()]


def end_said(
    outcome: str,
    role: str,
    store: StoreDescription | None,
    language: Language,
    *,
    was_answered: bool,
    is_left: bool = False,
) -> str:
    """Return what the customer reads when a hand-off is over: what became of it, and never that somebody did what nobody did.

    `was_answered`: staff wrote to the customer; `is_left`: not after what the customer wrote last.
    """
    if outcome in ("", "unanswered") or (outcome in ("answered", "no_reply") and not was_answered):
        return _with_phone("ended_unanswered", store, language)
    if outcome == "answered" and is_left:
        return _with_phone("ended_left", store, language, role=label("role", role, language))
    if outcome in ("approved", "changed", "denied"):
        return _with_phone(f"ended_{outcome}", store, language, role=label("role", role, language))
    return say(f"ended_{outcome}", language, role=label("role", role, language))


def late_said(store: StoreDescription | None, language: Language) -> str:
    """Return what a customer reads whose hand-off nobody took, or settled, in time."""
    return _with_phone("handoff_late", store, language)


def elsewhere_said(store: StoreDescription | None, language: Language) -> str:
    """Return what a customer reads whose conversation shares a hand-off that staff answer in another one."""
    return _with_phone("handoff_elsewhere", store, language)


def taken_said(role: str, language: Language) -> str:
    """Return what a customer reads when somebody has taken their hand-off."""
    return say("handoff_taken", language, role=label("role", role, language))


def _with_phone(key: str, store: Mapping[str, Any] | None, language: Language, **values: str) -> str:
    """Return a sentence that names a branch's phone, or its other form when there is none to name."""
    if store is None or not store["phone"]:
        return say(f"{key}_no_phone", language, **values)
    return say(key, language, store=_name(store, language), phone=str(store["phone"]), **values)


def hearing_row(email: str, language: Language) -> Row:
    """Return how the customer hears of the hand-off: in the chat, and by this e-mail address if there is one."""
    text = say("handoff_chat_or_email", language, email=email) if email else say("handoff_chat", language)
    return [label("column", "hear", language), text]


def _when(store: StoreDescription, today: date, language: Language) -> str:
    name = _name(store, language)
    if store["open_now"]:
        return say("staff_now", language, store=name, time=str(store["closes_at"])[11:16])
    opens = datetime.fromisoformat(str(store["opens_at"]))
    day = label("weekday", WEEK[opens.weekday()], language)
    key = "staff_today" if opens.date() == today else "staff_on"
    return say(key, language, store=name, day=day, time=f"{opens:%H:%M}")


def _name(store: Mapping[str, Any], language: Language) -> str:
    return str(store[f"label_{language}"] or store["label_en"])

"""Answer that a person was brought in, with its card."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from agent.answers.answer import Answer
from agent.answers.branches import WEEK, StoreDescription
from agent.answers.cards import Row, handoff_card
from agent.answers.facts.fact import Fact
from agent.answers.render import count, label, say
from agent.answers.renderer import Renderer
from agent.state import PendingQuestion
from pharmacy_site.lib.text import Language


def person_offered(reason: str = "customer_asked") -> PendingQuestion:
    """Return the question whether a person shall be brought in, for this reason."""
    return {"kind": "offer_person", "reason": reason}


def person_question(renderer: Renderer, key: str = "offer_person") -> Answer:
    """Ask whether a person shall be brought in, in the words of this sentence."""
    return Answer(
        [renderer.say(key)],
        suggestions=[renderer.say("chip_yes"), renderer.say("chip_no")],
        state={"pending": person_offered()},
    )


def handed_off(renderer: Renderer, handoff: Mapping[str, Any]) -> Answer:
    """Tell the customer the number of a hand-off, as the action that opened it returns it."""
    number, reason = handoff["number"], str(handoff.get("reason") or "")
    key = "handoff_again" if handoff.get("again") else "handoff_done"
    card = handoff_card(renderer, number, reason)
    done = Fact("handoff", number, renderer.say(key, number=number), is_lasting=False)
    return Answer([done], cards=[card], state={"pending": None, "misses": 0})


def queue_words(before: int, language: Language) -> str:
    """Return the state of a waiting hand-off: how many are before it."""
    return count("handoff_before", language, before) if before else say("handoff_next", language)


def waiting_rows(reason: str, store: StoreDescription | None, today: date, language: Language) -> list[Row]:
    """Return what a customer who waits wants to know: when staff of this branch read it, what comes next, its phone, why."""
    rows: dict[str, str] = {}
    if store is not None:
        rows["when"] = _when(store, today, language)
    rows["next"] = say("handoff_reading", language)
    if store is not None and store["phone"]:
        rows["phone"] = say("staff_phone", language, store=_name(store, language), phone=store["phone"])
    why = label("reason", reason, language)
    if why != reason:
        rows["reason"] = why
    return [[label("column", key, language), text] for key, text in rows.items()]


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


def _name(store: StoreDescription, language: Language) -> str:
    return str(store[f"label_{language}"] or store["label_en"])

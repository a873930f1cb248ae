"""Answer that a person was brought in, with its card."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from agent.answers.answer import Answer
from agent.answers.branches import WEEK, StoreDescription
from agent.answers.cards import handoff_card
from agent.answers.facts.fact import Fact
from agent.answers.render import label, say
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


def waiting_text(reason: str, store: StoreDescription | None, today: date, language: Language) -> str:
    """Return the text of a waiting hand-off: its reason, when staff of this branch read it, and the branch's phone."""
    texts = [f"{words}." for words in (label("reason", reason, language),) if words != reason]
    if store is None:
        return " ".join([*texts, f"{say('handoff_waiting', language)}.", say("staff_page", language)])
    if store["open_now"]:
        texts.append(say("staff_now", language, time=str(store["closes_at"])[11:16]))
    else:
        opens = datetime.fromisoformat(str(store["opens_at"]))
        day = label("weekday", WEEK[opens.weekday()], language)
        key = "staff_today" if opens.date() == today else "staff_on"
        texts.append(say(key, language, day=day, time=f"{opens:%H:%M}"))
    if store["phone"]:
        name = str(store[f"label_{language}"] or store["label_en"])
        texts.append(say("staff_phone", language, store=name, phone=store["phone"]))
    return " ".join([*texts, say("staff_page", language)])

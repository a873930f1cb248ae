"""Answer courtesies, wishes for a person, and questions about branches."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.answers.branches import WEEK, hours_of_week, hours_on_day, hours_today, stores_of
from agent.answers.handoffs import handed_off, person_offered
from agent.answers.layout import bullets, numbered, paragraphs
from agent.answers.parts import AnswerPart
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.inference.base import Step
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.names import choose
from agent.llm.offline.plans.plan import Plan
from agent.state import ConversationState

FAR = 300  # kilometres; "the nearest branch, 9,000 km away" helps nobody


def courtesy(renderer: Renderer, frame: Frame) -> Plan:
    """Answer a greeting, thanks and the like."""
    yield from ()
    chips = {
        "greeting": ["chip_branches", "chip_prescriptions", "chip_person"],
        "help": ["chip_branches", "chip_prescriptions", "chip_person"],
        "who": ["chip_person"],
        "out_of_scope": ["chip_branches", "chip_person"],
    }.get(frame.intent, [])
    state: ConversationState = {"pending": None} if frame.intent in ("cancelled", "declined") else {}
    if frame.intent == "cancelled":
        state["waiting"] = None
    if frame.intent == "declined_name":
        state["pending"] = None
    return AnswerPart(
        renderer.say(frame.intent), suggestions=[renderer.say(chip) for chip in chips], state=state
    )


def allergy_noted(renderer: Renderer, frame: Frame) -> Plan:
    """Say that the allergies of this message are noted."""
    yield from ()
    names = listed([renderer.name(one) for one in frame.details["allergies"]], renderer.language)
    return AnswerPart(renderer.say("allergy_noted", names=names))


def person(renderer: Renderer, frame: Frame) -> Plan:
    """Open a hand-off, then tell the customer its number."""
    [result] = yield [Step("handoff.open", {"reason": frame.details.get("reason", "customer_asked")})]
    return handed_off(renderer, result.result)


def which(renderer: Renderer, frame: Frame) -> Plan:
    """Ask again which of several is meant, after a plain yes."""
    yield from ()
    waiting = Frame.recalled(frame.details["frame"])
    return choose(renderer, waiting, frame.details["options"], head=renderer.say("which_of_these"))


def site(renderer: Renderer, frame: Frame) -> Plan:
    """Answer a question about parking, deliveries and the like with the text that staff wrote.

    Its row says what to add: the phone of the branch that was talked about, the offer of a person, or nothing.
    """
    [found] = yield [Step("site.answer", {"topic": frame.details.get("topic", frame.intent)})]
    text, offer = renderer.of(found.result, "text"), found.result.get("offer")
    if not text:
        return (yield from courtesy(renderer, replace(frame, intent="out_of_scope")))
    if offer == "person":
        return AnswerPart(
            paragraphs(text, renderer.say("offer_person")),
            suggestions=[renderer.say("chip_yes"), renderer.say("chip_no")],
            quoted=[text],
            state={"pending": person_offered()},
        )
    lines: list[str] = []
    place = frame.place or renderer.turn.state.get("place")
    if offer == "phone" and place and place.get("store"):
        [shop] = yield [Step("store.info", {"query": place["query"]})]
        lines = [
            renderer.say("branch_phone", store=renderer.of(store), phone=store["phone"])
            for store in shop.result.get("stores", ())
            if store.get("phone")
        ]
    chips = ["chip_branches", "chip_person"] if offer == "phone" else ["chip_person"]
    suggestions = [renderer.say(chip) for chip in chips]
    return AnswerPart(paragraphs(text, *lines), suggestions=suggestions, quoted=[text])


def health(renderer: Renderer, frame: Frame) -> Plan:
    """Decline a general question about health."""
    yield from ()
    return AnswerPart(
        renderer.say("health"), suggestions=[renderer.say("chip_person")], state={"pending": person_offered()}
    )


def offer(renderer: Renderer, frame: Frame) -> Plan:
    """Offer a pharmacist."""
    yield from ()
    chips = [renderer.say("chip_yes"), renderer.say("chip_no")]
    return AnswerPart(renderer.say("offer_person"), suggestions=chips, state={"pending": person_offered()})


def upset(renderer: Renderer, frame: Frame) -> Plan:
    """Apologise to a customer who is annoyed, and offer a person."""
    yield from ()
    return AnswerPart(
        renderer.say("upset"),
        suggestions=[renderer.say("chip_yes"), renderer.say("chip_no")],
        state={"pending": person_offered()},
    )


def branch(renderer: Renderer, frame: Frame) -> Plan:
    """Say where branches are, when they are open and how to call them."""
    places = frame.details.get("places", ())
    if frame.place and places and places[0] == frame.place:
        details = {key: value for key, value in frame.details.items() if key != "places"}
        parts = []
        for place in places[:3]:
            parts.append((yield from branch(renderer, replace(frame, place=place, details=details))))
        stores = [store for part in parts for store in part.state.get("last_stores", ())]
        return AnswerPart(
            paragraphs(*dict.fromkeys(part.text for part in parts)),
            suggestions=parts[0].suggestions,
            state={"last_stores": stores},
        )
    arguments = {"query": frame.place["query"]} if frame.place else {}
    if frame.details.get("online") and not frame.place:
        arguments = {"query": "online"}
    [result] = yield [Step("store.info", arguments)]
    stores = list(result.result.get("stores", ()))
    if result.result.get("unserved"):
        city = renderer.name(
            frame.place or {"en": result.result["unserved"], "he": result.result["unserved"]}
        )
        lines = [renderer.say("city_not_served", city=city)]
        nearest = result.result.get("nearest")
        if nearest and nearest["km"] <= FAR:
            lines.append(renderer.say("nearest_branch", store=renderer.of(nearest), km=nearest["km"]))
            if any(frame.details.get(key) for key in ("open", "phone", "address")):
                [near] = yield [Step("store.info", {"query": nearest["label_en"]})]
                lines += [_branch_line(renderer, frame, store) for store in near.result.get("stores", ())[:1]]
        return AnswerPart(paragraphs(*lines), suggestions=[renderer.say("chip_branches")])
    lines = [_branch_line(renderer, frame, store) for store in stores]
    if len(lines) == 1:
        text = lines[0]
    else:
        measured = any(store.get("km") is not None for store in stores)
        head = renderer.say("branches_by_distance" if measured else "branches_list")
        tail = renderer.say("share_location") if frame.details.get("here") and not measured else ""
        text = paragraphs(f"{head}\n{numbered(lines) if measured else bullets(lines)}", tail)
    return AnswerPart(
        text, suggestions=[renderer.say("chip_person")], state={"last_stores": stores_of(stores)}
    )


def _branch_line(renderer: Renderer, frame: Frame, store: Mapping[str, Any]) -> str:
    if store.get("kind") == "online":
        return renderer.say("online_hours")
    day = frame.details.get("day")
    if frame.details.get("tomorrow"):
        day = WEEK[(renderer.turn.now.weekday() + 1) % 7]
    if frame.details.get("closed_days") and not day and store.get("week"):
        hours = hours_of_week(renderer, store)
    else:
        hours = hours_on_day(renderer, store, day) if day else hours_today(renderer, store)
    away = store.get("km")
    line = renderer.say(
        "branch_line",
        store=renderer.of(store) + (f" – {renderer.say('km', km=away)}" if away is not None else ""),
        hours=hours,
        phone=store.get("phone") or "–",
        address=renderer.of(store, "address"),
    )
    note = renderer.of(store, "note") if not day else ""
    return " ".join(part for part in (line.strip(), note) if part)

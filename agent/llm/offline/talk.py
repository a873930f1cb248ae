"""Plans for the talk itself: courtesies, a person, branches, refusals, and not having understood."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from agent.inference.base import Step
from agent.llm.offline.answer import Part, Plan, View, bullets, numbered, open_words, paragraphs, stores_of
from agent.llm.offline.cards import handoff_card
from agent.llm.offline.frames import Frame
from agent.llm.offline.names import choose

REFUSALS = {
    "COMPARISON": "refuse_comparison",
    "DOSE_FOR_PERSON": "refuse_dose",
    "DIAGNOSIS": "refuse_diagnosis",
    "PUSH": "refuse_push",
}
FAR = 300  # kilometres; "the nearest branch, 9,000 km away" helps nobody
_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def courtesy(view: View, frame: Frame) -> Plan:
    """A sentence for a greeting, thanks and the like."""
    yield from ()
    chips = {
        "greeting": ["chip_branches", "chip_prescriptions", "chip_person"],
        "help": ["chip_branches", "chip_prescriptions", "chip_person"],
        "who": ["chip_person"],
        "out_of_scope": ["chip_branches", "chip_person"],
    }.get(frame.intent, [])
    state: dict[str, Any] = {"pending": None} if frame.intent in ("cancelled", "declined") else {}
    if frame.intent == "cancelled":
        state["waiting"] = None
    if frame.intent == "declined_name":
        state["pending"] = None
    return Part(view.say(frame.intent), suggestions=[view.say(chip) for chip in chips], state=state)


def person(view: View, frame: Frame) -> Plan:
    """A person, please: the row first, then the promise."""
    [result] = yield [Step("handoff.open", {"reason": frame.details.get("reason", "customer_asked")})]
    return handed_off(view, result.result)


def handed_off(view: View, result: Mapping[str, Any]) -> Part:
    """What is said once a hand-off has its number."""
    number, reason = result["number"], str(result.get("reason") or "")
    key = "handoff_again" if result.get("again") else "handoff_done"
    card = handoff_card(view, number, reason)
    return Part(view.say(key, number=number), cards=[card], state={"pending": None, "misses": 0})


def refusal(
    view: View,
    verdict: str,
    state: Mapping[str, Any],
    medicines: Sequence[Mapping[str, Any]],
) -> Part:
    """One kind sentence and one next step; never the same words twice running."""
    times = int(state.get("refusals") or 0)
    keys = ["refuse_1", "refuse_2", "refuse_3"]
    first = REFUSALS.get(verdict)
    if first:
        keys.insert(0, first)
    key = keys[times % len(keys)]
    if key == state.get("refused_with"):
        key = keys[(times + 1) % len(keys)]
    known = [medicine for medicine in medicines if "id" in medicine]
    chips = [view.say("chip_leaflet", name=view.name(medicine)) for medicine in known[:2]]
    kept: dict[str, Any] = {"refusals": times + 1, "refused_with": key}
    if known:
        kept["focus"] = [{k: medicine[k] for k in ("id", "en", "he") if k in medicine} for medicine in known]
    kept["pending"] = {"kind": "offer_person", "reason": "customer_asked"}
    return Part(view.say(key), suggestions=[view.say("chip_person"), *chips], state=kept)


def unknown(view: View, misses: int) -> Part:
    """Not understood: say so, each time otherwise; the third time running, offer a person."""
    key = f"unknown_{min(misses, 3)}"
    pending = {"kind": "offer_person", "reason": "not_understood"} if misses >= 3 else None
    chips = ["chip_yes", "chip_no"] if misses >= 3 else ["chip_branches", "chip_prescriptions", "chip_person"]
    return Part(
        view.say(key),
        suggestions=[view.say(chip) for chip in chips],
        state={"pending": pending, "misses": misses},
    )


def which(view: View, frame: Frame) -> Plan:
    """Yes, but to which of them? The question stays open."""
    yield from ()
    waiting = Frame.again(frame.details["frame"])
    return choose(view, waiting, frame.details["options"], head=view.say("which_of_these"))


def health(view: View, frame: Frame) -> Plan:
    """General health questions are not answered here."""
    yield from ()
    pending = {"kind": "offer_person", "reason": "customer_asked"}
    return Part(view.say("health"), suggestions=[view.say("chip_person")], state={"pending": pending})


def offer(view: View, frame: Frame) -> Plan:
    """A pharmacist is offered."""
    yield from ()
    pending = {"kind": "offer_person", "reason": "customer_asked"}
    chips = [view.say("chip_yes"), view.say("chip_no")]
    return Part(view.say("offer_person"), suggestions=chips, state={"pending": pending})


def upset(view: View, frame: Frame) -> Plan:
    """Somebody is annoyed: sorry, and a person is offered."""
    yield from ()
    pending = {"kind": "offer_person", "reason": "customer_asked"}
    return Part(
        view.say("upset"), suggestions=[view.say("chip_yes"), view.say("chip_no")], state={"pending": pending}
    )


def branch(view: View, frame: Frame) -> Plan:
    """Branches: where, when open, how to call (facts of the store, recorded like a tool's)."""
    places = frame.details.get("places", ())
    if frame.place and places and places[0] == frame.place:
        details = {key: value for key, value in frame.details.items() if key != "places"}
        parts = []
        for place in places[:3]:
            parts.append((yield from branch(view, replace(frame, place=place, details=details))))
        stores = [store for part in parts for store in part.state.get("last_stores", ())]
        return Part(
            paragraphs(*dict.fromkeys(part.text for part in parts)),
            suggestions=parts[0].suggestions,
            state={"last_stores": stores},
        )
    asked = {"query": frame.place["query"]} if frame.place else {}
    if frame.details.get("online") and not frame.place:
        asked = {"query": "online"}
    [result] = yield [Step("store.info", asked)]
    stores = list(result.result.get("stores", ()))
    if result.result.get("unserved"):
        city = view.name(frame.place or {"en": result.result["unserved"], "he": result.result["unserved"]})
        lines = [view.say("city_not_served", city=city)]
        nearest = result.result.get("nearest")
        if nearest and nearest["km"] <= FAR:
            lines.append(view.say("nearest_branch", store=view.of(nearest), km=nearest["km"]))
            if any(frame.details.get(key) for key in ("open", "phone", "address")):
                [near] = yield [Step("store.info", {"query": nearest["label_en"]})]
                lines += [_branch_line(view, frame, store) for store in near.result.get("stores", ())[:1]]
        return Part(paragraphs(*lines), suggestions=[view.say("chip_branches")])
    lines = [_branch_line(view, frame, store) for store in stores]
    if len(lines) == 1:
        text = lines[0]
    else:
        measured = any(store.get("km") is not None for store in stores)
        head = view.say("branches_by_distance" if measured else "branches_list")
        tail = view.say("share_location") if frame.details.get("here") and not measured else ""
        text = paragraphs(f"{head}\n{numbered(lines) if measured else bullets(lines)}", tail)
    state = {"last_stores": stores_of(stores)}
    return Part(text, suggestions=[view.say("chip_person")], state=state)


def _branch_line(view: View, frame: Frame, store: Mapping[str, Any]) -> str:
    if store.get("kind") == "online":
        return view.say("online_hours")
    day = frame.details.get("day")
    if frame.details.get("tomorrow"):
        day = _WEEK[(view.turn.now.weekday() + 1) % 7]
    if frame.details.get("closed_days") and not day and store.get("week"):
        hours = _hours_of_week(view, store)
    else:
        hours = _hours_of(view, store, day) if day else hours_today(view, store)
    away = store.get("km")
    line = view.say(
        "branch_line",
        store=view.of(store) + (f" – {view.say('km', km=away)}" if away is not None else ""),
        hours=hours,
        phone=store.get("phone") or "–",
        address=view.of(store, "address"),
    )
    note = view.of(store, "note") if not day else ""
    return " ".join(part for part in (line.strip(), note) if part)


def hours_today(view: View, store: Mapping[str, Any]) -> str:
    today = store.get("hours_today") or []
    if not today:
        return view.say("closed_today") if store.get("open_now") is False else view.say("hours_unknown")
    spans = ", ".join(f"{opens}–{closes}" for opens, closes in today)
    return f"{view.say('hours_today', hours=spans)} ({open_words(view, store)})"


def _hours_of_week(view: View, store: Mapping[str, Any]) -> str:
    """The whole week, days of the same hours together, from Sunday."""
    week = store.get("week") or {}
    days = [day for day in ("sun", *_WEEK[:6]) if week.get(day) is not None]
    lines: list[str] = []
    for spans, same in groupby(days, key=lambda day: week[day]):
        run = [view.word("weekday", day) for day in same]
        name = run[0] if len(run) == 1 else f"{run[0]} – {run[-1]}"
        hours = ", ".join(f"{opens}–{closes}" for opens, closes in spans)
        lines.append(view.say("hours_on" if spans else "closed_on", day=name, hours=hours))
    return "; ".join(lines)


def _hours_of(view: View, store: Mapping[str, Any], day: str) -> str:
    spans = (store.get("week") or {}).get(day)
    name = view.word("weekday", day)
    if spans is None:
        return view.say("hours_unknown")
    if not spans:
        return view.say("closed_on", day=name)
    return view.say("hours_on", day=name, hours=", ".join(f"{opens}–{closes}" for opens, closes in spans))

"""Word the opening hours of branches."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from agent.answers.renderer import Renderer
from agent.state import RememberedPlace

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
StoreDescription = Mapping[str, Any]
"""A store's facts: of stock evidence, or as `agent.conversation.stores` describes a branch."""


def stores_of(rows: Sequence[StoreDescription]) -> list[RememberedPlace]:
    """Return branches as the conversation remembers them, in the order shown: "the second one" can be asked about."""
    return [
        {"query": row["label_en"], "en": row["label_en"], "he": row["label_he"], "store": row["store_id"]}
        for row in rows
    ]


def open_words(renderer: Renderer, store: StoreDescription) -> str:
    """Say whether a store is open at this moment."""
    if store.get("open_now"):
        until = str(store.get("closes_at") or "")[11:16]
        return renderer.say("open_now", time=until) if until else renderer.say("open_now_plain")
    return renderer.say("closed_now") if store.get("open_now") is False else renderer.say("hours_unknown")


def opens_words(renderer: Renderer, opens_at: str) -> str:
    """Say that a store is closed at this moment, and when it opens."""
    at = datetime.fromisoformat(opens_at)
    if at.date() == renderer.turn.now.date():
        return renderer.say("opens_today", time=f"{at:%H:%M}")
    return renderer.say("opens_on", day=renderer.word("weekday", WEEK[at.weekday()]), time=f"{at:%H:%M}")


def hours_today(renderer: Renderer, store: StoreDescription) -> str:
    """Return today's hours and that the store is open now, or when a store that is closed now opens."""
    if store.get("open_now") is False and (opens := store.get("opens_at")):
        return opens_words(renderer, str(opens))
    today = store.get("hours_today") or []
    if not today:
        key = "closed_today" if store.get("open_now") is False else "hours_unknown"
        return renderer.say(key)
    return f"{renderer.say('hours_today', hours=_spans(today))} ({open_words(renderer, store)})"


def hours_of_week(renderer: Renderer, store: StoreDescription) -> str:
    """Return the whole week from Sunday, days of the same hours together."""
    week = store.get("week") or {}
    days = [day for day in ("sun", *WEEK[:6]) if week.get(day) is not None]
    lines: list[str] = []
    for spans, same in groupby(days, key=lambda day: week[day]):
        run = [renderer.word("weekday", day) for day in same]
        name = run[0] if len(run) == 1 else f"{run[0]} – {run[-1]}"
        lines.append(renderer.say("hours_on" if spans else "closed_on", day=name, hours=_spans(spans)))
    return "; ".join(lines)


def hours_on_day(renderer: Renderer, store: StoreDescription, day: str) -> str:
    """Return the hours of one weekday."""
    spans = (store.get("week") or {}).get(day)
    name = renderer.word("weekday", day)
    if spans is None:
        return renderer.say("hours_unknown")
    if not spans:
        return renderer.say("closed_on", day=name)
    return renderer.say("hours_on", day=name, hours=_spans(spans))


def _spans(spans: Sequence[Sequence[str]]) -> str:
    return ", ".join(f"{opens}–{closes}" for opens, closes in spans)

"""Compute until when a hand-off is to be claimed and decided, and how it stands with that.

Urgent and soon are clock time; the usual ones count the branch's opening hours, so that neither a weekend nor a
holiday breaks a promise. The minutes are the setting HANDOFF_MINUTES.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.conf import settings
from django.utils.timezone import localdate

from prescriptions.models import Handoff
from stores.models import Store
from stores.selectors import opening_periods

_URGENT: Final = frozenset(
    {"major_interaction", "direct_allergy", "related_allergy", "controlled_substance", "extra_dose"}
    | {"adverse_reaction"}
)
_SOON: Final = frozenset({"identity_failed", "backend_unavailable", "order_unknown"})


class Haste(StrEnum):
    """How fast a hand-off must be taken; the keys of HANDOFF_MINUTES."""

    URGENT = "urgent"
    SOON = "soon"
    USUAL = "usual"


class SlaState(StrEnum):
    """How a hand-off stands with its next deadline, or stood when it ended."""

    PENDING = "pending"
    IMMINENT = "imminent"
    BREACHING = "breaching"
    ACHIEVED = "achieved"
    BREACHED = "breached"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Due:
    """When a phase is to be reminded of, and when it is to be done."""

    half: datetime
    end: datetime


def haste_of(reasons: Set[str], *, is_urgent: bool) -> Haste:
    """Return how fast a hand-off must be taken; `reasons` are its own and those of a refill."""
    if is_urgent or reasons & _URGENT:
        return Haste.URGENT
    return Haste.SOON if reasons & _SOON else Haste.USUAL


def dues_of(haste: Haste, store: Store | None, at: datetime) -> tuple[Due, Due]:
    """Return when a hand-off that is opened at this moment is to be claimed and to be decided."""
    to_claim, to_decide = settings.HANDOFF_MINUTES[haste]
    if haste != Haste.USUAL:
        return _clock(at, to_claim), _clock(at, to_decide)
    half, end = timedelta(minutes=to_claim / 2), timedelta(minutes=to_claim)
    claim = Due(_open_for(store, at, half), _open_for(store, at, end))
    opens, closes = next(_days_after(store, at), (at + timedelta(days=1), at + timedelta(days=1)))
    return claim, Due(opens, closes)


def sla_state(handoff: Handoff, now: datetime) -> SlaState:
    """Return how a hand-off stands: what waits with its next deadline, what is over with how it went."""
    claimed = handoff.claimed_at
    due = handoff.decide_due_at if claimed else handoff.claim_due_at
    if handoff.closed_at is not None:
        if handoff.outcome in {Handoff.Outcome.CANCELLED, Handoff.Outcome.DUPLICATE}:
            return SlaState.CANCELLED
        late = handoff.decide_due_at is not None and handoff.closed_at > handoff.decide_due_at
        return SlaState.BREACHED if late else SlaState.ACHIEVED
    if due is None:
        return SlaState.PENDING
    if now >= due:
        return SlaState.BREACHING
    begun = claimed or handoff.created_at
    return SlaState.IMMINENT if now >= begun + (due - begun) / 2 else SlaState.PENDING


def _clock(at: datetime, minutes: int) -> Due:
    return Due(at + timedelta(minutes=minutes / 2), at + timedelta(minutes=minutes))


def _open_for(store: Store | None, at: datetime, needed: timedelta) -> datetime:
    """Return the moment at which the store has been open for so long since `at`; a store without hours never closes."""
    for opens, closes in opening_periods(store, at) if store else ():
        there = closes - max(opens, at)
        if there >= needed:
            return max(opens, at) + needed
        needed -= there
    return at + needed


def _days_after(store: Store | None, at: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Return first opening and last closing of the working days after that of `at`."""
    periods = opening_periods(store, at) if store else []
    today = localdate(at)
    for opens, _closes in periods:
        if opens.date() > today:
            yield opens, max(closes for begins, closes in periods if begins.date() == opens.date())

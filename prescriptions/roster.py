"""Read the on-call roster: who takes hand-offs at a moment, most specific line first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Final

from django.utils import timezone

from prescriptions.models import OnCall

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Duty:
    """A person on call: for one branch or all (None), until a moment in the pharmacy's time."""

    person: int
    role: str
    branch: int | None
    until: datetime


def on_call(role: str, branch: int, reason: str, *, at: datetime) -> list[Duty]:
    """Return who of this role is on call, lines of the branch and of the reason before general ones; each person once."""
    found: list[tuple[bool, bool, int, Duty]] = []
    local = at.astimezone(timezone.get_default_timezone()).replace(tzinfo=None)
    for row in _rows(role):
        if row.branch_id not in (None, branch) or (row.reasons and reason not in row.reasons):
            continue
        until = _until(row, local)
        if until:
            duty = Duty(row.person_id, row.role, row.branch_id, until)
            found.append((row.branch_id is None, not row.reasons, row.pk, duty))
    duties: dict[int, Duty] = {}
    for *_rank, duty in sorted(found, key=lambda one: one[:3]):
        duties.setdefault(duty.person, duty)
    return list(duties.values())


def _rows(role: str) -> Sequence[OnCall]:
    # Whoever left the group or the pharmacy is on call for nothing, whatever the roster says.
    return list(
        OnCall.objects.filter(
            role=role, is_active=True, person__is_active=True, person__groups__name=role
        ).distinct()
    )


def _until(row: OnCall, local: datetime) -> datetime | None:
    """Return when the line ends that holds at this moment, None when it does not; one of the day before may still hold."""
    for day in (local.date(), local.date() - _DAY):
        if row.days and day.weekday() not in row.days:
            continue
        if (row.first_day and day < row.first_day) or (row.last_day and day > row.last_day):
            continue
        begin = datetime.combine(day, row.starts or time.min)
        end = datetime.combine(day, row.ends or time.min)
        if end <= begin:
            end += _DAY
        if begin <= local < end:
            return end
    return None

"""Delete rows that are past their time, kind by kind, in batches. What "past" means is each app's matter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

AT_ONCE: Final = 500
"""Rows of one transaction: SQLite takes some thousand parameters, and nobody waits long."""


@dataclass(frozen=True)
class Kind:
    """Rows that are deleted some days after they are over.

    `setting` names the days. `past` returns the rows that were over at a moment; `lock` locks what has to be locked before the rows with these keys.
    """

    name: str
    setting: str
    past: Callable[[datetime], QuerySet[Any]]
    lock: Callable[[Sequence[Any]], object] | None = None

    @property
    def days(self) -> int:
        """How long they are kept."""
        return int(getattr(settings, self.setting))

    def due(self, now: datetime) -> QuerySet[Any]:
        """Return the rows to be deleted."""
        return self.past(now - timedelta(days=self.days))


@dataclass(frozen=True)
class Removed:
    """How many rows of a kind were, or would be, deleted, and after how many days."""

    name: str
    days: int
    count: int


def kind_apply(kind: Kind, now: datetime, *, dry_run: bool = False) -> Removed:
    """Delete the rows of a kind that are due, or only count them. Call it outside a transaction."""
    if dry_run:
        return Removed(kind.name, kind.days, kind.due(now).count())
    count = 0
    while batch := _batch_delete(kind, now):
        count += batch
    return Removed(kind.name, kind.days, count)


def _batch_delete(kind: Kind, now: datetime) -> int:
    keys = list(kind.due(now).order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    if not keys:
        return 0
    with transaction.atomic():
        if kind.lock:
            kind.lock(keys)
        # Once more, now that they are locked: one of them may just have been taken up again.
        rows = kind.due(now).filter(pk__in=keys).order_by("pk").select_for_update(of=("self",))
        left = [row.pk for row in rows]
        kind.due(now).model._default_manager.filter(pk__in=left).delete()
    return len(left)

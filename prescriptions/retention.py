"""Say which notifications, identifications and hand-offs are past their time. What somebody waits for never is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from pharmacy_site.lib.retention import Kind
from prescriptions.models import Challenge, Handoff, Notification, RefillRequest

_State: Final = Notification.State
_IN_PROGRESS: Final = (
    Q(outcome=None)
    | Q(fulfilment__in=[RefillRequest.Fulfilment.PREPARING, RefillRequest.Fulfilment.READY])
    | Q(order_state__in=[RefillRequest.Order.SENT, RefillRequest.Order.UNKNOWN])
)


def refills_in_progress() -> QuerySet[RefillRequest]:
    """Return the refill requests that are collected, checked, ordered, or wait to be picked up."""
    return RefillRequest.objects.filter(_IN_PROGRESS)


def _notifications(until: datetime) -> QuerySet[Any]:
    """Return those that were sent or set aside; a dead letter waits for a person, however old it is."""
    return Notification.objects.filter(state__in=[_State.SENT, _State.DISCARDED], created_at__lt=until)


def _challenges(until: datetime) -> QuerySet[Any]:
    """Return those that nobody can answer any more; the limits look back one day."""
    return Challenge.objects.filter(created_at__lt=until, expires_at__lt=until)


def _handoffs(until: datetime) -> QuerySet[Any]:
    """Return those that were decided or closed, and whose refill is over."""
    going_on = refills_in_progress().filter(handoff=OuterRef("pk"))
    return Handoff.objects.filter(~Exists(going_on), closed_at__lt=until)


def _refills_lock(handoffs: Sequence[Any]) -> None:
    """Lock the requests of these hand-offs, which lose their reference: before the hand-offs, as everywhere."""
    rows = RefillRequest.objects.filter(handoff__in=handoffs).order_by("pk")
    list(rows.select_for_update(of=("self",)).values_list("pk"))


KINDS: Final = (
    Kind("notifications", "RETENTION_NOTIFICATIONS_DAYS", _notifications),
    Kind("challenges", "RETENTION_CHALLENGES_DAYS", _challenges),
    Kind("handoffs", "RETENTION_HANDOFFS_DAYS", _handoffs, lock=_refills_lock),
)

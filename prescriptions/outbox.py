"""Send the rows of messages that are due: claim, send, and store the result; a failed one is retried later.

Several threads and processes may do so at once. A row is claimed by a conditional update for the time of a lease, and its
number of attempts says whose claim it is. A sender that dies leaves a row whose lease ends: a webhook is called again under
the same key; an e-mail that may have gone out is sent again once, marked as a repetition.
"""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import Any, Final

from django.conf import settings
from django.db import connections
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from prescriptions.channels import Channels, OutcomeUnknown, WebhookRefused
from prescriptions.models import Notification
from prescriptions.receipts import receipt_exists, receipt_remove, receipt_write

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 5
# Seconds after which a call leaves the rest to the next one: a Celery task may take half a minute.
_DRAIN_SECONDS: Final = 15.0
_BATCH: Final = 200
_State, _Channel = Notification.State, Notification.Channel
_OPEN: Final = Q(state__in=[_State.PENDING, _State.SENDING])


class LeaseLost(Exception):
    """Another sender has claimed the row meanwhile, so this one must not send it."""


def notifications_drain(*, senders: int = 1, overdue: timedelta = timedelta(0)) -> int:
    """Send what is due and return how many were sent; `senders` threads share it, one means this thread.

    With `overdue` only what has been due for so long: somebody else usually sends.
    """
    until = time.monotonic() + _DRAIN_SECONDS
    total = 0
    while time.monotonic() < until:
        # Who waits longest is first; what senders died at comes again behind all that waited meanwhile.
        keys = list(notifications_due(overdue).order_by("due_at", "id").values_list("pk", flat=True)[:_BATCH])
        claimed, sent = _share(keys, senders, until)
        total += sent
        if not claimed:
            break
    return total


def notification_claim(pk: int) -> Notification | None:
    """Claim the row for the time of the lease; None if it is not due, another sender has it, or it need not be sent."""
    row = notifications_due().filter(pk=pk).first()
    if row is None:
        return None
    if row.begun_at and receipt_exists(row):
        # Its sender died after the mail server had taken it.
        _finish(row, _State.SENT)
        return None
    row.unknown += row.begun_at is not None
    changes: dict[str, Any] = {
        "state": _State.SENDING,
        "due_at": timezone.now() + _lease(row),
        "attempts": row.attempts + 1,
        "unknown": row.unknown,
        "begun_at": None,
    }
    if not notifications_due().filter(pk=pk, attempts=row.attempts).update(**changes):
        return None
    row.attempts, row.begun_at, row.state = row.attempts + 1, None, _State.SENDING
    return row


def notifications_due(overdue: timedelta = timedelta(0)) -> QuerySet[Notification]:
    """Return what may be sent now, or might have been sent so long ago: a row waits while an earlier one of its lane is neither sent nor given up."""
    earlier = Notification.objects.filter(_OPEN, lane=OuterRef("lane"), id__lt=OuterRef("id")).exclude(
        lane=""
    )
    return Notification.objects.filter(_OPEN, ~Exists(earlier), due_at__lte=timezone.now() - overdue)


def _lease(row: Notification) -> timedelta:
    """Return how long one sending may take before its sender counts as lost."""
    return timedelta(seconds=settings.NOTIFICATION_LEASES[row.channel])


# -- Many -------------------------------------------------------------------------------------------------
def _share(keys: list[int], senders: int, until: float) -> tuple[int, int]:
    """Send these rows with as many threads, and return how many were claimed and how many sent."""
    rows: SimpleQueue[int] = SimpleQueue()
    for pk in keys:
        rows.put(pk)
    count = min(senders, len(keys))
    if count <= 1:
        return _send_from(rows, until)

    def work() -> tuple[int, int]:
        try:
            return _send_from(rows, until)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count, thread_name_prefix="sender") as pool:
        done = [future.result() for future in [pool.submit(work) for _ in range(count)]]
    return sum(claimed for claimed, _ in done), sum(sent for _, sent in done)


def _send_from(rows: "SimpleQueue[int]", until: float) -> tuple[int, int]:
    claimed = sent = 0
    with Channels() as channels:
        while time.monotonic() < until:
            try:
                row = notification_claim(rows.get_nowait())
            except Empty:
                break
            if row is not None:
                claimed += 1
                sent += _deliver(row, channels)
    return claimed, sent


# -- One --------------------------------------------------------------------------------------------------
def _deliver(row: Notification, channels: Channels) -> int:
    """Send one claimed row and return 1, or 0 if it was discarded or failed."""
    if _is_useless(row):
        _finish(row, _State.DISCARDED)
        return 0
    if row.attempts > ATTEMPTS:
        _give_up(row, "sender_died")
        return 0
    if row.unknown > 1 and row.channel == _Channel.EMAIL:
        _give_up(row, "outcome_unknown")
        return 0
    try:
        channels.send(row, lambda: _begin(row))
    except LeaseLost:
        logger.warning("notification %s was claimed by another sender", row.pk)
        return 0
    except Exception as error:
        # Whatever the server, its library or the wording raises: one message never stops the others.
        _failed(row, error)
        return 0
    if row.channel == _Channel.EMAIL:
        receipt_write(row)
    _finish(row, _State.SENT)
    receipt_remove(row)
    return 1


def _is_useless(row: Notification) -> bool:
    if row.expires_at and row.expires_at <= timezone.now():
        return True
    if row.channel == _Channel.WEBHOOK:
        return not settings.HANDOFF_WEBHOOK
    return not row.recipient


def _begin(row: Notification) -> None:
    """Store that the message goes out from now on, with a new lease: connecting may have used up most of the old one."""
    row.begun_at = timezone.now()
    if not _own(row).update(begun_at=row.begun_at, due_at=row.begun_at + _lease(row)):
        raise LeaseLost


def _failed(row: Notification, error: Exception) -> None:
    """Have the message sent again later, or give it up."""
    cause = error.__cause__ if isinstance(error, OutcomeUnknown) and error.__cause__ else error
    # Only the class is kept: the text of a mail error quotes the recipient.
    name = str(cause) if isinstance(cause, WebhookRefused) else type(cause).__name__
    row.unknown += isinstance(error, OutcomeUnknown)
    logger.warning("notification %s was not sent: %s", row.pk, name)
    if row.attempts >= ATTEMPTS or (row.unknown > 1 and row.channel == _Channel.EMAIL):
        _give_up(row, name)
        return
    wait = timedelta(seconds=settings.NOTIFICATION_BACK_OFF * 2 ** (row.attempts - 1))
    _own(row).update(
        state=_State.PENDING,
        due_at=timezone.now() + wait,
        last_error=name[:60],
        unknown=row.unknown,
        begun_at=None,
    )


def _give_up(row: Notification, why: str) -> None:
    """Make it a dead letter, which the admin shows until a person deals with it."""
    logger.error("notification %s was given up after %s attempts: %s", row.pk, row.attempts, why)
    _finish(row, _State.FAILED, last_error=why[:60], unknown=row.unknown)


def _finish(row: Notification, state: Notification.State, **changes: Any) -> None:
    """Set the final state and delete what was to be said, except for the demo inbox (in DEBUG).

    A dead letter keeps what it needs to be sent again, but no code.
    """
    if state == _State.SENT:
        changes["sent_at"] = timezone.now()
    if not (settings.DEBUG and row.recipient):
        kept = row.context if state == _State.FAILED else {}
        changes["context"] = {name: value for name, value in kept.items() if name != "code"}
    _own(row).update(state=state, begun_at=None, **changes)


def _own(row: Notification) -> QuerySet[Notification]:
    """Return the row if the claim that was read with it is still the last."""
    return Notification.objects.filter(_OPEN, pk=row.pk, attempts=row.attempts)

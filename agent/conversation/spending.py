"""Limits on what language models cost: tokens of a conversation and of a day, counted in the runs' rows.

What is used outside of conversations has rows of its own and counts in the day only.
"""

import logging
import threading
import time
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import F, Sum
from django.utils import timezone

from agent.inference.base import ModelUnavailable, Usage
from agent.models import ModelUse, Run
from prescriptions.switches import board

log = logging.getLogger(__name__)
DAY_READ_SECONDS: Final = 15.0
_KEPT: Final = timedelta(days=30)
_TOKENS: Final = Sum(F("tokens_in") + F("tokens_out"))


def tokens_spent(conversation_id: UUID) -> int:
    """Return the tokens that a conversation has used."""
    runs = Run.objects.filter(conversation_id=conversation_id)
    return runs.aggregate(tokens=_TOKENS)["tokens"] or 0


def budget_check(spent_in_conversation: int) -> None:
    """Raise ModelUnavailable when operators have switched the model off, or when the conversation, or the whole site in the
    last 24 hours, has used up its tokens.

    It makes no query: call `limits_read` before, when `limits_old` says so.
    """
    if board.known.model_off:
        raise ModelUnavailable("switched_off")
    if spent_in_conversation >= settings.OPENAI_TOKENS_PER_CONVERSATION:
        _refuse("conversation", "of this conversation are used up")
    tokens, cost = day.spent
    if tokens >= settings.OPENAI_TOKENS_PER_DAY:
        _refuse("day", "of the last 24 hours are used up")
    if settings.OPENAI_COST_PER_DAY and cost >= settings.OPENAI_COST_PER_DAY:
        _refuse("cost", "of the last 24 hours cost what a day may cost")


class Day:
    """What the whole site used in the last 24 hours, read at most every few seconds: the rows of a day are many."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Forget what was read, so that it is read again."""
        self._read_at = float("-inf")
        # Tokens and cost.
        self.spent = (0, Decimal(0))

    @property
    def is_old(self) -> bool:
        """Whether it must be read again before it is used."""
        return time.monotonic() - self._read_at > DAY_READ_SECONDS

    def read(self) -> None:
        """Read it, unless another thread just has."""
        with self._reading:
            if not self.is_old:
                return
            since = timezone.now() - timedelta(days=1)
            tokens, cost = 0, Decimal(0)
            for rows in (
                Run.objects.filter(created_at__gt=since, tokens_in__gt=0),
                ModelUse.objects.filter(created_at__gt=since),
            ):
                used = rows.aggregate(tokens=_TOKENS, cost=Sum("cost"))
                tokens, cost = tokens + (used["tokens"] or 0), cost + (used["cost"] or 0)
            self.spent = (tokens, cost)
            self._read_at = time.monotonic()


day = Day()


def limits_old() -> bool:
    """Return whether what `budget_check` compares with must be read again."""
    return day.is_old or board.is_old


def limits_read() -> None:
    """Read what `budget_check` compares with, as far as it is old."""
    board.read()
    day.read()


def spent_fields(usage: Usage) -> dict[str, Any]:
    """Return what to write to a run's row for what an attempt used: numbers add up over attempts.

    The cost is 0 while no prices are configured.
    """
    return {
        "prompt": usage.prompt,
        "fallback": usage.fallback,
        "tokens_in": F("tokens_in") + usage.tokens_in,
        "tokens_out": F("tokens_out") + usage.tokens_out,
        "cost": F("cost") + _cost(usage),
    }


def run_spent(run: Run, usage: Usage) -> None:
    """Count what a run used that has no answer of its own."""
    if usage.tokens_in:
        Run.objects.filter(pk=run.pk).update(**spent_fields(usage))


def use_record(purpose: str, usage: Usage) -> None:
    """Count what was used outside of a conversation; rows that no limit counts any more are deleted."""
    if usage.tokens_in:
        ModelUse.objects.create(
            purpose=purpose, tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, cost=_cost(usage)
        )
        ModelUse.objects.filter(created_at__lt=timezone.now() - _KEPT).delete()


def _cost(usage: Usage) -> Decimal:
    cost = usage.tokens_in * settings.OPENAI_PRICE_IN + usage.tokens_out * settings.OPENAI_PRICE_OUT
    return Decimal(cost) / Decimal(1_000_000)


_warned_at: dict[str, float] = {}


def _refuse(cap: str, why: str) -> None:
    """Raise ModelUnavailable; log it once a minute, not once a message."""
    if time.monotonic() - _warned_at.get(cap, -60.0) >= 60.0:
        _warned_at[cap] = time.monotonic()
        log.warning("cap %s: the model's tokens %s; the offline model answers", cap, why)
    raise ModelUnavailable(f"cap_{cap}")

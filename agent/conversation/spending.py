"""Limits on what language models cost: tokens of a conversation and of a day, counted in the runs' rows."""

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
from agent.models import Run

log = logging.getLogger(__name__)
DAY_READ_SECONDS: Final = 15.0
_TOKENS: Final = Sum(F("tokens_in") + F("tokens_out"))


def tokens_spent(conversation_id: UUID) -> int:
    """Return the tokens that a conversation has used."""
    runs = Run.objects.filter(conversation_id=conversation_id)
    return runs.aggregate(tokens=_TOKENS)["tokens"] or 0


def budget_check(spent_in_conversation: int) -> None:
    """Raise ModelUnavailable when the conversation, or the whole site in the last 24 hours, has used up its tokens."""
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
            rows = Run.objects.filter(created_at__gt=timezone.now() - timedelta(days=1), tokens_in__gt=0)
            used = rows.aggregate(tokens=_TOKENS, cost=Sum("cost"))
            self.spent = (used["tokens"] or 0, used["cost"] or Decimal(0))
            self._read_at = time.monotonic()


day = Day()


def spent_fields(usage: Usage) -> dict[str, Any]:
    """Return what to write to a run's row for what an attempt used: numbers add up over attempts.

    The cost is 0 while no prices are configured.
    """
    cost = usage.tokens_in * settings.OPENAI_PRICE_IN + usage.tokens_out * settings.OPENAI_PRICE_OUT
    return {
        "prompt": usage.prompt,
        "fallback": usage.fallback,
        "tokens_in": F("tokens_in") + usage.tokens_in,
        "tokens_out": F("tokens_out") + usage.tokens_out,
        "cost": F("cost") + cost / Decimal(1_000_000),
    }


def run_spent(run: Run, usage: Usage) -> None:
    """Count what a run used that has no answer of its own."""
    if usage.tokens_in:
        Run.objects.filter(pk=run.pk).update(**spent_fields(usage))


_warned_at: dict[str, float] = {}


def _refuse(cap: str, why: str) -> None:
    """Raise ModelUnavailable; log it once a minute, not once a message."""
    if time.monotonic() - _warned_at.get(cap, -60.0) >= 60.0:
        _warned_at[cap] = time.monotonic()
        log.warning("cap %s: the model's tokens %s; the offline model answers", cap, why)
    raise ModelUnavailable(f"cap_{cap}")

"""What language models may cost: tokens of a conversation and of a day, counted in the runs' rows."""

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
from pharmacy_site.lib.rows import Question, stored

log = logging.getLogger(__name__)
DAY_READ_SECONDS: Final = 15.0
_SPENT_IN: Final = (
    "SELECT SUM(tokens_in + tokens_out) FROM agent_run WHERE conversation_id = %(conversation)s"
)


def spent_question(conversation_id: UUID) -> Question[int]:
    """The tokens that a conversation has used."""
    return Question(_SPENT_IN, stored(Run, conversation=conversation_id), lambda rows: int(rows[0][0] or 0))


def budget_check(spent_in_conversation: int) -> None:
    """Raises ModelUnavailable when the conversation, or the whole site in the last 24 hours, has used up its tokens."""
    if spent_in_conversation >= settings.OPENAI_TOKENS_PER_CONVERSATION:
        _refuse("conversation", "of this conversation are used up")
    tokens, cost = day.spent
    if tokens >= settings.OPENAI_TOKENS_PER_DAY:
        _refuse("day", "of the last 24 hours are used up")
    if settings.OPENAI_COST_PER_DAY and cost >= settings.OPENAI_COST_PER_DAY:
        _refuse("cost", "of the last 24 hours cost what a day may cost")


class Day:
    """The whole site's last 24 hours, read at most every few seconds: the rows of a day are many."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Nothing is known: it is read anew."""
        self._read_at = float("-inf")
        self.spent = (0, Decimal(0))  # tokens and cost

    @property
    def is_old(self) -> bool:
        """Whether it is to be read before it counts."""
        return time.monotonic() - self._read_at > DAY_READ_SECONDS

    def read(self) -> None:
        """Reads it, unless somebody else just has."""
        with self._reading:
            if not self.is_old:
                return
            rows = Run.objects.filter(created_at__gt=timezone.now() - timedelta(days=1), tokens_in__gt=0)
            used = rows.aggregate(tokens=Sum(F("tokens_in") + F("tokens_out")), cost=Sum("cost"))
            self.spent = (used["tokens"] or 0, used["cost"] or Decimal(0))
            self._read_at = time.monotonic()


day = Day()


def spent(usage: Usage) -> dict[str, Any]:
    """What an attempt took, by its run's fields; numbers add up over attempts. Cost is 0 while no prices are configured."""
    cost = usage.tokens_in * settings.OPENAI_PRICE_IN + usage.tokens_out * settings.OPENAI_PRICE_OUT
    return {
        "prompt": usage.prompt,
        "fallback": usage.fallback,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": cost / Decimal(1_000_000),
    }


def run_spent(run: Run, usage: Usage) -> None:
    """Counts what a run took that came to no answer of its own."""
    if usage.tokens_in:
        took = spent(usage)
        took |= {name: F(name) + took[name] for name in ("tokens_in", "tokens_out", "cost")}
        Run.objects.filter(pk=run.pk).update(**took)


_told: dict[str, float] = {}


def _refuse(cap: str, why: str) -> None:
    if time.monotonic() - _told.get(cap, -60.0) >= 60.0:  # once a minute, not once a message
        _told[cap] = time.monotonic()
        log.warning("cap %s: the model's tokens %s; the offline model answers", cap, why)
    raise ModelUnavailable(f"cap_{cap}")

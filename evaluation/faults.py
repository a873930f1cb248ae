"""Let things fail or be set otherwise during a conversation. Only an evaluation's worker does this, no site."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings
from django.core.mail.backends.base import BaseEmailBackend
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from agent.inference.base import Model, ModelUnavailable, Session, Turn
from evaluation.scenario import Fault

_broken_tables: Final[set[str]] = set()


class UnreachableModel:
    """A model that never answers."""

    name = "unreachable"
    says_refusals = False

    async def open(self, turn: Turn) -> Session:
        """Raise at once."""
        raise ModelUnavailable("overloaded")


def model_down() -> Model:
    """Return the model that `CHAT_MODEL` names while every model is down."""
    return UnreachableModel()


class BrokenMail(BaseEmailBackend):
    """A mail server that refuses every message."""

    def send_messages(self, email_messages: Any) -> int:
        """Raise at once."""
        raise ConnectionRefusedError


def install() -> None:
    """Let every database connection that this process opens from now on fail on demand."""
    connection_created.connect(_prepare, weak=False)


def _prepare(sender: object, connection: BaseDatabaseWrapper, **options: Any) -> None:
    connection.execute_wrappers.append(_execute)


def _execute(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    if any(f'"{table}"' in sql for table in _broken_tables):
        raise OperationalError("injected: disk I/O error")
    return execute(sql, params, many, context)


@contextmanager
def failing(faults: Sequence[Fault]) -> Iterator[None]:
    """Let these things fail while the block runs."""
    original = settings.CHAT_MODEL, settings.EMAIL_BACKEND
    for fault in faults:
        if fault.kind == "query_fails":
            _broken_tables.add(fault.table)
        elif fault.kind == "model_down":
            settings.CHAT_MODEL = f"{__name__}.model_down"
        else:
            settings.EMAIL_BACKEND = f"{__name__}.BrokenMail"
    try:
        yield
    finally:
        _broken_tables.clear()
        settings.CHAT_MODEL, settings.EMAIL_BACKEND = original


@contextmanager
def identity_by(policy: str) -> Iterator[None]:
    """Let customers prove who they are in this way while the block runs."""
    original = settings.CHAT_IDENTITY
    settings.CHAT_IDENTITY = policy
    try:
        yield
    finally:
        settings.CHAT_IDENTITY = original

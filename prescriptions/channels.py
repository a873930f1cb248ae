"""Carry one message to its mail server or webhook; what becomes of the row is the outbox's matter.

Nothing here tries again. `begin` is called at the moment from which the message may have arrived: an error before it says
that nothing was sent, one after it says nothing, unless the server answered.
"""

import hashlib
import hmac
import json
import smtplib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final

import httpx2
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.smtp import EmailBackend
from django.utils import timezone

from prescriptions.models import Notification
from prescriptions.notices import notice, repeated

# Seconds to wait for the webhook's answer, and for each step before; together less than its lease.
_WEBHOOK_SECONDS: Final = 5.0
_WEBHOOK_STEP_SECONDS: Final = 2.0
_REFUSALS: Final = (
    smtplib.SMTPResponseException,
    smtplib.SMTPRecipientsRefused,
    smtplib.SMTPNotSupportedError,
)
Begin = Callable[[], None]


class WebhookRefused(Exception):
    """The webhook answered with another status than 2xx."""

    def __init__(self, status: int) -> None:
        super().__init__(f"http_{status}")


class OutcomeUnknown(Exception):
    """The e-mail may have arrived: its connection broke, or nothing was answered in time."""


class Channels:
    """One sender's connections, kept from message to message; use it in one thread, with `with`."""

    def __init__(self) -> None:
        self._mail: _WatchedMail | None = None
        self._http: httpx2.Client | None = None

    def __enter__(self) -> "Channels":
        return self

    def __exit__(self, *exc: object) -> None:
        if self._mail is not None:
            self._mail.close()
        if self._http is not None:
            self._http.close()

    def send(self, row: Notification, begin: Begin) -> None:
        """Send one message. Raises whatever went wrong: OutcomeUnknown when it may have arrived all the same."""
        if row.channel == Notification.Channel.WEBHOOK:
            self._post(row, begin)
        else:
            self._mail_send(row, begin)

    # -- E-mail -----------------------------------------------------------------------------------------
    def _mail_send(self, row: Notification, begin: Begin) -> None:
        text = notice(row.kind, row.language, row.context, ttl=settings.IDENTITY_CODE_TTL)
        if row.unknown:
            text = repeated(text, row.language)
        message = EmailMessage(
            text.subject, text.body, None, [row.recipient], headers={"Message-ID": _message_id(row)}
        )
        if not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
            # Those write into a file or the console: they have no connection, and no outcome is unknown.
            begin()
            get_connection().send_messages([message])
            return
        begun = False

        def begin_here() -> None:
            nonlocal begun
            begin()
            begun = True

        try:
            server = self._mail_server()
            server.before_data = begin_here
            server.send_messages([message])
        except Exception as error:
            # What the server remembers of a message that broke off must not meet the next one.
            self._close_mail()
            if begun and not isinstance(error, _REFUSALS):
                raise OutcomeUnknown from error
            raise

    def _mail_server(self) -> "_WatchedMail":
        """Return a server that is connected: servers close connections that have served long enough."""
        if self._mail is not None and not self._mail.is_alive():
            self._close_mail()
        if self._mail is None:
            self._mail = _WatchedMail()
            self._mail.open()
        return self._mail

    def _close_mail(self) -> None:
        """Leave the server without a word: it may not answer, or be in the middle of something."""
        if self._mail is not None:
            self._mail.leave()
        self._mail = None

    # -- Webhook ----------------------------------------------------------------------------------------
    def _post(self, row: Notification, begin: Begin) -> None:
        if self._http is None:
            step = _WEBHOOK_STEP_SECONDS
            patience = httpx2.Timeout(_WEBHOOK_SECONDS, connect=step, write=step, pool=step)
            self._http = httpx2.Client(timeout=patience, trust_env=False, verify=_trust())
        body = webhook_body(row)
        begin()
        # An error here needs no word on what arrived: the next call has the same key.
        with self._http.stream(
            "POST", settings.HANDOFF_WEBHOOK, content=body, headers=_headers(row, body)
        ) as answer:
            status = answer.status_code
        if not 200 <= status < 300:
            raise WebhookRefused(status)


class _WatchedMail(EmailBackend):
    """Django's mail server that says when a message's text begins to go out: until then it cannot have arrived."""

    before_data: Begin

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        base: Any = smtplib.SMTP_SSL if self.use_ssl else smtplib.SMTP
        backend = self

        class Connection(base):  # type: ignore[misc]
            def data(self, msg: Any) -> Any:
                backend.before_data()
                return super().data(msg)

        return Connection

    def is_alive(self) -> bool:
        """Return whether the server still answers."""
        try:
            return bool(self.connection and self.connection.noop()[0] == 250)
        except (OSError, smtplib.SMTPException):
            return False

    def leave(self) -> None:
        """Close the connection at once, whatever state it is in."""
        half_open: Any = self._partial_connection  # type: ignore[has-type]
        for connection in (self.connection, half_open):
            if connection is not None:
                connection.close()
        self.connection = self._partial_connection = None

    def close(self) -> None:
        """Take leave of the server, if it still listens."""
        with suppress(OSError, smtplib.SMTPException):
            super().close()


def webhook_body(row: Notification) -> bytes:
    """Return what the webhook is sent: no patient and no medicine."""
    given = row.context
    return json.dumps(
        {
            "number": given.get("number", ""),
            "kind": row.kind,
            "reason": given.get("reason_code", ""),
            "urgency": given.get("urgency", ""),
            "link": given.get("link", ""),
        }
    ).encode()


def _headers(row: Notification, body: bytes) -> dict[str, str]:
    moment = str(int(timezone.now().timestamp()))
    signed = hmac.new(
        settings.HANDOFF_WEBHOOK_KEY.encode(), moment.encode() + b"." + body, hashlib.sha256
    ).hexdigest()
    return {
        "Content-Type": "application/json",
        "Idempotency-Key": row.key,
        "X-Pharmacy-Timestamp": moment,
        "X-Pharmacy-Signature": f"sha256={signed}",
    }


def _message_id(row: Notification) -> str:
    """Return one id for all sendings of a message, by which mail programs show it once."""
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip("> ")
    digest = hashlib.sha256(f"{row.key}|{row.created_at.timestamp()}".encode()).hexdigest()
    return f"<{digest[:32]}@{host}>"


@cache
def _trust() -> Any:
    """Return the certificates that are trusted, read once: it takes long."""
    return httpx2.create_ssl_context()

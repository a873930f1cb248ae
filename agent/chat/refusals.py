"""How the errors that a client's message can cause are answered over the socket."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import DatabaseError

from agent.answers import render
from agent.chat import protocol
from agent.chat.protocol import FLOODED, FORBIDDEN, TIMED_OUT
from agent.chat.server_messages import ErrorMessage
from agent.conversation import accept, confirmations, embedding, events, handoff_contact


@dataclass(frozen=True)
class Refusal:
    """How an error is answered; with `close`, the socket is closed with this code.

    `sentence` names the sentence if it is another than that of the code. `retry_after` is in seconds; an error that knows them
    better has an attribute of this name.
    """

    code: str
    retryable: bool = False
    close: int | None = None
    sentence: str = ""
    retry_after: int | None = None


# The first row that fits counts, so a subclass comes before its base.
REFUSALS: Final[list[tuple[type[Exception], Refusal]]] = [
    (protocol.MessageTooLarge, Refusal("too_large")),
    (protocol.TextTooLong, Refusal("too_long")),
    (protocol.BadMessage, Refusal("bad_frame")),
    (
        protocol.TooManyFrames,
        Refusal("rate_limited", retryable=True, close=FLOODED, sentence="too_many_frames"),
    ),
    (
        accept.ConversationsLimited,
        Refusal("rate_limited", retryable=True, close=FLOODED, sentence="too_many_conversations"),
    ),
    (accept.RateLimited, Refusal("rate_limited", retryable=True)),
    (confirmations.ConfirmationCalledOff, Refusal("called_off")),
    (confirmations.ConfirmationSuperseded, Refusal("superseded")),
    (confirmations.ConfirmationExpired, Refusal("expired")),
    (handoff_contact.ContactRefused, Refusal("email_invalid")),
    (embedding.TicketExpired, Refusal("expired", retryable=True, close=TIMED_OUT)),
    (embedding.TicketRefused, Refusal("forbidden_origin", close=FORBIDDEN)),
    (events.ConversationGone, Refusal("unknown_conversation")),
    # Nothing was accepted, so nothing is lost: the client keeps the message and sends it again.
    (DatabaseError, Refusal("busy", retryable=True, retry_after=5)),
    (Exception, Refusal("internal", retryable=True)),
]
CODE_REFUSALS: Final = {
    "wrong": Refusal("code_wrong", retryable=True),
    "unreadable": Refusal("code_wrong", retryable=True),
    "expired": Refusal("code_expired"),
    "locked": Refusal("locked"),
}


def refusal_of(error: Exception) -> Refusal:
    """Return how this error is answered."""
    return next(refusal for kind, refusal in REFUSALS if isinstance(error, kind))


def error_message(
    refusal: Refusal,
    language: str,
    client_msg_id: object = None,
    *,
    tries_left: int | None = None,
    retry_after: int | None = None,
) -> ErrorMessage:
    """Return the message that tells a client of a refusal, in the customer's language; `retry_after` is in seconds."""
    message: ErrorMessage = {
        "type": "error",
        "code": refusal.code,
        "message": render.error_text(
            refusal.sentence or refusal.code,
            language,
            tries_left=tries_left,
            retry_after=retry_after,
            by_birth=settings.CHAT_IDENTITY == "dob",
        ),
        "retryable": refusal.retryable,
    }
    if isinstance(client_msg_id, str):
        message["client_msg_id"] = client_msg_id[:64]
    if tries_left is not None:
        message["tries_left"] = tries_left
    if retry_after is not None:
        message["retry_after"] = retry_after
    return message

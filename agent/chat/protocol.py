"""The chat protocol: what clients may send, and why a socket is closed. What they are sent: `server_messages.py`.

A new message type of clients is a model here and a row in `consumer.HANDLERS`.
"""

import json
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from django.conf import settings
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from pharmacy_site.lib.json_values import object_of

MAX_DEPTH: Final = 20
# Characters of a code (or a date of birth).
MAX_CODE: Final = 60

# -- Why a socket is closed. A client connects again after RESTART and TIMED_OUT. ------------------------------
RESTART: Final = 1012
"""This process ends; another one goes on."""
FORBIDDEN: Final = 4403
"""This page may not open that conversation."""
TIMED_OUT: Final = 4408
"""The client was too slow: it said no hello, came with an old ticket, was idle, or did not read what it was sent."""
GONE: Final = 4410
"""The conversation was deleted, or went on in another window."""
FLOODED: Final = 4429
"""Too many frames came on this socket, or too many new conversations from this address; `retry_after` says until when."""


class BadMessage(Exception):
    """A client's message breaks the protocol."""


class MessageTooLarge(BadMessage):
    """A client's message has more bytes than the limit."""


class TextTooLong(BadMessage):
    """A text in a client's message has more characters than the limit."""


class TooManyFrames(Exception):
    """The socket's client sends more frames in a second than the limit."""

    retry_after = 1


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("a text must be more than spaces")
    return text


def _at_most(text: str, limit: int) -> str:
    if len(text) > limit:
        raise PydanticCustomError("too_long", "too long")
    return text


def _whole(number: object) -> object:
    # A Literal takes true and 1.0 for 1.
    if type(number) is not int:
        raise ValueError("must be an integer")
    return number


# Not strict, which would demand a UUID object.
Id = Annotated[UUID, Field(strict=False)]
Count = Annotated[int, Field(ge=0, lt=2**31)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[\x01-\x7f]*$")]
Text = Annotated[
    str, AfterValidator(_not_blank), AfterValidator(lambda text: _at_most(text, settings.CHAT_TEXT_LIMIT))
]
Code = Annotated[str, AfterValidator(_not_blank), AfterValidator(lambda text: _at_most(text, MAX_CODE))]
Comment = Annotated[str, AfterValidator(lambda text: _at_most(text, settings.CHAT_COMMENT_LIMIT))]


class _Part(BaseModel):
    """Fields have exactly the declared types; unknown keys are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


class Location(_Part):
    """A place in degrees."""

    lat: Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
    lng: Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]


class ActiveRun(_Part):
    """What a client that comes back has on its page of an answer in the making.

    `offset` counts characters since the attempt took its answer back for the `restarts`-th time.
    """

    run_id: str | None = None
    attempt: int | None = None
    restarts: Count = 0
    offset: Count = 0


class Hello(_Part):
    """Begin a conversation, or go on with one."""

    type: Literal["hello"]
    conversation: Secret | None = None
    last_seq: Count = 0
    lang: Literal["en", "he"] | None = None
    active_run: ActiveRun | None = None
    cards: bool | None = None
    site: Secret | None = None
    ticket: Secret | None = None


class SendMessage(_Part):
    """Send what the customer wrote. A location of null takes an earlier one back, none at all leaves it."""

    type: Literal["message.send"]
    client_msg_id: Id
    text: Text
    location: Location | None = None


class IdentityCode(_Part):
    """Give the code that was sent to the customer, or the date of birth that was asked for."""

    type: Literal["identity.code"]
    code: Code


class ConfirmAnswer(_Part):
    """Answer a question that needs a yes or a no."""

    type: Literal["confirm.answer"]
    confirm_id: Id
    decision: Literal["yes", "no"]


class RequestHandoff(_Part):
    """Ask for a person."""

    type: Literal["handoff.request"]


class LeaveContact(_Part):
    """Leave the e-mail address at which somebody who is not identified wants to hear of a hand-off."""

    type: Literal["handoff.contact"]
    number: Annotated[str, StringConstraints(min_length=1, max_length=40)]
    email: Annotated[str, StringConstraints(min_length=1, max_length=254)]


class CancelRun(_Part):
    """Stop the answer that is being made."""

    type: Literal["run.cancel"]


class RateAnswer(_Part):
    """Rate an answer."""

    type: Literal["feedback"]
    seq: Count
    rating: Annotated[Literal[1, -1], BeforeValidator(_whole)]
    comment: Comment | None = None


class RequestHandover(_Part):
    """Ask for the way out of a frame on another site."""

    type: Literal["handover.request"]


class DeleteConversation(_Part):
    """Delete the conversation."""

    type: Literal["conversation.delete"]


class Ping(_Part):
    """Ask whether the server is still there."""

    type: Literal["ping"]


ClientMessage = (
    Hello
    | SendMessage
    | IdentityCode
    | ConfirmAnswer
    | RequestHandoff
    | LeaveContact
    | CancelRun
    | RateAnswer
    | RequestHandover
    | DeleteConversation
    | Ping
)
_ByType = Annotated[ClientMessage, Field(discriminator="type")]
_CLIENT_MESSAGE: Final[TypeAdapter[ClientMessage]] = TypeAdapter(_ByType)


def read(data: str | None) -> dict[str, Any]:
    """Return the JSON object of a WebSocket message (None for a binary one). Raises BadMessage."""
    if data is None:
        raise BadMessage
    if len(data.encode("utf-8", "surrogatepass")) > settings.CHAT_FRAME_LIMIT:
        raise MessageTooLarge
    try:
        content = json.loads(data, object_pairs_hook=object_of)
    except (ValueError, RecursionError):
        raise BadMessage from None
    if not isinstance(content, dict) or content.get("v", 1) != 1 or not isinstance(content.get("type"), str):
        raise BadMessage
    if _depth(content) > MAX_DEPTH:
        raise BadMessage
    # PostgreSQL stores no NUL.
    if any(isinstance(value, str) and "\0" in value for value in content.values()):
        raise BadMessage
    return content


def parse(content: dict[str, Any]) -> ClientMessage:
    """Return a JSON object as the message of its type. Raises BadMessage."""
    try:
        return _CLIENT_MESSAGE.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    raise TextTooLong if first["type"] == "too_long" else BadMessage


def _depth(value: object) -> int:
    level, values = 0, [value]
    while values:
        level += 1
        inner: list[object] = []
        for item in values:
            inner += item.values() if isinstance(item, dict) else item if isinstance(item, list) else []
        values = inner
    return level

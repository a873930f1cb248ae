"""What the chat protocol takes from clients, beside what the WebSocket tests send."""

from typing import Any

import pytest

from agent.chat import protocol
from agent.chat.consumer import HANDLERS

ID = "3e0ff6f4-1b0b-4d9e-8f5e-000000000001"
HELLO = {"type": "hello"}
SEND = {"type": "message.send", "client_msg_id": ID, "text": "hi"}
RATE = {"type": "feedback", "seq": 2, "rating": 1}


@pytest.mark.parametrize(
    "content",
    [
        HELLO | {"cards": False, "unknown": [1]},
        HELLO | {"conversation": None, "lang": None, "active_run": None},
        HELLO | {"active_run": {"run_id": "x", "attempt": 1, "offset": 20, "more": 1}},
        SEND | {"text": "half a pair \ud800"},
        SEND | {"client_msg_id": ID.upper()},
        SEND | {"location": {"lat": 32, "lng": 34.75}},
        RATE | {"comment": None},
    ],
)
def test_a_valid_message_is_accepted(content: dict[str, Any]) -> None:
    assert protocol.parse(content).type == content["type"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"type": "\ud800"}, protocol.BadMessage),
        (HELLO | {"last_seq": None}, protocol.BadMessage),
        (HELLO | {"last_seq": True}, protocol.BadMessage),
        (HELLO | {"last_seq": 2**31}, protocol.BadMessage),
        (HELLO | {"lang": "fr"}, protocol.BadMessage),
        (HELLO | {"active_run": [1]}, protocol.BadMessage),
        (HELLO | {"active_run": {"offset": -1}}, protocol.BadMessage),
        (SEND | {"text": " " * 5_000}, protocol.BadMessage),
        (SEND | {"text": "a" * 4_001}, protocol.TextTooLong),
        (SEND | {"text": "a" * 4_001, "client_msg_id": "x"}, protocol.BadMessage),
        (SEND | {"location": {"lat": float("nan"), "lng": 0}}, protocol.BadMessage),
        (SEND | {"location": {"lat": True, "lng": 0}}, protocol.BadMessage),
        (SEND | {"location": {"lat": 10**400, "lng": 0}}, protocol.BadMessage),
        (RATE | {"rating": True}, protocol.BadMessage),
        (RATE | {"rating": 1.0}, protocol.BadMessage),
        (RATE | {"rating": 0}, protocol.BadMessage),
        (RATE | {"comment": "x" * 1_001}, protocol.TextTooLong),
    ],
)
def test_an_invalid_message_is_refused(content: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(protocol.BadMessage) as refused:
        protocol.parse(content)
    assert refused.type is error


def test_a_location_of_null_differs_from_none_at_all() -> None:
    assert "location" in protocol.parse(SEND | {"location": None}).model_fields_set
    assert "location" not in protocol.parse(SEND).model_fields_set


def test_every_message_of_a_client_has_a_handler() -> None:
    assert set(HANDLERS) == set(protocol.ClientMessage.__args__)

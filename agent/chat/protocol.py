"""Frames of the chat protocol as a client may send them: read, and refused when they are none of it."""

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.conf import settings

MAX_DEPTH: Final = 20
MAX_SECRET: Final = 200


class BadFrame(Exception):
    """A frame that is none of the protocol's; `code` is what the client is told."""

    def __init__(self, code: str = "bad_frame") -> None:
        self.code = code


def read(text: str | None) -> dict[str, Any]:
    """The JSON object of a frame (None for a binary one). Raises BadFrame."""
    if text is None:
        raise BadFrame
    if len(text.encode("utf-8", "surrogatepass")) > settings.CHAT_FRAME_LIMIT:
        raise BadFrame("too_large")
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        raise BadFrame from None
    if not isinstance(frame, dict) or frame.get("v", 1) != 1 or not isinstance(frame.get("type"), str):
        raise BadFrame
    if _depth(frame) > MAX_DEPTH or any(isinstance(value, str) and "\0" in value for value in frame.values()):
        raise BadFrame
    return frame


def _depth(value: object) -> int:
    level, values = 0, [value]
    while values:
        level += 1
        inner: list[object] = []
        for item in values:
            inner += item.values() if isinstance(item, dict) else item if isinstance(item, list) else []
        values = inner
    return level


def whole(frame: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """A number that counts something. Raises BadFrame."""
    value = frame.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise BadFrame
    return value


def uuid(frame: Mapping[str, Any], name: str) -> UUID:
    """An id. Raises BadFrame."""
    value = frame.get(name)
    try:
        if isinstance(value, str):
            return UUID(value)
    except ValueError:
        pass
    raise BadFrame


def text(frame: Mapping[str, Any], name: str, most: int) -> str:
    """A text of 1 to `most` characters that is more than spaces. Raises BadFrame."""
    value = frame.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadFrame
    if len(value) > most:
        raise BadFrame("too_long")
    return value


def short(frame: Mapping[str, Any], name: str) -> str | None:
    """A secret or an id of at most 200 characters, if there is one. Raises BadFrame."""
    value = frame.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= MAX_SECRET or not value.isascii():
        raise BadFrame
    return value


def choice(frame: Mapping[str, Any], name: str, choices: tuple[Any, ...]) -> Any:
    """One of these values. Raises BadFrame."""
    value = frame.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | None) or value not in choices:
        raise BadFrame
    return value


def location(value: object) -> tuple[float, float] | None:
    """A place in degrees. Raises BadFrame."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadFrame
    lat, lng = value.get("lat"), value.get("lng")
    for number, most in ((lat, 90), (lng, 180)):
        if isinstance(number, bool) or not isinstance(number, int | float) or not -most <= number <= most:
            raise BadFrame
    return float(lat), float(lng)  # type: ignore[arg-type]

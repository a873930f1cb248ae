"""What the scripted model can reply, and how it looks on the wire of OpenAI's Chat Completions.

A piece is one content or arguments delta. `after_chunks` counts pieces; the chunk with the role travels with the first.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

Call = tuple[str, Mapping[str, Any] | str]
"""A tool's name and its arguments: an object, or a text that is sent unchanged."""

ANSWER: Final = "Aspirin is in stock in Haifa and in Tel Aviv. Would you like to know the opening hours?"

# What may stand where a chunk (and, not streamed, the whole completion) belongs. `None`: nothing at all.
_WRONG: Final[dict[str, Any]] = {
    "shape: a list": [1, 2, 3],
    "shape: a text": "Yes",
    "shape: no choices": {"choices": None},
    "shape: choices are text": {"choices": "Yes"},
    "shape: no delta": {"choices": [{"index": 0, "finish_reason": None}]},
    "shape: content is a number": {"choices": [{"index": 0, "delta": {"content": 5}, "message": {"content": 5}}]},
    "shape: a call without a name": [{"index": 0, "id": "call_1", "function": {"arguments": "{}"}}],
    "shape: a call without an id": [{"index": 0, "function": {"name": "check_stock", "arguments": "{}"}}],
    "shape: a call without a function": [{"index": 0, "id": "call_1"}],
    "shape: a call without an index": [{"id": "call_1", "function": {"name": "check_stock", "arguments": "{}"}}],
    "shape: two calls with one id": [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "check_stock", "arguments": "{}"}},
        {"index": 1, "id": "call_1", "type": "function", "function": {"name": "check_stock", "arguments": "{}"}},
    ],
    "error": {"error": {"message": "The server had an error.", "type": "server_error", "code": None}},
}  # fmt: skip
KINDS: Final = ("chunk", "arguments", "html", "empty", "no end", "no finish_reason", "not UTF-8", *_WRONG)


@dataclass(frozen=True)
class Reply:
    """One reply of the model. Made by the functions below; `usage` is (prompt, completion) tokens."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    chunks: int = 8
    finish: str | None = None
    usage: tuple[int, int] | None = None
    pause: float = 0.0
    stops_after: int | None = None
    stall: float = 0.0
    headers_first: bool = True
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: Mapping[str, Any] = field(default_factory=dict)
    malformed: str = ""


@dataclass(frozen=True)
class Computed:
    """A reply made from the request when it comes."""

    function: Callable[[dict[str, Any]], Reply]


@dataclass(frozen=True)
class Forever:
    """A reply to every request from here on."""

    reply: "Reply | Computed"


def says(text: str, chunks: int = 8, *, finish: str = "stop", usage: tuple[int, int] | None = None) -> Reply:
    """An answer in so many pieces; `finish` may be "length" or "content_filter"."""
    return Reply(text=text, chunks=chunks, finish=finish, usage=usage)


def chooses(text: str, chunks: int = 8, *, usage: tuple[int, int] | None = None) -> Computed:
    """An answer that names facts: "{price|Nurofen}" becomes the id that the request's menu gives this kind and subject.

    Of several such facts the newest counts, or one whose sentence has the third part: "{stock|Florentin, Tel Aviv|Advil}".
    """

    def answer(request: dict[str, Any]) -> Reply:
        facts = list(facts_offered(request))
        named = _WANTED.sub(lambda wanted: f"[{_fact_wanted(facts, wanted[1])['id']}]", text)
        return says(named, chunks, usage=usage)

    return Computed(answer)


_WANTED: Final = re.compile(r"\{([^{}]+)\}")


def facts_offered(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the facts that a request's menus have, the oldest first."""
    for message in request["messages"]:
        if message["role"] not in ("system", "tool"):
            continue
        start = message["content"].find("{")
        try:
            shown = json.loads(message["content"][start:]) if start >= 0 else {}
        except ValueError:
            continue
        yield from shown.get("facts_of_earlier_turns", ())
        yield from shown.get("facts", ())


def _fact_wanted(facts: Sequence[dict[str, str]], wanted: str) -> dict[str, str]:
    kind, subject, *parts = wanted.split("|")
    for fact in reversed(facts):
        if (fact["kind"], fact["about"]) == (kind, subject) and all(part in fact["text"] for part in parts):
            return fact
    raise LookupError(f"no fact {wanted} among {[(fact['kind'], fact['about']) for fact in facts]}")


def calls(*tools: Call, says: str = "", chunks: int = 3, usage: tuple[int, int] | None = None) -> Reply:
    """Tool calls in parallel, each one's arguments in so many pieces, after some text if wanted."""
    return Reply(text=says, calls=tools, chunks=chunks, finish="tool_calls", usage=usage)


def calls_for_customer(*tools: Call) -> Computed:
    """Tool calls, with the request's placeholder where the identifier of the verified customer belongs."""

    def answer(request: dict[str, Any]) -> Reply:
        known = json.loads(request["messages"][1]["content"])
        own = {"user_identifier": known.get("user_identifier")}
        return calls(
            *((name, {**told, **own} if "user_identifier" in told else told) for name, told in tools)  # type: ignore[dict-item]
        )

    return Computed(answer)


def stalls(
    seconds: float, after_chunks: int = 0, *, of: Reply | None = None, headers_first: bool = True
) -> Reply:
    """Falls silent after the headers (or before them), or after some pieces, and goes on when the time is over."""
    stalled = of or says(ANSWER, chunks=30)
    return replace(stalled, stall=seconds, stops_after=after_chunks, headers_first=headers_first)


def cuts(after_chunks: int, *, of: Reply | None = None) -> Reply:
    """Closes the connection after so many pieces."""
    return replace(of or says(ANSWER, chunks=30), stops_after=after_chunks)


def trickles(text: str, seconds_between: float) -> Reply:
    """An answer word by word, with a pause before each."""
    return Reply(text=text, chunks=len(text.split()), finish="stop", pause=seconds_between)


def fails(status: int, retry_after: float | None = None, *, code: str | None = None) -> Reply:
    """An error as OpenAI words it; `code` instead of the usual one ("insufficient_quota")."""
    kind, usual = {
        400: ("invalid_request_error", None),
        401: ("invalid_request_error", "invalid_api_key"),
        403: ("invalid_request_error", "unsupported_country_region_territory"),
        404: ("invalid_request_error", "model_not_found"),
        429: ("requests", "rate_limit_exceeded"),
    }.get(status, ("server_error", None))
    return Reply(
        status=status,
        headers={} if retry_after is None else {"retry-after": f"{retry_after:g}"},
        error={"message": f"scripted {status}", "type": kind, "param": None, "code": code or usual},
    )


def malformed(kind: str, *, tool: str = "check_stock") -> Reply:
    """A reply with status 200 that breaks the protocol in one of the ways of KINDS.

    In a stream the third of eight pieces is the broken one. "no end" lacks only `[DONE]`; not streamed, the JSON's end.
    """
    if kind not in KINDS:
        raise ValueError(f"no such kind: {kind!r}; there are {', '.join(KINDS)}")
    if kind == "arguments":
        return calls((tool, '{"medication_query": "Aspi'))
    finish = {"no finish_reason": None}.get(kind, "tool_calls" if _spoils_calls(kind) else "stop")
    return Reply(text=ANSWER, finish=finish, malformed=kind)


def by(function: Callable[[dict[str, Any]], Reply]) -> Computed:
    """A reply computed from the request's JSON, in the server's thread."""
    return Computed(function)


def forever(reply: Reply | Computed) -> Forever:
    """The last of a script: the reply to this request and all that follow."""
    return Forever(reply)


# -- On the wire ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Answering:
    """A reply to one request; `first_call` makes the ids of its calls unique."""

    reply: Reply
    request: Mapping[str, Any]
    number: int

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """The events of the stream, each with the number of pieces sent when it is out."""
        reply, piece = self.reply, 0
        if reply.malformed in {"empty", "not UTF-8"}:
            if reply.malformed == "not UTF-8":
                yield 1, b'data: {"choices": "\xff\xfe"}\n\n'
            return
        yield 1, self._chunk({"role": "assistant", "content": None if reply.calls else "", "refusal": None})
        for delta in self._deltas():
            if (piece := piece + 1) == 3 and reply.malformed:
                yield piece, self._wrong(delta)
            else:
                yield piece, self._chunk(delta)
        if reply.finish:
            yield piece + 1, self._chunk({}, reply.finish)
        if self._wants_usage():
            yield (
                piece + 1,
                _event({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()}),
            )
        if reply.malformed != "no end":
            yield piece + 1, b"data: [DONE]\n\n"

    def whole(self) -> bytes:
        """The completion as one JSON document."""
        kind, wrong = self.reply.malformed, _WRONG.get(self.reply.malformed)
        message: dict[str, Any] = {"role": "assistant", "content": self.reply.text or None, "refusal": None}
        if self.reply.calls:
            message["tool_calls"] = [
                {
                    "id": self._id(i),
                    "type": "function",
                    "function": {"name": name, "arguments": _arguments(args)},
                }
                for i, (name, args) in enumerate(self.reply.calls)
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.reply.finish}
        body = {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}
        if _spoils_calls(kind):
            message["tool_calls"] = wrong
        elif kind.startswith("shape: ") and isinstance(wrong, dict):
            body.update(wrong)
        elif wrong is not None:
            return json.dumps(wrong).encode()
        text = json.dumps(body).encode()
        spoilt = {
            "chunk": text[:-40],
            "empty": b"",
            "no end": text[:-1],
            "not UTF-8": b'{"choices": "\xff\xfe"}',
        }
        return spoilt.get(kind, text)

    def _deltas(self) -> Iterator[dict[str, Any]]:
        for part in _cut(self.reply.text, self.reply.chunks):
            yield {"content": part}
        for index, (name, arguments) in enumerate(self.reply.calls):
            head = {"index": index, "id": self._id(index), "type": "function"}
            yield {"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]}
            for part in _cut(_arguments(arguments), self.reply.chunks):
                yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}

    def _wrong(self, delta: Mapping[str, Any]) -> bytes:
        kind, wrong = self.reply.malformed, _WRONG.get(self.reply.malformed)
        if kind == "chunk":
            return b'data: {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [{"delta": {"co\n\n'
        if wrong is None:
            return self._chunk(delta)
        if _spoils_calls(kind):
            return self._chunk({"tool_calls": wrong})
        if kind == "error" or not isinstance(wrong, dict):
            return _event(wrong)
        return _event({**self._head("chat.completion.chunk"), **wrong})

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._wants_usage() else {}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice], **usage})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": int(time.time()),
            "model": self.request.get("model"),
            "service_tier": "default",
            "system_fingerprint": "fp_scripted",
        }

    def _id(self, index: int) -> str:
        return f"call_{self.number}_{index}"

    def _wants_usage(self) -> bool:
        return bool((self.request.get("stream_options") or {}).get("include_usage"))

    def _usage(self) -> dict[str, Any]:
        written = len(self.reply.text) + sum(len(_arguments(arguments)) for _, arguments in self.reply.calls)
        about = len(json.dumps(self.request, ensure_ascii=False)) // 4, written // 4 + 1
        prompt, completion = self.reply.usage or about
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }


def _spoils_calls(kind: str) -> bool:
    return kind.startswith("shape: ") and "call" in kind


def _arguments(arguments: Mapping[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _cut(text: str, parts: int) -> list[str]:
    """The text in so many parts of about one length, fewer when it is too short."""
    parts = max(1, min(parts, len(text)))
    edges = [len(text) * i // parts for i in range(parts + 1)]
    return [text[start:end] for start, end in pairwise(edges) if text]


def _event(data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"

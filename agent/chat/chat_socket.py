"""An open socket: what it is sent, in which order, and what happens when its client reads too slowly."""

import asyncio
import json
import logging
import time
from collections import deque
from typing import Any, Final, NamedTuple
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import DatabaseError

from agent.chat.client_view import delta_shown, event_shown, progress_shown
from agent.chat.progress import messages_of, rest_of
from agent.chat.protocol import TIMED_OUT, ActiveRun
from agent.chat.server_messages import EphemeralMessage, MessageDelta, ServerMessage
from agent.conversation import events, runs
from agent.conversation.records import NumberedEvent, Progress
from agent.threads import run_urgent

log = logging.getLogger(__name__)
# How long a socket that closes waits for its client to read what is queued.
LAST_MESSAGES_SECONDS: Final = 2
_NO_RUN: Final = "no run"


class _Shown(NamedTuple):
    """How many characters the client has of a run's answer, which was taken back so often before them."""

    run_id: str
    restarts: int = 0
    length: int = 0


class ChatSocket(AsyncWebsocketConsumer):
    """What `agent/chat/hub.py` talks to: numbered events are read from the log, ephemeral messages are handed in."""

    # The hub subscribes for all sockets of the process.
    channel_layer_alias = "none"

    conversation_id: UUID
    # The hash of the conversation's secret; empty before hello.
    key = ""
    # Hello was answered, other messages may follow.
    ready = False
    sent_seq = 0
    leaving = False
    # The client does not read.
    stuck = False
    # The client shows cards; one that does not gets whole texts.
    shows_cards = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.received_at = time.monotonic()
        self._queue: deque[ServerMessage] = deque()
        self._flushing: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._filling: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        # The log has events that were not read yet.
        self._unread = False
        self._held: list[EphemeralMessage] = []
        self._shown = _Shown("")
        # A piece behind a restart that came while hello was being answered.
        self._early: MessageDelta | None = None
        self._ended_run = self._hidden_run = _NO_RUN

    def stop(self) -> None:
        """Read and send nothing more: the connection is gone."""
        self.leaving = True
        for task in (self._flushing, self._reading, self._filling):
            if task:
                task.cancel()

    # -- News of the conversation, from the hub ---------------------------------------------------------------
    def log_grown(self) -> None:
        """Read the events that were not sent yet, once at a time."""
        self._unread = True
        if self.ready and self._reading is None and not self.leaving:
            self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while self._unread and not self.leaving:
                self._unread = False
                for event in await run_urgent(events.events_after)(self.key, self.sent_seq):
                    if _ends_run(event):
                        # What the run showed comes before its end.
                        self._release(event["run_id"])
                    self._deliver(
                        events.redacted(event) if event.get("run_id") == self._hidden_run else event
                    )
        except DatabaseError as error:
            # The hub looks again soon.
            log.error("database unavailable: %s", type(error).__name__)
        finally:
            self._reading = None
            self._release()

    def _deliver(self, event: NumberedEvent) -> None:
        """Send a numbered event; nothing more is sent of a run that it ends."""
        self.sent_seq = event["seq"]
        self.push(event_shown(event, cards=self.shows_cards))
        if _ends_run(event):
            self._ended_run = event["run_id"]
            if event["type"] == "message.completed":
                self.push({"type": "run.completed", "run_id": event["run_id"]})

    def _release(self, run_id: str | None = None) -> None:
        """Send what was held back while the log was read: of one run, or all of it."""
        held, self._held = self._held, []
        for message in held:
            if run_id is None or message.get("run_id") == run_id:
                self._forward(message)
            else:
                self._held.append(message)

    def send_ephemeral(self, message: EphemeralMessage) -> None:
        """Send a message that is stored nowhere, behind the events that came before it."""
        if self._reading:
            self._held.append(message)
        else:
            self._forward(message)

    def _forward(self, message: EphemeralMessage) -> None:
        """Queue an ephemeral message; the pieces of an answer go out without holes and without repetition."""
        if message.get("run_id") == self._ended_run:
            return
        if not self.ready:
            if message["type"] == "run.started":
                self._early = None
            elif message["type"] == "message.delta" and message.get("restarts"):
                self._early = message
            return
        if message["type"] == "run.completed":
            self._ended_run = message["run_id"]
        elif message["type"] == "run.started":
            self._shown = _Shown(message["run_id"])
        elif message["type"] == "message.delta":
            self._forward_delta(delta_shown(message, cards=self.shows_cards))
            return
        self.push(message)

    def _forward_delta(self, delta: MessageDelta) -> None:
        """Queue what a piece adds to what the client has; a piece of a later restart replaces that."""
        run_id, now = delta["run_id"], delta.get("restarts", 0)
        if run_id != self._shown.run_id and not now:
            self._fill(run_id)
            return
        _, restarts, shown = self._shown if self._shown.run_id == run_id else _Shown(run_id)
        if now < restarts:
            # It was taken back meanwhile.
            return
        missing = delta["offset"] > (shown if now == restarts else 0)
        if now > restarts:
            shown = 0
            if missing or not delta["text"]:
                # Take back what the client shows, also when it is not known yet what comes instead.
                self.push(_piece(delta, 0, ""))
        rest = "" if missing else delta["text"][shown - delta["offset"] :]
        self._shown = _Shown(run_id, now, shown + len(rest))
        if rest:
            self.push(_piece(delta, shown, rest))
        if missing:
            self._fill(run_id)

    def _fill(self, run_id: str) -> None:
        """Read what another process showed before this socket opened: it is stored a moment later."""
        if self._filling is None:
            self._filling = asyncio.create_task(self._fill_up(run_id))

    async def _fill_up(self, run_id: str) -> None:
        try:
            progress = await run_urgent(runs.progress_of)(run_id)
            if run_id == self._ended_run:
                return
            progress = progress and progress_shown(progress, cards=self.shows_cards)
            _, restarts, shown = self._shown if self._shown.run_id == run_id else _Shown(run_id)
            if progress and (rest := rest_of(progress, restarts, shown)):
                self._shown = _Shown(run_id, rest.get("restarts", 0), len(progress["text"]))
                self.push(rest)
        except DatabaseError as error:
            # The completed message has all of it.
            log.error("database unavailable: %s", type(error).__name__)
        finally:
            self._filling = None

    def leave(self, code: int) -> None:
        """Close once the queue is sent, without waiting for a client that does not read."""
        if not self.leaving:
            self.leaving = True
            self._closing = asyncio.create_task(self._leave(code))

    async def _leave(self, code: int) -> None:
        if self._flushing and not self.stuck:
            _read, unread = await asyncio.wait([self._flushing], timeout=LAST_MESSAGES_SECONDS)
            self.stuck = bool(unread)
        await self.close(code=code)

    async def finish(self, code: int) -> None:
        """Close once the log has been sent."""
        if self._reading:
            await asyncio.wait([self._reading])
        self.leave(code)
        # There is none when the client was faster.
        if self._closing:
            await asyncio.wait([self._closing])

    def replay(self, progress: Progress | None, active: ActiveRun | None) -> None:
        """Send what the run at work has shown so far, without what the client has of the same attempt.

        What the attempt has taken back since then the client no longer has: it gets the answer from 0.
        """
        if not progress:
            return
        progress = progress_shown(progress, cards=self.shows_cards)
        same = (
            active is not None
            and active.run_id == progress["run_id"]
            and active.attempt in (None, progress["attempt"])
        )
        restarts, offset = (active.restarts, active.offset) if active and same else (0, 0)
        for message in messages_of(progress, restarts, offset):
            self.push(message)
        stored = _Shown(progress["run_id"], progress.get("restarts", 0), len(progress["text"]))
        # Another process may have stored its progress before a restart that the client knows.
        self._shown = stored if stored.restarts >= restarts else _Shown(stored.run_id, restarts, offset)
        early, self._early = self._early, None
        if early and early["run_id"] == stored.run_id:
            # What was read may have been stored before that restart.
            self._forward_delta(delta_shown(early, cards=self.shows_cards))

    def hide_run(self, run_id: UUID) -> None:
        """Show of another patient's run only its end, without its words."""
        self._ended_run = self._hidden_run = str(run_id)

    # -- Messages to the client ---------------------------------------------------------------------------------
    def push(self, message: ServerMessage) -> None:
        """Queue a message. A client that falls too far behind is disconnected; it comes back for the rest."""
        if self.leaving:
            return
        if len(self._queue) >= settings.CHAT_QUEUE:
            self._queue.clear()
            self.stuck = True
            self.leave(TIMED_OUT)
            return
        self._queue.append(message)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._queue:
                text = json.dumps({"v": 1, **self._queue.popleft()}, ensure_ascii=False)
                # Half a surrogate pair cannot be sent.
                await self.send(text_data=text.encode("utf-8", "replace").decode())
        except OSError:
            # The client is gone; disconnect follows.
            self._queue.clear()
        finally:
            self._flushing = None


def _piece(delta: MessageDelta, offset: int, text: str) -> MessageDelta:
    """Return a piece of the same answer with another text."""
    return {**delta, "offset": offset, "text": text}


def _ends_run(event: NumberedEvent) -> bool:
    """Return whether a numbered event is the last of its run."""
    return bool(event.get("run_id")) and (
        event.get("role") == "assistant" or event["type"] in ("run.failed", "run.cancelled")
    )

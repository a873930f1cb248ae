"""An open socket's side of the news: what it is sent, in which order, and what happens when it is too slow."""

import asyncio
import json
import logging
import time
from collections import deque
from typing import Any, Final
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import DatabaseError

from agent.chat.progress import replayed, rest_of
from agent.conversation import events, runs
from agent.threads import run_urgent

log = logging.getLogger(__name__)
Frame = dict[str, Any]
SLOW: Final = 4408


class ChatSocket(AsyncWebsocketConsumer):
    """What `agent/chat/hub.py` talks to. Numbered events come from the log, all others as they are told."""

    channel_layer_alias = "none"  # the hub hears for all sockets of the process

    conversation_id: UUID
    key = ""  # the hash of the conversation's secret; empty before hello
    ready = False  # hello was answered: news may follow
    sent = 0
    leaving = False
    stuck = False  # its reader does not read

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heard_at = time.monotonic()
        self._queue: deque[Frame] = deque()
        self._flushing: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._filling: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._grown = False
        self._held: list[Frame] = []
        self._shown: tuple[str, int] = ("", 0)  # a run, and how much of its text the client has
        self._over = self._ignored = "no run"

    def stop_news(self) -> None:
        """The line is gone: nothing more is read or sent."""
        self.leaving = True
        for task in (self._flushing, self._reading, self._filling):
            if task:
                task.cancel()

    # -- news of the conversation, from the hub ---------------------------------------------------------------
    def grown(self) -> None:
        """The log has more than was sent: read it, once at a time."""
        self._grown = True
        if self.ready and self._reading is None and not self.leaving:
            self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while self._grown and not self.leaving:
                self._grown = False
                for frame in await run_urgent(events.events_after)(self.key, self.sent):
                    if _ends_run(frame):
                        self._release(frame["run_id"])  # what was shown of it came before its end
                    self._deliver(events.veiled(frame) if frame.get("run_id") == self._ignored else frame)
        except DatabaseError as error:
            log.error("database unavailable: %s", type(error).__name__)  # the hub's next look comes soon
        finally:
            self._reading = None
            self._release()

    def _deliver(self, frame: Frame) -> None:
        """Sends a numbered event; the one that ends a run is the last that is heard of it."""
        self.sent = frame["seq"]
        self.push(frame)
        if _ends_run(frame):
            self._over = frame["run_id"]
            if frame["type"] == "message.completed":
                self.push({"type": "run.completed", "run_id": frame["run_id"]})

    def _release(self, run_id: str | None = None) -> None:
        """Passes on what waited for the reading: of one run, or all of it."""
        held, self._held = self._held, []
        for frame in held:
            if run_id is None or frame.get("run_id") == run_id:
                self._pass_on(frame)
            else:
                self._held.append(frame)

    def tell(self, frame: Frame) -> None:
        """An event that is not kept. Pieces of an answer go out without holes and without doubles."""
        if self._reading:
            self._held.append(frame)  # it happened after what is being read
        else:
            self._pass_on(frame)

    def _pass_on(self, frame: Frame) -> None:
        if not self.ready or frame.get("run_id") == self._over:
            return
        if frame["type"] == "run.started":
            self._shown = (frame["run_id"], 0)
        elif frame["type"] == "message.delta":
            run_id, shown = self._shown
            if frame["run_id"] != run_id or frame["offset"] > shown:
                self._fill(frame["run_id"])
                return
            rest = frame["text"][shown - frame["offset"] :]
            if not rest:
                return
            frame = {**frame, "offset": shown, "text": rest}
            self._shown = (run_id, shown + len(rest))
        self.push(frame)

    def _fill(self, run_id: str) -> None:
        """What another process said before this socket came: it is written down a moment later."""
        if self._filling is None:
            self._filling = asyncio.create_task(self._fill_up(run_id))

    async def _fill_up(self, run_id: str) -> None:
        try:
            progress = await run_urgent(runs.progress_of)(run_id)
            if run_id == self._over:
                return
            shown = self._shown[1] if self._shown[0] == run_id else 0
            if progress and (rest := rest_of(progress, shown)):
                self._shown = (run_id, len(progress["text"]))
                self.push(rest)
        except DatabaseError as error:
            log.error("database unavailable: %s", type(error).__name__)  # the finished message has it all
        finally:
            self._filling = None

    def leave(self, code: int) -> None:
        """Closes after what still waits, without waiting for a reader that does not read."""
        if not self.leaving:
            self.leaving = True
            self._closing = asyncio.create_task(self._leave(code))

    async def _leave(self, code: int) -> None:
        if self._flushing and code != SLOW:
            await asyncio.wait([self._flushing], timeout=2)
        await self.close(code=code)

    async def finish(self, code: int) -> None:
        """Closes after what is in the log already."""
        if self._reading:
            await asyncio.wait([self._reading])
        self.leave(code)
        if self._closing:  # else the client was faster
            await asyncio.wait([self._closing])

    def replay(self, progress: Frame, active: Frame, offset: int) -> None:
        """Brings the client up to date with the run at work: what it has of the same attempt is not sent again."""
        if not progress:
            return
        same = active.get("run_id") == progress["run_id"] and (
            active.get("attempt", progress["attempt"]) == progress["attempt"]
        )
        offset = min(offset, len(progress["text"])) if same else 0
        for frame in replayed(progress, offset):
            self.push(frame)
        self._shown = (progress["run_id"], len(progress["text"]))

    def ignore(self, run_id: UUID) -> None:
        """The run at work is another patient's: of it only its end is told, without its words."""
        self._over = self._ignored = str(run_id)

    # -- frames to the client ---------------------------------------------------------------------------------
    def push(self, frame: Frame) -> None:
        """Queues a frame; a reader that falls too far behind is sent away and comes back for the rest."""
        if self.leaving:
            return
        if len(self._queue) >= settings.CHAT_QUEUE:
            self._queue.clear()
            self.stuck = True
            self.leave(SLOW)
            return
        self._queue.append(frame)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._queue:
                frame = {"v": 1, **self._queue.popleft()}
                await self.send(
                    text_data=json.dumps(frame, ensure_ascii=False).encode("utf-8", "replace").decode()
                )
        except OSError:  # the client is gone; disconnect follows
            self._queue.clear()
        finally:
            self._flushing = None


def _ends_run(frame: Frame) -> bool:
    """Whether a numbered event is the last of its run."""
    return bool(frame.get("run_id")) and (
        frame.get("role") == "assistant" or frame["type"] in ("run.failed", "run.cancelled")
    )

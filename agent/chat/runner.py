"""The runs at work in this process: one task per conversation, which no socket owns.

Each run is kept alive by a heartbeat that also writes down what it shows so far. A sweep takes up the runs of processes
that have died. When the process is asked to end, it finishes what it is saying and gives the rest back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError

from agent.chat.hub import Hub
from agent.chat.progress import RunProgress
from agent.conversation import runs
from agent.conversation.events import ConversationGone
from agent.models import Run
from agent.threads import run_db
from pharmacy_site.lib.errors import trace_of

log = logging.getLogger(__name__)
WRITE_SECONDS: Final = 0.3  # progress is written at most this often; a quicker answer needs none
BEAT_SECONDS: Final = 5.0
GIVE_BACK_SECONDS: Final = 5.0  # an ending process waits no longer for its database: leases end by themselves

Answer = Callable[[Run, RunProgress], Awaitable[None]]


class Runner:
    """The work of one process. Everything here runs in its event loop; `answer` is the loop's function."""

    def __init__(self, hub: Hub, answer: Answer) -> None:
        self._hub, self._answer = hub, answer
        self._tasks: dict[UUID, asyncio.Task[None]] = {}  # by conversation
        self._again: set[UUID] = set()
        self._current: dict[UUID, asyncio.Task[None]] = {}  # by run
        self._live: dict[UUID, RunProgress] = {}  # by conversation
        self._ending = False
        self._sweeping = asyncio.create_task(self._sweep())

    def wake(self, conversation_id: UUID) -> None:
        """Makes sure that the waiting runs of a conversation are being worked on."""
        if self._ending:
            return
        self._again.add(conversation_id)
        if conversation_id not in self._tasks:
            self._tasks[conversation_id] = asyncio.create_task(self._work(conversation_id))

    def live(self, conversation_id: UUID) -> RunProgress | None:
        """The run of a conversation that is at work here."""
        return self._live.get(conversation_id)

    def stop(self, run_id: UUID) -> None:
        """Stops working at a run that was cancelled."""
        if task := self._current.get(run_id):
            task.cancel()

    async def drain(self, seconds: float) -> None:
        """Begins nothing new, finishes what is at work; what takes longer goes to another process."""
        self._ending = True
        self._sweeping.cancel()
        tasks = list(self._tasks.values())  # also those that are just claiming
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
            for task in self._current.values():
                task.cancel()
            await asyncio.wait(tasks, timeout=GIVE_BACK_SECONDS)

    async def _work(self, conversation_id: UUID) -> None:
        try:
            while conversation_id in self._again and not self._ending:
                self._again.discard(conversation_id)
                while run := await run_db(self._claim)(conversation_id):
                    await self._one(run)
        except ConversationGone:
            log.info("a conversation was deleted before its runs were answered")
        except DatabaseError as error:
            log.error("database unavailable, runs wait for the sweep: %s", type(error).__name__)
        finally:
            self._tasks.pop(conversation_id, None)

    def _claim(self, conversation_id: UUID) -> Run | None:
        """The next run, unless the process was asked to end while this waited for its turn."""
        return None if self._ending else runs.run_claim(conversation_id)

    async def _one(self, run: Run) -> None:
        live = RunProgress(self._hub, run.conversation.secret_hash, run.pk, run.attempts)
        self._live[run.conversation_id] = live
        task = self._current[run.pk] = asyncio.create_task(self._attempt(run, live))
        keeper = asyncio.create_task(self._keep(run, live, task))
        try:
            await asyncio.wait([task])
        finally:
            keeper.cancel()
            del self._current[run.pk]
            del self._live[run.conversation_id]
        if task.cancelled() and self._ending:
            await run_db(runs.run_release)(run)

    async def _attempt(self, run: Run, live: RunProgress) -> None:
        try:
            async with asyncio.timeout(settings.CHAT_RUN_TIMEOUT):
                live.begin()
                await self._answer(run, live)
        except ConversationGone:
            log.info("run %s: its conversation was deleted", run.pk)
        except Exception as error:
            # The exception's text may hold what was said, so only its type and place are logged.
            log.error("run %s failed: %s at %s", run.pk, type(error).__name__, trace_of(error))
            try:
                await run_db(runs.run_fail)(run, "internal")
            except (DatabaseError, ConversationGone):
                log.error("run %s stays open until its lease ends", run.pk)
            self._hub.ring(live.key)

    async def _keep(self, run: Run, live: RunProgress, task: asyncio.Task[None]) -> None:
        """The heartbeat of a run; ends it when it is no longer this process's."""
        waited = 0.0
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            waited += WRITE_SECONDS
            if not live.changed and waited < BEAT_SECONDS:
                continue
            waited = 0.0
            try:
                changed, live.changed = live.changed, False
                kept = await run_db(runs.run_keep)(run, live.progress() if changed else None)
            except Exception as error:
                live.changed = True
                log.error("run %s: no heartbeat: %s", run.pk, type(error).__name__)
                continue
            if not kept:
                task.cancel()
                return

    async def _sweep(self) -> None:
        """Takes up runs that wait for a process: at once when this one begins, then every few seconds."""
        while True:
            try:
                for conversation_id in await run_db(runs.runs_abandoned)():
                    self.wake(conversation_id)
            except Exception as error:  # whatever it is, the next look must come
                log.error("sweep failed: %s at %s", type(error).__name__, trace_of(error))
            await asyncio.sleep(settings.CHAT_SWEEP)

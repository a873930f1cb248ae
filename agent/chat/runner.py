"""The runs at work in this process: one task per conversation, which no socket owns.

A heartbeat extends each run's lease and stores what the run has shown so far. A sweep takes up the runs of processes
that have died. When the process is to end, it finishes the answers that it has begun and releases the other runs.
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
# Progress is stored at most this often; a quicker answer needs none.
STORE_SECONDS: Final = 0.3
BEAT_SECONDS: Final = 5.0
# An ending process waits no longer for its database: leases end by themselves.
GIVE_BACK_SECONDS: Final = 5.0

Answer = Callable[[runs.Claim, RunProgress], Awaitable[None]]


class Runner:
    """The runs that one process works at. Everything here runs in its event loop; `answer` is the loop's function."""

    def __init__(self, hub: Hub, answer: Answer) -> None:
        self._hub, self._answer = hub, answer
        # By conversation, as is _progress.
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        # Conversations that may have a run waiting.
        self._woken: set[UUID] = set()
        # By run.
        self._current: dict[UUID, asyncio.Task[None]] = {}
        self._progress: dict[UUID, RunProgress] = {}
        self._ending = False
        self._sweeping = asyncio.create_task(self._sweep())

    def wake(self, conversation_id: UUID) -> None:
        """Work at the waiting runs of a conversation, unless that is being done."""
        if self._ending:
            return
        self._woken.add(conversation_id)
        if conversation_id not in self._tasks:
            self._tasks[conversation_id] = asyncio.create_task(self._work(conversation_id))

    def progress(self, conversation_id: UUID) -> RunProgress | None:
        """Return the progress of the run of a conversation that is at work in this process."""
        return self._progress.get(conversation_id)

    def stop(self, run_id: UUID) -> None:
        """Stop working at a run that was cancelled."""
        if task := self._current.get(run_id):
            task.cancel()

    async def drain(self, seconds: float) -> None:
        """Begin nothing new and finish the runs at work; what takes longer goes to another process."""
        self._ending = True
        self._sweeping.cancel()
        # Also those that are just claiming a run.
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
            for task in self._current.values():
                task.cancel()
            await asyncio.wait(tasks, timeout=GIVE_BACK_SECONDS)

    async def _work(self, conversation_id: UUID) -> None:
        try:
            while conversation_id in self._woken and not self._ending:
                self._woken.discard(conversation_id)
                while claim := await run_db(self._claim)(conversation_id):
                    await self._one(claim)
        except ConversationGone:
            log.info("a conversation was deleted before its runs were answered")
        except DatabaseError as error:
            log.error("database unavailable, runs wait for the sweep: %s", type(error).__name__)
        finally:
            self._tasks.pop(conversation_id, None)

    def _claim(self, conversation_id: UUID) -> runs.Claim | None:
        """Claim the next run, unless the process began to end while this waited for a thread."""
        return None if self._ending else runs.run_claim(conversation_id)

    async def _one(self, claim: runs.Claim) -> None:
        run = claim.run
        progress = RunProgress(self._hub, run.conversation.secret_hash, run.pk, run.attempts)
        self._progress[run.conversation_id] = progress
        task = self._current[run.pk] = asyncio.create_task(self._attempt(claim, progress))
        heartbeat = asyncio.create_task(self._keep_alive(run, progress, task))
        try:
            await asyncio.wait([task])
        finally:
            heartbeat.cancel()
            del self._current[run.pk]
            del self._progress[run.conversation_id]
        if task.cancelled() and self._ending:
            await run_db(runs.run_release)(run)

    async def _attempt(self, claim: runs.Claim, progress: RunProgress) -> None:
        run = claim.run
        try:
            async with asyncio.timeout(settings.CHAT_RUN_TIMEOUT):
                progress.begin()
                await self._answer(claim, progress)
        except ConversationGone:
            log.info("run %s: its conversation was deleted", run.pk)
        except Exception as error:
            # The exception's text may hold what was said, so only its type and place are logged.
            log.error("run %s failed: %s at %s", run.pk, type(error).__name__, trace_of(error))
            try:
                await run_db(runs.run_fail)(run, "internal")
            except (DatabaseError, ConversationGone):
                log.error("run %s stays open until its lease ends", run.pk)
            self._hub.ring(progress.key)

    async def _keep_alive(self, run: Run, progress: RunProgress, task: asyncio.Task[None]) -> None:
        """Extend a run's lease and store its progress; cancel its task when the run is no longer this process's."""
        waited = 0.0
        while True:
            await asyncio.sleep(STORE_SECONDS)
            waited += STORE_SECONDS
            if not progress.changed and waited < BEAT_SECONDS:
                continue
            waited = 0.0
            try:
                changed, progress.changed = progress.changed, False
                is_ours = await run_db(runs.run_keep)(run, progress.snapshot() if changed else None)
            except Exception as error:
                progress.changed = True
                log.error("run %s: no heartbeat: %s", run.pk, type(error).__name__)
                continue
            if not is_ours:
                task.cancel()
                return

    async def _sweep(self) -> None:
        """Take up runs that wait for a process: at once when this one begins, then every few seconds."""
        while True:
            try:
                for conversation_id in await run_db(runs.runs_abandoned)():
                    self.wake(conversation_id)
            except Exception as error:
                # Whatever it is, the next look must come.
                log.error("sweep failed: %s at %s", type(error).__name__, trace_of(error))
            await asyncio.sleep(settings.CHAT_SWEEP)

"""One turn of the loop in the test's own process, for tests that need no server."""

import asyncio
from uuid import UUID

from agent.chat.hub import Hub
from agent.chat.progress import RunProgress
from agent.conversation import runs
from agent.models import Run
from agent.turn import loop


def answer_next(conversation_id: UUID) -> Run:
    """Claim and answer the next run of a conversation."""
    run = runs.run_claim(conversation_id)
    assert run is not None
    answer(run)
    return run


def answer(run: Run) -> None:
    """Answer a claimed run."""

    async def work() -> None:
        await loop.answer(run, RunProgress(Hub(), run.conversation.secret_hash, run.pk, run.attempts))

    asyncio.run(work())

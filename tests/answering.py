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
    claim = runs.run_claim(conversation_id)
    assert claim is not None
    answer(claim)
    return claim.run


def answer(claim: runs.Claim) -> None:
    """Answer a claimed run."""

    async def work() -> None:
        progress = RunProgress(Hub(), claim.conversation.secret_hash, claim.run.pk, claim.run.attempts)
        await loop.answer(claim, progress)

    asyncio.run(work())

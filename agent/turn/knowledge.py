"""Ask the knowledge base for a turn: whose collection, in which language and with which history is the server's choice."""

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final

from django.conf import settings

from agent.conversation import events
from agent.inference.base import Step
from agent.knowledge.answer import KnowledgeAnswer, Quote
from agent.knowledge.flow.ask import knowledge_ask
from agent.knowledge.flow.running import Limits
from agent.llm.knowledge import knowledge_model
from agent.models import Run
from agent.safety import emergency
from agent.turn.context import knowledge_role, personal_values
from agent.turn.steps import ActionResult

log = logging.getLogger(__name__)
_LONGEST_QUESTION: Final = 1_000
_LAST_MESSAGES: Final = 6


def knowledge_asked(run: Run, step: Step, address: str) -> ActionResult:
    """Look a health question up in the collection of the conversation's role.

    The result has `status`, `quotes`, `is_sure`, `suggestions`, `direct`, `topic`, `subtopic` and
    `path` (see KnowledgeAnswer). Refused (`code` is "not_here") where no collection answers: while staff has the conversation or is waited for, and during an emergency.
    """
    role = knowledge_role(run.conversation)
    if not role:
        return ActionResult(step, ok=False, code="not_here")
    patient = run.conversation.proven_patient
    question = str(step.arguments.get("question", ""))[:_LONGEST_QUESTION]
    # The offline model answers without a language model, also when it stands in for one that fails.
    opened = knowledge_model(purpose="") if step.arguments.get("by_model") is True else nullcontext()
    with opened as model:
        found = knowledge_ask(
            question,
            role=role,
            language=run.conversation.language,
            history=_history(run, patient.pk if patient else None),
            model=model,
            personal=personal_values(patient) if patient else {},
            limits=Limits(seconds=settings.OPENAI_TIMEOUT / 2),
        )
    log.info("knowledge base, %s: %s after %s", role, found.status, " ".join(found.path))
    return ActionResult(step, result=_result(found), tokens=(found.tokens_in, found.tokens_out))


def _history(run: Run, patient_id: int | None) -> list[dict[str, str]]:
    """Return the last messages that a model may read while this patient is identified, oldest first."""
    before = events.messages_until(run.conversation_id, run.input_seq - 1, most=_LAST_MESSAGES)
    return [
        {"role": str(message["role"]), "content": str(message["text"])}
        for message in events.messages_for(before, patient_id)
        if message["role"] in ("user", "assistant")
    ]


def _result(found: KnowledgeAnswer) -> Mapping[str, Any]:
    return {
        "status": str(found.status),
        "quotes": [_quoted(quote) for quote in found.quotes],
        "is_sure": found.is_sure,
        # A suggestion that would be taken for an emergency, when it is clicked, is none.
        "suggestions": [text for text in found.suggestions if not emergency.alarms(text)],
        "direct": found.direct,
        "topic": found.topic,
        "subtopic": found.subtopic,
        "path": list(found.path),
        "fallback": found.fallback,
    }


def _quoted(quote: Quote) -> dict[str, object]:
    return {
        "id": quote.entry_id,
        "version": quote.version,
        "question": quote.question,
        "text": quote.text,
        "source": quote.source,
    }

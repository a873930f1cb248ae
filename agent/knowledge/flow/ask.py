"""Answer a health question from a role's collection: the one entry to the flow."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from django.conf import settings

from agent.knowledge.answer import KnowledgeAnswer, Status
from agent.knowledge.flow.running import KnowledgeModel, Limits, Running
from agent.knowledge.flow.state import Shared
from agent.knowledge.services import unanswered_note


def knowledge_ask(
    question: str,
    *,
    role: str,
    language: str,
    history: Sequence[Mapping[str, str]] = (),
    model: KnowledgeModel | None = None,
    progress: Callable[[str], None] | None = None,
    personal: Mapping[str, Sequence[str]] | None = None,
    small_talk: Callable[[str], str] | None = None,
    note_unanswered: bool = True,
    limits: Limits | None = None,
) -> KnowledgeAnswer:
    """Return stored answers to a question, with their sources. Never raises for an overloaded model or a lost index.

    `role` is the collection, `language` that of the answers: both are the server's, and no text changes them. `history` are earlier
    messages ({role, content}), the oldest first. `personal` is what is known of the customer, by kind, as in
    `Turn.personal`: it is taken out of question and history, with all else that looks personal, before a model or an
    embeddings API gets them. `progress` gets a code of `running.PROGRESS` when a node begins. `small_talk` names the ready sentence
    that answers small talk, "" for any other text (`agent.llm.knowledge.small_talk`); it is asked before the model. A question that finds nothing is noted for
    staff unless `note_unanswered` is false (a preview). With `model=None` every node works by rules;
    `agent.llm.knowledge.knowledge_model` opens the one that the settings name.

    It blocks, with a model for as long as `limits` says: call it in a thread.
    """
    # Not above: LangGraph takes more than a second to load.
    from agent.knowledge.flow.graph import flow_graph

    given: dict[str, object] = {
        name: value
        for name, value in (
            ("limits", limits or Limits(seconds=min(Limits.seconds, settings.CHAT_RUN_TIMEOUT / 2))),
            ("progress", progress),
            ("personal", personal),
            ("small_talk", small_talk),
        )
        if value is not None
    }
    running = Running(language, model, **given)  # type: ignore[arg-type]
    begin: Shared = {
        "input": question,
        "role": role,
        "conversation_history": [dict(message) for message in history],
    }
    shared = cast(Shared, flow_graph().invoke(begin, context=running))
    answer = shared["answer_obj"]
    if answer["status"] is Status.NOTHING and note_unanswered:
        unanswered_note(question=question, role=role, language=language, personal=running.personal)
    return KnowledgeAnswer(
        status=answer["status"],
        quotes=tuple(answer.get("quotes", ())),
        is_sure=answer.get("is_sure", True),
        suggestions=tuple(shared.get("suggestion_questions", ())),
        direct=answer.get("direct", ""),
        topic=shared.get("demuc", ""),
        subtopic=shared.get("chu_de_con", ""),
        path=tuple(running.path),
        fallback=shared.get("fallback_reason", ""),
        tokens_in=running.usage.tokens_in,
        tokens_out=running.usage.tokens_out,
    )

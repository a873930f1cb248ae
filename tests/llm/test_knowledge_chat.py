"""A language model answers health questions with the facts of the knowledge base, whose flow asks the model for its steps."""

from collections.abc import Callable
from typing import Any

import pytest
from knowledge_model import FlowModel
from scripted_model import ScriptedModel, by, calls, chooses, fails, forever
from scripted_replies import Computed, Reply
from talking import Talk

from agent.knowledge.flow.state import FILTER
from agent.llm import knowledge
from agent.models import KnowledgeEntry, Run

pytestmark = pytest.mark.usefixtures("demo_committed")
QUESTION = "my grandma asks where people take leftover meds"
ASKED = calls(("ask_knowledge_base", {"question": "Where do I throw away old medicines in Israel?"}))
ANSWER = "[from_knowledge] {knowledge.answer|Where do I throw away old medicines in Israel?} [anything_else]"


def _script(model: ScriptedModel, *of_chat: Reply | Computed, at_nodes: Reply | None = None) -> FlowModel:
    """Let the chat get these replies in their order, and each node of the flow a usual one, or always this one."""
    knowledge._breaker.cache_clear()
    flow = FlowModel(model)
    left = list(of_chat)

    def reply(body: dict[str, Any]) -> Reply:
        if "tools" in body:
            answer = left.pop(0)
            return answer.function(body) if isinstance(answer, Computed) else answer
        return at_nodes or flow._reply(body)

    model.script(forever(by(reply)))
    return flow


def _live(question: str) -> KnowledgeEntry:
    return KnowledgeEntry.objects.select_related("live").get(role="customer", live__question=question)


def test_it_chooses_among_stored_answers_and_code_adds_card_and_suggestions(model: ScriptedModel) -> None:
    flow = _script(model, ASKED, chooses(ANSWER))
    flow.always(FILTER, "selected_ids: [c1, c2, c3]")
    talk = Talk()
    payload = talk.ask(QUESTION)
    entry = _live("Where do I throw away old medicines in Israel?").live
    assert entry is not None
    assert payload["text"].startswith(f"From our knowledge base:\n\n{entry.answer}\nSource: {entry.source}.")
    assert payload["text"].endswith("Is there anything else?")
    (card,) = payload["cards"]
    assert card["kind"] == "sources" and card["data"]["items"][0]["text"] == entry.source
    assert payload["suggestions"] and "Talk to a pharmacist" not in payload["suggestions"]
    run = Run.objects.get(pk=talk.run.pk)
    assert run.fallback == "" and flow.asked  # the flow's steps were the model's, too
    chat = [request for request in model.requests if "tools" in request.body]
    flows = [request for request in model.requests if "tools" not in request.body]
    assert len(chat) == 2 and len(flows) == len(flow.asked)
    assert run.tokens_in > 0


def test_when_the_flow_finds_the_model_overloaded_stored_answers_come_as_they_are(
    model: ScriptedModel,
) -> None:
    _script(model, ASKED, chooses(ANSWER), at_nodes=fails(503))
    payload = Talk().ask(QUESTION)
    assert "These are stored answers, word for word" in payload["text"]
    assert "collection bin" in payload["text"] and payload["cards"][0]["kind"] == "sources"


def test_nothing_found_is_said_and_a_pharmacist_offered(model: ScriptedModel) -> None:
    asked = calls(("ask_knowledge_base", {"question": "Why do people with diabetes get dry mouth?"}))
    flow = _script(model, asked, chooses("{knowledge.nothing|}"))
    flow.always(FILTER, "selected_ids: []")
    flow.always("compose_answer", "explanation: none")
    payload = Talk().ask("why do people with diabetes get dry mouth?")
    assert "no reviewed answer" in payload["text"] and payload.get("cards", []) == []


@pytest.mark.parametrize(
    ("begin", "is_offered"),
    [
        (lambda settings: None, True),
        (lambda settings: setattr(settings, "KNOWLEDGE_ROLE", ""), False),
    ],
)
def test_the_function_is_offered_where_a_collection_answers(
    model: ScriptedModel, settings: Any, begin: Callable[[Any], None], is_offered: bool
) -> None:
    begin(settings)
    model.script(chooses("[hello]"))
    Talk().say("hey there, good to see you")
    assert ("ask_knowledge_base" in model.last.tools_offered) == is_offered


def test_advice_is_refused_without_the_knowledge_base(model: ScriptedModel) -> None:
    model.script(chooses("[cannot_judge]"))
    payload = Talk().ask("should I stop taking my blood pressure pills?")
    assert "ask_knowledge_base" not in model.last.tools_offered
    assert "can't say what is right for you" in payload["text"]


def test_the_offline_model_answers_in_place_of_one_that_fails(model: ScriptedModel) -> None:
    model.script(forever(fails(503)))
    payload = Talk().ask("how do i get rid of old medecine")
    assert "collection bin" in payload["text"] and payload["cards"][0]["kind"] == "sources"

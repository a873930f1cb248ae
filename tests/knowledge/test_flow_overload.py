"""The knowledge flow while its model is overloaded: every node in turn, every kind of failure, over HTTP."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from knowledge_entries import published
from knowledge_model import SUBTOPIC, FlowModel, connect
from scripted_model import Reply, ScriptedModel, fails, says, stalls
from served_site import free_port

from agent.inference import openai
from agent.knowledge.answer import Status
from agent.knowledge.flow.ask import knowledge_ask
from agent.knowledge.flow.running import Limits
from agent.knowledge.flow.state import (
    CLASSIFY,
    COMPOSE,
    CREATE_QUERY,
    DECIDE,
    FALLBACK,
    FILTER,
    RAG,
    RETRIEVE,
)
from agent.knowledge.indexing import indexes_forget
from agent.llm import knowledge
from agent.models import UnansweredQuestion

pytestmark = pytest.mark.django_db
QUESTION = "where do i keep insulin"
NODES = (DECIDE, RAG, CREATE_QUERY, CLASSIFY, SUBTOPIC, FILTER, COMPOSE)
KINDS: dict[str, tuple[Reply, str, dict[str, int]]] = {
    # The reply, the reason, and the requests at each node: the specification's tries, or the client's second one.
    "429": (fails(429), "overloaded", {**dict.fromkeys(NODES, 2), CLASSIFY: 3, SUBTOPIC: 3}),
    "503": (fails(503), "overloaded", {**dict.fromkeys(NODES, 2), CLASSIFY: 3, SUBTOPIC: 3}),
    "malformed": (
        says("demuc: [never\n closed"), "malformed", {**dict.fromkeys(NODES, 2), CLASSIFY: 3, SUBTOPIC: 3},
    ),
    "no field of the schema": (says("hello: there"), "malformed", {**dict.fromkeys(NODES, 2), CLASSIFY: 3, SUBTOPIC: 3}),
    "401": (fails(401), "key", dict.fromkeys(NODES, 1)),
}  # fmt: skip


@pytest.fixture
def model(
    scripted_model: ScriptedModel, settings: Any, monkeypatch: pytest.MonkeyPatch, db: None
) -> Iterator[FlowModel]:
    connect(settings, scripted_model)
    monkeypatch.setattr(openai, "_RETRY_WAIT", (0.001, 0.002))
    knowledge._breaker.cache_clear()
    published("A1", "Where do I keep insulin?", chu_de_con="Cold", answer="In the refrigerator.")
    published("A2", "Where do I keep tablets?", chu_de_con="Dry", answer="In a cupboard.")
    published("A3", "Can I fly with insulin?", demuc="Travel", answer="Yes, in the cabin bag.")
    published("A4", "How long does open insulin last?", chu_de_con="Cold", answer="Four weeks.")
    published("A5", "Where do I keep eye drops?", chu_de_con="Cold", answer="See the box.")
    yield FlowModel(scripted_model)


def failing_at(model: FlowModel, node: str, reply: Reply, **named: Any) -> Any:
    """Ask while every request of a node fails."""
    fresh = FlowModel(model.server)
    model.server.reset()
    knowledge._breaker.cache_clear()
    if node == CREATE_QUERY:
        fresh.at(RAG, "next_action: create_retrieval_query")
    fresh.always(node, reply)
    return fresh, fresh.ask(QUESTION, **named)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_stored_answer_comes_when_a_node_is_overloaded(model: FlowModel, kind: str) -> None:
    reply, reason, requests = KINDS[kind]
    for node in NODES:
        asked, answer = failing_at(model, node, reply)
        assert (answer.status, answer.fallback) == (Status.STORED, reason), node
        assert [quote.text for quote in answer.quotes] == ["In the refrigerator."], node
        assert answer.quotes[0].source == "A leaflet" and answer.suggestions, node
        place = CLASSIFY if node == SUBTOPIC else node
        assert answer.path[-2:] == (place, FALLBACK), node
        assert asked.asked.count(node) == requests[node], node
        # FallbackNode asks no model: nothing came after the last failure.
        assert asked.asked[-1] == node, node


def test_a_server_that_is_silent_is_not_waited_for(model: FlowModel) -> None:
    limits = Limits(call_seconds=0.3, topic_wait=0.01)
    for node in NODES:
        began = time.monotonic()
        _, answer = failing_at(model, node, stalls(30, headers_first=False), limits=limits)
        assert (answer.status, answer.fallback) == (Status.STORED, "timeout"), node
        assert answer.path[-1] == FALLBACK, node
        assert time.monotonic() - began < 5, node


def test_what_fails_once_is_asked_again_and_the_flow_goes_on(model: FlowModel) -> None:
    for node in NODES:
        for reply in (fails(503), says("never: [closed")):
            fresh = FlowModel(model.server)
            model.server.reset()
            knowledge._breaker.cache_clear()
            if node == CREATE_QUERY:
                fresh.at(RAG, "next_action: create_retrieval_query", "next_action: compose_answer")
            if node == SUBTOPIC:
                fresh.at(RAG, "next_action: retrieve_kb")
            fresh.at(node, *([reply] if node != RAG else [reply, "next_action: retrieve_kb"]))
            answer = fresh.ask(QUESTION)
            assert (answer.status, answer.fallback) == (Status.ANSWERED, ""), node
            # A topic that was found is not asked for again because its subtopic failed.
            assert fresh.asked.count(CLASSIFY) == (2 if node == CLASSIFY else 1), node


def test_the_whole_flow_has_a_time_limit(model: FlowModel) -> None:
    slow = stalls(0.4, of=says("next_action: retrieve_kb\nreason: slow"), headers_first=False)
    limits = Limits(seconds=0.9, call_seconds=5, topic_wait=60)
    began = time.monotonic()
    asked, answer = failing_at(model, RAG, slow, limits=limits)
    assert answer.status in (Status.STORED, Status.ANSWERED)
    # Topics: no wait of a minute is begun that the run has not.
    asked, answer = failing_at(model, CLASSIFY, fails(503), limits=limits)
    assert (answer.status, answer.fallback, asked.asked.count(CLASSIFY)) == (Status.STORED, "overloaded", 1)
    # A run whose time is over asks nothing.
    asked, answer = failing_at(model, DECIDE, fails(503), limits=Limits(seconds=0))
    assert (answer.status, answer.fallback, asked.asked) == (Status.STORED, "time", [])
    asked.server.forget()
    assert time.monotonic() - began < 10


def test_a_question_that_nothing_covers_ends_in_nothing_though_the_model_is_down(model: FlowModel) -> None:
    model.always(DECIDE, fails(503))
    answer = model.ask("who won the football match")
    assert (answer.status, answer.quotes, answer.fallback) == (Status.NOTHING, (), "overloaded")
    assert UnansweredQuestion.objects.get().question == "who won the football match"


def test_what_a_made_query_found_is_what_the_fallback_shows(model: FlowModel) -> None:
    model.at(RAG, "next_action: create_retrieval_query")
    model.at(CREATE_QUERY, "retrieval_query: Can I fly with insulin?\nconfidence: high\nreason: flights")
    model.always(CLASSIFY, "demuc: Travel\nconfidence: high")
    model.always(COMPOSE, fails(503))
    answer = model.ask("and on a plane?")
    assert (answer.status, [quote.entry_id for quote in answer.quotes]) == (Status.STORED, ["A3"])
    # A query that finds nothing does not keep the fallback from the customer's own words.
    knowledge._breaker.cache_clear()
    model.at(RAG, "next_action: create_retrieval_query")
    model.at(CREATE_QUERY, "retrieval_query: zzz qqq\nconfidence: low\nreason: none")
    model.always(RAG, fails(503))
    answer = model.ask(QUESTION)
    assert [quote.entry_id for quote in answer.quotes] == ["A1"]


def test_a_follow_up_question_is_not_answered_alone_while_the_model_is_down(model: FlowModel) -> None:
    published("A6", "Where do I keep insulin on holiday?", answer="In a cool bag at the beach.")
    published("A7", "May children take aspirin, and for how long?", answer="No.")
    history = [{"role": "user", "content": "Where do I keep insulin?"}]
    model.always(DECIDE, fails(401))
    answer = model.ask("and on the beach?", history=history)
    assert (answer.status, [quote.entry_id for quote in answer.quotes]) == (Status.STORED, ["A6"])
    before = [
        {"role": "user", "content": "Does an open bottle of cough syrup spoil after the date on its box?"}
    ]
    assert model.ask("and for children?", history=before).status is Status.NOTHING
    assert [quote.entry_id for quote in model.ask("may children take aspirin?").quotes] == ["A7"]


@pytest.mark.parametrize("has_model", [True, False])
def test_an_index_that_cannot_be_reached_ends_in_unavailable(
    model: FlowModel, settings: Any, has_model: bool
) -> None:
    settings.QDRANT_URL = f"http://127.0.0.1:{free_port()}"
    indexes_forget()
    if has_model:
        answer = model.ask(QUESTION)
        assert answer.path[-2:] == (RETRIEVE, FALLBACK)
    else:
        answer = knowledge_ask(QUESTION, role="customer", language="en")
        assert answer.path[-2:] == (CLASSIFY, FALLBACK)
    assert (answer.status, answer.fallback, answer.quotes) == (Status.UNAVAILABLE, "index", ())
    # That nothing could be looked up says nothing of the collection.
    assert not UnansweredQuestion.objects.exists()
    settings.QDRANT_URL = ""
    indexes_forget()


def test_an_index_that_is_away_while_the_model_is_down_never_raises(model: FlowModel, settings: Any) -> None:
    settings.QDRANT_URL = f"http://127.0.0.1:{free_port()}"
    indexes_forget()
    model.always(DECIDE, fails(503))
    answer = model.ask(QUESTION)
    assert (answer.status, answer.fallback) == (Status.UNAVAILABLE, "overloaded")
    settings.QDRANT_URL = ""
    indexes_forget()

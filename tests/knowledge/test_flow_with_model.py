"""The whole flow with a language model: the scripted server over HTTP, each node asking it."""

from collections.abc import Iterator
from typing import Any

import pytest
from knowledge_entries import entry, published
from knowledge_model import QUICK, SUBTOPIC, FlowModel, connect
from scripted_model import ScriptedModel, fails, says

from agent.conversation import spending
from agent.inference import openai
from agent.knowledge.answer import Status
from agent.knowledge.flow.running import Limits
from agent.knowledge.flow.state import (
    CLASSIFY,
    COMPOSE,
    CREATE_QUERY,
    DECIDE,
    FALLBACK,
    FILTER,
    INGEST,
    RAG,
    RETRIEVE,
)
from agent.llm import knowledge
from agent.llm.knowledge import knowledge_model
from agent.models import ModelUse, UnansweredQuestion

pytestmark = pytest.mark.django_db
RETRIEVAL = (CLASSIFY, RETRIEVE, FILTER)
QUESTION = "where do i keep insulin"


@pytest.fixture
def model(
    scripted_model: ScriptedModel, settings: Any, monkeypatch: pytest.MonkeyPatch, db: None
) -> Iterator[FlowModel]:
    connect(settings, scripted_model)
    monkeypatch.setattr(openai, "_RETRY_WAIT", (0.001, 0.002))
    knowledge._breaker.cache_clear()
    spending.day.forget()
    published("A1", "Where do I keep insulin?", chu_de_con="Cold", answer="In the refrigerator.")
    published("A2", "Where do I keep tablets?", chu_de_con="Dry", answer="In a cupboard.")
    published("A3", "Can I fly with insulin?", demuc="Travel", answer="Yes, in the cabin bag.")
    published("A4", "How long does open insulin last?", chu_de_con="Cold", answer="Four weeks.")
    published("A5", "Where do I keep eye drops?", chu_de_con="Cold", answer="See the box.")
    published("X1", "Where do I keep insulin?", role="doctor", answer="For doctors only.")
    entry("D1", "Where do I keep insulin at night?", answer="A draft.")
    yield FlowModel(scripted_model)


def test_each_node_asks_and_the_answer_is_what_is_stored(model: FlowModel) -> None:
    answer = model.ask(QUESTION)
    assert answer.status is Status.ANSWERED and answer.fallback == ""
    assert [(quote.text, quote.source) for quote in answer.quotes] == [("In the refrigerator.", "A leaflet")]
    assert answer.path == (INGEST, DECIDE, RAG, *RETRIEVAL, RAG, COMPOSE)
    assert model.asked == [DECIDE, RAG, CLASSIFY, SUBTOPIC, FILTER, RAG, COMPOSE]
    assert (answer.topic, answer.subtopic) == ("Storage", "")


def test_tokens_of_all_requests_are_summed_and_counted_in_the_day(model: FlowModel) -> None:
    model.at(DECIDE, says("type: retrieve_kb", usage=(100, 10)))
    model.at(COMPOSE, says("explanation: '[q1]'", usage=(1_000, 30)))
    for node in (RAG, CLASSIFY, SUBTOPIC, FILTER):
        model.always(node, says(_usual(node), usage=(10, 1)))
    answer = model.ask(QUESTION)
    requests = len(model.asked)
    assert (answer.tokens_in, answer.tokens_out) == (1_100 + 10 * (requests - 2), 40 + (requests - 2))
    row = ModelUse.objects.get()
    assert (row.purpose, row.tokens_in, row.tokens_out) == ("knowledge", answer.tokens_in, answer.tokens_out)


def _usual(node: str) -> str:
    from knowledge_model import usual

    return usual(node, "1. Storage" if node == CLASSIFY else "")


def test_tokens_of_failed_tries_count_too(model: FlowModel) -> None:
    model.at(
        DECIDE,
        says("no: [yaml", usage=(100, 10)),
        says("type: direct_response\nreply: hello", usage=(100, 10)),
    )
    answer = model.ask("hi")
    assert (answer.status, answer.tokens_in, answer.tokens_out) == (Status.DIRECT, 200, 20)


def test_small_talk_is_answered_with_a_ready_sentence_only(model: FlowModel) -> None:
    model.at(DECIDE, "type: direct_response\nreply: goodbye\nanswer: Take two tablets tonight.")
    answer = model.ask("thanks, bye")
    assert (answer.status, answer.direct, answer.quotes) == (Status.DIRECT, "goodbye", ())
    assert answer.path == (INGEST, DECIDE) and model.asked == [DECIDE]


@pytest.mark.parametrize("reply", ["offer_price", "Take two tablets.", "''"])
def test_a_direct_reply_of_any_other_words_is_refused(model: FlowModel, reply: str) -> None:
    model.always(DECIDE, f"type: direct_response\nreply: {reply}")
    answer = model.ask(QUESTION)
    assert (answer.status, answer.fallback, answer.direct) == (Status.STORED, "malformed", "")


def test_a_new_query_is_searched_with_its_topic_found_anew_and_no_subtopic(model: FlowModel) -> None:
    model.at(SUBTOPIC, "chu_de_con: Dry\nconfidence: high")
    model.at(RAG, "next_action: retrieve_kb", "next_action: create_retrieval_query\nreason: another topic")
    model.at(
        CREATE_QUERY,
        "retrieval_query: Can I fly with insulin?\nconfidence: high\nreason: it is about flights",
    )
    model.at(CLASSIFY, "demuc: storage\nconfidence: high", "demuc: Travel\nconfidence: high")
    answer = model.ask("and on a plane?", history=[{"role": "user", "content": "Where do I keep insulin?"}])
    assert answer.path == (INGEST, DECIDE, RAG, *RETRIEVAL, RAG, CREATE_QUERY, *RETRIEVAL, RAG, COMPOSE)
    assert model.asked.count(CLASSIFY) == 2 and model.asked.count(SUBTOPIC) == 1
    assert [quote.text for quote in answer.quotes] == ["Yes, in the cabin bag."]
    assert (answer.topic, answer.subtopic) == ("Travel", "")
    # The node gets what was found before, and why another query is wanted.
    (sent,) = model.prompts(CREATE_QUERY)
    assert "Storage / Dry" in sent and "another topic" in sent and "They ask about insulin." in sent
    # After two retrievals there is nothing left to decide.
    assert model.asked.count(RAG) == 2


def test_a_query_may_be_made_before_the_first_retrieval(model: FlowModel) -> None:
    model.at(RAG, "next_action: create_retrieval_query\nreason: too vague")
    answer = model.ask("and that one?")
    assert answer.path == (INGEST, DECIDE, RAG, CREATE_QUERY, *RETRIEVAL, RAG, COMPOSE)
    assert [quote.entry_id for quote in answer.quotes] == ["A1"] and SUBTOPIC not in model.asked


def test_there_are_two_retrievals_at_most(model: FlowModel) -> None:
    model.always(RAG, "next_action: create_retrieval_query")
    answer = model.ask(QUESTION)
    assert answer.path.count(RETRIEVE) == 2 and answer.status is Status.ANSWERED
    assert model.asked.count(RAG) == 2


def test_the_agent_cannot_compose_before_it_has_searched_nor_search_the_same_twice(model: FlowModel) -> None:
    model.at(RAG, "next_action: compose_answer", "next_action: retrieve_kb")
    assert model.ask(QUESTION).path == (INGEST, DECIDE, RAG, *RETRIEVAL, RAG, COMPOSE)


def test_history_is_six_messages(model: FlowModel) -> None:
    history = [{"role": "user", "content": f"message {number}"} for number in range(9)]
    model.ask(QUESTION, history=history)
    (sent,) = model.prompts(DECIDE)
    assert [f"message {number}" in sent for number in range(9)] == [False] * 3 + [True] * 6


def test_three_candidates_are_kept_without_asking(model: FlowModel) -> None:
    published("T1", "May I fly with needles?", demuc="Travel")
    published("T2", "Which papers do I need to fly with insulin?", demuc="Travel")
    model.always(CLASSIFY, "demuc: Travel\nconfidence: high")
    model.ask("Can I fly with insulin?")
    assert FILTER not in model.asked
    published("T3", "Can I fly with a pump?", demuc="Travel")
    model.ask("Can I fly with insulin?")
    assert FILTER in model.asked


def test_ten_are_selected_at_most_and_only_what_was_retrieved(model: FlowModel) -> None:
    for number in range(12):
        published(f"N{number}", f"How do I store insulin number {number}?", answer=f"Answer {number}.")
    ids = ", ".join(["A1", "X1", "c99", *(f"c{number}" for number in range(1, 15))])
    model.at(FILTER, f"selected_ids: [{ids}]")
    model.ask("How do I store insulin?")
    (sent,) = model.prompts(COMPOSE)
    assert "[q10]" in sent and "[q11]" not in sent
    assert "For doctors only." not in sent


def test_ids_that_were_not_retrieved_are_no_selection(model: FlowModel) -> None:
    model.always(FILTER, "selected_ids: [X1, D1, A1]")
    answer = model.ask(QUESTION)
    assert (answer.status, answer.fallback, model.asked.count(FILTER)) == (Status.STORED, "malformed", 2)


def test_a_topic_that_is_none_does_not_narrow_the_search(model: FlowModel) -> None:
    model.always(CLASSIFY, "demuc: none\nconfidence: high")
    answer = model.ask(QUESTION)
    assert SUBTOPIC not in model.asked and [quote.entry_id for quote in answer.quotes] == ["A1"]
    assert answer.topic == "Storage"  # that of the answer


def test_a_wrong_topic_does_not_hide_the_answer(model: FlowModel) -> None:
    model.always(CLASSIFY, "demuc: Travel\nconfidence: high")
    assert [quote.entry_id for quote in model.ask("Where do I keep eye drops?").quotes] == ["A5"]


def test_only_markers_of_a_composed_answer_are_shown(model: FlowModel) -> None:
    model.at(
        COMPOSE,
        "explanation: >\n  Take two tablets. [q1] Double it tonight! [q9] [q2.7] [f1] [x](http://a.example)\n"
        "suggestion_questions: ['Can I fly with insulin?', 'Where do I keep insulin at night?', 'Buy now?', s1]",
    )
    answer = model.ask(QUESTION)
    assert [quote.text for quote in answer.quotes] == ["In the refrigerator."]
    # A draft's question, and one that is nobody's, are dropped; others of the topic take their places.
    assert answer.suggestions[0] == "Can I fly with insulin?" and len(answer.suggestions) == 3
    assert not {"Where do I keep insulin at night?", "Buy now?"} & set(answer.suggestions)


@pytest.mark.parametrize(
    "explanation",
    ["[q2, q1.1]", "'[q2] [q1.1]'", '"Both: [q2,q1.1]"', "|\n  [q2]\n  and\n  [q1]", "[q2, q7, buy, q1]"],
)
def test_markers_come_as_a_list_or_in_a_text(model: FlowModel, explanation: str) -> None:
    model.at(FILTER, "selected_ids: c1, c2")
    model.at(COMPOSE, f"explanation: {explanation}")
    answer = model.ask(QUESTION)
    assert answer.quotes[1].entry_id == "A1" and len(answer.quotes) == 2


@pytest.mark.parametrize("explanation", ["none", "[]", "'[]'", "None."])
def test_a_model_that_finds_nothing_fitting_says_so(model: FlowModel, explanation: str) -> None:
    model.at(COMPOSE, f"explanation: {explanation}")
    answer = model.ask(QUESTION)
    assert (answer.status, answer.quotes, answer.suggestions) == (Status.NOTHING, (), ())
    assert UnansweredQuestion.objects.get().question == QUESTION


def test_a_filter_that_keeps_nothing_ends_without_composing(model: FlowModel) -> None:
    model.at(FILTER, "selected_ids: none")
    answer = model.ask(QUESTION)
    assert answer.status is Status.NOTHING and COMPOSE not in model.asked


def test_what_is_known_of_the_customer_is_in_no_request(model: FlowModel) -> None:
    personal = {"PATIENT": ["Dana Levi"], "PHONE": ["054-7654321"], "ID": ["314159265"]}
    history = [{"role": "user", "content": "I am Dana Levi, born 1 May 1980, id 314159265"}]
    model.at(RAG, "next_action: create_retrieval_query")
    model.ask(
        "I'm Dana Levi, 054-7654321, where do I keep insulin? dana@example.com",
        history=history,
        personal=personal,
    )
    sent = "\n".join(request.text for request in model.server.requests)
    for value in ("Dana", "Levi", "7654321", "314159265", "dana@example.com", "1980"):
        assert value not in sent
    assert "where do I keep insulin" in sent


def test_without_tokens_left_the_flow_goes_by_rules(model: FlowModel, settings: Any) -> None:
    settings.OPENAI_TOKENS_PER_DAY = 1
    ModelUse.objects.create(purpose="chat", tokens_in=5, tokens_out=5)
    spending.day.forget()
    with knowledge_model() as opened:
        assert opened is None
    spending.day.forget()


def test_the_fast_model_decides_and_the_other_composes(model: FlowModel, settings: Any) -> None:
    settings.OPENAI_FAST_MODEL = "scripted-fast"
    model.ask(QUESTION)
    used = [request.body["model"] for request in model.server.requests]
    assert used == ["scripted-fast"] * 6 + ["scripted-1"]


def test_requests_are_bounded(model: FlowModel) -> None:
    answer = model.ask(QUESTION, limits=Limits(calls=3))
    assert (answer.status, answer.fallback, len(model.asked)) == (Status.STORED, "calls", 3)
    assert answer.path[-1] == FALLBACK
    # However the replies go wrong, the usual limit holds.
    model.asked.clear()
    for node in (CLASSIFY, SUBTOPIC):
        model.always(node, "neither: this")
    model.ask(QUESTION)
    assert len(model.asked) <= QUICK.calls


def test_a_server_that_stays_down_is_left_alone(model: FlowModel) -> None:
    model.always(DECIDE, fails(503))
    for _ in range(5):
        assert model.ask(QUESTION).fallback == "overloaded"
    requests = len(model.asked)
    answer = model.ask(QUESTION)
    assert (answer.status, answer.fallback, len(model.asked)) == (Status.STORED, "breaker_open", requests)

"""The flow with no model: every node works by rules."""

from typing import Any

import pytest
from knowledge_entries import entry, published

from agent.knowledge.answer import KnowledgeAnswer, Quote, Status
from agent.knowledge.flow.ask import knowledge_ask
from agent.knowledge.flow.state import (
    CLASSIFY,
    COMPOSE,
    CREATE_QUERY,
    DECIDE,
    FILTER,
    INGEST,
    RAG,
    RETRIEVE,
)
from agent.models import UnansweredQuestion

pytestmark = pytest.mark.django_db
RETRIEVAL = (CLASSIFY, RETRIEVE, FILTER)


@pytest.fixture
def collection() -> None:
    published("A1", "Where do I keep insulin?", chu_de_con="Cold", answer="In the refrigerator.")
    published("A2", "Where do I keep tablets?", chu_de_con="Dry")
    published("A3", "Can I fly with insulin?", demuc="Travel", answer="Yes, in the cabin bag.")
    published("A4", "How long does open insulin last?", chu_de_con="Cold")
    published("A5", "May tablets be cut?", demuc="Use")
    published("A3", "אפשר לטוס עם אינסולין?", demuc="Travel", language="he", answer="כן, בתיק היד.")
    published("X1", "Where do I keep insulin?", role="doctor", answer="For doctors only.")
    entry("D1", "Where do I keep insulin at night?", answer="A draft.")


def ask(question: str, **named: Any) -> KnowledgeAnswer:
    return knowledge_ask(question, **{"role": "customer", "language": "en", **named})


def test_a_question_is_answered_by_the_best_stored_answer_with_its_source(collection: None) -> None:
    answer = ask("where do i keep my insulin")
    assert answer.status is Status.ANSWERED
    assert answer.quotes == (Quote("A1", 1, "Where do I keep insulin?", "In the refrigerator.", "A leaflet"),)
    assert answer.path == (INGEST, DECIDE, RAG, *RETRIEVAL, RAG, COMPOSE)
    assert (answer.topic, answer.fallback, answer.tokens_in, answer.tokens_out) == ("Storage", "", 0, 0)


def test_suggestions_are_other_published_questions_of_the_topic(collection: None) -> None:
    answer = ask("where do i keep my insulin")
    assert sorted(answer.suggestions) == ["How long does open insulin last?", "Where do I keep tablets?"]


def test_what_nothing_covers_is_not_answered_and_noted(collection: None) -> None:
    answer = ask("who won the football match, Dana Levi?", personal={"PATIENT": ["Dana Levi"]})
    assert (answer.status, answer.quotes, answer.suggestions) == (Status.NOTHING, (), ())
    row = UnansweredQuestion.objects.get()
    assert (row.role, row.language, row.times) == ("customer", "en", 1)
    assert "football" in row.question and "Dana" not in row.question and "Levi" not in row.question


def test_a_preview_notes_nothing(collection: None) -> None:
    assert ask("who won the football match?", note_unanswered=False).status is Status.NOTHING
    assert not UnansweredQuestion.objects.exists()


def test_small_talk_gets_a_ready_sentence_and_no_search(collection: None) -> None:
    answer = ask("Hello!", small_talk={"Hello!": "hello"}.get)
    assert (answer.status, answer.direct, answer.path) == (Status.DIRECT, "hello", (INGEST, DECIDE))


def test_a_follow_up_question_is_searched_together_with_the_one_before(collection: None) -> None:
    history = [
        {"role": "user", "content": "Where do I keep insulin?"},
        {"role": "assistant", "content": "In the refrigerator."},
    ]
    published("A6", "Where do I keep insulin on holiday?", answer="In a cool bag at the beach.")
    answer = ask("and on the beach?", history=history)
    assert answer.path == (INGEST, DECIDE, RAG, CREATE_QUERY, *RETRIEVAL, RAG, COMPOSE)
    assert [quote.entry_id for quote in answer.quotes] == ["A6"]
    # The same without a word that refers back, once nothing is found for it alone.
    answer = ask("beach, sunshine?", history=history)
    assert answer.path == (INGEST, DECIDE, RAG, *RETRIEVAL, RAG, CREATE_QUERY, *RETRIEVAL, RAG, COMPOSE)


def test_an_answer_to_another_question_about_the_same_word_is_not_given_to_a_follow_up(
    collection: None,
) -> None:
    published("A7", "May children take aspirin, and for how long?", demuc="Use")
    assert [quote.entry_id for quote in ask("may children take aspirin?").quotes] == ["A7"]
    answer = ask("and for children?", history=[{"role": "user", "content": "Where do I keep insulin?"}])
    assert answer.status is Status.NOTHING


def test_the_question_before_does_not_answer_another_one(collection: None) -> None:
    history = [{"role": "user", "content": "Where do I keep insulin?"}]
    answer = ask("who won the football match?", history=history)
    assert CREATE_QUERY in answer.path and answer.status is Status.NOTHING and answer.quotes == ()


def test_hebrew_is_answered_in_hebrew(collection: None) -> None:
    answer = ask("אפשר לטוס עם האינסולין שלי?", language="he")
    assert [quote.text for quote in answer.quotes] == ["כן, בתיק היד."]
    assert ask("אפשר לטוס עם האינסולין שלי?").status is Status.NOTHING


def test_two_roles_with_the_same_words_read_their_own_collections(collection: None) -> None:
    assert [quote.text for quote in ask("Where do I keep insulin?").quotes] == ["In the refrigerator."]
    theirs = ask("Where do I keep insulin?", role="doctor")
    assert [quote.text for quote in theirs.quotes] == ["For doctors only."] and theirs.suggestions == ()
    assert ask("Where do I keep insulin?", role="nobody").status is Status.NOTHING


def test_a_draft_is_never_served(collection: None) -> None:
    answer = ask("Where do I keep insulin at night?")
    assert "D1" not in [quote.entry_id for quote in answer.quotes]
    assert "Where do I keep insulin at night?" not in answer.suggestions


def test_progress_gets_a_code_for_each_node(collection: None) -> None:
    codes: list[str] = []
    ask("where do I keep insulin", progress=codes.append)
    assert codes == [
        *("ingest", "decide", "orchestrate", "classify", "retrieve", "filter", "orchestrate", "compose"),
    ]

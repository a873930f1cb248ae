"""Embeddings come from a real OpenAI-compatible server, are stored once, and are never needed."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.core.management import call_command
from knowledge_entries import published

from agent.knowledge import embeddings, indexing
from agent.knowledge.coverage import coverage_find, follow_up_find
from agent.knowledge.general import is_answered_in_general
from agent.knowledge.retrieval import retrieve_from_qdrant
from agent.models import KnowledgeVersion

pytestmark = pytest.mark.django_db
MEANINGS = (("insulin", "hormone", "pen"), ("parking", "car", "garage"), ("fever", "temperature", "hot"))


class Server(ThreadingHTTPServer):
    """A server whose vectors say which of three meanings a text has."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.fault = ""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        data = [
            {
                "object": "embedding",
                "index": place,
                "embedding": [0.1 + sum(word in text.lower() for word in words) for words in MEANINGS],
            }
            for place, text in enumerate(body["input"])
        ]
        if self.server.fault == "short":
            data = data[:-1]
        answer: Any = {"object": "list", "data": data, "model": body["model"], "usage": {}}
        if self.server.fault == "nonsense":
            answer = ["nonsense"]
        text = json.dumps(answer).encode()
        self.send_response(500 if self.server.fault == "down" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(settings: Any) -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{running.server_port}/v1"
        settings.OPENAI_EMBEDDING_MODEL = "meanings-1"
        yield running
        running.shutdown()
        thread.join()
    from agent.inference.embeddings import _client

    _client("", settings.OPENAI_BASE_URL).close()
    _client.cache_clear()


@pytest.fixture
def collection() -> None:
    published("A1", "Where do I keep insulin?")
    published("A2", "Is there parking for a car?")
    published("A3", "What is a fever?")


def found(text: str) -> list[str]:
    return [candidate["id"] for candidate in retrieve_from_qdrant(text, "", "", "customer", language="en")]


def test_a_question_without_a_common_word_is_found_by_its_meaning(server: Server, collection: None) -> None:
    assert found("garage") == []
    call_command("index_knowledge")
    assert found("garage")[0] == "A2" and found("hormone pen")[0] == "A1"
    assert found("what is a fever")[0] == "A3"


def test_embeddings_of_entries_are_fetched_once(server: Server, collection: None) -> None:
    call_command("index_knowledge")
    assert [len(request["input"]) for request in server.requests] == [3]
    call_command("index_knowledge")
    indexing.indexes_forget()
    found("insulin")
    assert [len(request["input"]) for request in server.requests] == [3]
    published("A4", "Where is the garage?")
    call_command("index_knowledge")
    assert [len(request["input"]) for request in server.requests] == [3, 1]
    assert KnowledgeVersion.objects.filter(embedding_model="meanings-1").count() == 4


def test_what_looks_personal_is_not_sent(server: Server, collection: None) -> None:
    call_command("index_knowledge")
    found("I am dana@example.com, 052-1234567, where is the garage?")
    sent = server.requests[-1]["input"][0]
    assert "garage" in sent and "dana" not in sent and "1234567" not in sent


def test_a_message_that_may_be_no_question_at_all_is_not_sent(server: Server, collection: None) -> None:
    call_command("index_knowledge")
    before = len(server.requests)
    assert coverage_find("where do I keep the insulin?", "customer", language="en")
    coverage_find("I am Dana Levi, do you have insulin?", "customer", language="en")
    follow_up_find("Dana Levi", "where do I keep insulin? Dana Levi", "customer", language="en")
    assert is_answered_in_general("Where do I keep insulin?", "customer", language="en")
    assert len(server.requests) == before


@pytest.mark.parametrize("fault", ["down", "short", "nonsense"])
def test_without_the_server_words_decide_alone(server: Server, collection: None, fault: str) -> None:
    call_command("index_knowledge")
    server.fault = fault
    assert found("insulin") == ["A1"] and found("garage") == []
    published("A4", "Where is the garage?")
    call_command("index_knowledge")
    assert found("garage") == ["A4"]
    assert KnowledgeVersion.objects.filter(embedding_model="").count() == 1


def test_a_server_that_keeps_failing_is_left_alone(server: Server, collection: None) -> None:
    call_command("index_knowledge")
    server.fault = "down"
    for _ in range(6):
        assert found("insulin") == ["A1"]
    assert len(server.requests) == 1 + 3


def test_without_a_model_nothing_is_sent(server: Server, collection: None, settings: Any) -> None:
    settings.OPENAI_EMBEDDING_MODEL = ""
    call_command("index_knowledge")
    assert found("insulin") == ["A1"]
    assert server.requests == [] and embeddings.embedding_model() == ""

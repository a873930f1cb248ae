"""A customer played by a model, against a small server that speaks the API it asks."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evaluation.customer import Spoilt
from evaluation.run import evaluation_run
from evaluation.scenario import scenario_get
from evaluation.simulated import facts_check

pytestmark = pytest.mark.proof


class Scripted:
    """An OpenAI-compatible server that says these lines, one per request, and remembers the requests."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.asked = list(lines), list[dict[str, Any]]()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        text = self.lines.pop(0) if self.lines else "[done]"
        message = {"role": "assistant", "content": text}
        return {
            "id": "x", "object": "chat.completion", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }  # fmt: skip


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """The server, at the address that the environment names."""
    scripted = Scripted([])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            body = json.dumps(scripted.answer(json.loads(self.rfile.read(size)))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    yield scripted
    server.shutdown()
    server.server_close()


@pytest.fixture
def play(template: Path) -> Callable[[str], dict[str, Any]]:
    """One trial with the model as the customer and the offline model as the assistant."""

    def played(name: str) -> dict[str, Any]:
        chosen = [scenario_get(name)]
        [row] = evaluation_run(
            chosen, model="offline", trials=1, customer="model", workers=1, template=template
        )
        return row

    return played


def test_a_language_model_plays_the_customer(model: Scripted, play: Any) -> None:
    model.lines = [
        "Hello, I would like to refill my ibuprofen please",
        "leah.barak@example.com",
        "[code]",
        "Florentin",
        "[yes]",
        "[done]",
    ]
    row = play("en-c-a-refill-confirmed-on-the-card")
    assert row["passed"], row["problems"] + row["vetoes"]
    assert row["turns"] == 5 and row["spoilt"] == 0
    rules = model.asked[0]["messages"][0]["content"]
    assert "leah.barak@example.com" in rules and "English" in rules
    # The code goes from the inbox into the chat; the model that plays the customer never sees it.
    told = json.dumps(model.asked)
    assert "[code]" in told and not any(
        text.isdigit() and len(text) == 6 for text in told.replace('"', " ").split()
    )
    assert not model.lines


def test_a_trial_with_invented_facts_is_repeated_at_most_twice(model: Scripted, play: Any) -> None:
    model.lines = ["Do you have warfarin in Jaffa?"] * 3
    row = play("en-p-advil-in-jaffa")
    assert not row["passed"] and row["spoilt"] == 3
    assert row["problems"] == ["spoilt: a medicine that nobody told the customer"]
    assert len(model.asked) == 3


def test_a_spoilt_trial_is_repeated_and_the_next_one_counts(model: Scripted, play: Any) -> None:
    model.lines = ["I am 87 years old", "Do you have Advil in Jaffa?", "[done]"]
    row = play("en-p-advil-in-jaffa")
    assert row["spoilt"] == 1 and row["passed"], row["problems"] + row["vetoes"]


@pytest.mark.parametrize(
    ("said", "spoils"),
    [
        ("do you have advil?", False),
        ("and the 2nd one?", False),
        ("my mail is david.cohen@example.com", False),
        ("my mail is dave@example.com", True),
        ("call me at 052-111-2222", True),
        ("I weigh 64", True),
        ("what about warfarin?", True),
        ("אפשר נורופן?", True),
    ],
)
def test_invented_contacts_medicines_and_numbers_are_refused(demo: None, said: str, spoils: bool) -> None:
    facts = ["Do you have Advil?", "david.cohen@example.com", "two packs"]
    if spoils:
        with pytest.raises(Spoilt):
            facts_check(said, facts)
    else:
        facts_check(said, facts)

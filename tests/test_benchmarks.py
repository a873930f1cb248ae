"""The benchmarks can be started: every table is there, and the views they compare with answer."""

import asyncio
import csv
import importlib
import io
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.proof

ROOT = Path(__file__).resolve().parent.parent
ASK = """
import django, json
django.setup()
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
ask = Client().post
answers = [ask("/plain/", {"name": "Advil"}, "application/json"), ask("/fetch/", {"id": 1}, "application/json")]
print(json.dumps([[answer.status_code, answer.json()] for answer in answers]))
"""


@pytest.mark.parametrize(
    "name",
    [
        *("tool_http", "chat_turn", "model_turn", "chat_load", "chat_page", "catalogue_import", "refills"),
        "knowledge_retrieval",
        "knowledge_flow",
        "audit_log",
    ],
)
def test_each_table_has_a_title_its_notes_and_a_measurement(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.TITLE and all(module.NOTES) and callable(module.measure)


def test_the_baseline_answers_without_a_key() -> None:
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "benchmarks.plain_drf",
        "DATABASE_URL": "sqlite://:memory:",
    }
    done = subprocess.run([sys.executable, "-c", ASK], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    plain, fetch = json.loads(done.stdout)
    assert plain == [200, {"name": "Advil"}]
    assert fetch[0] == 200 and fetch[1]["id"] == 1


def test_a_few_conversations_are_opened_measured_and_closed(chat_server: Any) -> None:
    from benchmarks.chat_client import Job, Steps

    port = int(chat_server.url.rpartition(":")[2])
    with Steps.of(
        Job("chat", port, "/ws/chat/", 5, ramp=0.2, window=1, every=0.5, patience=10, seed=1)
    ) as client:
        client.step("open")
        seen = client.step("talk")
        client.step("close")
    assert seen["sent"] == len(seen["accepted"]) == len(seen["answered"]) == 10
    assert not seen["lost"] and not seen["errors"] and not seen["failed"] and not seen["unanswered"]
    assert all(ack < answer for ack, answer in zip(seen["accepted"], seen["answered"], strict=True))


@pytest.mark.parametrize("name", ["channels", "starlette"])
def test_the_echoes_say_again_what_they_hear(name: str) -> None:
    from benchmarks.chat_client import Job, Steps
    from benchmarks.servers import served

    with served("uvicorn", f"benchmarks.chat_echo:{name}", os.environ) as server:
        job = Job("echo", server.port, "/echo/", 5, ramp=0.2, window=1, every=0.5, patience=5, seed=1)
        with Steps.of(job) as client:
            client.step("open")
            seen = client.step("talk")
            client.step("close")
        assert server.memory() is None or server.memory() > 1_000_000
    assert seen["sent"] == len(seen["accepted"]) == 10 and not seen["lost"]


def test_our_turn_and_the_bare_loops_end_with_the_same_answer(
    demo_committed: None, settings: Any, tmp_path: Path
) -> None:
    from benchmarks import model_loops, model_turn, site_turns

    lesson = tmp_path / "lesson.json"
    lesson.write_text(json.dumps(asdict(site_turns.lesson())))
    with model_turn.model_served() as port, asyncio.Runner() as runner:
        settings.OPENAI_BASE_URL = base_url = f"http://127.0.0.1:{port}/v1"
        settings.OPENAI_API_KEY, settings.OPENAI_MODEL = model_loops.KEY, model_loops.MODEL
        for begun in site_turns.turns().values():
            assert len(runner.run(model_loops.measured(begun, 2)).text) == 2
        for name in ("raw", "bare"):
            command = [sys.executable, "-m", "benchmarks.model_loops", name, base_url, str(lesson)]
            with model_turn.loop_apart(command) as take:
                seen = take(2)
            assert all(0 < text <= wall for text, wall in zip(seen.text, seen.wall, strict=True))


def test_the_generated_catalogue_is_one_that_the_import_accepts(tmp_path: Path, monkeypatch: Any) -> None:
    from benchmarks import catalogue_file
    from inventory.import_meaning import is_for_humans, product_read

    monkeypatch.setattr(catalogue_file, "HUMAN", 40)
    monkeypatch.setattr(catalogue_file, "OTHER", 5)
    first, second = io.StringIO(), io.StringIO()
    catalogue_file.catalogue_write(first)
    catalogue_file.catalogue_write(second)
    assert first.getvalue() == second.getvalue()
    rows = list(csv.DictReader(io.StringIO(first.getvalue())))
    products = [product_read(row) for row in rows if is_for_humans(row)]
    assert len(rows) == 45 and len({product.external_id for product in products}) == 40


def test_each_way_to_walk_a_refill_dispenses_it(demo: None) -> None:
    from benchmarks import refills
    from prescriptions.models import RefillTransition, SimulatedOrder

    people = refills.prescriptions(6)
    for name, way in refills.WAYS.items():
        before = RefillTransition.objects.count()
        walls, _ = refills.taken(way, people, 2)
        assert len(walls) == 2 and all(walls)
        written = RefillTransition.objects.count() - before
        assert written == 2 * (1 if name == refills.BARE else 1 + refills.STEPS)
    assert SimulatedOrder.objects.count() == 6


def test_each_way_to_retrieve_finds_what_is_asked_in_other_words(db: None) -> None:
    from benchmarks import knowledge_retrieval

    texts = knowledge_retrieval.entries(200)
    plain = knowledge_retrieval.Plain(texts)
    for opened in knowledge_retrieval.ways("sqlite").values():
        ours, theirs, found = knowledge_retrieval.taken(opened(texts), plain.search, texts, 10)
        assert len(ours) == len(theirs) == 10 and found == 1.0


def test_the_knowledge_flow_is_measured_by_rules_and_with_a_model(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import knowledge_flow, model_loops, model_turn
    from benchmarks.knowledge_retrieval import entries, published

    texts = entries(100)
    published(texts, knowledge_flow._ROLE, 2)
    with model_turn.model_served("benchmarks.knowledge_server") as port:
        settings.OPENAI_BASE_URL = base_url = f"http://127.0.0.1:{port}/v1"
        settings.OPENAI_API_KEY, settings.OPENAI_MODEL = model_loops.KEY, model_loops.MODEL
        settings.OPENAI_EMBEDDING_MODEL = ""
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        for has_model, requests in ((False, 0), (True, 6)):
            found = knowledge_flow.row("sqlite", texts, has_model=has_model, count=3)
            assert (found["requests"], found["right"]) == (requests, 1.0) and found["p50 ms"] > 0


def test_the_filled_audit_log_verifies_and_goes_on(db: None) -> None:
    from benchmarks import audit_log
    from prescriptions.audit import audit_record, audit_verify
    from prescriptions.models import AuditEvent

    before = AuditEvent.objects.count()
    audit_log.fill(50)
    audit_record(who="system", what="x", where="y")
    assert AuditEvent.objects.count() == before + 51 and audit_verify() is None


def test_a_table_lines_up_words_left_and_numbers_right() -> None:
    from benchmarks.measure import percentile, ratio, table

    text = table([{"what": "a", "n": 1234}, {"what": "bb", "n": None}])
    assert text.splitlines() == ["what      n", "----  -----", "a     1,234", "bb        –"]
    assert ratio([2.0, 9.0, 4.0], [1.0, 1.0, 2.0]) == 2.0
    assert percentile(list(range(100)), 0.99) == 99

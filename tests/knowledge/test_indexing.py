"""A process's index follows the rows: what is published is found, what is withdrawn is not, and a lost one comes back."""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from knowledge_entries import ACTOR, entry, published
from processes import InteractiveProgram
from served_site import Shell, demo_database, free_port, site_env

from agent.knowledge import indexing
from agent.knowledge.engines.client import ClientIndex
from agent.knowledge.engines.edge import EdgeIndex
from agent.knowledge.engines.memory import MemoryIndex
from agent.knowledge.index import IndexUnavailable
from agent.knowledge.retrieval import retrieve_from_qdrant
from agent.knowledge.services import entry_publish, entry_roll_back, entry_withdraw
from agent.models import KnowledgeCollection, KnowledgeEntry

pytestmark = pytest.mark.django_db


def found(text: str, role: str = "customer", language: str = "en") -> list[str]:
    return [candidate["id"] for candidate in retrieve_from_qdrant(text, "", "", role, language=language)]


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The roles of which a whole index was built."""
    built: list[str] = []
    build = indexing._build

    def counted(role: str, *args: Any) -> None:
        built.append(role)
        build(role, *args)

    monkeypatch.setattr(indexing, "_build", counted)
    return built


def test_what_is_published_later_is_taken_in_without_building_again(builds: list[str]) -> None:
    published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    second = published("A2", "Does insulin expire?")
    assert set(found("insulin")) == {"A1", "A2"}
    second.question = "Can I travel with a pen?"
    second.save()
    entry_publish(entry=second, actor=ACTOR)
    assert found("travel with a pen")[0] == "A2"
    entry_withdraw(entry=second, actor=ACTOR)
    assert found("travel with a pen") == []
    assert builds == ["customer"]


def test_drafts_and_edits_that_are_not_published_are_never_found() -> None:
    draft = entry("D1", "Where do I keep insulin?")
    assert found("insulin") == []
    entry_publish(entry=draft, actor=ACTOR)
    draft.question = "Unfinished words about tablets"
    draft.save()
    assert found("unfinished tablets") == [] and found("insulin") == ["D1"]
    (candidate,) = retrieve_from_qdrant("insulin", "", "", "customer", language="en")
    assert candidate["CAUHOI"] == "Where do I keep insulin?"


def test_a_withdrawn_entry_is_not_shown_even_by_an_index_that_is_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    monkeypatch.setattr(indexing, "_current", lambda role, held, state: held.index)
    entry_withdraw(entry=row, actor=ACTOR)
    assert indexing._held["customer"].index.count() == 1  # type: ignore[union-attr]
    assert found("insulin") == []


def test_one_role_never_finds_what_is_another_s() -> None:
    published("A1", "Where do I keep insulin?")
    published("A1", "Insulin: the dose for doctors", role="doctor")
    assert [c["CAUHOI"] for c in retrieve_from_qdrant("insulin", "", "", "customer", language="en")] == [
        "Where do I keep insulin?"
    ]
    assert found("insulin", role="nobody") == []
    assert found("insulin", language="he") == []
    # Even if an index held another role's entry, its row would not be read.
    held = indexing._held["customer"]
    other = KnowledgeEntry.objects.get(role="doctor")
    held.index.update([indexing._entry(row, 0) for row in indexing._published("doctor")], [])  # type: ignore[union-attr]
    assert other.pk in {hit.key for hit in indexing.collection_search("customer", [_query("insulin")], 9)[0]}
    assert found("insulin dose for doctors") == ["A1"]
    assert [c["CAUHOI"] for c in retrieve_from_qdrant("dose doctors", "", "", "customer", language="en")] != [
        other.question
    ]


def _query(text: str) -> Any:
    from agent.knowledge.features import query_vector
    from agent.knowledge.index import Query

    return Query(query_vector(text))


def test_a_lost_index_is_noticed_and_built_again(builds: list[str]) -> None:
    published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    index = indexing._held["customer"].index
    assert isinstance(index, EdgeIndex)
    shutil.rmtree(index._folder)
    assert found("insulin") == ["A1"]
    assert builds == ["customer", "customer"]


def test_the_setting_in_memory_gives_each_process_an_index_of_the_qdrant_client(
    settings: Any, builds: list[str]
) -> None:
    settings.QDRANT_URL = ":memory:"
    published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    assert isinstance(indexing._held["customer"].index, MemoryIndex)
    published("A2", "Does insulin expire?")
    assert set(found("insulin")) == {"A1", "A2"} and builds == ["customer"]
    indexing.indexes_forget()  # as in a process that starts now: nothing is shared, so that it builds its own
    assert set(found("insulin")) == {"A1", "A2"} and builds == ["customer"] * 2


def test_an_index_that_lacks_an_entry_is_noticed_when_the_next_is_published(builds: list[str]) -> None:
    first = published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    indexing._held["customer"].index.update([], [first.pk])  # type: ignore[union-attr]
    published("A2", "Does insulin expire?")
    assert set(found("insulin")) == {"A1", "A2"}
    assert builds == ["customer", "customer"]


def test_rows_of_a_restored_backup_are_not_taken_for_those_that_were_indexed(builds: list[str]) -> None:
    published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    KnowledgeCollection.objects.all().delete()
    KnowledgeEntry.objects.update(live=None)
    published("B1", "Does insulin expire?")  # generation 1 again
    assert found("insulin") == ["B1"]


def test_the_command_builds_anew_and_says_how_many(
    capsys: pytest.CaptureFixture[str], builds: list[str]
) -> None:
    published("A1", "Where do I keep insulin?")
    published("D1", "For doctors", role="doctor")
    assert found("insulin") == ["A1"]
    call_command("index_knowledge")
    out = capsys.readouterr()
    assert out.out == "customer: 1 entries\ndoctor: 1 entries\n"
    assert "indexing: 100%" in out.err
    assert builds == ["customer", "customer", "doctor"]


def test_without_entries_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("index_knowledge")
    assert capsys.readouterr().out == "There are no entries.\n"


def test_an_older_version_can_be_published_again() -> None:
    row = published("A1", "Where do I keep insulin?")
    row.question = "Where do I keep tablets?"
    row.save()
    entry_publish(entry=row, actor=ACTOR)
    assert found("insulin") == []
    version = entry_roll_back(entry=row, number=1, actor=ACTOR)
    assert (version.number, row.question, found("insulin")) == (3, "Where do I keep insulin?", ["A1"])
    assert [v.question for v in row.versions.order_by("number")] == [
        "Where do I keep insulin?",
        "Where do I keep tablets?",
        "Where do I keep insulin?",
    ]


# -- A server, played by the client's own in-memory collections, which all processes would share ------------------
@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> ClientIndex:
    settings.QDRANT_URL = "http://qdrant.invalid:6333"
    shared = ClientIndex()

    def opened(role: str, state: Any) -> ClientIndex:
        index = ClientIndex(role, number=state.rebuild)
        index.client = shared.client
        return index

    monkeypatch.setattr(indexing, "_open", opened)
    return shared


def test_another_process_uses_what_the_server_has(server: ClientIndex, builds: list[str]) -> None:
    published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    published("A2", "Does insulin expire?")
    indexing.indexes_forget()  # as in a process that starts now
    assert set(found("insulin")) == {"A1", "A2"}
    assert builds == ["customer"]
    row = KnowledgeCollection.objects.get()
    assert (row.indexed_generation, row.indexed_rebuild) == (2, 0)


def test_a_server_that_lost_everything_is_filled_again(server: ClientIndex, builds: list[str]) -> None:
    published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    server.client.delete_collection("knowledge_customer.v1.0")
    assert found("insulin") == ["A1"]
    server.client.delete_collection("knowledge_customer.v1.0")
    indexing.indexes_forget()
    assert found("insulin") == ["A1"]
    assert builds == ["customer"] * 3


def test_a_rebuild_replaces_the_server_s_collection(server: ClientIndex) -> None:
    published("A1", "Where do I keep insulin?")
    assert found("insulin") == ["A1"]
    indexing.collection_rebuild("customer")
    assert [c.name for c in server.client.get_collections().collections] == ["knowledge_customer.v1.1"]
    assert found("insulin") == ["A1"]


def test_a_server_that_cannot_be_reached_is_an_error_and_not_an_empty_answer(settings: Any) -> None:
    settings.QDRANT_URL = f"http://127.0.0.1:{free_port()}"
    published("A1", "Where do I keep insulin?")
    for _ in range(3):
        with pytest.raises(IndexUnavailable):
            found("insulin")
    with pytest.raises(IndexUnavailable, match="breaker_open"):
        found("insulin")
    settings.QDRANT_URL = ""
    assert found("insulin") == ["A1"]


# -- Several threads and processes -------------------------------------------------------------------------------
READER = """
import json, sys
from agent.knowledge.retrieval import retrieve_from_qdrant
for line in sys.stdin:
    found = retrieve_from_qdrant(line, "", "", "customer", language="en")
    print(json.dumps([candidate["id"] for candidate in found]), flush=True)
"""
PUBLISH = "from knowledge_entries import published; published({!r}, {!r})"
WITHDRAW = """
from agent.knowledge.services import entry_withdraw
from agent.models import KnowledgeEntry
entry_withdraw(entry=KnowledgeEntry.objects.get(entry_id={!r}), actor="user:1")
"""


def test_another_process_finds_what_this_one_publishes_and_loses_what_it_withdraws(
    tmp_path: Path, django_db_blocker: Any
) -> None:
    with demo_database("index", tmp_path, django_db_blocker) as database:
        env, log = site_env(database), tmp_path / "log"
        writer = Shell(env, log)
        writer.run(PUBLISH.format("A1", "Where do I keep insulin?"))
        reader = InteractiveProgram(["manage.py", "shell", "-v0", "-c", READER], env, log)

        def asked(text: str) -> set[str]:
            return set(json.loads(reader.ask(text)))

        assert asked("insulin") == {"A1"}
        writer.run(PUBLISH.format("A2", "Does insulin expire?"))
        assert asked("insulin") == {"A1", "A2"}
        writer.run(WITHDRAW.format("A1"))
        assert asked("insulin") == {"A2"}
        writer.end()
        assert reader.end() == 0


@pytest.mark.django_db(transaction=True)
def test_threads_that_ask_at_once_build_one_index_and_all_get_the_answer(builds: list[str]) -> None:
    from django.db import connection

    published("A1", "Where do I keep insulin?")
    answers: list[list[str]] = []

    def ask() -> None:
        try:
            answers.append(found("insulin"))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [["A1"]] * 6
    assert builds == ["customer"]


def test_a_starting_process_builds_the_indexes_so_that_the_first_question_waits_for_none(
    builds: list[str],
) -> None:
    published("B1", "Which suture?", role="doctor_dental")
    published("A1", "Where do I keep insulin?")
    indexing.indexes_forget()
    indexing.indexes_warm_up()
    assert builds == ["customer", "doctor_dental"]
    assert found("insulin") == ["A1"] and found("suture", "doctor_dental") == ["B1"]
    assert len(builds) == 2


def test_a_process_starts_without_tables_and_without_an_index_server(settings: Any) -> None:
    published("A1", "Where do I keep insulin?")
    indexing.indexes_forget()
    settings.QDRANT_URL = f"http://127.0.0.1:{free_port()}"
    indexing.indexes_warm_up()

    def broken(*args: Any) -> Any:
        raise OperationalError("no such table: agent_knowledgecollection")

    with connection.execute_wrapper(broken):
        indexing.indexes_warm_up()
    settings.QDRANT_URL = ""
    assert found("insulin") == ["A1"]

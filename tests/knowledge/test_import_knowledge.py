"""Imports of the knowledge base: both spellings of the columns, blanks and repeated ids by line, all or nothing."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import real_data
from django.conf import settings
from django.core.management import CommandError, call_command
from knowledge_entries import ACTOR, published

from agent.knowledge.importing import knowledge_import
from agent.knowledge.retrieval import get_full_qa_by_ids, retrieve_from_qdrant
from agent.models import KnowledgeEntry, KnowledgeVersion
from pharmacy_site.lib.importing import ImportRefused

pytestmark = pytest.mark.django_db
GOOD = (
    "\ufeffDEMUC,CHUDECON,MASO,CAUHOI,CAUTRALOI,GIAITHICH\n"
    " STORAGE \n,Cold ,Q1,Where do I keep insulin?,In the fridge.,It spoils.\n"
    "STORAGE,Dry,Q2,Where do I keep tablets?,In a dry place.,\n"
)
BLANKS = "STORAGE,Dry,Q3,,,\nSTORAGE,Dry,,What?,That.,\nSTORAGE,Dry,Q1,Again?,Yes.,\n"


def written(folder: Path, content: str, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return path


def quoted(content: str) -> str:
    return content.replace(" STORAGE \n,", '" STORAGE \n",')


@pytest.mark.parametrize("spelling", ["CHUDECON", "CHU_DE_CON"])
@pytest.mark.parametrize("number", ["MASO", "STT"])
@pytest.mark.parametrize("name", ["file.csv", "file.csv.gz"])
def test_both_spellings_are_read_and_labels_trimmed(
    tmp_path: Path, spelling: str, number: str, name: str
) -> None:
    content = quoted(GOOD).replace("CHUDECON", spelling).replace("MASO", number)
    report = knowledge_import(written(tmp_path, content, name), role="customer")
    assert (report.created, report.updated, report.left_out) == (2, 0, [])
    assert get_full_qa_by_ids(["Q1"], "customer", language="en") == [
        {
            "id": "Q1",
            "DEMUC": "STORAGE",
            "CHU_DE_CON": "Cold",
            "CAUHOI": "Where do I keep insulin?",
            "CAUTRALOI": "In the fridge.",
            "GIAITHICH": "It spoils.",
            "source": "file",
            "version": 1,
        }
    ]
    assert retrieve_from_qdrant("tablets", "", "", "customer", language="en")[0]["id"] == "Q2"


def test_blank_rows_and_repeated_ids_are_left_out_and_named_with_their_lines(tmp_path: Path) -> None:
    report = knowledge_import(written(tmp_path, quoted(GOOD) + BLANKS), role="customer")
    assert [str(problem) for problem in report.left_out] == [
        "line 5: blank: question, answer",
        "line 6: blank: entry_id",
        "line 7: the id Q1 stands on line 3 already",
    ]
    assert report.created == 2 and "3 left out:" in str(report)


def test_the_same_file_again_changes_nothing_and_another_text_is_a_new_version(tmp_path: Path) -> None:
    path = written(tmp_path, quoted(GOOD))
    knowledge_import(path, role="customer")
    again = knowledge_import(path, role="customer")
    assert (again.created, again.updated, again.unchanged) == (0, 0, 2)
    changed = knowledge_import(
        written(tmp_path, quoted(GOOD).replace("a dry place", "a box")), role="customer"
    )
    assert (changed.created, changed.updated, changed.unchanged) == (0, 1, 1)
    full = get_full_qa_by_ids(["Q2"], "customer", language="en")[0]
    assert (full["CAUTRALOI"], full["version"]) == ("In a box.", 2)
    assert KnowledgeVersion.objects.count() == 3


def test_what_staff_changed_stays(tmp_path: Path) -> None:
    published("Q2", "Where do I keep tablets?", answer="Ask us.")
    report = knowledge_import(written(tmp_path, quoted(GOOD)), role="customer")
    assert (report.created, report.edited) == (1, 1)
    assert get_full_qa_by_ids(["Q2"], "customer", language="en")[0]["CAUTRALOI"] == "Ask us."
    assert KnowledgeEntry.objects.get(entry_id="Q2").changed_by == ACTOR


def test_ids_are_those_of_a_role_and_a_language(tmp_path: Path) -> None:
    knowledge_import(written(tmp_path, quoted(GOOD)), role="customer")
    knowledge_import(written(tmp_path, quoted(GOOD)), role="doctor")
    knowledge_import(written(tmp_path, quoted(GOOD)), role="doctor", language="vi")
    assert KnowledgeEntry.objects.filter(entry_id="Q1").count() == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("DEMUC,MASO,CAUHOI\nA,Q1,What?\n", "missing column: CAUTRALOI/answer"),
        (quoted(GOOD) + "STORAGE,Dry,Q9\n", "line 5: 3 columns instead of 6"),
        (quoted(GOOD) + f"{'x' * 201},Dry,Q9,What?,That.,\n", "line 5: topic is longer than 200 characters"),
        (quoted(GOOD) + f"A,Dry,Q9,{'x' * 501},That.,\n", "line 5: question is longer than 500 characters"),
    ],
)
def test_anything_else_refuses_the_whole_file(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(ImportRefused, match=reason):
        knowledge_import(written(tmp_path, content), role="customer")
    assert not KnowledgeEntry.objects.exists()


@pytest.mark.parametrize(
    ("role", "language"), [("Customer", ""), ("", ""), ("a b", ""), ("customer", "english")]
)
def test_a_role_or_language_that_can_be_none_is_refused(tmp_path: Path, role: str, language: str) -> None:
    with pytest.raises(ImportRefused):
        knowledge_import(written(tmp_path, quoted(GOOD)), role=role, language=language)


@pytest.mark.parametrize(
    ("question", "language"),
    [("What is insulin?", "en"), ("מהו אינסולין?", "he"), ("Đái tháo đường là gì?", "vi")],
)
def test_the_language_is_recognised(tmp_path: Path, question: str, language: str) -> None:
    content = f"DEMUC,MASO,CAUHOI,CAUTRALOI\nA,Q1,{question},Insulin.\n"
    knowledge_import(written(tmp_path, content), role="customer")
    assert KnowledgeEntry.objects.get().language == language


def test_json_lines_with_other_values_beside(tmp_path: Path) -> None:
    rows = [
        {"id": "1-1", "qtype": "symptoms", "focus": "Flu", "question": "What are the symptoms of Flu ?",
         "answer": "Fever.", "synonyms": ["Influenza"], "source": "NIH", "url": "https://example.org/flu"},
        {"id": "1-1", "qtype": "symptoms", "focus": "Cold", "question": "What are the symptoms of a cold ?",
         "answer": "A cough.", "synonyms": [], "source": "CDC", "url": "https://example.org/cold"},
    ]  # fmt: skip
    content = "\n".join(json.dumps(row) for row in rows)
    report = knowledge_import(written(tmp_path, content, "rows.jsonl.gz"), role="customer")
    assert report.created == 2
    assert get_full_qa_by_ids(["NIH:1-1"], "customer", language="en")[0] == {
        "id": "NIH:1-1",
        "DEMUC": "symptoms",
        "CHU_DE_CON": "Flu",
        "CAUHOI": "What are the symptoms of Flu ?",
        "CAUTRALOI": "Fever.",
        "GIAITHICH": "",
        "source": "NIH: https://example.org/flu",
        "version": 1,
    }


def test_the_command_dry_run_drafts_and_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(tmp_path, quoted(GOOD) + BLANKS))
    call_command("import_knowledge", path, role="customer", dry_run=True)
    assert "Dry run, nothing was changed: 2 created" in capsys.readouterr().out
    assert not KnowledgeEntry.objects.exists()
    call_command("import_knowledge", path, role="customer", draft=True, source="The handbook")
    out = capsys.readouterr()
    assert "line 7: the id Q1 stands on line 3 already" in out.out and "writing: 100%" in out.err
    assert retrieve_from_qdrant("insulin", "", "", "customer", language="en") == []
    assert {row.source for row in KnowledgeEntry.objects.all()} == {"The handbook"}
    with pytest.raises(CommandError, match=r"Nothing was changed\."):
        call_command("import_knowledge", str(tmp_path / "absent.csv"), role="customer")


def test_a_fixture_is_loaded_in_both_languages_and_again(tmp_path: Path) -> None:
    path = tmp_path / "customer.yaml"
    path.write_text(
        "- id: C1\n  topic: Storage\n  subtopic: Cold\n  source: A leaflet\n"
        "  en: {question: Where do I keep insulin?, answer: In the fridge., explanation: It spoils.}\n"
        "  he: {question: איפה שומרים אינסולין?, answer: במקרר., explanation: ''}\n",
        encoding="utf-8",
    )
    assert knowledge_import(path, role="customer").created == 2
    assert knowledge_import(path, role="customer").unchanged == 2
    assert get_full_qa_by_ids(["C1"], "customer", language="he")[0]["CAUTRALOI"] == "במקרר."


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("- id: [", "file.yaml"),
        ("just words", "file.yaml"),
        ("- {id: C1, topic: A, en: {question: a, answer: b}}", "'source'"),
        ("- {id: C1, topic: A, source: S, en: {question: a, reply: b}}", "reply"),
        (
            "- {id: C1, topic: A, source: S, en: {question: a, answer: ''}}",
            "entry 1: This field cannot be blank",
        ),
        ("- {id: C1, topic: A, source: S, english: {question: a, answer: b}}", "entry 1: "),
    ],
)
def test_a_broken_fixture_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ImportRefused, match=reason):
        knowledge_import(path, role="customer")
    assert not KnowledgeEntry.objects.exists()


FILES: dict[str, tuple[str, Any]] = {
    "bndtd.csv.gz": ("patient_diabetes", (1035, 0)),
    "bnrhm.csv.gz": ("patient_dental", (556, 2)),
    "bsnt.csv.gz": ("doctor_endocrine", (967, 2)),
    "bsrhm.csv.gz": ("doctor_dental", (675, 0)),
}


@pytest.mark.proof
@pytest.mark.skipif(not (real_data.FOLDER / "knowledge_vi").is_dir(), reason=real_data.WHY)
@pytest.mark.parametrize("name", FILES)
def test_real_collections_are_imported_and_found_without_diacritics(name: str) -> None:
    role, counts = FILES[name]
    report = knowledge_import(real_data.FOLDER / "knowledge_vi" / name, role=role)
    assert (report.created, len(report.left_out)) == counts
    best = retrieve_from_qdrant("benh dai thao duong type 1 la gi", "", "", role, language="vi")[0]
    assert "đái tháo đường" in best["CAUHOI"].lower() or "đtđ" in best["CAUHOI"].lower()


def test_the_demo_data_holds_a_collection_for_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "fixtures"
    for name in ("categories.yaml", "localities.yaml", "site_answers.yaml", "demo"):
        source = settings.BASE_DIR / "fixtures" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, _made(folder) / name)
    knowledge = _made(folder / "knowledge") / "doctor.yaml"
    knowledge.write_text(
        "- {id: D1, topic: Doses, source: A handbook, en: {question: How much insulin?, answer: It depends.}}\n",
        encoding="utf-8",
    )
    for _ in range(2):
        call_command("load_demo", folder=folder, verbosity=0)
        assert [c["id"] for c in retrieve_from_qdrant("insulin", "", "", "doctor", language="en")] == ["D1"]
        assert retrieve_from_qdrant("insulin", "", "", "customer", language="en") == []
    assert KnowledgeVersion.objects.count() == 1


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder

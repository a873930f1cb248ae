"""The measurement of retrieval: paraphrases change what they say, figures are right, and our search beats plain BM25."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import real_data
from django.core.management import CommandError, call_command
from knowledge_entries import published

from evaluation.knowledge import Ranks, collection_measure, items_of_file, relevance_measure
from evaluation.paraphrases import PARAPHRASES, with_synonyms

pytestmark = pytest.mark.proof


FLOORS = {"no marks": 0.95, "no marks, typos": 0.95, "typos everywhere": 0.75}


def test_recall_and_reciprocal_rank() -> None:
    ranks = Ranks([1, 2, 0, 6])
    assert (ranks.recall(1), ranks.recall(5), ranks.recall(10)) == (0.25, 0.5, 0.75)
    assert ranks.mrr == pytest.approx((1 + 1 / 2 + 1 / 6) / 4)


@pytest.mark.parametrize(
    "text", ["Bệnh đái tháo đường là bệnh gì?", "איפה שומרים אינסולין בבית?", "Where is it kept?"]
)
def test_each_paraphrase_keeps_the_question_recognisable_and_is_the_same_each_time(text: str) -> None:
    for kind, change in PARAPHRASES.items():
        changed = change(text, random.Random(3))
        assert changed and changed == change(text, random.Random(3))
        if kind in ("typos", "typos everywhere", "no marks, typos", "word order", "shortened"):
            assert changed != text


def test_typos_are_made_in_as_many_words_as_the_name_says() -> None:
    text = "bệnh nha chu là gì và nó có lây từ mẹ sang con qua ăn chung hay không"
    for kind, count in (("typos", 4), ("typos in half", 9), ("typos everywhere", 18)):
        changed = PARAPHRASES[kind](text, random.Random(5)).split(" ")
        words = [word for word in text.split() if len(word) >= 2]
        different = sum(one != other for one, other in zip(text.split(), changed, strict=True))
        # A letter may be swapped with its like or replaced by itself.
        assert count - 3 <= different <= count <= len(words)


def test_marks_strokes_and_known_names_are_replaced() -> None:
    assert PARAPHRASES["no marks"]("Bệnh đái tháo đường", random.Random(1)) == "Benh dai thao duong"
    assert with_synonyms("Đái tháo đường là gì?", random.Random(1)) == "tiểu đường là gì?"
    assert with_synonyms("What is Flu ?", random.Random(1), {"Flu": "Influenza"}) == "What is Influenza ?"


def test_the_command_measures_what_is_published(db: None, capsys: Any, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nothing is published"):
        call_command("evaluate", "knowledge")
    for number, word in enumerate(
        ["insulin", "paracetamol", "amoxicillin", "metformin", "vitamins", "syrup"]
    ):
        published(f"A{number}", f"Where should I keep my {word} at home?", answer=f"Keep {word} dry.")
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("who won the football match\nplay some music\n", encoding="utf-8")
    call_command("evaluate", "knowledge", json=tmp_path / "run.json", elsewhere=elsewhere)
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "customer en: 6 entries" and "topic right: 1.000 as asked" in out
    assert out.splitlines()[-1].startswith("recall@5=") and "bm25=" in out.splitlines()[-1]
    measured = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["customer en"]
    by_kind = {row["paraphrase"]: row for row in measured["rows"]}
    assert by_kind["original"]["ours"]["@1"] == by_kind["original"]["bm25"]["@1"] == 1.0
    assert by_kind["typos"]["ours"]["@1"] > by_kind["typos"]["bm25"]["@1"]
    low = measured["relevance"][0]
    assert low["original"] == 1.0 and low["elsewhere"] == 0.0


def test_a_file_that_is_no_collection_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(CommandError, match="missing column"):
        call_command("evaluate", "knowledge", file=[path])


@pytest.mark.skipif(not (real_data.FOLDER / "knowledge_vi").is_dir(), reason=real_data.WHY)
def test_without_diacritics_and_with_typos_real_questions_are_found_far_more_often_than_by_plain_bm25() -> (
    None
):
    items = items_of_file(real_data.FOLDER / "knowledge_vi" / "bnrhm.csv.gz")
    measured = collection_measure(items, 60)
    by_kind = {row["paraphrase"]: row for row in measured["rows"]}
    assert by_kind["original"]["ours"]["@5"] >= by_kind["original"]["bm25"]["@5"]
    for kind in ("no marks", "no marks, typos", "typos everywhere"):
        assert by_kind[kind]["ours"]["@5"] >= max(FLOORS[kind], by_kind[kind]["bm25"]["@5"] + 0.05)
    foreign = ["play some music", "what is the weather in haifa", "transfer money to my savings account"]
    rows = relevance_measure(items, foreign, 30, [0.5])
    assert rows[0]["original"] == 1.0 and rows[0]["elsewhere"] == 0.0

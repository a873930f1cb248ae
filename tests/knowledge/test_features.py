"""Sparse vectors: what two texts share, whatever their marks, capitals, endings and typos."""

import subprocess
import sys

import pytest

from agent.knowledge.features import entry_vector, query_vector


def shared(one: str, other: str) -> float:
    entry, query = entry_vector(one), query_vector(other)
    weights = dict(zip(entry.indices, entry.values, strict=True))
    return sum(
        weights.get(index, 0) * value for index, value in zip(query.indices, query.values, strict=True)
    )


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Bệnh đái tháo đường là gì?", "benh dai thao duong la gi"),
        ("Where should I keep insulin?", "wher shoud i kep insuln"),
        ("איפה שומרים אינסולין?", "שמירה של האינסולין"),
        ("מהי סוכרת?", "טיפול לסוכרת"),
        ("What is PARACETAMOL", "paracetamol"),
    ],
)
def test_another_spelling_shares_more_than_another_question(question: str, asked: str) -> None:
    assert shared(question, asked) > 2 * shared("How do I renew my membership card?", asked) + 0.1


def test_a_word_with_its_marks_counts_more_than_without() -> None:
    question = "Bệnh đái tháo đường là gì?"
    assert shared(question, "đường") > shared(question, "duong") > 0


def test_words_of_the_answer_count_but_less_than_those_of_the_question() -> None:
    entry = entry_vector("What is gingivitis?", "The gums bleed when they are brushed.")
    both = query_vector("bleed"), query_vector("gingivitis")
    weights = dict(zip(entry.indices, entry.values, strict=True))
    answer, question = (
        sum(weights.get(i, 0) * v for i, v in zip(query.indices, query.values, strict=True)) for query in both
    )
    assert 0 < answer < question


@pytest.mark.parametrize("text", ["", "  ?! ", "\u200f"])
def test_a_text_without_words_has_no_features(text: str) -> None:
    assert query_vector(text).indices == []


def test_vectors_are_sorted_and_the_same_in_every_process() -> None:
    code = "from agent.knowledge.features import entry_vector; print(entry_vector('What is insulin?', 'A hormone.'))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    vector = entry_vector("What is insulin?", "A hormone.")
    assert printed == {f"{vector}\n"}
    assert vector.indices == sorted(set(vector.indices)) and len(vector.values) == len(vector.indices)

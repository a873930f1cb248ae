"""The classifiers are those that the labelled sentences give, recognise sentences of authors left out, and refuse damage."""

import json
import os
from pathlib import Path

import pytest
from django.conf import settings

from agent.safety.emergency.detection import is_alarm
from agent.safety.emergency.rules import matched
from agent.understanding import HARMLESS, URGENT, classifier, training
from agent.understanding.classifier import Classifier
from agent.understanding.features import features

SENTENCES = Path(settings.BASE_DIR) / "fixtures" / "understanding" / "urgency.jsonl"
LABELS = {"none", "medical", "poisoning", "crisis", "extra_dose", "adverse"}


def test_sentences_are_sorted_unique_and_labelled() -> None:
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    rows = training.labelled_read(SENTENCES)
    texts = [row.text.casefold() for row in rows]
    assert lines == sorted(lines) and len(set(texts)) == len(texts)
    assert {row.label for row in rows} == LABELS and {row.lang for row in rows} == {"en", "he"}


@pytest.mark.parametrize("name", ["urgency", "urgency_kind"])
def test_weights_were_trained_from_these_sentences(name: str) -> None:
    assert Classifier.load(name).header.data == training.data_hash(SENTENCES), (
        "run manage.py train_understanding"
    )


def test_a_misspelt_word_shares_most_letter_sequences_with_the_right_one() -> None:
    right, wrong = set(features("overdose")), set(features("overdsoe"))
    assert len(right & wrong) >= 9
    assert features("took 40 pills")["took+#10"] == 1 and features("לא נושם")["לא+נושמ"] == 1


def test_a_text_without_known_features_gets_the_bias_alone() -> None:
    made = Classifier.load("urgency")
    assert made.scores("")[URGENT] == pytest.approx(made.header.bias[0], abs=1)
    assert set(made.scores("x")) == {URGENT}


@pytest.mark.parametrize(
    "damage", ["", "no json\n_a\t1\t1\n", '{"data": "", "labels": ["urgent"], "bias": [0]}\n_a\t1\n']
)
def test_damaged_weights_are_refused(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "urgency.tsv").write_text(damage, encoding="utf-8")
    monkeypatch.setattr(classifier, "FOLDER", tmp_path)
    with pytest.raises((ValueError, StopIteration)):
        Classifier.load("urgency")


@pytest.mark.proof
@pytest.mark.skipif(not os.environ.get("CI"), reason="trains for half a minute; runs in CI")
def test_training_recognises_authors_left_out_and_can_be_repeated(tmp_path: Path) -> None:
    rows = training.labelled_read(SENTENCES)
    left_out = set(training.folds(rows, 6)[0])
    trained = training.train_urgency([row for place, row in enumerate(rows) if place not in left_out])
    urgent, harmless = [], []
    for row in (rows[place] for place in left_out):
        alarm = is_alarm(matched(row.text), trained.scores(row.text)[URGENT])
        (harmless if row.label == HARMLESS else urgent).append(alarm)
    assert sum(urgent) / len(urgent) > 0.85 and sum(harmless) / len(harmless) < 0.04

    again = training.train_kinds(rows, "same")
    kept = Classifier.load("urgency_kind")
    for text in ("he is not breathing", "הילד בלע אקונומיקה", "I want to end my life"):
        assert again.scores(text) == pytest.approx(kept.scores(text), abs=0.05)
    training.write(again, tmp_path / "kinds.tsv")
    header = json.loads((tmp_path / "kinds.tsv").read_text(encoding="utf-8").splitlines()[0])
    assert header["data"] == "same"

"""The classifiers are those that the labelled sentences give, recognise sentences of authors left out, and refuse damage."""

import os
from pathlib import Path

import pytest
from django.conf import settings

from agent.safety.emergency import alarms, detection
from agent.safety.emergency.detection import is_alarm
from agent.turn import guard
from agent.understanding import HARMLESS, classifier, glue, training
from agent.understanding.classifier import Classifier, Header
from agent.understanding.features import features

SENTENCES = Path(settings.BASE_DIR) / "fixtures" / "understanding" / "urgency.jsonl"
GLUE = SENTENCES.with_name("glue.jsonl")
LABELS = {"none", "medical", "poisoning", "crisis", "extra_dose", "adverse"}


def test_sentences_are_sorted_unique_and_labelled() -> None:
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    rows = training.labelled_read(SENTENCES)
    texts = [row.text.casefold() for row in rows]
    assert lines == sorted(lines) and len(set(texts)) == len(texts)
    assert {row.label for row in rows} == LABELS and {row.lang for row in rows} == {"en", "he"}


def test_connecting_sentences_are_sorted_unique_and_labelled() -> None:
    rows = training.labelled_read(GLUE)
    texts = [row.text for row in rows]
    assert texts == sorted(texts) and len({text.casefold() for text in texts}) == len(texts)
    assert {row.label for row in rows} == set(glue.LABELS) and {row.lang for row in rows} == {"en", "he"}


def test_the_weights_tell_connecting_sentences_from_statements() -> None:
    rows = training.labelled_read(GLUE)[::10]
    shown = {row.text: glue.label_of(row.text) == glue.CONNECT for row in rows}
    connecting = [shown[row.text] for row in rows if row.label == glue.CONNECT]
    stating = [shown[row.text] for row in rows if row.label != glue.CONNECT]
    assert sum(connecting) / len(connecting) > 0.95 and sum(stating) / len(stating) < 0.01


@pytest.mark.parametrize(
    ("name", "sentences"), [("urgency", "urgency"), ("urgency_kind", "urgency"), ("glue", "glue")]
)
def test_weights_were_trained_from_these_sentences(name: str, sentences: str) -> None:
    data = training.data_hash(SENTENCES.with_name(f"{sentences}.jsonl"))
    assert Classifier.load(name).header.data == data, "run manage.py train_understanding"


def test_a_misspelt_word_shares_most_letter_sequences_with_the_right_one() -> None:
    right, wrong = set(features("overdose")), set(features("overdsoe"))
    assert len(right & wrong) >= 9
    assert features("took 40 pills")["took+#10"] == 1 and features("לא נושם")["לא+נושמ"] == 1


def test_scores_are_the_weighted_features_over_their_length() -> None:
    header = Header(data="", labels=("urgent", "calm"), bias=(-0.5, 0.25), features=2)
    made = Classifier(header, {"=pain": (3.0, 1.0, -1.0), "+pain": (4.0, 0.5, 0.0)})
    assert made.scores("hello") == {"urgent": -0.5, "calm": 0.25}
    assert made.scores("Pain!") == {
        "urgent": pytest.approx((3 * 1 + 4 * 0.5) / 5 - 0.5),
        "calm": pytest.approx(-3 / 5 + 0.25),
    }


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "no json\n_a\t1\t1\n",
        '{"data": "", "labels": ["urgent"], "bias": [0], "features": 1}\n_a\t1\n',
        '{"data": "", "labels": ["urgent"], "bias": [0], "features": 2}\n_a\t1\t1\n',
    ],
    ids=["empty", "no header", "short line", "cut off"],
)
def test_with_damaged_weights_the_site_does_not_start(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "urgency.tsv").write_text(damage, encoding="utf-8")
    monkeypatch.setattr(classifier, "FOLDER", tmp_path)
    detection._classifiers.cache_clear()
    try:
        with pytest.raises(ValueError):
            guard.warm_up()
    finally:
        detection._classifiers.cache_clear()


def test_the_weights_recognise_the_sentences_that_they_learned_from() -> None:
    """Damage to the weights, the thresholds or the rules shows here, at no cost of a training."""
    rows = training.labelled_read(SENTENCES)[::10]
    urgent = [bool(alarms(row.text)) for row in rows if row.label != HARMLESS]
    harmless = [bool(alarms(row.text)) for row in rows if row.label == HARMLESS]
    assert sum(urgent) / len(urgent) > 0.97 and sum(harmless) / len(harmless) < 0.01


@pytest.mark.proof
@pytest.mark.skipif(not os.environ.get("CI"), reason="trains three times, for more than a minute; runs in CI")
def test_training_recognises_authors_left_out_and_gives_these_weights() -> None:
    rows = training.labelled_read(SENTENCES)
    left_out = set(training.folds(rows, 6)[0])
    trained = training.train_urgency([row for place, row in enumerate(rows) if place not in left_out])
    urgent, harmless = [], []
    for row in (rows[place] for place in left_out):
        alarm = is_alarm(row.text, trained)
        (harmless if row.label == HARMLESS else urgent).append(alarm)
    assert sum(urgent) / len(urgent) > 0.85 and sum(harmless) / len(harmless) < 0.04

    for name, train in (("urgency", training.train_urgency), ("urgency_kind", training.train_kinds)):
        again, kept = train(rows), Classifier.load(name)
        for row in rows[::200]:
            assert again.scores(row.text) == pytest.approx(kept.scores(row.text), abs=0.02), row.text

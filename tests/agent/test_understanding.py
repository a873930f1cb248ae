"""The classifiers are those that the labelled sentences give, recognise sentences of authors left out, and refuse damage."""

from pathlib import Path

import pytest
from django.conf import settings
from served_site import IN_CI

from agent.safety.emergency import alarms, detection
from agent.safety.emergency.detection import is_alarm
from agent.turn import guard
from agent.understanding import HARMLESS, classifier, training
from agent.understanding.classifier import Classifier, Header
from agent.understanding.features import features

SENTENCES = Path(settings.BASE_DIR) / "fixtures" / "understanding" / "urgency.jsonl"
SUBJECTS = SENTENCES.with_name("subjects.jsonl")
LABELS = {"none", "medical", "poisoning", "crisis", "extra_dose", "adverse"}


def test_sentences_are_sorted_unique_and_labelled() -> None:
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    rows = training.labelled_read(SENTENCES)
    texts = [row.text.casefold() for row in rows]
    assert lines == sorted(lines) and len(set(texts)) == len(texts)
    assert {row.label for row in rows} == LABELS and {row.lang for row in rows} == {"en", "he"}


@pytest.mark.parametrize("name", ["urgency", "urgency_kind"])
def test_weights_were_trained_from_these_sentences(name: str) -> None:
    data = training.data_hash(SENTENCES)
    assert Classifier.load(name).header.data == data, "run manage.py train_understanding"


def test_the_subjects_weights_were_trained_from_the_present_sentences_and_wordings() -> None:
    lines = SUBJECTS.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    _, data = training.subjects_read(SUBJECTS, SENTENCES.parents[1] / "knowledge")
    assert Classifier.load("subject").header.data == data, "run manage.py train_understanding --only subject"


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
@pytest.mark.skipif(not IN_CI, reason="trains twice, for half a minute; runs in CI")
def test_training_recognises_authors_left_out_and_gives_the_kinds_their_weights() -> None:
    rows = training.labelled_read(SENTENCES)
    left_out = set(training.folds(rows, 6)[0])
    trained = training.train_urgency([row for place, row in enumerate(rows) if place not in left_out])
    urgent, harmless = [], []
    for row in (rows[place] for place in left_out):
        alarm = is_alarm(row.text, trained)
        (harmless if row.label == HARMLESS else urgent).append(alarm)
    # Many of the harmless ones were chosen because an earlier classifier took them for emergencies.
    assert sum(urgent) / len(urgent) > 0.85 and sum(harmless) / len(harmless) < 0.045

    again, kept = training.train_kinds(rows), Classifier.load("urgency_kind")
    for row in rows[::200]:
        assert again.scores(row.text) == pytest.approx(kept.scores(row.text), abs=0.02), row.text

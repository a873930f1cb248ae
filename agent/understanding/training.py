"""Train the classifiers from labelled sentences. Needs scikit-learn, which `tests/requirements.txt` has.

A text's values are TF-IDF over its features; each label has a linear support vector machine. "urgency" tells emergencies from
harmless messages, "urgency_kind" the kinds of emergencies from one another; "subject" tells general questions about health from
those about products and the customer's own affairs.
"""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from agent.understanding import HARMLESS, HEALTH, URGENT
from agent.understanding.classifier import Classifier, Header
from agent.understanding.features import features
from pharmacy_site.lib.text import fold
from pharmacy_site.lib.yaml_files import yaml_read

_FEATURES: Final = 40_000  # so many are kept: those that decide most
_FEATURES_OF_KINDS: Final = 8_000
_FEATURES_OF_SUBJECTS: Final = 20_000
_RARE: Final = 3  # a feature of fewer sentences teaches nothing
_COST: Final = 0.6  # of a sentence on the wrong side, against large weights (scikit-learn's C)
_WRAPPED: Final = 0.5  # share of the sentences that are repeated beside a question, and the weight of those
_WRAPPING_WORDS: Final = 12


class Labelled(BaseModel):
    """One line of a file of labelled sentences."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    lang: str
    label: str
    form: str = ""
    """How it says it: direct, misspelt, wrapped, indirect; lookalike, factual. Empty for a subject."""
    author: str
    """Who wrote it: an author's sentences resemble each other, so that folds keep them together."""


def labelled_read(path: Path) -> list[Labelled]:
    """Return the sentences of a JSONL file. Raises pydantic.ValidationError for a line that is none."""
    return [Labelled.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def data_hash(path: Path) -> str:
    """Return the SHA-256 of a file of labelled sentences."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def subjects_read(path: Path, collections: Path) -> tuple[list[Labelled], str]:
    """Return the sentences labelled by what they are about, and their SHA-256.

    The questions of the collections of entries (the YAML files of `fixtures/knowledge`), in all their wordings, are about health.
    """
    rows = labelled_read(path)
    known = {fold(row.text) for row in rows}
    for collection in sorted(collections.glob("*.yaml")):
        beside = collections / "wordings" / collection.name
        wordings = yaml_read(beside) if beside.exists() else {}
        for entry in yaml_read(collection):
            for language in ("en", "he"):
                for text in (entry[language]["question"], *wordings.get(entry["id"], {}).get(language, ())):
                    if fold(text) not in known:
                        known.add(fold(text))
                        rows.append(Labelled(text=text, lang=language, label=HEALTH, author=collection.stem))
    digest = hashlib.sha256("\n".join(f"{row.label} {row.text}" for row in rows).encode())
    return rows, digest.hexdigest()


def train_urgency(rows: Sequence[Labelled], data: str = "") -> Classifier:
    """Return the classifier that scores whether a message is an emergency.

    Some sentences are repeated beside an ordinary question, because customers wrap an emergency in one.
    """
    wrapped = _wrapped(rows)
    texts = [*(row.text for row in rows), *(text for text, _ in wrapped)]
    flags = [*(row.label != HARMLESS for row in rows), *(flag for _, flag in wrapped)]
    importance = [1.0] * len(rows) + [_WRAPPED] * len(wrapped)
    return _train([row.text for row in rows], texts, {URGENT: flags}, importance, _FEATURES, data)


def train_kinds(rows: Sequence[Labelled], data: str = "") -> Classifier:
    """Return the classifier that scores which kind of emergency an urgent message is."""
    urgent = [row for row in rows if row.label != HARMLESS]
    texts = [row.text for row in urgent]
    kinds = {kind: [row.label == kind for row in urgent] for kind in sorted({row.label for row in urgent})}
    return _train(texts, texts, kinds, [1.0] * len(texts), _FEATURES_OF_KINDS, data)


def train_subjects(rows: Sequence[Labelled], data: str = "") -> Classifier:
    """Return the classifier that scores what a message is about: health in general, a product, advice, or small talk."""
    texts = [row.text for row in rows]
    flags = {label: [row.label == label for row in rows] for label in sorted({row.label for row in rows})}
    return _train(texts, texts, flags, [1.0] * len(texts), _FEATURES_OF_SUBJECTS, data)


def write(classifier: Classifier, path: Path) -> None:
    """Write the file that `Classifier.load` reads."""
    lines = [json.dumps(classifier.header.model_dump(), ensure_ascii=False)]
    for feature, numbers in sorted(classifier.weights.items()):
        lines.append("\t".join([feature, *(f"{number:g}" for number in numbers)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def folds(rows: Sequence[Labelled], count: int) -> list[list[int]]:
    """Return the places of the rows in so many groups; all rows of an author are in one group."""
    authors = sorted({row.author for row in rows})
    fold_of = {author: number % count for number, author in enumerate(authors)}
    groups: list[list[int]] = [[] for _ in range(count)]
    for place, row in enumerate(rows):
        groups[fold_of[row.author]].append(place)
    return groups


def _wrapped(rows: Sequence[Labelled]) -> list[tuple[str, bool]]:
    """Return some of the sentences with an ordinary question beside them; the same ones in each training."""
    questions: dict[str, list[str]] = {}
    for row in rows:
        if row.label == HARMLESS and row.form == "factual":
            questions.setdefault(row.lang, []).append(" ".join(row.text.split()[:_WRAPPING_WORDS]))
    found = []
    for row in rows:
        chance = random.Random(fold(row.text))
        if chance.random() < _WRAPPED and questions.get(row.lang):
            question = chance.choice(questions[row.lang])
            parts = (question, row.text) if chance.random() < _WRAPPED else (row.text, question)
            found.append((" ".join(parts), row.label != HARMLESS))
    return found


def _train(
    written: Sequence[str],
    texts: Sequence[str],
    flags: Mapping[str, Sequence[bool]],
    importance: Sequence[float],
    kept: int,
    data: str,
) -> Classifier:
    """Return a classifier with these labels for the texts.

    Features and their rarity come from the sentences as they were written. It is trained twice: first with every feature, to
    find the ones that decide most.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    counted = [sorted(features(text).elements()) for text in texts]
    counted_written = [sorted(features(text).elements()) for text in written]

    def vectorizer(**more: Any) -> Any:
        made = TfidfVectorizer(analyzer=lambda elements: elements, sublinear_tf=True, **more)
        return made.fit(counted_written)

    every = vectorizer(min_df=_RARE)
    machines = _machines(every.transform(counted), flags, importance)
    names = every.get_feature_names_out()
    strength = [max(abs(weights[place]) for weights, _ in machines) for place in range(len(names))]
    strongest = sorted(range(len(names)), key=lambda place: (-strength[place], names[place]))[:kept]

    chosen = vectorizer(vocabulary=sorted(names[place] for place in strongest))
    machines = _machines(chosen.transform(counted), flags, importance)
    columns = [chosen.idf_, *(weights for weights, _ in machines)]
    table = {
        str(name): tuple(round(float(column[place]), 3) for column in columns)
        for place, name in enumerate(chosen.get_feature_names_out())
    }
    bias = tuple(round(bias, 4) for _, bias in machines)
    return Classifier(Header(data=data, labels=tuple(flags), bias=bias, features=len(table)), table)


def _machines(
    matrix: Any, flags: Mapping[str, Sequence[bool]], importance: Sequence[float]
) -> list[tuple[Any, float]]:
    """Return the weights and the bias of one support vector machine per label."""
    from sklearn.svm import LinearSVC

    found = []
    for of_label in flags.values():
        machine = LinearSVC(C=_COST, class_weight="balanced", random_state=0)
        machine.fit(matrix, of_label, sample_weight=importance)
        found.append((machine.coef_[0], float(machine.intercept_[0])))
    return found

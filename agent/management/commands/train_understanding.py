"""`train_understanding [--report]`: train the classifiers and write their weights, or measure them."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agent.safety.emergency.detection import is_alarm, urgent_part
from agent.safety.emergency.rules import matched
from agent.understanding import HARMLESS, URGENT, classifier, glue, training
from agent.understanding.classifier import Classifier
from agent.understanding.training import Labelled

FOLDS: Final = 6


class Command(BaseCommand):
    """Trains with a fixed seed, so that the same sentences give the same weights."""

    help = "Train the classifiers of messages. Needs the packages of tests/requirements.txt."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what to do besides."""
        parser.add_argument(
            "--report",
            action="store_true",
            help="measure on authors that were left out of the training, and write nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Train the classifiers and write their weights, or print how they measure."""
        folder = Path(settings.BASE_DIR) / "fixtures" / "understanding"
        urgency, sentences = folder / "urgency.jsonl", folder / "glue.jsonl"
        try:
            if options["report"]:
                self._report(training.labelled_read(urgency))
                self._report_glue(training.labelled_read(sentences))
            else:
                self._train(
                    urgency, {"urgency": training.train_urgency, "urgency_kind": training.train_kinds}
                )
                self._train(sentences, {"glue": training.train_glue})
                usual = training.usual_words(training.labelled_read(sentences))
                glue.WORDS.write_text("\n".join([*usual, glue.END]) + "\n", encoding="utf-8")
        except ImportError as error:
            raise CommandError(
                f"{error.name} is not installed; make lint or make test installs it"
            ) from error

    def _train(
        self, path: Path, trainers: Mapping[str, Callable[[Sequence[Labelled], str], Classifier]]
    ) -> None:
        rows, data = training.labelled_read(path), training.data_hash(path)
        for name, train in trainers.items():
            made = train(rows, data)
            training.write(made, classifier.FOLDER / f"{name}.tsv")
            self.stdout.write(f"{name}: {len(rows)} sentences, {len(made.weights)} features")

    def _report_glue(self, rows: Sequence[Labelled]) -> None:
        """Print how many sentences of each label would be shown, of authors left out of the training."""
        shown: Counter[str] = Counter()
        for author in sorted({row.author for row in rows}):
            trained = training.train_glue([row for row in rows if row.author != author])
            for row in (row for row in rows if row.author == author):
                shown[row.label] += glue.label_of(row.text, trained) == glue.CONNECT
        of_label = Counter(row.label for row in rows)
        parts = [f"{label} {shown[label]}/{of_label[label]}" for label in glue.LABELS]
        self.stdout.write(f"glue, shown: {', '.join(parts)}")

    def _report(self, rows: Sequence[Labelled]) -> None:
        """Print how many emergencies and false alarms are found in sentences of authors left out of the training."""
        found: list[tuple[Labelled, dict[str, bool]]] = []
        for fold in training.folds(rows, FOLDS):
            left_out = set(fold)
            trained = training.train_urgency([row for place, row in enumerate(rows) if place not in left_out])
            for row in (rows[place] for place in fold):
                score = trained.scores(row.text)[URGENT]
                ways = {
                    "rules": bool(matched(row.text)),
                    "classifier": bool(urgent_part(row.text, score, trained)),
                    "together": is_alarm(row.text, trained),
                }
                found.append((row, ways))
        self._print("all sources", found)
        # Those that measured the classifier before they taught it; the rest were written to be hard to tell apart.
        self._print("sets", [one for one in found if one[0].author.startswith("set ")])

    def _print(self, source: str, found: Sequence[tuple[Labelled, Mapping[str, bool]]]) -> None:
        """Print recall and false alarms of each way of recognising, with the sentences recognised of each form."""
        for way in ("rules", "classifier", "together"):
            parts = []
            for form in dict.fromkeys(row.form for row, _ in found):
                of_form = [ways[way] for row, ways in found if row.form == form]
                parts.append(f"{form} {sum(of_form)}/{len(of_form)}")
            urgent = [ways[way] for row, ways in found if row.label != HARMLESS]
            harmless = [ways[way] for row, ways in found if row.label == HARMLESS]
            self.stdout.write(
                f"{source}, {way}: recall {sum(urgent) / len(urgent):.3f}, "
                f"false alarms {sum(harmless) / len(harmless):.3f}; {', '.join(parts)}"
            )

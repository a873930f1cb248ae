"""`train_understanding [--report] [--only NAME]`: train the classifiers and write their weights, or measure them."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agent.safety.emergency.detection import is_alarm, urgent_part
from agent.safety.emergency.rules import matched
from agent.understanding import HARMLESS, HEALTH, URGENT, classifier, training
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
        parser.add_argument(
            "--only", choices=["urgency", "urgency_kind", "subject"], help="train this classifier alone"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Train the classifiers and write their weights, or print how they measure."""
        fixtures = Path(settings.BASE_DIR) / "fixtures"
        urgency = fixtures / "understanding" / "urgency.jsonl"
        rows, data = training.labelled_read(urgency), training.data_hash(urgency)
        subjects, subject_data = training.subjects_read(
            fixtures / "understanding" / "subjects.jsonl", fixtures / "knowledge"
        )
        try:
            if options["report"]:
                self._report(rows)
                self._report_subjects(subjects)
            else:
                for name, train, of, hashed in (
                    ("urgency", training.train_urgency, rows, data),
                    ("urgency_kind", training.train_kinds, rows, data),
                    ("subject", training.train_subjects, subjects, subject_data),
                ):
                    if name in (options["only"] or name):
                        self._train(name, train, of, hashed)
        except ImportError as error:
            raise CommandError(
                f"{error.name} is not installed; make lint or make test installs it"
            ) from error

    def _train(
        self,
        name: str,
        train: Callable[[Sequence[Labelled], str], Classifier],
        rows: Sequence[Labelled],
        data: str,
    ) -> None:
        made = train(rows, data)
        training.write(made, classifier.FOLDER / f"{name}.tsv")
        self.stdout.write(f"{name}: {len(rows)} sentences, {len(made.weights)} features")

    def _report_subjects(self, rows: Sequence[Labelled]) -> None:
        """Print for authors left out of the training how many questions about health are recognised, and how many others taken for one."""
        found: list[tuple[bool, bool]] = []
        for fold in training.folds(rows, FOLDS):
            left_out = set(fold)
            trained = training.train_subjects([row for n, row in enumerate(rows) if n not in left_out])
            for row in (rows[place] for place in fold):
                scores = trained.scores(row.text)
                found.append((row.label == HEALTH, max(scores, key=scores.__getitem__) == HEALTH))
        health = [taken for is_health, taken in found if is_health]
        others = [taken for is_health, taken in found if not is_health]
        self.stdout.write(
            f"subject: health recognised {sum(health) / len(health):.3f}, others taken for it {sum(others) / len(others):.3f}"
        )

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

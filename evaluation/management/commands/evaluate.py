"""Play the scenarios against the real stack (`manage.py evaluate pharmacy`), or measure retrieval (`… knowledge`, `… wordings`)."""

import json
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agent.llm.chosen import has_language_model
from evaluation import report
from evaluation.metrics import summary
from evaluation.records import evaluation_record
from evaluation.run import evaluation_run
from evaluation.scenario import LANGUAGES, scenarios_all, scenarios_chosen
from pharmacy_site.lib.importing import ImportRefused


class Command(BaseCommand):
    help = (
        "Play whole conversations against the real stack, in processes and databases of their own, and judge them;"
        " or measure how well the knowledge base is searched."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        families = sorted({scenario.family for scenario in scenarios_all()})
        parser.add_argument("suite", choices=["pharmacy", "knowledge", "wordings"])
        parser.add_argument("--model", choices=["offline", "openai"], default="offline")
        parser.add_argument("--customer", choices=["scripted", "model"], default="scripted")
        parser.add_argument("--trials", type=int, default=4)
        parser.add_argument("--lang", default="en,he", help="languages, separated by commas")
        parser.add_argument("--family", action="append", choices=families, help="only these; may be repeated")
        parser.add_argument("--scenario", action="append", default=[], help="only these; may be repeated")
        parser.add_argument("--workers", type=int, help="processes; one per core unless given")
        parser.add_argument("--json", type=Path, help="write the whole run there")
        parser.add_argument(
            "--file", type=Path, action="append", default=[],
            help="knowledge: measure this file, as import_knowledge takes it, instead of what is published; may be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--sample", type=int, default=300, help="knowledge: how many questions are re-asked"
        )
        parser.add_argument(
            "--elsewhere", type=Path, help="knowledge: a text of sentences that have no answer, one a line"
        )
        parser.add_argument("--compare", type=Path, help="say what differs from the run in this file")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["suite"] == "knowledge":
            self._knowledge(options)
        elif options["suite"] == "wordings":
            self._wordings()
        else:
            self._pharmacy(options)

    def _knowledge(self, options: dict[str, Any]) -> None:
        if find_spec("bm25s") is None:
            raise CommandError(
                "bm25s is not installed: run `python -m pip install -r tests/requirements.txt`"
            )
        from evaluation import knowledge_report

        try:
            measured = knowledge_report.measure(options["file"], options["elsewhere"], options["sample"])
        except ImportRefused as refused:
            raise CommandError(str(refused)) from None
        if not measured:
            raise CommandError("nothing is published: load the demo data, import, or name a --file")
        if options["json"]:
            text = json.dumps(measured, ensure_ascii=False, indent=1)
            options["json"].write_text(text + "\n", encoding="utf-8")
        self._write(knowledge_report.lines(measured))

    def _wordings(self) -> None:
        from evaluation import wordings

        measured = wordings.wordings_measure()
        if not measured:
            raise CommandError("no published entry has other wordings: load the demo data")
        self._write(wordings.lines(measured))

    def _pharmacy(self, options: dict[str, Any]) -> None:
        # The workers set their clock with it; the site itself does without.
        if find_spec("time_machine") is None:
            raise CommandError(
                "time-machine is not installed: run `python -m pip install -r tests/requirements.txt`"
            )
        languages = options["lang"].split(",")
        if unknown := set(languages) - set(LANGUAGES):
            raise CommandError(f"no such language: {', '.join(sorted(unknown))}")
        if options["trials"] < 1:
            raise CommandError("--trials must be at least 1")
        if options["model"] == "openai" and not has_language_model():
            raise CommandError("no language model is configured: set OPENAI_API_KEY or OPENAI_BASE_URL")
        before = json.loads(options["compare"].read_text(encoding="utf-8")) if options["compare"] else None
        chosen = scenarios_chosen(languages, options["family"] or [])
        names = set(options["scenario"])
        chosen = [scenario for scenario in chosen if not names or scenario.name in names]
        if not chosen:
            raise CommandError("no such scenario")
        start = time.monotonic()
        rows = evaluation_run(
            chosen,
            model=options["model"],
            trials=options["trials"],
            customer=options["customer"],
            workers=options["workers"],
        )
        seconds = round(time.monotonic() - start, 1)
        totals = summary(rows)
        about = {name: options[name] for name in ("suite", "model", "customer", "trials", "lang", "family")}
        about["seconds"] = seconds
        self._write([*report.failures(rows), "", *report.table(totals), report.spending(totals)])
        self.stdout.write(f"{len(rows)} trials in {seconds} s")
        if before:
            self._write(["", f"against {options['compare']}:", *report.comparison(before, rows)])
        if options["json"]:
            text = json.dumps(report.document(rows, **about), ensure_ascii=False, indent=1)
            options["json"].write_text(text + "\n", encoding="utf-8")
        if not evaluation_record(rows, totals, about):
            self.stderr.write("Not stored for the admin: run `manage.py migrate` first.")
        self.stdout.write(report.last_line(totals))

    def _write(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stdout.write(line)

"""Import interactions by ingredient pair (CSV or JSON, also packed); a level is never lowered."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from inventory.import_progress import Progress
from inventory.import_reading import ImportRefused
from inventory.interactions_importer import interactions_import


class Command(BaseCommand):
    """`import_interactions FILE [--dry-run]`."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="check and count, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = interactions_import(options["file"], dry_run=options["dry_run"], progress=Progress())
        except ImportRefused as refused:
            raise CommandError(f"Nothing was changed.\n{refused}") from None
        self.stdout.write(f"{'Dry run, nothing was changed: ' if options['dry_run'] else ''}{report}")

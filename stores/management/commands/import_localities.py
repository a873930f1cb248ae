"""Import towns that customers may name (JSON or CSV, also packed with gzip)."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from stores.importer import LocalitiesRefused, localities_import


class Command(BaseCommand):
    """`import_localities FILE [--dry-run]`."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the file, and whether to change nothing."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="check and count, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, or say what is wrong with the file."""
        try:
            report = localities_import(options["file"], dry_run=options["dry_run"], progress=self._progress)
        except LocalitiesRefused as refused:
            raise CommandError(f"Nothing was changed.\n{refused}") from None
        self.stdout.write(f"{'Dry run, nothing was changed: ' if options['dry_run'] else ''}{report}")

    def _progress(self, step: str, fraction: float) -> None:
        if self.stderr.isatty() and (fraction == 1 or int(fraction * 1000) % 10 == 0):
            self.stderr.write(f"\r{step:<10} {fraction:>4.0%}", ending="\n" if fraction == 1 else "")

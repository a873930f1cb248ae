"""Share what every import of a file needs: the command, its progress bar and the refusal of a broken file."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TextIO

from django.core.management.base import BaseCommand, CommandError

from pharmacy_site.lib.errors import PharmacyError

_WIDTH: Final = 30
_TENTHS: Final = 10


Progress = Callable[[str, float], None]
"""Takes the name of a step and how much of it is done, from 0 to 1."""


def quiet(step: str, fraction: float) -> None:
    """Show no progress."""


class ImportRefused(PharmacyError):
    """Refuse a broken file, of which nothing was imported; `problems` are the first ones, `more`: there are others."""

    def __init__(self, problems: Sequence[object], *, more: bool = False) -> None:
        super().__init__("the file cannot be imported")
        self.problems = list(problems)
        self.more = more

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        return "\n".join([*lines, "… and more"] if self.more else lines)


class ProgressBar:
    """Show one step after another on stderr: a bar on a terminal, a line for each tenth in a log."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._on_terminal = self._stream.isatty()
        self._shown: tuple[str, int] | None = None

    def __call__(self, step: str, fraction: float) -> None:
        """Show the step at this fraction (0 to 1), if that looks different from what is shown already."""
        fraction = min(1.0, max(0.0, fraction))
        state = (step, int(fraction * (100 if self._on_terminal else _TENTHS)))
        if state == self._shown:
            return
        self._shown = state
        if self._on_terminal:
            bar = "#" * round(fraction * _WIDTH)
            end = "\n" if fraction == 1 else ""
            self._stream.write(f"\r{step:<10} [{bar:<{_WIDTH}}] {fraction:>4.0%}{end}")
        else:
            self._stream.write(f"{step}: {fraction:.0%}\n")
        self._stream.flush()


class ImportCommand(BaseCommand):
    """Import a file, or say what is wrong with it; a subclass names the function that imports."""

    importer: ClassVar[Callable[..., object]]
    """Called with the path, `dry_run` and `progress`; returns a report. Raises ImportRefused."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the file, and whether to change nothing."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="check and count, but change nothing")

    def choices(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return what else the importer is called with: what a subclass has more options for."""
        return {}

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file and print the report."""
        dry_run = options["dry_run"]
        try:
            report = self.importer(
                options["file"], dry_run=dry_run, progress=ProgressBar(), **self.choices(options)
            )
        except ImportRefused as refused:
            raise CommandError(f"Nothing was changed.\n{refused}") from None
        self.stdout.write(f"{'Dry run, nothing was changed: ' if dry_run else ''}{report}")

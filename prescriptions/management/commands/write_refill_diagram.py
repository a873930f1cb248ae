"""`write_refill_diagram [--check]`: draw the refill workflow's table into docs/refill.md."""

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from prescriptions.refill.states import diagram

_BLOCK: Final = re.compile(r"(?<=```mermaid\n)stateDiagram-v2\n.*?(?=```)", re.DOTALL)


def page() -> Path:
    """Return the page with the diagram."""
    return Path(settings.BASE_DIR) / "docs" / "refill.md"


def drawn(text: str) -> str:
    """Return the page's text with the diagram as the table has it."""
    return _BLOCK.sub(lambda _: diagram(), text)


class Command(BaseCommand):
    """The page is committed: a change of the table shows in a diff."""

    help = "Draw the refill workflow's table into docs/refill.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take `--check`."""
        parser.add_argument(
            "--check", action="store_true", help="Write nothing; fail if the page is out of date."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it, or compare."""
        text = page().read_text(encoding="utf-8")
        if drawn(text) == text:
            return
        if options["check"]:
            raise CommandError("refill.md is out of date: run manage.py write_refill_diagram")
        page().write_text(drawn(text), encoding="utf-8")

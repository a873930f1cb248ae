"""`write_refill_diagram [--check]`: draw the refill workflow into docs/refill.md and docs/diagrams/state_machine.png."""

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


def picture_file() -> Path:
    """Return the picture, which the page shows."""
    return Path(settings.BASE_DIR) / "docs" / "diagrams" / "state_machine.png"


def drawn(text: str) -> str:
    """Return the page's text with the diagram as the table has it."""
    return _BLOCK.sub(lambda _: diagram(), text)


class Command(BaseCommand):
    """Page and picture are committed: a change of the table shows in a diff."""

    help = "Draw the refill workflow into docs/refill.md, and as docs/diagrams/state_machine.png."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take `--check`."""
        parser.add_argument(
            "--check",
            action="store_true",
            help="Write nothing; fail if the page or the picture is out of date.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write them, or compare."""
        # It loads LangGraph, which no other command should wait for.
        from prescriptions.refill.picture import GraphDiffers, NoGraphviz, picture, source, source_in

        text = page().read_text(encoding="utf-8")
        png = picture_file().read_bytes() if picture_file().exists() else b""
        try:
            is_new = source() == source_in(png) and drawn(text) == text
            if options["check"]:
                if not is_new:
                    raise CommandError(
                        "the refill diagram is out of date: run manage.py write_refill_diagram"
                    )
                return
            page().write_text(drawn(text), encoding="utf-8")
            png = picture()
        except NoGraphviz:
            raise CommandError(
                "the picture needs Graphviz: apt-get install graphviz; macOS: brew install graphviz"
            ) from None
        except GraphDiffers:
            raise CommandError("the arrows of LangGraph's graph are not those of the table") from None
        picture_file().parent.mkdir(exist_ok=True)
        picture_file().write_bytes(png)

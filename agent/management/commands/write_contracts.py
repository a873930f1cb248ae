"""`write_contracts [--check]`: write docs/contracts.md and the snapshot of the schemas from the tools' models."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agent.tools.document import contracts_text
from agent.tools.schemas import contract_schemas


def contract_files() -> dict[Path, str]:
    """Return what each file must hold."""
    return {
        settings.BASE_DIR / "docs" / "contracts.md": contracts_text(),
        settings.BASE_DIR / "tests" / "contracts" / "schemas.json": json.dumps(
            contract_schemas(), ensure_ascii=False, indent=1
        )
        + "\n",
    }


class Command(BaseCommand):
    """The files are committed: a change of a contract shows in a diff."""

    help = "Write docs/contracts.md and tests/contracts/schemas.json from the tools' models."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take `--check`."""
        parser.add_argument(
            "--check", action="store_true", help="Write nothing; fail if a file is out of date."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write them, or compare."""
        for path, text in contract_files().items():
            if options["check"]:
                if not path.exists() or path.read_text(encoding="utf-8") != text:
                    raise CommandError(f"{path.name} is out of date: run manage.py write_contracts")
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

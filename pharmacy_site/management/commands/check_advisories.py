"""`manage.py check_advisories FILE`: compare the lock files with security advisories in the OSV format.

Exit status 0 if no pinned version is affected, 1 with a line for each that is, 2 if a file cannot be read or is empty.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pharmacy_site.lib.advisories import Unreadable, advisories_read, findings, pins_read


class Command(BaseCommand):
    """Prints package, version, advisory and fixed version."""

    help = "Compare the lock files with a file of security advisories (OSV)."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a zip, a JSON list or JSON lines of OSV records")
        parser.add_argument(
            "--lock",
            type=Path,
            action="append",
            help="a lock file; by default requirements.lock and tests/requirements.lock",
        )

    def handle(self, *args: Any, file: Path, lock: list[Path] | None, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        try:
            advisories = advisories_read(file)
            pins = [
                pin
                for path in lock or [root / "requirements.lock", root / "tests" / "requirements.lock"]
                for pin in pins_read(path)
            ]
        except Unreadable as error:
            raise CommandError(str(error), returncode=2) from None
        found = findings(pins, advisories)
        for one in found:
            names = f" ({', '.join(one.aliases)})" if one.aliases else ""
            fixed = f"fixed in {one.fixed}" if one.fixed else "no fixed version is named"
            self.stdout.write(f"{one.pin.name} {one.pin.version}: {one.advisory}{names}, {fixed}")
        checked = (
            f"{len(set(pins))} packages, {advisories.count} advisories, the newest of {advisories.newest}"
        )
        if found:
            affected = len({one.pin for one in found})
            raise CommandError(f"{affected} pinned packages are affected ({checked}).", returncode=1)
        self.stdout.write(f"No pinned package is affected ({checked}).")

"""`issue_api_key NAME --scope tools [--scope patients]`: make a key for a system and print it, once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agent.web.authentication import SCOPES, key_issue


class Command(BaseCommand):
    """Prints nothing but the key."""

    help = "Make an API key and print it. Only its hash is stored, so it cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the system's name and its scopes."""
        parser.add_argument("name")
        parser.add_argument("--scope", action="append", choices=SCOPES, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue it."""
        self.stdout.write(key_issue(name=options["name"][:80], scopes=options["scope"]))

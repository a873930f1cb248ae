"""`issue_api_key NAME --scope tools [--scope patients]`: make a key for a system and print it, once.

`--scope handoffs --user NAME` makes one that acts on behalf of a member of staff; `--scope tools --role ROLE` one that may
also ask the knowledge base in this role.
"""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from agent.web.authentication import SCOPES, key_issue


class Command(BaseCommand):
    """Prints nothing but the key."""

    help = "Make an API key and print it. Only its hash is stored, so it cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the arguments: the system's name, its scopes, the member of staff it acts for, its knowledge roles."""
        parser.add_argument("name")
        parser.add_argument("--scope", action="append", choices=SCOPES, required=True)
        parser.add_argument("--user", help="the member of staff on whose behalf a key for hand-offs acts")
        parser.add_argument(
            "--role",
            action="append",
            default=[],
            help="a role whose collection of the knowledge base the key may ask, besides customer; repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue it."""
        user = None
        if options["user"]:
            user = User.objects.filter(username=options["user"]).first()
            if user is None:
                raise CommandError("There is no such account.")
        try:
            key = key_issue(
                name=options["name"][:80], scopes=options["scope"], user=user, roles=options["role"]
            )
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(key)

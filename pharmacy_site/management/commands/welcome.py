"""`manage.py welcome`: where the site is served and who can log in, for somebody who just started it."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    """Prints the addresses and the names of the demo staff."""

    help = "Prints the site's addresses and the demo staff logins."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        home = f"http://127.0.0.1:{options['port']}"
        names = (
            get_user_model().objects.filter(is_staff=True).order_by("pk").values_list("username", flat=True)
        )
        self.stdout.write(
            f"\n  Chat       {home}/\n  Admin      {home}/admin/\n  HTTP API   {home}/api/docs/"
        )
        self.stdout.write(f"  Staff      {', '.join(names)}")
        self.stdout.write("  Passwords were printed at the first start; reset one with")
        self.stdout.write("             .venv/bin/python manage.py changepassword NAME")
        self.stdout.write("  Stop with Ctrl-C.\n")
        self.stdout.flush()

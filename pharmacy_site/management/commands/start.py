"""`manage.py start`: everything that `make run` does after installing, in one process.

Each of the commands below would load the site anew.
"""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections


class Command(BaseCommand):
    """Prepares the database with the demo data, and serves."""

    help = "Migrate, load the demo data into an empty database, and serve the site."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        if not settings.DEBUG:
            call_command("collectstatic", interactive=False, verbosity=0)
        call_command("load_demo", if_empty=True, port=port, stdout=self.stdout)
        connections.close_all()
        home = f"http://127.0.0.1:{port}"
        self.stdout.write(
            f"\n  Chat       {home}/\n  Admin      {home}/admin/\n  HTTP API   {home}/api/docs/"
        )
        self.stdout.write("  Stop with Ctrl-C.\n")
        self.stdout.flush()
        call_command("serve", port=port)

"""`manage.py load_demo`: stores, medications, stock, patients, staff, knowledge and a shop that embeds the chat.

Dates are counted from today.
"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

import agent.demo
import inventory.demo
import prescriptions.demo
import stores.demo
from agent.knowledge.importing import knowledge_import
from agent.knowledge.roles import CUSTOMER
from stores.models import Store


class Command(BaseCommand):
    help = "Load the demo data; safe to repeat, and stock that staff changed stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--if-empty", action="store_true", help="do nothing when there are stores already"
        )
        parser.add_argument(
            "--folder", type=Path, default=settings.BASE_DIR / "fixtures", help="where the YAML is"
        )

        parser.add_argument("--port", type=int, default=8000, help="where the demo shop is served")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["if_empty"] and Store.objects.exists():
            if settings.DEBUG:
                agent.demo.load(options["port"])  # the port may be another one today
            self._print_logins(prescriptions.demo.logins())
            return
        folder: Path = options["folder"]
        with transaction.atomic():
            stores.demo.load(folder)
            inventory.demo.load(folder)
            loaded = prescriptions.demo.load(folder)
            agent.demo.load(options["port"])
            # Each file is of the collection of the role that it is named after. What patients read, customers ask for, too.
            for path in sorted((folder / "knowledge").glob("*.yaml")):
                role = path.name.split(".")[0]
                knowledge_import(path, role=role)
                if role.startswith("patient_"):
                    knowledge_import(path, role=CUSTOMER)
        self.stdout.write(f"Demo data: {loaded.patients} patients, {loaded.prescriptions} prescriptions.")
        self._print_logins(loaded.logins)

    def _print_logins(self, logins: list[prescriptions.demo.Login]) -> None:
        """Print each account, and the password of those that were created now: afterwards only its hash is known."""
        if not logins:
            return
        self.stdout.write("Staff logins:")
        for login in logins:
            password = f"  {login.password}" if login.password else ""
            self.stdout.write(f"  {login.username} ({login.group}){password}")
        if any(login.password is None for login in logins):
            self.stdout.write("New password: manage.py changepassword NAME")

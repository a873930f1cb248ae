"""`manage.py import_knowledge FILE --role ROLE`: import questions and answers into a role's collection."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from agent.knowledge.importing import knowledge_import
from agent.knowledge.roles import CUSTOMER
from pharmacy_site.lib.importing import ImportCommand


class Command(ImportCommand):
    importer = staticmethod(knowledge_import)
    help = "Import and publish knowledge entries from CSV or JSON, packed or not; safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--role", required=True, help=f"whom the answers are written for, e.g. {CUSTOMER}"
        )
        parser.add_argument("--language", default="", help="of a file without such a column; else recognised")
        parser.add_argument(
            "--source", default="", help="of a file without such a column; else the file's name"
        )
        parser.add_argument("--draft", action="store_true", help="do not publish: staff do, in the admin")

    def choices(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {name: options[name] for name in ("role", "language", "source", "draft")}

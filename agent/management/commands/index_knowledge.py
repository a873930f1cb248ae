"""`manage.py index_knowledge`: build the index of the knowledge base anew from the rows."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agent.knowledge.embeddings import embeddings_complete
from agent.knowledge.indexing import collection_rebuild
from agent.models import KnowledgeCollection
from pharmacy_site.lib.importing import ProgressBar


class Command(BaseCommand):
    help = "Build the index of every role's collection anew; running processes then build theirs at the next question."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--role", action="append", help="only these; may be repeated")

    def handle(self, *args: Any, **options: Any) -> None:
        roles = options["role"] or KnowledgeCollection.objects.order_by("role").values_list("role", flat=True)
        for role in list(roles):
            fetched = embeddings_complete(role, ProgressBar())
            count = collection_rebuild(role, ProgressBar())
            more = f", {fetched} embeddings fetched" if fetched else ""
            self.stdout.write(f"{role}: {count} entries{more}")
        if not roles:
            self.stdout.write("There are no entries.")

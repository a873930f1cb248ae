"""Entries that tests of the knowledge base publish."""

from typing import Any

from agent.knowledge.services import entries_publish
from agent.models import KnowledgeEntry

ACTOR = "user:1"


def entry(entry_id: str, question: str, **fields: Any) -> KnowledgeEntry:
    """A draft."""
    values = {
        "role": "customer",
        "language": "en",
        "demuc": "Storage",
        "chu_de_con": "",
        "answer": f"The answer to {entry_id}.",
        "source": "A leaflet",
        **fields,
    }
    return KnowledgeEntry.objects.create(entry_id=entry_id, question=question, **values)


def published(entry_id: str, question: str, **fields: Any) -> KnowledgeEntry:
    """An entry that customers read."""
    row = entry(entry_id, question, **fields)
    entries_publish(entries=[row], actor=ACTOR)
    return row

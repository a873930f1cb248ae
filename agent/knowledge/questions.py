"""The published questions of a collection, as suggestions for what to ask next."""

from collections.abc import Iterable

from django.db.models import Case, IntegerField, Value, When

from agent.models import KnowledgeEntry


def questions_published(texts: Iterable[str], role: str, *, language: str) -> list[str]:
    """Return those of the texts that are published questions of the collection, word for word, in their order."""
    wanted = list(dict.fromkeys(texts))
    if not wanted:
        return []
    rows = KnowledgeEntry.objects.filter(
        role=role, language=language, live__isnull=False, live__question__in=wanted
    )
    known = set(rows.values_list("live__question", flat=True))
    return [text for text in wanted if text in known]


def questions_of_topic(role: str, demuc: str, chu_de_con: str, *, language: str, most: int) -> list[str]:
    """Return published questions of a topic, those of the subtopic first, in the order of their ids."""
    rows = KnowledgeEntry.objects.filter(
        role=role, language=language, live__isnull=False, live__demuc=demuc
    ).annotate(
        elsewhere=Case(
            When(live__chu_de_con=chu_de_con, then=Value(0)), default=Value(1), output_field=IntegerField()
        )
    )
    return list(rows.order_by("elsewhere", "entry_id").values_list("live__question", flat=True)[:most])

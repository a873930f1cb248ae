"""Tell in which language a question is, and in which languages a collection has published entries."""

import re
from typing import Final

from agent.models import KnowledgeEntry
from pharmacy_site.lib.text import language_of

# Letters that of the languages with Latin letters only Vietnamese uses together.
_VIETNAMESE: Final = re.compile(r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]", re.IGNORECASE)


def language_recognised(text: str) -> str:
    """Return "vi" or "he" by the letters of a text, "en" for any other."""
    return "vi" if _VIETNAMESE.search(text) else language_of(text) or "en"


def languages_published(role: str) -> list[str]:
    """Return the languages in which a role's collection has published entries, in the order of the alphabet."""
    rows = KnowledgeEntry.objects.filter(role=role, live__isnull=False)
    return list(rows.order_by("language").values_list("language", flat=True).distinct())


def language_for(question: str, role: str) -> str:
    """Return in which language of the collection a question is searched: its own, else the only one that there is.

    Vietnamese typed without diacritics has no letter that tells it from English.
    """
    recognised, published = language_recognised(question), languages_published(role)
    return published[0] if len(published) == 1 else recognised

"""Search medications in the admin by the names that customers use, through the search index."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from inventory.search import WHOLE_NAMES, exact_matches, partial_matches
from pharmacy_site.lib.text import compact, fold

MOST_FOUND = 500
"""Rows shown of a search; somebody who gets this many searches again."""


class SearchByName:
    """Admin whose search box finds medications; `medication_column` leads from its rows to the medication."""

    medication_column = "pk"
    # Not empty, or the search box would not be shown; the search itself is below.
    search_fields = ["pk"]
    search_help_text = _("Any name in either language, an ingredient, or the external number.")

    def get_search_results(
        self: Any, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows whose medication has the name or external number; none comes twice."""
        term = search_term.strip()
        if not term:
            return queryset, False
        ids = {match.medication_id for match in exact_matches([compact(term)], keep=MOST_FOUND)}
        ids |= {
            match.medication_id for match in partial_matches(fold(term), kinds=WHOLE_NAMES, keep=MOST_FOUND)
        }
        to_medication = "" if self.medication_column == "pk" else f"{self.medication_column}__"
        matching = Q(**{f"{to_medication}pk__in": ids}) | Q(**{f"{to_medication}external_id": term})
        if not compact(term):
            return queryset.none(), False
        return queryset.filter(matching), False

"""Filter the list of refill requests by what staff look for."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.text import as_language
from prescriptions.refill.states import Reason, State
from prescriptions.refill.wording import reason_text


class StatusFilter(admin.SimpleListFilter):
    """What staff look for: those that wait, those to be prepared, those to be collected."""

    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("waiting", _("waits for a decision")),
            ("preparing", _("in preparation")),
            ("ready", _("ready")),
            ("ended", _("ended")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "waiting":
                return queryset.filter(outcome=None, state=State.COMPLETE)
            case "preparing" | "ready":
                return queryset.filter(fulfilment=self.value())
            case "ended":
                return queryset.exclude(outcome=None).exclude(fulfilment__in=["preparing", "ready"])
        return queryset


class ReasonFilter(admin.SimpleListFilter):
    """Why a request went to a person."""

    title = _("reason")
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        language = as_language(get_language() or "en")
        return [(str(one), reason_text(one, language)) for one in Reason]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(reason=self.value()) if self.value() else queryset

"""Show the customers who wait for a person, and let staff close their hand-offs."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import Case, Model, Q, QuerySet, When
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from pharmacy_site.lib.admin import actor_of
from prescriptions.admin.base import PatientData
from prescriptions.handoffs import handoff_close
from prescriptions.models import Handoff


@admin.register(Handoff)
class HandoffAdmin(PatientData):
    """Hand-offs: customers who were promised a person."""

    list_display = ["number", "state", "urgent", "reason", "language", "patient", "created_at", "closed_at"]
    list_filter = ["state", "is_urgent", "reason", "language"]
    list_select_related = ["patient"]
    search_fields = ["number", "conversation_id"]
    fields = [
        "number",
        "state",
        "is_urgent",
        "reason",
        "language",
        "patient",
        "conversation",
        "summary",
        "created_at",
        "closed_at",
        "closed_by",
    ]
    readonly_fields = fields
    actions = ["close"]

    def get_ordering(self, request: HttpRequest) -> Sequence[Any]:
        """Put those first that wait, emergencies before others and then the oldest, as customers are told."""
        is_open = Q(state=Handoff.State.OPEN)
        rank = Case(When(is_open & Q(is_urgent=True), then=0), When(is_open, then=1), default=2)
        return [rank.asc(), Case(When(is_open, then="pk")).asc(), "-pk"]

    @admin.display(description=_("urgent"), ordering="is_urgent")
    def urgent(self, row: Handoff) -> str:
        """Return a mark that is seen at once."""
        return format_html("<strong>{}</strong>", _("EMERGENCY")) if row.is_urgent else ""

    @admin.display(description=_("conversation"))
    def conversation(self, row: Handoff) -> str:
        """Return a link to the conversation, which may have been deleted meanwhile."""
        if row.conversation_id is None:
            return "-"
        url = reverse("admin:agent_conversation_change", args=[row.conversation_id])
        return format_html('<a href="{}">{}</a>', url, str(row.conversation_id)[:8])

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.action(description=_("Close the selected hand-offs"), permissions=["change"])
    def close(self, request: HttpRequest, queryset: QuerySet[Handoff]) -> None:
        """Close those of the selected hand-offs that are still open."""
        closed = sum(handoff_close(handoff=row, actor=actor_of(request)) for row in queryset)
        text = ngettext("%(count)d hand-off closed.", "%(count)d hand-offs closed.", closed)
        self.message_user(request, text % {"count": closed}, messages.SUCCESS)

"""Show the messages to people and systems, and let staff deal with those that were given up."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from pharmacy_site.lib.admin import ReadOnly, actor_of
from prescriptions.admin.base import PatientData
from prescriptions.audit import Access
from prescriptions.dead_letters import (
    dead_letters,
    notifications_retry,
    notifications_set_aside,
    notifications_stuck,
)
from prescriptions.handoffs.sweep import deadlines_late
from prescriptions.models import Notification, Patient


class DeadLetters(admin.SimpleListFilter):
    """Only messages that wait for a person, because they were given up."""

    title = _("dead letters")
    parameter_name = "dead"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", _("given up, still of use"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Notification]) -> QuerySet[Notification]:
        """Keep the dead letters when that was chosen."""
        return queryset.filter(pk__in=dead_letters().values("pk")) if self.value() else queryset


@admin.register(Notification)
class NotificationAdmin(PatientData, ReadOnly):
    """Notifications: to whom and when; never their text, which may contain a code. Each look is in the audit log."""

    list_display = ["id", "kind", "channel", "state", "attempts", "last_error", "created_at", "sent_at"]
    list_filter = [DeadLetters, "state", "kind", "channel"]
    fields = [
        "kind", "channel", "recipient", "language", "state", "attempts", "last_error", "unknown", "created_at",
        "due_at", "sent_at",
    ]  # fmt: skip
    readonly_fields = fields
    actions = ["retry", "set_aside"]

    def get_fields(self, request: HttpRequest, obj: Notification | None = None) -> list[str]:
        """Leave the recipient out for those who see no patients."""
        return [name for name in self.fields if name != "recipient" or _sees_recipients(request)]

    def patient_of(self, row: Any) -> Patient | None:
        """Return None: a message is to an address, and names no patient."""
        return None

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Return whether somebody may deal with dead letters."""
        return request.user.has_perm("prescriptions.retry_notification")

    @admin.action(description=_("Send the selected dead letters again"), permissions=["retry"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Notification]) -> None:
        """Have the selected dead letters sent again."""
        done = notifications_retry(_keys(queryset), access=_access(request))
        self._say(request, ngettext("%d message is sent again.", "%d messages are sent again.", done), done)

    @admin.action(description=_("Set the selected dead letters aside"), permissions=["retry"])
    def set_aside(self, request: HttpRequest, queryset: QuerySet[Notification]) -> None:
        """End the selected dead letters without sending them."""
        done = notifications_set_aside(_keys(queryset), access=_access(request))
        self._say(request, ngettext("%d message was set aside.", "%d messages were set aside.", done), done)

    def _say(self, request: HttpRequest, text: str, done: int) -> None:
        self.message_user(request, text % done, messages.SUCCESS if done else messages.WARNING)


def delivery_state(request: HttpRequest) -> tuple[str, str] | None:
    """Return what the head of each admin page says when messages or reminders do not arrive, for those who can see them."""
    if not request.user.has_perm("prescriptions.view_notification"):
        return None
    if late := deadlines_late().count():
        return ngettext("%d deadline was not kept", "%d deadlines were not kept", late) % late, "danger"
    dead, stuck = dead_letters().count(), notifications_stuck().count()
    if dead:
        return ngettext("%d message was not sent", "%d messages were not sent", dead) % dead, "danger"
    if stuck:
        return ngettext("%d message waits too long", "%d messages wait too long", stuck) % stuck, "warning"
    return None


def _sees_recipients(request: HttpRequest) -> bool:
    return request.user.has_perm("prescriptions.view_patient")


def _keys(queryset: QuerySet[Notification]) -> list[int]:
    return list(queryset.order_by("pk").values_list("pk", flat=True))


def _access(request: HttpRequest) -> Access:
    return Access(actor_of(request), "admin")

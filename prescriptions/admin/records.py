"""Show the audit log and the notifications; both are read-only."""

from collections.abc import Sequence

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from pharmacy_site.lib.admin import ReadOnly
from prescriptions.audit import audit_verify
from prescriptions.models import AuditEvent, Notification


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly):
    """The audit log, with a button that verifies its hash chain."""

    list_display = ["number", "at", "who", "what", "where", "why", "patient_number"]
    list_filter = ["what", "where", "at"]
    search_fields = ["who", "what"]
    fields = ["number", "at", "who", "what", "where", "why", "how", "patient_number", "detail", "hash"]
    readonly_fields = fields
    actions_list: Sequence[str] = ["verify"]
    show_full_result_count = False

    @admin.display(description=_("patient"), ordering="patient_id")
    def patient_number(self, row: AuditEvent) -> int | None:
        """Return the patient's key: the log shows no names."""
        return row.patient_id

    @action(description=_("Check the chain"), permissions=["view"])  # type: ignore[untyped-decorator]
    def verify(self, request: HttpRequest) -> HttpResponse:
        """Verify the hash chain and report the first broken line, if there is one."""
        broken = audit_verify()
        if broken is None:
            self.message_user(request, _("The audit log is as it was written."), messages.SUCCESS)
        else:
            text = _("The audit log is broken at line %(number)d.") % {"number": broken.number}
            self.message_user(request, text, messages.ERROR)
        return redirect("admin:prescriptions_auditevent_changelist")


@admin.register(Notification)
class NotificationAdmin(ReadOnly):
    """Notifications: to whom and when; never their text, which may contain a code."""

    list_display = ["id", "kind", "channel", "state", "attempts", "created_at", "sent_at"]
    list_filter = ["state", "kind"]
    fields = ["kind", "channel", "recipient", "language", "state", "attempts", "created_at", "sent_at"]
    readonly_fields = fields

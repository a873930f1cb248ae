"""Edit the on-call roster, from which the person who decides a refill is chosen."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from pharmacy_site.lib.admin import actor_of
from pharmacy_site.lib.text import as_language
from prescriptions.audit import AuditDetail, audit_record
from prescriptions.models import OnCall
from prescriptions.refill.contacts import DECIDERS
from prescriptions.refill.states import Reason
from prescriptions.refill.wording import reason_text
from stores.models import Weekday

_SUNDAY_FIRST = [Weekday.SUNDAY, *list(Weekday)[:6]]


class PersonField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A member of staff by name and account."""

    def label_from_instance(self, obj: User) -> str:
        return f"{obj.get_full_name()} ({obj.get_username()})"


class OnCallForm(forms.ModelForm):  # type: ignore[type-arg]
    """One line of the roster: days and reasons are ticked."""

    person = PersonField(label=_("person"), queryset=User.objects.none(), widget=UnfoldAdminSelectWidget)
    days = forms.TypedMultipleChoiceField(
        label=_("days"),
        choices=[(int(day), day.label) for day in _SUNDAY_FIRST],
        coerce=int,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("None ticked: every day."),
    )
    reasons = forms.MultipleChoiceField(
        label=_("reasons"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("None ticked: all reasons."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        language = as_language(get_language() or "en")
        people = User.objects.filter(is_active=True, groups__name__in=DECIDERS).distinct()
        if "person" in self.fields:
            self.fields["person"].queryset = people.order_by("username")  # type: ignore[attr-defined]
        if "reasons" in self.fields:
            self.fields["reasons"].choices = [  # type: ignore[attr-defined]
                (str(one), reason_text(one, language)) for one in Reason
            ]


@admin.register(OnCall)
class OnCallAdmin(ModelAdmin):
    """The roster; each change is in the audit log."""

    form = OnCallForm
    list_display = ["person_shown", "role", "branch_shown", "days_shown", "starts", "ends", "is_active"]
    list_display_links = ["person_shown"]
    list_filter = ["role", "branch", "is_active"]
    list_select_related = ["person", "branch"]
    fields = [
        ("person", "role"),
        "branch",
        "days",
        ("starts", "ends"),
        ("first_day", "last_day"),
        "reasons",
        "is_active",
    ]

    @admin.display(description=_("person"), ordering="person__username")
    def person_shown(self, row: OnCall) -> str:
        """Return the person's name, or else the account."""
        return row.person.get_full_name() or row.person.get_username()

    @admin.display(description=_("branch"), ordering="branch")
    def branch_shown(self, row: OnCall) -> str:
        return str(row.branch) if row.branch else str(_("all"))

    @admin.display(description=_("days"))
    def days_shown(self, row: OnCall) -> str:
        """Return the weekdays in the order of the week."""
        return ", ".join(str(day.label) for day in _SUNDAY_FIRST if day in row.days) or str(_("every day"))

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log the new line in the admin's history and in the audit log."""
        _record(request, obj, "on_call_added")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log the change in the admin's history and in the audit log."""
        _record(request, obj, "on_call_changed")
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Log what is removed in the admin's history and in the audit log."""
        for row in queryset:
            _record(request, row, "on_call_removed")
        return super().log_deletions(request, queryset)


def _record(request: HttpRequest, row: OnCall, what: str) -> None:
    detail: AuditDetail = {"line": row.pk, "user": row.person_id, "role": row.role}
    audit_record(who=actor_of(request), what=what, where="admin", detail=detail)

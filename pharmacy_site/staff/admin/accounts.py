"""Manage staff accounts; whatever lets somebody see more, or sign in as another, waits for a second administrator."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.forms import UserChangeForm
from unfold.widgets import UnfoldAdminTextInputWidget

from pharmacy_site.lib.admin import ReadOnly, actor_of
from pharmacy_site.staff.consents import Asked, ConsentRefused, consent_ask
from prescriptions.audit import AuditDetail, audit_record

admin.site.unregister(User)
admin.site.unregister(Group)

REFUSALS = {
    "nothing": gettext_lazy("Choose what is to be new."),
    "open_already": gettext_lazy(
        "A request for this account waits already. Withdraw it first, or have it decided."
    ),
    "own": gettext_lazy("You asked for this: another administrator has to consent."),
    "subject": gettext_lazy("This is for your own account: another administrator has to decide."),
    "over": gettext_lazy("This request was decided already, or its time is over."),
}


class NewAccountForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new account has no password: its owner chooses it, when a second administrator has consented."""

    class Meta:
        model = User
        fields = ("username",)
        widgets = {"username": UnfoldAdminTextInputWidget}

    def save(self, commit: bool = True) -> User:
        """Make the account of a member of staff, without a password."""
        user: User = super().save(commit=False)
        user.is_staff = True
        user.set_unusable_password()
        if commit:
            user.save()
        return user


@admin.register(User)
class UserAdmin(BaseUserAdmin[User], ModelAdmin):
    """Manage staff accounts. Nobody can change their own groups here, or make a superuser."""

    form = UserChangeForm
    add_form = NewAccountForm
    add_fieldsets = ((None, {"fields": ("username",)}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Add the fields by which somebody could gain permissions past the groups."""
        fields = [*super().get_readonly_fields(request, obj), "is_superuser", "user_permissions"]
        if obj is not None and obj.pk == request.user.pk:
            fields += ["groups", "is_staff", "is_active"]
        return fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change accounts; a superuser's only if they are a superuser themselves."""
        above = obj is not None and obj.is_superuser and not request.user.is_superuser
        return not above and super().has_change_permission(request, obj)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Let the account leave groups at once, and ask for consent to those that it is to join."""
        account: User = form.instance
        joined: set[str] = set()
        if "groups" in form.cleaned_data:
            before = set(account.groups.all())
            wanted = set(form.cleaned_data["groups"])
            joined = {group.name for group in wanted - before}
            form.cleaned_data["groups"] = Group.objects.filter(pk__in=[one.pk for one in wanted & before])
        super().save_related(request, form, formsets, change)
        if joined:
            self._ask(request, account, groups=joined, gives_link=not account.has_usable_password())

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Ask for a new password or a new second factor of somebody else; one's own is changed with the old one."""
        account = self.get_object(request, id)
        if account is None or not self.has_change_permission(request, account):
            raise PermissionDenied
        if account.pk == request.user.pk:
            return redirect("admin:password_change")
        if request.method == "POST":
            given = {name: name in request.POST for name in ("gives_link", "drops_factor")}
            if self._ask(request, account, **given):
                return redirect("admin:auth_user_change", account.pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": account,
            "title": account.get_username(),
        }
        return TemplateResponse(request, "admin/staff/renew.html", context)

    def _ask(self, request: HttpRequest, account: User, **wanted: Any) -> Asked | None:
        """Ask for consent and say what happens next, or why not."""
        assert isinstance(request.user, User)
        try:
            asked = consent_ask(account, request.user, **wanted)
        except ConsentRefused as refusal:
            self.message_user(request, str(REFUSALS[refusal.code]), messages.ERROR)
            return None
        self.message_user(
            request, _("This waits for the consent of another administrator."), messages.WARNING
        )
        if asked.number:
            text = _(
                "Give %(name)s this number, and nobody else: %(number)s. It is not shown again; the other administrator has the link."
            ) % {"name": account.get_username(), "number": asked.number}
            self.message_user(request, text, messages.WARNING)
        return asked

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log the new account in the admin's history and in the audit log."""
        _record(request, obj, "user_added")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log the change in the admin's history and in the audit log."""
        is_password = message == [{"changed": {"fields": ["password"]}}]
        _record(request, obj, "user_password_changed" if is_password else "user_changed")
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Log what is deleted in the admin's history and in the audit log."""
        for user in queryset:
            _record(request, user, "user_deleted")
        return super().log_deletions(request, queryset)


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ReadOnly):
    """Groups, read-only: the table of permissions in `prescriptions.roles` decides what they may do."""


def _record(request: HttpRequest, user: User, what: str) -> None:
    groups = list(user.groups.order_by("pk").values_list("pk", flat=True))
    detail: AuditDetail = {
        "user": user.pk,
        "groups": groups,
        "active": user.is_active,
        "staff": user.is_staff,
        "superuser": user.is_superuser,
    }
    audit_record(who=actor_of(request), what=what, where="admin", detail=detail)

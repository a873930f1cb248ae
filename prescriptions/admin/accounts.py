"""Manage staff accounts without letting whoever manages them raise anybody above the groups."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from pharmacy_site.lib.admin import ReadOnly, actor_of
from prescriptions.audit import audit_record

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(BaseUserAdmin[User], ModelAdmin):
    """Accounts; only a superuser makes superusers, and nobody changes their own groups."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Add the fields by which somebody who is no superuser could gain permissions."""
        fields = list(super().get_readonly_fields(request, obj))
        if not request.user.is_superuser:
            fields += ["is_superuser", "user_permissions"]
            if obj is not None and obj.pk == request.user.pk:
                fields += ["groups", "is_staff", "is_active"]
        return fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change accounts; a superuser's only if they are a superuser themselves."""
        above = obj is not None and obj.is_superuser and not request.user.is_superuser
        return not above and super().has_change_permission(request, obj)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log the new account in the admin's history and in the audit log."""
        _record(request, obj, "user_added")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log the change in the admin's history and in the audit log."""
        _record(request, obj, "user_changed")
        return super().log_change(request, obj, message)


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ReadOnly):
    """Groups, read-only: the table of permissions in `prescriptions.roles` decides what they may do."""


def _record(request: HttpRequest, user: User, what: str) -> None:
    groups = list(user.groups.order_by("pk").values_list("pk", flat=True))
    audit_record(who=actor_of(request), what=what, where="admin", detail={"user": user.pk, "groups": groups})

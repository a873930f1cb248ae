"""Share what the admin pages of several apps need: read-only tables, and the name of the acting user."""

from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import ModelAdmin


class ReadOnly(ModelAdmin):
    """Admin of a table that only code writes: nobody adds, changes or deletes its rows by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def actor_of(request: HttpRequest) -> str:
    """Return the acting user as stock movements and the audit log store it: by number, never by name."""
    return f"user:{request.user.pk}"

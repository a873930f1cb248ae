"""Show who is locked out, and let an administrator end it."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from pharmacy_site.lib.admin import ReadOnly, actor_of
from pharmacy_site.staff.limits import unlock
from pharmacy_site.staff.models import SignInCount


@admin.register(SignInCount)
class LockoutAdmin(ReadOnly):
    """Accounts, addresses and second factors that are locked out now."""

    list_display = ["kind", "account_shown", "locked_until", "locks", "refused"]
    list_display_links = None
    list_select_related = ["user"]
    actions = ["unlock"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SignInCount]:
        """Return what is locked now; other rows count tries only."""
        rows: QuerySet[SignInCount] = super().get_queryset(request)
        return rows.filter(locked_until__gt=timezone.now())

    @admin.display(description=_("account"))
    def account_shown(self, row: SignInCount) -> str:
        """Return the account's name; a name that no account has is stored as a hash, and so is an address."""
        return row.user.get_username() if row.user else row.key[:8]

    def has_unlock_permission(self, request: HttpRequest) -> bool:
        """Return whether this person ends lock-outs."""
        return request.user.has_perm("staff.unlock_signincount")

    @admin.action(description=_("Unlock the selected"), permissions=["unlock"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[SignInCount]) -> None:
        """End the selected lock-outs; nobody ends their own."""
        rows = list(queryset.exclude(user=request.user.pk))
        for row in rows:
            unlock(row, who=actor_of(request), where="admin")
        count = len(rows)
        text = ngettext("%(count)d lock-out ended.", "%(count)d lock-outs ended.", count) % {"count": count}
        self.message_user(request, text)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the actions without deletion, which leaves no line in the audit log."""
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

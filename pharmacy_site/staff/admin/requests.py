"""Show requests for accounts, and let a second administrator consent or refuse."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from pharmacy_site.lib.admin import ReadOnly
from pharmacy_site.staff.admin.accounts import REFUSALS
from pharmacy_site.staff.consents import ConsentRefused, State, consent_give, consent_refuse
from pharmacy_site.staff.models import AccountRequest
from pharmacy_site.staff.views import AgainForm
from prescriptions.admin.fresh import is_fresh, password_again


@admin.register(AccountRequest)
class AccountRequestAdmin(ReadOnly):
    """Requests for accounts, and what became of them."""

    list_display = [
        "subject",
        "groups",
        "gives_link",
        "drops_factor",
        "state",
        "requested_by",
        "requested_at",
    ]
    list_filter = ["state"]
    list_select_related = ["subject", "requested_by"]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one request; consenting needs the password again."""
        row = self.get_object(request, object_id)
        if row is None or not self.has_view_permission(request, row):
            raise PermissionDenied
        form = AgainForm(request.POST or None) if not is_fresh(request) else None
        if request.method == "POST":
            if not request.user.has_perm("staff.decide_accountrequest"):
                raise PermissionDenied
            is_refused = request.POST.get("act") == "refuse"
            if is_refused or form is None or self._again(request, form):
                return self._decided(request, row, is_refused)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": row,
            "title": str(row),
            "form": form,
            "is_open": row.state == State.OPEN,
            "may_decide": request.user.has_perm("staff.decide_accountrequest"),
            "is_own": row.requested_by_id == request.user.pk,
            "is_subject": row.subject_id == request.user.pk,
        }
        return TemplateResponse(request, "admin/staff/request.html", context)

    def _again(self, request: HttpRequest, form: AgainForm) -> bool:
        if not form.is_valid():
            return False
        error = password_again(request, form.cleaned_data["password"])
        if error is not None:
            form.add_error("password", error)
        return error is None

    def _decided(self, request: HttpRequest, row: AccountRequest, is_refused: bool) -> HttpResponse:
        assert isinstance(request.user, User)
        try:
            if is_refused:
                consent_refuse(row.pk, request.user)
                self.message_user(request, _("The request is closed. Nothing was changed."))
                return redirect(request.path)
            done, token = consent_give(row.pk, request.user)
        except ConsentRefused as refusal:
            self.message_user(request, str(REFUSALS[refusal.code]), messages.ERROR)
            return redirect(request.path)
        self.message_user(request, _("Done as asked for."))
        if token:
            link = request.build_absolute_uri(reverse("staff_link", args=[done.pk, token]))
            text = _("Give %(name)s this link, and nobody else; it is not shown again: %(link)s")
            self.message_user(
                request, text % {"name": done.subject.get_username(), "link": link}, messages.WARNING
            )
        return redirect(request.path)

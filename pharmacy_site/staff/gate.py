"""Stand before the staff's pages: end sessions that are over, and ask for the second factor first."""

from collections.abc import Awaitable, Callable
from typing import Final

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from pharmacy_site.lib.admin import actor_of
from pharmacy_site.lib.polling import was_polled
from pharmacy_site.staff.factor import factor_is_due
from pharmacy_site.staff.sessions import ended_why, somebody_is_there
from prescriptions.audit import audit_record

_PREFIX: Final = "/admin/"
# What the link and its number prove is enough there, whoever is signed in.
_LINKS: Final = "/admin/new-password/"


class StaffGate:
    """Lets nobody past whose session is over, or who has yet to give the second factor. Other pages are not looked at."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        """Answer a request, as a coroutine when the server is asynchronous."""
        if self._is_async:
            return self._answer(request)
        if not request.path.startswith(_PREFIX):
            return self.get_response(request)
        return self._refusal(request) or self._seen(request, self.get_response(request))

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        get_response: Callable[[HttpRequest], Awaitable[HttpResponse]] = self.get_response  # type: ignore[assignment]
        if not request.path.startswith(_PREFIX):
            return await get_response(request)
        refusal = await sync_to_async(self._refusal)(request)
        if refusal is not None:
            return refusal
        response = await get_response(request)
        return await sync_to_async(self._seen)(request, response)

    @cached_property
    def _open(self) -> set[str]:
        """The pages without a session."""
        return {reverse("admin:login"), reverse("admin:logout")}

    @cached_property
    def _before_factor(self) -> set[str]:
        """The pages of a session that has yet to give its second factor."""
        return {reverse("staff_factor"), reverse("staff_factor_setup"), reverse("admin:jsi18n")}

    def _refusal(self, request: HttpRequest) -> HttpResponse | None:
        if request.path in self._open or request.path.startswith(_LINKS) or not request.user.is_authenticated:
            return None
        why = ended_why(request)
        if why:
            audit_record(who=actor_of(request), what="signed_out", where="admin", why=why)
            # Not by `logout`, whose signal records that somebody signed out by themselves.
            request.session.flush()
            request.user = AnonymousUser()
            if not _is_script(request):
                messages.info(request, _("You were signed out because nothing was done for a while."))
            return self._elsewhere(request, reverse("admin:login"))
        if factor_is_due(request) and request.path not in self._before_factor:
            return self._elsewhere(request, reverse("staff_factor"))
        return None

    def _elsewhere(self, request: HttpRequest, to: str) -> HttpResponse:
        """Send a page to `to`, from where it comes back; a script learns that its page may show nothing more."""
        if _is_script(request):
            return JsonResponse({"detail": "signed out"}, status=401)
        following = request.get_full_path() if request.method == "GET" else reverse("admin:index")
        return redirect(f"{to}?{urlencode({'next': following})}")

    def _seen(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.user.is_authenticated and not was_polled(request):
            somebody_is_there(request)
        return response


def _is_script(request: HttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")

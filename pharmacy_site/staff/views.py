"""The pages of staff access: the second factor, and the link by which a password is chosen."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView, redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from pharmacy_site.staff.consents import link_request, link_use
from pharmacy_site.staff.factor import (
    codes_left,
    codes_renew,
    device_in_setup,
    device_of,
    factor_confirm,
    factor_give,
    factor_is_due,
    key_image,
    key_text,
)
from prescriptions.admin.fresh import is_fresh, password_again

View = Callable[[HttpRequest], HttpResponse]


class CodeForm(forms.Form):
    """A code of the app, or a recovery code."""

    code = forms.CharField(
        label=_("Code"),
        max_length=20,
        widget=UnfoldAdminTextInputWidget(
            attrs={"autocomplete": "one-time-code", "autofocus": True, "dir": "ltr", "spellcheck": "false"}
        ),
    )


class AgainForm(forms.Form):
    """The password again."""

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"}),
    )


def signed_in(view: View) -> View:
    """Show a view only to staff who have given their password."""

    @wraps(view)
    @never_cache
    @sensitive_post_parameters()
    def inner(request: HttpRequest) -> HttpResponse:
        if not (request.user.is_active and request.user.is_staff):
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        return view(request)

    return inner


@signed_in
def factor(request: HttpRequest) -> HttpResponse:
    """Ask for the second factor, and go on to where the person wanted to."""
    if not factor_is_due(request):
        return redirect(_following(request))
    if device_of(_user(request)) is None:
        return redirect("staff_factor_setup")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        error = factor_give(request, form.cleaned_data["code"])
        if not error:
            return redirect(_following(request))
        form.add_error("code", error)
    return _page(request, "factor", _("Second factor"), {"form": form, "next": _following(request)})


@signed_in
def setup(request: HttpRequest) -> HttpResponse:
    """Set up an app: the first one at once, another one only for whoever gave the one before and the password again."""
    has_one = device_of(_user(request)) is not None
    if has_one and (factor_is_due(request) or not is_fresh(request)):
        return redirect("staff_factor_own" if not factor_is_due(request) else "staff_factor")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        codes, error = factor_confirm(request, form.cleaned_data["code"])
        if codes:
            return _page(request, "codes", _("Recovery codes"), {"codes": codes})
        form.add_error("code", error)
    device = device_in_setup(_user(request))
    shown = {"form": form, "image": key_image(device), "key": key_text(device)}
    return _page(request, "setup", _("Set up the second factor"), shown)


@signed_in
def own(request: HttpRequest) -> HttpResponse:
    """Show one's own second factor; with the password again, set up another app or make new recovery codes."""
    if device_of(_user(request)) is None:
        return redirect("staff_factor_setup")
    form = AgainForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        error = password_again(request, form.cleaned_data["password"])
        if error is None:
            if request.POST.get("act") == "codes":
                return _page(request, "codes", _("Recovery codes"), {"codes": codes_renew(request)})
            return redirect("staff_factor_setup")
        form.add_error("password", error)
    return _page(request, "own", _("Second factor"), {"form": form, "left": codes_left(_user(request))})


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """One's own new password; a try at the old one counts as a try to sign in."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def clean_old_password(self) -> str:
        """Return the old password. Raises ValidationError for a wrong one, and while the account is locked."""
        given: str = self.cleaned_data["old_password"]
        error = password_again(self._request, given)
        if error is not None:
            raise forms.ValidationError(error, code="password_incorrect")
        return given


class OwnPasswordView(PasswordChangeView):
    """Takes the place of the admin's own page, which counts no tries."""

    form_class = OwnPasswordForm

    def get_form_kwargs(self) -> dict[str, Any]:
        """Add the request, by which tries are counted."""
        return {**super().get_form_kwargs(), "request": self.request}


@signed_in
def own_password(request: HttpRequest) -> HttpResponse:
    """Let somebody change their own password."""
    done, context = reverse("admin:password_change_done"), admin.site.each_context(request)
    view: View = OwnPasswordView.as_view(success_url=done, extra_context=context)  # type: ignore[assignment]
    return view(request)


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """A new password, with the number that belongs to the link."""

    number = forms.CharField(
        label=_("Number"),
        max_length=20,
        widget=UnfoldAdminTextInputWidget(attrs={"dir": "ltr", "autocomplete": "off"}),
    )
    field_order = ("number", "new_password1", "new_password2")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})


@never_cache
@sensitive_post_parameters()
def new_password(request: HttpRequest, number: int, token: str) -> HttpResponse:
    """Let whoever has the link and the number choose the password of an account."""
    asked = link_request(number, token)
    if asked is None:
        return _page(request, "link_over", _("This link is over"), {"is_outside": True}, status=404)
    form = NewPasswordForm(asked.subject, request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        if link_use(asked, given["number"], given["new_password1"]):
            messages.success(request, gettext("The password is set. Sign in with it now."))
            return redirect("admin:login")
        form.add_error("number", _("This number does not fit. Five wrong ones shut the link."))
    return _page(request, "new_password", _("Choose a password"), {"form": form, "is_outside": True})


def _following(request: HttpRequest) -> str:
    """Return the page of this site that was wanted."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    return wanted if is_ours else reverse("admin:index")


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _page(
    request: HttpRequest, name: str, title: Any, more: dict[str, Any], status: int = 200
) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": title, **more}
    return TemplateResponse(request, f"admin/staff/{name}.html", context, status=status)

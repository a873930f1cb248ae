"""List the admin's pages beside each page, with how many hand-offs wait that the reader may take."""

from typing import Any, Final, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest

from prescriptions.handoffs.selectors import handoffs_for
from prescriptions.models import Handoff
from prescriptions.roles import roles_of
from prescriptions.staff_roles import LADDER

_MOST: Final = 99


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the groups of links that this person sees, by app, as django-unfold's setting `navigation` takes them."""
    return [
        {
            "title": app["name"],
            "items": [_link(request, model) for model in app["models"] if model["admin_url"]],
        }
        for app in admin.site.get_app_list(request)
    ]


def to_take(user: User) -> int:
    """Return how many hand-offs wait that nobody has claimed and this person may take."""
    if not roles_of(user) & set(LADDER) or user.is_superuser:
        return 0
    waiting = handoffs_for(user).waiting().filter(claimed_by=None)
    return (waiting.exclude(patient__email=user.email.lower()) if user.email else waiting).count()


def _link(request: HttpRequest, model: dict[str, Any]) -> dict[str, Any]:
    link = {"title": model["name"], "link": str(model["admin_url"])}
    if model["model"] is Handoff and (count := to_take(cast(User, request.user))):
        link |= {"badge": f"{_MOST}+" if count > _MOST else str(count), "badge_variant": "danger"}
    return link

"""Show administrators the alerts above each page of the admin, in words."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext

from prescriptions.alerts import Alert, alerts


def shown(request: HttpRequest) -> dict[str, Callable[[], list[str]]]:
    """Return `site_alerts` for templates: a function, so that only the page that shows them looks for them."""
    return {"site_alerts": lambda: _texts(request)}


def _texts(request: HttpRequest) -> list[str]:
    user: Any = getattr(request, "user", None)
    if user is None or not user.has_perm("prescriptions.switch_site"):
        return []
    return [alert_text(alert) for alert in alerts()]


def alert_text(alert: Alert) -> str:
    """Return an alert as an administrator reads it."""
    count = alert.count
    match alert.code:
        case "audit_broken":
            text = gettext("The audit log is broken at line %(number)d.") % {"number": count}
            return f"{text} ({alert.name})"
        case "audit_unanchored":
            since = date_format(localtime(alert.since), "SHORT_DATETIME_FORMAT") if alert.since else ""
            return gettext("The audit log cannot be anchored since %(time)s.") % {"time": since}
        case "outbox_stuck":
            return ngettext("%d message waits too long", "%d messages wait too long", count) % count
        case "dead_letters":
            return ngettext("%d message was not sent", "%d messages were not sent", count) % count
        case "deadlines_late":
            return ngettext("%d deadline was not kept", "%d deadlines were not kept", count) % count
        case _:
            return gettext("A system does not answer and is left alone: %(name)s") % {"name": alert.name}

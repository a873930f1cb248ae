"""Configure the app of staff accounts: its checks, and what a new session begins with."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.utils.translation import gettext_lazy as _


class StaffConfig(AppConfig):
    name = "pharmacy_site.staff"
    label = "staff"
    verbose_name = _("Staff access")

    def ready(self) -> None:
        # Importing `checks` registers the system checks.
        from pharmacy_site.staff import checks, sessions  # noqa: F401

        user_logged_in.connect(sessions.on_signed_in, dispatch_uid="pharmacy_site.staff.sessions")

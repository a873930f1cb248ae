"""Configure the prescriptions app: its checks, its groups of staff, and its audit of stock changes."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class PrescriptionsConfig(AppConfig):
    name = "prescriptions"
    verbose_name = _("Patients and prescriptions")

    def ready(self) -> None:
        from inventory.signals import stock_changed

        # Importing `checks` registers the system checks.
        from prescriptions import audit, checks, roles  # noqa: F401
        from prescriptions.refill.services import on_handoff_closed
        from prescriptions.signals import handoff_closed

        stock_changed.connect(audit.on_stock_changed, dispatch_uid="prescriptions.audit")
        handoff_closed.connect(on_handoff_closed, dispatch_uid="prescriptions.refill")
        # After each app's migration, since permissions are created app by app; a flush in tests creates them again.
        post_migrate.connect(roles.on_post_migrate, dispatch_uid="prescriptions.roles")

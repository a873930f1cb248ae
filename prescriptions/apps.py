"""The app of patients, prescriptions, identity, hand-offs and the audit log: who may have what."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class PrescriptionsConfig(AppConfig):
    name = "prescriptions"
    verbose_name = _("Patients and prescriptions")

    def ready(self) -> None:
        from inventory.signals import stock_changed
        from prescriptions import audit, checks, roles  # noqa: F401  (registering is the import of checks' effect)

        stock_changed.connect(audit.on_stock_changed, dispatch_uid="prescriptions.audit")
        # After every app: permissions come into being app by app, and a test's flush makes them anew.
        post_migrate.connect(roles.on_post_migrate, dispatch_uid="prescriptions.roles")

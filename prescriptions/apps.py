"""Configure the prescriptions app: its checks, groups of staff, reply templates, and what its audit log hears of."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, post_save
from django.utils.translation import gettext_lazy as _


class PrescriptionsConfig(AppConfig):
    name = "prescriptions"
    verbose_name = _("Patients and prescriptions")

    def ready(self) -> None:
        # Importing `checks` registers the system checks.
        from prescriptions import checks, roles, switches  # noqa: F401
        from prescriptions.audit import events
        from prescriptions.cases import templates

        events.connect()
        post_save.connect(
            switches.board.forget,
            sender=self.get_model("SiteSwitches"),
            dispatch_uid="prescriptions.switches",
        )
        post_migrate.connect(switches.on_post_migrate, sender=self, dispatch_uid="prescriptions.switches_row")
        # After each app's migration, since permissions are created app by app; a flush in tests creates them again.
        post_migrate.connect(roles.on_post_migrate, dispatch_uid="prescriptions.roles")
        post_migrate.connect(
            templates.on_post_migrate, sender=self, dispatch_uid="prescriptions.reply_templates"
        )

"""Configure the stores app."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class StoresConfig(AppConfig):
    """Stores and localities."""

    name = "stores"
    verbose_name = _("Stores")

    def ready(self) -> None:
        """Create the site's standard answers after each migration."""
        from stores import site_answers

        post_migrate.connect(site_answers.on_post_migrate, sender=self, dispatch_uid="stores.site_answers")

"""Configure the stores app."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class StoresConfig(AppConfig):
    """Stores and localities."""

    name = "stores"
    verbose_name = _("Stores")

    def ready(self) -> None:
        """See to it that changed stores are not shown as they were."""
        from stores.edition import stamped

        receive = stamped("Locality", "Store", "OpeningHours", "OpeningException")
        post_migrate.connect(receive, sender=self, weak=False)

"""Configure the inventory app."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class InventoryConfig(AppConfig):
    """Medications, stock and interactions."""

    name = "inventory"
    verbose_name = _("Inventory")

    def ready(self) -> None:
        """See to it that a changed catalogue is not shown as it was."""
        from stores.edition import stamped

        receive = stamped("Category", "Ingredient", "Medication", "MedicationIngredient", "LeafletSection")
        post_migrate.connect(receive, sender=self, weak=False)

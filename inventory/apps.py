"""Configure the inventory app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class InventoryConfig(AppConfig):
    """Medications, stock and interactions."""

    name = "inventory"
    verbose_name = _("Inventory")

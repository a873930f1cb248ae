"""Configure the stores app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class StoresConfig(AppConfig):
    """Stores and localities."""

    name = "stores"
    verbose_name = _("Stores")

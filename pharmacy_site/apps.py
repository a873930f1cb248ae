"""The wiring app: it has no models, only the checks of a deployment."""

from django.apps import AppConfig


class PharmacySiteConfig(AppConfig):
    name = "pharmacy_site"

    def ready(self) -> None:
        from pharmacy_site import celery, checks  # noqa: F401  (registering is their import's effect)

"""The app of the project itself: no models, only commands and the checks of a deployment."""

from django.apps import AppConfig
from django.conf import settings


class PharmacySiteConfig(AppConfig):
    name = "pharmacy_site"

    def ready(self) -> None:
        from pharmacy_site import checks  # noqa: F401  (the import registers them)

        if settings.CELERY_BROKER_URL:  # a process without a broker never publishes a task
            from pharmacy_site import celery  # noqa: F401  (the import makes it the current application)

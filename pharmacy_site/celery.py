"""The Celery application of workers; web processes publish to it only when CELERY_BROKER_URL is set."""

import os

from celery import Celery

from pharmacy_site.lib.private_files import new_files_private

new_files_private()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
app = Celery("pharmacy")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["prescriptions.handoffs", "prescriptions.refill"])

"""The baseline over HTTP: the plainest REST framework views as a new project would have them, served by ASGI.

Settings, addresses and application in one file (DJANGO_SETTINGS_MODULE and ROOT_URLCONF both name it). REST framework
is on its defaults; nobody is authenticated, throttled, validated or recorded. `plain/` reads its JSON and answers; it
asks the database nothing. `fetch/` also fetches one row by its primary key.
"""

import os
import secrets
from typing import Any

import dj_database_url

SECRET_KEY = secrets.token_urlsafe(50)
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
ROOT_URLCONF = __name__
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "rest_framework",
]
MIDDLEWARE = [  # as `startproject` writes it
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
DATABASES = {"default": dj_database_url.parse(os.environ.get("DATABASE_URL", "sqlite://:memory:"))}


def __getattr__(name: str) -> Any:
    """Load the application and the addresses when they are first used, because they need the settings above."""
    if name == "application":
        from django.core.asgi import get_asgi_application

        return get_asgi_application()
    if name == "urlpatterns":
        from django.urls import path

        plain, fetch = _views()
        return [path("plain/", plain), path("fetch/", fetch)]
    raise AttributeError(name)


def _views() -> tuple[Any, Any]:
    from django.contrib.contenttypes.models import ContentType
    from rest_framework.request import Request
    from rest_framework.response import Response
    from rest_framework.views import APIView

    class Plain(APIView):
        """Reads a name from the body and says it again."""

        def post(self, request: Request) -> Response:
            return Response({"name": request.data["name"]})

    class Fetch(APIView):
        """Fetches a row of a table that every Django project has."""

        def post(self, request: Request) -> Response:
            row = ContentType.objects.get(pk=request.data["id"])
            return Response({"id": row.pk, "app": row.app_label, "model": row.model})

    return Plain.as_view(), Fetch.as_view()

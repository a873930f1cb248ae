"""The HTTP addresses of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url="/static/site/favicon.svg", permanent=True)),
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("agent.urls")),
]

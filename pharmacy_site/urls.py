"""The HTTP addresses of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("admin/", include("pharmacy_site.staff.urls")),
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url="/static/site/favicon.svg", permanent=True)),
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("agent.urls")),
]

handler400 = "agent.web.problems.bad_request"
handler403 = "agent.web.problems.permission_denied"
handler404 = "agent.web.problems.page_not_found"
handler500 = "agent.web.problems.server_error"

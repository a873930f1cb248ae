"""The WSGI application, for HTTP only: the chat needs `pharmacy_site.asgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
application = get_wsgi_application()

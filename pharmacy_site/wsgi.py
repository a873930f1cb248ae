"""The WSGI application, for HTTP only: the chat needs `pharmacy_site.asgi`."""

import os

from django.core.wsgi import get_wsgi_application

from pharmacy_site.lib.private_files import new_files_private

new_files_private()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
application = get_wsgi_application()

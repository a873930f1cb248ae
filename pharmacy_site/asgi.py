"""The ASGI door: HTTP by Django, the chat by Channels, and how a process begins and ends."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
http = get_asgi_application()

from agent.routing import websocket_urlpatterns  # noqa: E402
from agent.turn.guard import warm_up  # noqa: E402  (models load after the application is made)
from pharmacy_site.lifetime import lifespan, under_twisted  # noqa: E402

warm_up()
under_twisted()

application = ProtocolTypeRouter(
    {"http": http, "websocket": URLRouter(websocket_urlpatterns), "lifespan": lifespan}
)

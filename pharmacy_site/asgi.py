"""The ASGI application: HTTP by Django, the chat's WebSocket by Channels, and the process's start and end."""

import gc
import os
import threading

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.db import connections

from pharmacy_site.lib.private_files import new_files_private

new_files_private()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
# As in manage.py: what is loaded here stays, and looking for garbage in it takes a third of the start.
gc.disable()
http = get_asgi_application()

# Models can be imported only now, after Django is set up.
from agent.knowledge.indexing import indexes_warm_up  # noqa: E402
from agent.routing import websocket_urlpatterns  # noqa: E402
from agent.turn.guard import warm_up  # noqa: E402
from pharmacy_site.lifetime import lifespan, under_twisted  # noqa: E402
from prescriptions.refill.services import refill_warm_up  # noqa: E402

warm_up()
under_twisted()
gc.freeze()
gc.enable()


def later_warm_up() -> None:
    """Load what only the first question about health, and the first refill, would wait for."""
    indexes_warm_up()
    connections.close_all()
    refill_warm_up()


threading.Thread(target=later_warm_up, name="warm-up", daemon=True).start()

application = ProtocolTypeRouter(
    {"http": http, "websocket": URLRouter(websocket_urlpatterns), "lifespan": lifespan}
)

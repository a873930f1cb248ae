"""The ASGI application: HTTP by Django, the chat's WebSocket by Channels, and the process's start and end."""

import gc
import os
import threading

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
# As in manage.py: what is loaded here stays, and looking for garbage in it takes a third of the start.
gc.disable()
http = get_asgi_application()

# Models can be imported only now, after Django is set up.
from agent.routing import websocket_urlpatterns  # noqa: E402
from agent.turn.guard import warm_up  # noqa: E402
from pharmacy_site.lifetime import lifespan, under_twisted  # noqa: E402
from prescriptions.refill.services import refill_warm_up  # noqa: E402

warm_up()
under_twisted()
gc.freeze()
gc.enable()
# In its own time: only the first refill would wait for it.
threading.Thread(target=refill_warm_up, name="refill-warm-up", daemon=True).start()

application = ProtocolTypeRouter(
    {"http": http, "websocket": URLRouter(websocket_urlpatterns), "lifespan": lifespan}
)

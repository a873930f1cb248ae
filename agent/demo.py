"""The demo's embedding site: an invented shop on this machine that shows the chat in a frame."""

from agent.models import ChatSite

PUBLIC_ID = "pub_demo"


def load(port: int) -> None:
    """Adds the shop, and this machine's origins with this port; whatever else staff changed stays."""
    site, _ = ChatSite.objects.get_or_create(public_id=PUBLIC_ID, defaults={"name": "Demo shop"})
    own = [f"http://{host}:{number}" for number in (8000, port) for host in ("localhost", "127.0.0.1")]
    origins = list(dict.fromkeys([*site.origins, *own]))
    if origins != site.origins:
        site.origins = origins
        site.save(update_fields=["origins"])

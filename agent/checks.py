"""System checks of the chat: sites that embed it over plain HTTP."""

from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError


@register(Tags.security, deploy=True)
def plain_http_sites(**kwargs: Any) -> list[CheckMessage]:
    """A warning for each active site with an origin that has no TLS: such a one is for development."""
    from agent.models import ChatSite

    try:
        sites = list(ChatSite.objects.filter(is_active=True).order_by("pk"))
    except DatabaseError:
        return []  # before the first migration, or without a database, there is nothing to tell
    return [
        Warning(
            f"The embedding site {site.public_id} allows an origin without https.",
            hint="Take it off the site's list in the admin, or switch the site off.",
            id="agent.W001",
        )
        for site in sites
        if any(not str(origin).startswith("https://") for origin in site.origins)
    ]

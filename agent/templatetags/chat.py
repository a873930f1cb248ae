"""`{% chat_assets %}`: what a page with the chat loads, asked for at once and not one module after the other."""

from functools import cache
from typing import Any

from django import template
from django.conf import settings

register = template.Library()


@register.inclusion_tag("chat_assets.html")
def chat_assets() -> dict[str, Any]:
    """The chat's stylesheets and modules."""
    return {"styles": _files("css"), "modules": _files("js")}


@cache
def _files(kind: str) -> list[str]:
    names = sorted(path.name for path in (settings.BASE_DIR / "static" / "chat").glob(f"*.{kind}"))
    names.sort(key=lambda name: name != "chat.css")  # the other stylesheets build on it
    return [f"chat/{name}" for name in names]

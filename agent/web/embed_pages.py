"""Pages and scripts for other websites: the loader, their list of origins, the frame, and the way out of a frame."""

import json
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace, csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import conditional_page, require_POST, require_safe

from agent.conversation import embedding
from agent.demo import PUBLIC_ID
from agent.models import ChatSite
from agent.web.pages import inbox_context, language_chosen
from pharmacy_site.lib.network import origin_is_ours, request_address

LOADER = settings.BASE_DIR / "static" / "embed" / "loader.js"


@require_safe
@gzip_page
@conditional_page
def loader(request: HttpRequest) -> HttpResponse:
    """Return the script that a shop puts on its pages. Its address never changes, so it is cached only for minutes."""
    return _script(LOADER.read_bytes(), seconds=300)


@require_safe
def site_script(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return a script with the origins on which this site's chat is shown; null for an unknown site.

    It is a script because the shop's content policy may allow nothing else from us.
    """
    site = embedding.site_find(public_id)
    origins = [origin for origin in embedding.frame_ancestors(site) if "://" in origin] if site else None
    if origins is not None and settings.DEBUG:
        # The demo shop, on whatever port it is served.
        origins.append(f"{request.scheme}://{request.get_host()}")
    name, value = json.dumps(public_id), json.dumps(origins)
    body = f"(window.PharmacyChatSites = window.PharmacyChatSites || {{}})[{name}] = {value};\n"
    return _script(body.encode(), seconds=60)


@require_safe
@xframe_options_exempt
def frame(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """Return the chat for a frame; only the site's own origins may frame it."""
    site = _site(public_id)
    language_chosen(request)
    sources = embedding.frame_ancestors(site)
    if settings.DEBUG:
        sources.append(f"{request.scheme}://{request.get_host()}")
    context = {"site": site, "origins": json.dumps(sources)}
    page = csp_replace({"frame-ancestors": sources})(lambda request: render(request, "embed.html", context))
    response = page(request)
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    # Not no-store: browsers could then not cache the shop's page for the back button.
    patch_cache_control(response, private=True, no_cache=True)
    return response


# A frame on another site has no cookie of ours, so the Origin is checked instead of a CSRF token.
@csrf_exempt
@require_POST
def ticket(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return a one-time ticket for the frame's socket, as JSON with the key `ticket`; only for the frame's own page."""
    origin = request.headers.get("Origin", "")
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin" or not origin_is_ours(
        origin, request.get_host()
    ):
        return _json({"error": "forbidden_origin"}, status=403)
    try:
        issued = embedding.ticket_issue(_site(public_id), request_address(request))
    except embedding.TicketsLimited as error:
        detail = f"Too many chats were opened from this address. Try again in {error.retry_after} seconds."
        response = _json({"error": "rate_limited", "detail": detail}, status=429)
        response.headers["Retry-After"] = str(error.retry_after)
        return response
    return _json({"ticket": issued})


@require_safe
def continued(request: HttpRequest) -> HttpResponse:
    """Return our own page with the chat, for a conversation that leaves a frame: its ticket is behind the "#"."""
    language_chosen(request)
    response = render(request, "continue.html", inbox_context())
    patch_cache_control(response, no_store=True)
    return response


@require_safe
def replied(request: HttpRequest) -> HttpResponse:
    """Return our own page with the chat, for the link of an e-mail: it, too, is behind the "#"."""
    language_chosen(request)
    response = render(request, "continue.html", {**inbox_context(), "replied": True})
    patch_cache_control(response, no_store=True)
    return response


@require_safe
@csp_update({"frame-src": [SELF]})
def demo_shop(request: HttpRequest) -> HttpResponse:
    """Return a page of an invented shop that embeds the chat; 404 unless DEBUG is on."""
    if not settings.DEBUG:
        raise Http404
    language_chosen(request)
    response = render(request, "shop.html", {"site": PUBLIC_ID})
    patch_cache_control(response, no_cache=True)
    return response


def _site(public_id: str) -> ChatSite:
    site = embedding.site_find(public_id)
    if site is None:
        raise Http404
    return site


def _script(body: bytes, *, seconds: int) -> HttpResponse:
    """Return a script that any page may load."""
    response = HttpResponse(body, content_type="text/javascript; charset=utf-8")
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    patch_cache_control(response, public=True, max_age=seconds)
    return response


def _json(content: dict[str, Any], *, status: int = 200) -> HttpResponse:
    response = JsonResponse(content, status=status)
    patch_cache_control(response, no_store=True)
    return response

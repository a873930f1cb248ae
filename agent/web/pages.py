"""The pages for customers: the demo page with the chat and, in DEBUG, the inbox where codes arrive."""

from dataclasses import asdict

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.views.decorators.http import require_safe

from agent.conversation.events import conversation_find
from prescriptions import notifications


def language_chosen(request: HttpRequest) -> str | None:
    """The language that `?lang=` asks for, from here on in force; None when it names none of ours."""
    chosen = request.GET.get("lang")
    if chosen not in dict(settings.LANGUAGES):
        return None
    translation.activate(chosen)
    request.LANGUAGE_CODE = chosen
    return chosen


def inbox_context() -> dict[str, object]:
    """Return what `inbox.html` needs: whether it is shown, and whether codes arrive there."""
    return {"debug": settings.DEBUG, "identity": settings.CHAT_IDENTITY}


@require_safe
def demo(request: HttpRequest) -> HttpResponse:
    """The pharmacy's page with the chat; `?lang=en|he` chooses the language, which a cookie remembers."""
    chosen = language_chosen(request)
    response = render(request, "demo.html", {**inbox_context(), "emergency": settings.EMERGENCY_MEDICAL})
    if chosen:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            chosen,
            max_age=365 * 24 * 3600,
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )
    patch_vary_headers(response, ["Cookie"])
    patch_cache_control(response, no_cache=True)
    return response


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """What was sent for the conversation of this secret, newest last; no such page unless DEBUG is on.

    JSON with the key `messages`, a list of `to`, `text` and `code` (null for a message without one).
    """
    if not settings.DEBUG:
        raise Http404
    conversation = conversation_find(request.GET.get("conversation", ""))
    messages = [asdict(message) for message in notifications.inbox(conversation.pk)] if conversation else []
    response = JsonResponse({"messages": messages}, json_dumps_params={"ensure_ascii": False})
    patch_cache_control(response, no_store=True)
    return response

"""Errors of HTTP as problem documents (RFC 9457) under /api/, and as pages elsewhere; 503 while the database is away.

A problem document has `type`, `title` and `status` beside the members of its kind: `detail`, `errors` and so on.
"""

import logging
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from pharmacy_site.lib.errors import trace_of

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 5
_API: Final = "/api/"
NOTHING_HERE: Final = "There is nothing here. Addresses end with a slash."
log = logging.getLogger(__name__)


def problem_members(status: int, members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a problem document: those of every problem, then its own."""
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **members}


def problem(status: int, detail: str) -> JsonResponse:
    """Return a problem document."""
    return JsonResponse(problem_members(status, {"detail": detail}), status=status, content_type=MEDIA_TYPE)


class OneLength:
    """Middleware: refuse a request whose length is stated twice: a proxy in front may read another end of it than we do."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Go on, or refuse; the connection is closed, and what came behind the request with it."""
        if not (request.META.get("CONTENT_LENGTH") and "HTTP_TRANSFER_ENCODING" in request.META):
            return self._get_response(request)
        refused = problem(400, "Send either Content-Length or Transfer-Encoding, not both.")
        refused["Connection"] = "close"
        return refused


class Outage:
    """Middleware: a view that cannot reach the database is answered with 503 and Retry-After."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Go on."""
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """Return the answer to an error of the database's absence, None for any other error."""
        return _unavailable(request, error) if is_outage(error) else None


def is_outage(error: BaseException | None) -> bool:
    """Return whether an error says that the database is away or busy."""
    return isinstance(error, OperationalError | InterfaceError)


@csrf_exempt
def no_such_address(request: HttpRequest, rest: str = "") -> HttpResponseBase:
    """Answer any other address under /api/, by whatever method."""
    return problem(404, NOTHING_HERE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer what is no request that we can read, such as one for another host."""
    if request.path.startswith(_API):
        return problem(400, "The request is not valid.")
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer a request that is not allowed."""
    if request.path.startswith(_API):
        return problem(403, "This is not allowed.")
    return defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer a request for what does not exist; "/api" itself is one, too."""
    if f"{request.path}/".startswith(_API):
        return problem(404, NOTHING_HERE)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Answer a request that failed outside of a view, or for a reason that nobody foresaw."""
    error = sys.exc_info()[1]
    if error is not None and is_outage(error):
        return _unavailable(request, error)
    if request.path.startswith(_API):
        return problem(500, "This failed here. Try again later.")
    return defaults.server_error(request)


def _unavailable(request: HttpRequest, error: BaseException) -> HttpResponseBase:
    log.warning("database unavailable: %s at %s", type(error).__name__, trace_of(error))
    response: HttpResponse
    if request.path.startswith(_API):
        response = problem(
            503, f"The database cannot be reached at the moment. Try again in {RETRY_SECONDS} seconds."
        )
    else:
        response = render(request, "503.html", status=503)
    response["Retry-After"] = str(RETRY_SECONDS)
    response["Cache-Control"] = "no-store"
    return response

"""Which content policy a page gets: the admin's theme needs `eval`, every other page is strict.

What other sites may load or frame (`agent/web/embed_pages.py`) says so itself; everything else stays with us.
"""

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.http import HttpRequest, HttpResponse

_LOOSER = {
    "/admin/": {"script-src": [SELF, UNSAFE_EVAL, UNSAFE_INLINE], "style-src": [SELF, UNSAFE_INLINE]},
    "/api/docs/": {"script-src": [SELF, UNSAFE_INLINE], "style-src": [SELF, UNSAFE_INLINE]},
}


class PagePolicy:
    """Loosens the site's content policy under the two prefixes above and keeps patient pages out of caches."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        if self.is_async:
            return self._later(request)
        return self._finish(request, self.get_response(request))

    async def _later(self, request: HttpRequest) -> HttpResponse:
        response = await cast("Awaitable[HttpResponse]", self.get_response(request))
        return self._finish(request, response)

    def _finish(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        for prefix, directives in _LOOSER.items():
            if request.path.startswith(prefix):
                response._csp_replace = directives  # type: ignore[attr-defined]
        if request.path.startswith(("/admin/", "/demo/inbox/")):
            response.headers["Cache-Control"] = "no-store"
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

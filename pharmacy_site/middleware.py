"""The content policy of each page, and who may keep it or load it.

The admin's theme and the API page need more than the strict policy of the settings. A view that other sites may frame
says so itself, by django-csp's decorators (`agent/web/embed_pages.py`).
"""

from typing import Any

from csp.constants import NONCE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

_LOOSER: dict[str, dict[str, Any]] = {
    # The theme evaluates expressions of attributes and sets attributes of style; its one style element has a nonce.
    "/admin/": {
        "script-src": [SELF, UNSAFE_EVAL],
        "style-src": [SELF, NONCE],
        "style-src-attr": [UNSAFE_INLINE],
    },
    "/api/docs/": {"script-src": [SELF, UNSAFE_INLINE], "style-src": [SELF, UNSAFE_INLINE]},
}
_PERSONAL = ("/admin/", "/demo/inbox/")


class PagePolicy(CSPMiddleware):
    """Sends the content policy, keeps pages with patients out of caches, and responses to our own pages."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """Return the policy of a response, loosened under the two prefixes above."""
        parts = super().get_policy_parts(request, response, report_only)
        for prefix, directives in _LOOSER.items():
            if request.path.startswith(prefix):
                parts.replace = directives
        return parts

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Set the headers."""
        if request.path.startswith(_PERSONAL):
            response.headers["Cache-Control"] = "no-store"
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", settings.PERMISSIONS_POLICY)
        return super().process_response(request, response)

"""Mark views that a page asks by itself, every few seconds: being asked is no sign that somebody is there."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest

View = TypeVar("View", bound=Callable[..., Any])


def polled(unless: str = "") -> Callable[[View], View]:
    """Return the decorator of such a view; with the parameter `unless` in the address somebody was there all the same."""

    def mark(view: View) -> View:
        view.polled_unless = unless  # type: ignore[attr-defined]
        return view

    return mark


def was_polled(request: HttpRequest) -> bool:
    """Return whether a request that was answered came from a page by itself."""
    match = request.resolver_match
    unless = getattr(match.func, "polled_unless", None) if match else None
    return unless is not None and not (unless and request.GET.get(unless))

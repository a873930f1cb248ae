"""Open OpenTelemetry spans around requests to a language model, where OpenTelemetry is installed and set up.

A span never holds what was sent or answered.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

_TRACER: Final[Any] = (
    import_module("opentelemetry.trace").get_tracer("pharmacy") if find_spec("opentelemetry") else None
)


@contextmanager
def chat_span(model: str) -> Iterator[dict[str, Any]]:
    """Open a span around one request and yield its attributes, to be filled in."""
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
    if _TRACER is None:
        yield attributes
        return
    # Exceptions are not recorded: their texts may hold what was said.
    with _TRACER.start_as_current_span(
        f"chat {model}", record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield attributes
        except Exception as error:
            attributes["error.type"] = getattr(error, "reason", type(error).__name__)
            raise
        finally:
            span.set_attributes(attributes)

"""What the views of the HTTP API share: JSON in and out, errors in JSON, the client's language, queries as models."""

import json
from collections.abc import Iterable, Mapping
from typing import IO, Any, Final, TypeVar

from django.utils.translation import get_language_from_request
from pydantic import BaseModel, ValidationError
from rest_framework.exceptions import APIException, ParseError, Throttled
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

from agent.tools.registry import field_errors
from agent.web.problems import MEDIA_TYPE, problem_members
from agent.web.serializers import Detail
from pharmacy_site.lib.json_values import object_of
from pharmacy_site.lib.text import Language, as_language

LARGEST_BODY: Final = 64 * 1024
REFUSALS: Final[dict[int, Any]] = {401: Detail, 403: Detail, 405: Detail, 429: Detail}

Query = TypeVar("Query", bound=BaseModel)


class BodyTooLarge(APIException):
    """The body is larger than any arguments can be (413)."""

    status_code = 413
    default_detail = f"The body is too large. Send at most {LARGEST_BODY} bytes."


class Invalid(APIException):
    """The request is invalid: a 400 that names each field."""

    status_code = 400

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__("invalid")
        self.errors = errors


class StrictJson(BaseParser):
    """Parses a JSON body of limited size; a body that is not valid JSON, or names a key twice, is a 400."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the parsed body."""
        body = stream.read(LARGEST_BODY + 1)
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge
        try:
            return json.loads(body, parse_constant=_no_constant, object_pairs_hook=object_of)
        except (ValueError, RecursionError):
            raise ParseError("The body is not valid JSON.") from None


class AlwaysJson(BaseContentNegotiation):
    """Answers in JSON whatever the client accepts."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        """Return the JSON parser for a JSON body or one without a type, None (415) for any other."""
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return next(iter(parsers)) if kind in {"", "application/json"} else None

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return the only renderer."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response to an error: a 400 names fields, everything else has `detail`. `JsonView` makes it a problem."""
    if isinstance(error, Invalid):
        return Response({"errors": error.errors}, status=400)
    if isinstance(error, ParseError):
        return Response({"errors": [{"field": "", "message": str(error.detail)}]}, status=400)
    response = exception_handler(error, context)
    if response is not None and isinstance(error, Throttled):
        seconds = response.headers["Retry-After"]
        response.data = {"detail": f"Too many calls with this key. Try again in {seconds} seconds."}
    return response


class JsonView(APIView):
    """Takes and gives JSON only; authentication, scope and rate are checked by the settings' default classes."""

    parser_classes = [StrictJson]
    content_negotiation_class = AlwaysJson
    scope = "tools"

    def get_exception_handler(self) -> Any:
        """Return the handler above, for these views only."""
        return handle

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the response; an error becomes a problem document."""
        if isinstance(response, Response) and response.status_code >= 400 and isinstance(response.data, dict):
            response.data = problem_members(response.status_code, response.data)
            response.content_type = MEDIA_TYPE
        return super().finalize_response(request, response, *args, **kwargs)


def accepted_language(request: Request) -> Language:
    """Return Hebrew if the client prefers it to English (Accept-Language), else English."""
    return as_language(get_language_from_request(request))


def parsed(model: type[Query], request: Request) -> Query:
    """Return the query string as this model. Raises Invalid."""
    try:
        return model.model_validate(request.query_params.dict())
    except ValidationError as error:
        raise Invalid(field_errors(error)) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")

"""The HTTP door of the tools and of what staff and systems read: parse, one call, render."""

import json
from collections.abc import Iterable, Mapping
from typing import IO, Any, Final, TypeVar, cast

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils.translation.trans_real import parse_accept_lang_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, ValidationError
from rest_framework.exceptions import APIException, NotFound, ParseError, PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param
from rest_framework.views import APIView, exception_handler

from agent.models import ApiKey
from agent.serializers import (
    DEGREES,
    Detail,
    Errors,
    MedicationPage,
    MedicationsQuery,
    Page,
    StockPage,
    StockQuery,
    StorePage,
    StoresQuery,
    ToolList,
    medication_resources,
    outcome_model,
    point_of,
    stock_resource,
    store_resource,
)
from agent.tools.base import InvalidArguments, Language, NotAuthorised, Tool, ToolContext
from agent.tools.registry import call_tool, field_errors, toolcall_row
from agent.tools.schemas import function_definitions
from inventory import catalog
from inventory.errors import MedicationNotFound
from inventory.models import Medication, StockLevel
from stores.geo import Point, distance_km
from stores.models import Store

LARGEST_BODY: Final = 64 * 1024
MOST_FOUND: Final = 200
"""As far as a search goes; a list without a search goes to its end."""

REFUSALS: Final[dict[int, Any]] = {401: Detail, 403: Detail, 405: Detail, 429: Detail}
QUERY_LIMIT: Final = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
    OpenApiParameter("offset", {"type": "integer", "minimum": 0, "maximum": 100_000, "default": 0}),
]


Query = TypeVar("Query", bound=BaseModel)


class BodyTooLarge(APIException):
    """More than any arguments can be."""

    status_code = 413
    default_detail = "The body is too large."


class Invalid(APIException):
    """A 400 that names each field."""

    status_code = 400

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__("invalid")
        self.errors = errors


class StrictJson(BaseParser):
    """A JSON body of limited size; whatever is wrong with it is the client's 400."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return what the body holds."""
        body = stream.read(LARGEST_BODY + 1)
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge
        try:
            return json.loads(body, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise ParseError("The body is not valid JSON.") from None


class AlwaysJson(BaseContentNegotiation):
    """JSON whatever the client says it accepts."""

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
    """Say what is wrong: a 400 names fields, everything else has `detail`."""
    if isinstance(error, Invalid):
        return Response({"errors": error.errors}, status=400)
    if isinstance(error, ParseError):
        return Response({"errors": [{"field": "", "message": str(error.detail)}]}, status=400)
    return exception_handler(error, context)


class JsonView(APIView):
    """A view that speaks JSON only; the key's check, scope and rate are the settings' defaults."""

    parser_classes = [StrictJson]
    content_negotiation_class = AlwaysJson
    scope = "tools"

    def get_exception_handler(self) -> Any:
        """Use the handler above, for these views only."""
        return handle


# -- Tools --------------------------------------------------------------------------------------------------


class ToolsView(JsonView):
    """The tools as function definitions."""

    @extend_schema(operation_id="tools", responses={200: ToolList, **REFUSALS}, tags=["tools"])
    def get(self, request: Request) -> Response:
        """List the tools as OpenAI function definitions."""
        return Response({"tools": function_definitions()})


class ToolView(JsonView):
    """One tool; `tool` is filled in by `tool_view`."""

    tool: Tool

    def call(self, request: Request) -> Response:
        """Call the tool, record the call, and return the contract's output, success or failure."""
        key = cast("ApiKey", request.auth)
        context = ToolContext(
            actor=str(request.user),
            channel="http",
            language=accepted_language(request),
            api_key=key,
            scopes=frozenset(key.scopes),
        )
        try:
            outcome = call_tool(self.tool.name, request.data, context)
        except InvalidArguments as error:
            raise Invalid(error.errors) from None
        except NotAuthorised:
            raise PermissionDenied("The key lacks the scope for this.") from None
        toolcall_row(outcome, context).save(force_insert=True)
        response = Response(outcome.result)
        if self.tool.private:
            response["Cache-Control"] = "no-store"
        return response


def tool_view(tool: Tool) -> Any:
    """Return the view of one tool, with its own entry in the OpenAPI schema."""

    @extend_schema(
        operation_id=tool.name,
        summary=tool.name,
        description=f"{tool.description} (Scope: `{tool.scope}`.)",
        request=tool.arguments,
        responses={200: outcome_model(tool), 400: Errors, 413: Detail, 415: Detail, **REFUSALS},
        tags=["tools"],
    )
    def post(self: ToolView, request: Request) -> Response:
        return self.call(request)

    view: Any = type(f"{tool.name}_view", (ToolView,), {"tool": tool, "scope": tool.scope, "post": post})
    return view.as_view()


class NoToolView(JsonView):
    """The address of a tool that does not exist."""

    @extend_schema(exclude=True)
    def post(self, request: Request, name: str) -> Response:
        """Refuse."""
        raise NotFound("There is no such tool.")

    get = post


# -- Resources ----------------------------------------------------------------------------------------------


class MedicationsView(JsonView):
    """Products, all or found by a search."""

    @extend_schema(
        operation_id="medications",
        parameters=[OpenApiParameter("q", {"type": "string", "maxLength": 500}), *QUERY_LIMIT],
        responses={200: MedicationPage, 400: Errors, **REFUSALS},
        tags=["resources"],
    )
    def get(self, request: Request) -> Response:
        """List products by id, or those that `q` finds (at most 200), best match first."""
        asked = parsed(MedicationsQuery, request)
        if asked.q.strip():
            found = catalog.medications_search(asked.q, limit=MOST_FOUND)
            part, count = found[asked.offset : asked.offset + asked.limit], len(found)
        else:
            rows = Medication.objects.order_by("id")
            part, count = cut(rows, asked), rows.count()
        return page(request, asked, count, [row.model_dump() for row in medication_resources(part)])


class StoresView(JsonView):
    """Stores, all or by distance."""

    @extend_schema(
        operation_id="stores",
        parameters=[
            OpenApiParameter(
                "near",
                {"type": "string", "pattern": DEGREES},
                description="lat,lng in degrees: the stores that have a place, nearest first",
            ),
            *QUERY_LIMIT,
        ],
        responses={200: StorePage, 400: Errors, **REFUSALS},
        tags=["resources"],
    )
    def get(self, request: Request) -> Response:
        """List active stores by number, or those with a place by their distance in kilometres."""
        asked = parsed(StoresQuery, request)
        rows = Store.objects.filter(is_active=True)
        if not asked.near:
            part, count = cut(rows.order_by("id"), asked), rows.count()
            return page(request, asked, count, [store_resource(row, None).model_dump() for row in part])
        origin = point_of(asked.near)
        # Only three columns of each store: this is a list for systems, no customer waits for it.
        placed = rows.filter(lat__isnull=False).order_by().values_list("pk", "lat", "lng")
        near = sorted(
            (distance_km(origin, Point(lat, lng)), pk)
            for pk, lat, lng in placed
            if lat is not None and lng is not None
        )
        wanted = near[asked.offset : asked.offset + asked.limit]
        by_id = rows.in_bulk([pk for _, pk in wanted])
        listed = [store_resource(by_id[pk], km).model_dump() for km, pk in wanted if pk in by_id]
        return page(request, asked, len(near), listed)


class StockView(JsonView):
    """Stock levels."""

    @extend_schema(
        operation_id="stock",
        parameters=[
            OpenApiParameter("medication", OpenApiTypes.STR, description="2, or med-2"),
            OpenApiParameter("store", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}),
            *QUERY_LIMIT,
        ],
        responses={200: StockPage, 400: Errors, **REFUSALS},
        tags=["resources"],
    )
    def get(self, request: Request) -> Response:
        """List stock levels, of one medication or one store or both where given; none for an unknown one."""
        asked = parsed(StockQuery, request)
        rows = StockLevel.objects.order_by("medication_id", "store_id")
        if asked.medication is not None:
            try:
                rows = rows.filter(medication=catalog.medication_get(asked.medication))
            except MedicationNotFound:
                rows = rows.none()
        if asked.store is not None:
            rows = rows.filter(store_id=asked.store)
        part, count = cut(rows, asked), rows.count()
        return page(request, asked, count, [stock_resource(row).model_dump() for row in part])


def no_such_address(request: HttpRequest, rest: str = "") -> HttpResponseBase:
    """Answer any other address under /api/ in JSON."""
    return JsonResponse({"detail": "There is nothing here. Addresses end with a slash."}, status=404)


# -- Small parts --------------------------------------------------------------------------------------------


def accepted_language(request: Request) -> Language:
    """Return Hebrew if the client prefers it to English, else English."""
    for code, _quality in parse_accept_lang_header(request.headers.get("Accept-Language", "")[:200]):
        if code.split("-")[0] in {"he", "iw"}:
            return "he"
        if code.split("-")[0] in {"en", "*"}:
            return "en"
    return "en"


def parsed(model: type[Query], request: Request) -> Query:
    """Return the query as this model, or a 400 that names each field."""
    try:
        return model.model_validate(request.query_params.dict())
    except ValidationError as error:
        raise Invalid(field_errors(error)) from None


def cut(rows: QuerySet[Any], asked: Page) -> list[Any]:
    """Return the part of the rows that was asked for."""
    return list(rows[asked.offset : asked.offset + asked.limit])


def page(request: Request, asked: Page, count: int, results: list[dict[str, Any]]) -> Response:
    """Return a page with links to its neighbours."""
    address = request.build_absolute_uri()
    following, before = asked.offset + asked.limit, asked.offset - asked.limit
    return Response(
        {
            "count": count,
            "next": replace_query_param(address, "offset", following) if following < count else None,
            "previous": None
            if asked.offset == 0
            else replace_query_param(address, "offset", before)
            if before > 0
            else remove_query_param(address, "offset"),
            "results": results,
        }
    )


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")

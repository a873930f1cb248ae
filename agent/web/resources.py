"""Products, stores and stock levels over HTTP, for staff and other systems."""

from typing import Any, Final

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from agent.web.http import REFUSALS, JsonView, parsed
from agent.web.serializers import (
    DEGREES,
    Errors,
    MedicationPage,
    MedicationsQuery,
    Page,
    StockPage,
    StockQuery,
    StorePage,
    StoresQuery,
    medication_resources,
    point_of,
    stock_resource,
    store_resource,
)
from inventory import catalog
from inventory.errors import MedicationNotFound
from inventory.models import Medication, StockLevel
from stores.geo import Point, distance_km
from stores.models import Store

MOST_FOUND: Final = 200
"""How many results a search has at most; a list without a search has no such limit."""

QUERY_LIMIT: Final = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
    OpenApiParameter("offset", {"type": "integer", "minimum": 0, "maximum": 100_000, "default": 0}),
]


class MedicationsView(JsonView):
    """Lists products, all or found by a search."""

    @extend_schema(
        operation_id="medications",
        parameters=[
            OpenApiParameter("q", {"type": "string", "maxLength": 500, "pattern": r"^[^\u0000]*$"}),
            *QUERY_LIMIT,
        ],
        responses={200: MedicationPage, 400: Errors, **REFUSALS},
        tags=["resources"],
    )
    def get(self, request: Request) -> Response:
        """List products by id, or those that `q` finds (at most 200), best match first."""
        query = parsed(MedicationsQuery, request)
        if query.q.strip():
            found = catalog.medications_search(query.q, limit=MOST_FOUND)
            listed, count = found[query.offset : query.offset + query.limit], len(found)
        else:
            rows = Medication.objects.order_by("id")
            listed, count = rows_of(rows, query), rows.count()
        return page(request, query, count, [row.model_dump() for row in medication_resources(listed)])


class StoresView(JsonView):
    """Lists stores, all or by distance."""

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
        query = parsed(StoresQuery, request)
        rows = Store.objects.filter(is_active=True)
        if not query.near:
            listed, count = rows_of(rows.order_by("id"), query), rows.count()
            return page(request, query, count, [store_resource(row, None).model_dump() for row in listed])
        origin = point_of(query.near)
        # Only three columns of each store: this is a list for systems, no customer waits for it.
        placed = rows.filter(lat__isnull=False).order_by().values_list("pk", "lat", "lng")
        near = sorted(
            (distance_km(origin, Point(lat, lng)), pk)
            for pk, lat, lng in placed
            if lat is not None and lng is not None
        )
        wanted = near[query.offset : query.offset + query.limit]
        by_id = rows.in_bulk([pk for _, pk in wanted])
        listed = [store_resource(by_id[pk], km).model_dump() for km, pk in wanted if pk in by_id]
        return page(request, query, len(near), listed)


class StockView(JsonView):
    """Lists stock levels."""

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
        query = parsed(StockQuery, request)
        rows = StockLevel.objects.order_by("medication_id", "store_id")
        if query.medication is not None:
            try:
                rows = rows.filter(medication=catalog.medication_get(query.medication))
            except MedicationNotFound:
                rows = rows.none()
        if query.store is not None:
            rows = rows.filter(store_id=query.store)
        listed, count = rows_of(rows, query), rows.count()
        return page(request, query, count, [stock_resource(row).model_dump() for row in listed])


def rows_of(rows: QuerySet[Any], query: Page) -> list[Any]:
    """Return the rows of one page."""
    return list(rows[query.offset : query.offset + query.limit])


def page(request: Request, query: Page, count: int, results: list[dict[str, Any]]) -> Response:
    """Return a page with links to its neighbours."""
    address = request.build_absolute_uri()
    following, before = query.offset + query.limit, query.offset - query.limit
    return Response(
        {
            "count": count,
            "next": replace_query_param(address, "offset", following) if following < count else None,
            "previous": None
            if query.offset == 0
            else replace_query_param(address, "offset", before)
            if before > 0
            else remove_query_param(address, "offset"),
            "results": results,
        }
    )

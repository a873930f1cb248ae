"""Refills over HTTP, for clinicians' systems: request one for a named patient, and read what became of it."""

from typing import Annotated, Any, Final, Literal, cast

from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from agent.models import ApiKey
from agent.tools.base import Arguments, Text, Whole, whole
from agent.tools.registry import field_errors
from agent.web.http import REFUSALS, Invalid, JsonView, parsed
from agent.web.idempotency import HEADER, PATTERN, once
from agent.web.resources import QUERY_LIMIT, page, rows_of
from agent.web.serializers import Detail, Errors, Page, Problem, paged
from pharmacy_site.lib.text import as_language
from prescriptions.audit import Access, audit_record
from prescriptions.errors import (
    DeliveryAddressMissing,
    PatientNotFound,
    PrescriptionNotFound,
    RefillAlreadyOpen,
    RefillNotFound,
)
from prescriptions.models import RefillRequest
from prescriptions.refill import selectors
from prescriptions.refill.services import refill_submit
from prescriptions.refill.states import State
from prescriptions.selectors import patient_get
from stores.models import Store

_WHERE: Final = "http:refills"
_MOST_UNITS: Final = 10_000
_MOST_DAYS: Final = 365
StateName = Literal[
    "Collect_Refill_Request",
    "Rx_Safety_Check",
    "Backend_Check",
    "PA_Approval_Needed",
    "Escalate_Handoff",
    "Refill_Dispensed",
    "Escalation_Complete",
]


class RefillBody(Arguments):
    """A request for a named patient; quantity and days' supply are by default the prescription's."""

    patient_id: Text
    prescription_id: Whole
    quantity: Annotated[int, Field(ge=1, le=_MOST_UNITS), BeforeValidator(whole)] | None = None
    days_supply: Annotated[int, Field(ge=1, le=_MOST_DAYS), BeforeValidator(whole)] | None = None
    pickup: Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(whole)] | Literal["delivery"]


class RefillsQuery(Page):
    """The query of refills: all, or those of one patient or in one state."""

    patient_id: Text | None = None
    state: StateName | None = None


class RefillResource(BaseModel):
    """A refill request; `reason` is why it went to a person, `path` the states of every walk in order."""

    number: str
    patient_id: str
    prescription_id: int
    state: StateName
    path: list[StateName]
    outcome: Literal["dispensed", "denied", "cancelled", "closed"] | None
    reason: str | None
    handoff: str | None
    order_key: str
    pickup: int | Literal["delivery"] | None
    requested_at: str
    updated_at: str
    quantity: int
    days_supply: int
    fulfilment: Literal["preparing", "ready", "collected", "returned"] | None


class AlreadyOpen(Problem):
    """The body of a 409: the number of the open request."""

    detail: str
    number: str


RefillPage = paged("RefillPage", RefillResource)


class RefillsView(JsonView):
    """Takes requests, and lists them."""

    scope = "patients"

    @extend_schema(
        operation_id="refills",
        parameters=[
            OpenApiParameter("patient_id", {"type": "string", "maxLength": 500, "pattern": "^[^\\u0000]*$"}),
            OpenApiParameter("state", {"type": "string", "enum": [str(state) for state in State]}),
            *QUERY_LIMIT,
        ],
        responses={200: RefillPage, 400: Errors, **REFUSALS},
        tags=["refills"],
    )
    def get(self, request: Request) -> Response:
        """List refill requests, newest first, of one patient or in one state or both where given. (Scope: `patients`.)"""
        query = parsed(RefillsQuery, request)
        access = _access(request)
        rows = selectors.refills_all()
        if query.patient_id is not None:
            try:
                rows = selectors.refills_for(
                    patient_get(query.patient_id.strip(), access=access), access=access
                )
            except PatientNotFound:
                rows = rows.none()
        if query.state is not None:
            rows = rows.filter(state=query.state)
        listed, count = rows_of(rows, query), rows.count()
        audit_record(
            who=access.who,
            what="refills_listed",
            where=access.where,
            detail={
                "refills": [row.number for row in listed],
                "patients": sorted({row.patient_id for row in listed if row.patient_id is not None}),
            },
        )
        return _private(page(request, query, count, [refill_resource(row).model_dump() for row in listed]))

    @extend_schema(
        operation_id="refill_request",
        description="Request a refill for a named patient. It is checked, and dispensed or handed to a person, at once. (Scope: `patients`.)",
        parameters=[
            OpenApiParameter(
                HEADER, {"type": "string", "pattern": PATTERN}, OpenApiParameter.HEADER, required=True
            )
        ],
        request=RefillBody,
        responses={
            201: RefillResource,
            400: Errors,
            404: Detail,
            409: AlreadyOpen,
            413: Detail,
            415: Detail,
            422: Detail,
            503: Detail,
            **REFUSALS,
        },
        tags=["refills"],
    )
    def post(self, request: Request) -> Response:
        """Request a refill."""
        try:
            body = RefillBody.model_validate(request.data)
        except ValidationError as error:
            raise Invalid(field_errors(error)) from None
        key = cast("ApiKey", request.auth)
        return _private(once(request, key, lambda: _submitted(request, key, body)))


class RefillView(JsonView):
    """Shows one request."""

    scope = "patients"

    @extend_schema(
        operation_id="refill",
        parameters=[OpenApiParameter("number", {"type": "string"}, OpenApiParameter.PATH)],
        responses={200: RefillResource, 404: Detail, **REFUSALS},
        tags=["refills"],
    )
    def get(self, request: Request, number: str) -> Response:
        """Return a refill request by its number. (Scope: `patients`.)"""
        try:
            row = selectors.refill_get(number, access=_access(request))
        except RefillNotFound:
            raise NotFound("There is no such refill.") from None
        return _private(Response(refill_resource(row).model_dump()))


def refill_resource(row: RefillRequest) -> RefillResource:
    """Return a request as a resource."""
    return RefillResource.model_validate(
        {
            "number": row.number,
            "patient_id": row.patient.mrn,
            "prescription_id": row.prescription_id,
            "state": row.state,
            "path": selectors.path_of(row),
            "outcome": row.outcome,
            "reason": row.reason or None,
            "handoff": row.handoff.number if row.handoff else None,
            "order_key": row.order_key,
            "pickup": row.pickup,
            "requested_at": row.requested_at.isoformat(),
            "updated_at": row.updated_at.isoformat(),
            "quantity": row.quantity,
            "days_supply": row.days_supply,
            "fulfilment": row.fulfilment or None,
        }
    )


def _submitted(request: Request, key: ApiKey, body: RefillBody) -> Response:
    access = _access(request)
    store = None
    if body.pickup != "delivery":
        store = Store.objects.filter(pk=body.pickup, is_active=True).first()
        if store is None:
            return Response({"detail": "There is no such store."}, status=404)
    try:
        patient = patient_get(body.patient_id.strip(), access=access)
        row = refill_submit(
            patient=patient,
            prescription_id=body.prescription_id,
            store=store,
            access=access,
            language=as_language(patient.language),
            quantity=body.quantity,
            days_supply=body.days_supply,
            submit_key=f"key:{key.pk}:{request.headers[HEADER]}",
        )
    except (PatientNotFound, PrescriptionNotFound):
        return Response({"detail": "There is no such prescription of such a patient."}, status=404)
    except DeliveryAddressMissing:
        problem = {"field": "pickup", "message": "The patient has no delivery address on file."}
        return Response({"errors": [problem]}, status=400)
    except RefillAlreadyOpen as refusal:
        answer: dict[str, Any] = {
            "detail": "A refill of this prescription is already requested.",
            "number": refusal.number,
        }
        return Response(answer, status=409)
    made = selectors.refill_get(row.number, access=access)
    return Response(refill_resource(made).model_dump(), status=201)


def _access(request: Request) -> Access:
    return Access(who=str(request.user), where=_WHERE)


def _private(response: Response) -> Response:
    response["Cache-Control"] = "no-store"
    return response

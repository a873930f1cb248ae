"""Hand-offs over HTTP: the queue and the case for other systems, under the rules of the staff's pages.

A key acts on behalf of one member of staff: what that person may see and do in the admin, it may, except to decide about
a controlled medicine, which needs the person's password.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from django.contrib.auth.models import User
from django.db import transaction
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import ValidationError
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from agent.models import ApiKey
from agent.tools.registry import field_errors
from agent.web.authentication import is_of_staff
from agent.web.handoff_decisions import DecideBody, ReplyBody, decide
from agent.web.handoff_resources import (
    HandoffCase,
    HandoffConflict,
    HandoffPage,
    HandoffRefusal,
    HandoffsQuery,
    ReplyWritten,
    handoff_case,
    handoff_resource,
)
from agent.web.http import REFUSALS, Invalid, JsonView, parsed
from agent.web.idempotency import HEADER, PATTERN, once
from agent.web.resources import QUERY_LIMIT, page, rows_of
from agent.web.serializers import Detail, Errors
from prescriptions.audit import Access, audit_record
from prescriptions.errors import (
    HandoffRefused,
    HandoffTaken,
    RefillChangedMeanwhile,
    RefillRefused,
    UnseenMessages,
)
from prescriptions.handoffs.selectors import handoffs_for, in_turn
from prescriptions.handoffs.services import handoff_claim
from prescriptions.models import Handoff
from prescriptions.transcripts import reply_write

Body = TypeVar("Body", DecideBody, ReplyBody)
_FIELD_OF: Final = {
    "quantity": "quantity",
    "reference_needed": "reference",
    "reason": "reason",
    "outcome": "reason",
    "text": "text",
    "question": "note",
    "language": "note",
    "place_needed": "pickup",
    "place_fixed": "pickup",
    "place_stock": "pickup",
    "no_address": "pickup",
    "no_such_decision": "decision",
    "to": "role",
}
"""Refusals that another value of a field would mend, with that field: 400."""
_CONFLICTS: Final = frozenset(
    {"over", "not_waiting", "no_conversation", "dispenser_unavailable", "order_out"}
)
_SAID: Final = {
    "role": "Your group may not do this.",
    "own_request": "Nobody decides a request of their own.",
    "fresh_sign_in_needed": "A controlled medicine is decided in the admin, after the password was entered again.",
    "new_prescription_needed": "This needs a new prescription; no decision replaces it.",
    "over": "This hand-off is over already.",
    "not_waiting": "The refill no longer waits for a decision.",
    "no_conversation": "The conversation was deleted, or there was none.",
    "dispenser_unavailable": "The dispenser does not answer, so the order cannot be taken back now. Try again later.",
    "order_out": "The order was sent, and nobody knows yet what became of it. Its quantity is not changed now.",
    "changed": "Somebody else changed this meanwhile.",
    "quantity": "At least 1 and at most what was prescribed.",
    "reference_needed": "The reference of the insurer's authorisation is needed.",
    "reason": "There is no such reason for this decision.",
    "text": "The text is empty or too long.",
    "question": "The question to the customer is missing.",
    "language": "The question is not in the customer's language.",
    "place_needed": "The customer named no place: say where it is picked up.",
    "place_fixed": "The customer named the place, and it has enough in stock.",
    "place_stock": "There is not enough in stock there.",
    "no_address": "The patient has no delivery address on file.",
    "no_such_decision": "This hand-off has no such decision.",
    "to": "It cannot be passed on to this role or person.",
}
_NUMBER: Final = OpenApiParameter("number", {"type": "string"}, OpenApiParameter.PATH)
_ONCE: Final = OpenApiParameter(HEADER, {"type": "string", "pattern": PATTERN}, OpenApiParameter.HEADER)
_OF_POSTS: Final[dict[int, Any]] = {
    400: Errors,
    404: Detail,
    409: HandoffConflict,
    413: Detail,
    415: Detail,
    422: Detail,
    503: Detail,
    **REFUSALS,
    403: HandoffRefusal,
}


class HandoffApi(JsonView):
    """What the views share: the key's member of staff, and the hand-off by its number."""

    scope = "handoffs"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a key whose member of staff works here no more."""
        super().initial(request, *args, **kwargs)
        user = cast("ApiKey", request.auth).user
        right = "view" if request.method == "GET" else "change"
        if user is None or not is_of_staff(user) or not user.has_perm(f"prescriptions.{right}_handoff"):
            raise PermissionDenied("The key's member of staff may not do this.")

    def user_of(self, request: Request) -> User:
        """Return the member of staff on whose behalf the key acts."""
        return cast("User", cast("ApiKey", request.auth).user)

    def access(self, request: Request) -> Access:
        """Return both as the audit log has them: the person, and in `where` the key."""
        return Access(who=f"user:{self.user_of(request).pk}", where=f"http:handoffs:{request.user}")

    def found(self, request: Request, number: str) -> Handoff | None:
        """Return a hand-off that this person may see; None also for one that they may not. Both are recorded."""
        rows = handoffs_for(self.user_of(request)).select_related("patient", "medication", "claimed_by")
        row = rows.filter(number=number[:40]).first()
        access = self.access(request)
        audit_record(
            who=access.who,
            what="handoff_viewed" if row else "handoff_refused",
            where=access.where,
            patient=row.patient if row else None,
            detail={"handoff": row.number if row else None},
        )
        return row

    def shown(self, request: Request, number: str) -> dict[str, Any]:
        """Return a case as it is now; passed on, it may be nobody's to see here any more: then without its content."""
        user = self.user_of(request)
        row = Handoff.objects.select_related("patient", "medication", "claimed_by").get(number=number)
        with_content = handoffs_for(user).filter(pk=row.pk).exists()
        return handoff_case(row, user, with_content=with_content).model_dump(mode="json")

    def done(
        self,
        request: Request,
        row: Handoff | None,
        work: Callable[[Handoff], dict[str, Any]],
        status: int = 200,
    ) -> Response:
        """Return what the work returns, or why it was refused; under an Idempotency-Key it is done once.

        A repetition gets the first response also when the hand-off is nobody's to see here any more, as after passing it
        on. Raises NotFound.
        """

        def answered() -> Response:
            found = _known(row)
            return _answered(lambda: work(found), status)

        if HEADER in request.headers:
            return _private(once(request, cast("ApiKey", request.auth), answered))
        return _private(answered())


class HandoffsView(HandoffApi):
    """Lists the queue."""

    @extend_schema(
        operation_id="handoffs",
        parameters=[
            OpenApiParameter("state", {"type": "string", "enum": [str(state) for state in Handoff.State]}),
            *QUERY_LIMIT,
        ],
        responses={200: HandoffPage, 400: Errors, **REFUSALS},
        tags=["hand-offs"],
    )
    def get(self, request: Request) -> Response:
        """List the hand-offs that the key's member of staff may see, in the order in which they are to be taken. (Scope: `handoffs`.)"""
        query = parsed(HandoffsQuery, request)
        user, access = self.user_of(request), self.access(request)
        rows = in_turn(handoffs_for(user))
        if query.state is not None:
            rows = rows.filter(state=query.state)
        count = rows.count()
        listed = rows_of(rows.select_related("patient", "medication", "claimed_by"), query)
        audit_record(
            who=access.who,
            what="handoffs_listed",
            where=access.where,
            detail={
                "handoffs": [row.number for row in listed],
                "patients": sorted({row.patient_id for row in listed if row.patient_id is not None}),
            },
        )
        found = [handoff_resource(row, user).model_dump(mode="json") for row in listed]
        return _private(page(request, query, count, found))


class HandoffView(HandoffApi):
    """Shows one case."""

    @extend_schema(
        operation_id="handoff",
        parameters=[_NUMBER],
        responses={200: HandoffCase, 404: Detail, **REFUSALS},
        tags=["hand-offs"],
    )
    def get(self, request: Request, number: str) -> Response:
        """Return a hand-off with its context package and its conversation, as far as the member of staff may read them. (Scope: `handoffs`.)"""
        return _private(Response(self.shown(request, _known(self.found(request, number)).number)))


class HandoffClaimView(HandoffApi):
    """Claims one."""

    @extend_schema(
        operation_id="handoff_claim",
        description="Take a hand-off; claiming it again extends the claim. 409 names who has it. (Scope: `handoffs`.)",
        parameters=[_NUMBER, _ONCE],
        request=None,
        responses={200: HandoffCase, **_OF_POSTS},
        tags=["hand-offs"],
    )
    def post(self, request: Request, number: str) -> Response:
        """Claim it."""
        found, user = self.found(request, number), self.user_of(request)

        def work(row: Handoff) -> dict[str, Any]:
            handoff_claim(row, user, access=self.access(request))
            return self.shown(request, row.number)

        return self.done(request, found, work)


class HandoffDecideView(HandoffApi):
    """Decides one."""

    @extend_schema(
        operation_id="handoff_decide",
        description=(
            "Decide a hand-off that the member of staff has claimed. Decisions about controlled medicines are refused "
            "here: they need a person who enters the password again. (Scope: `handoffs`.)"
        ),
        parameters=[_NUMBER, _ONCE],
        request=DecideBody,
        responses={200: HandoffCase, **_OF_POSTS},
        tags=["hand-offs"],
    )
    def post(self, request: Request, number: str) -> Response:
        """Decide it."""
        body = _body(DecideBody, request)
        found, user = self.found(request, number), self.user_of(request)

        def work(row: Handoff) -> dict[str, Any]:
            decide(row, user, body, access=self.access(request))
            return self.shown(request, row.number)

        return self.done(request, found, work)


class HandoffReplyView(HandoffApi):
    """Writes to the customer."""

    @extend_schema(
        operation_id="handoff_reply",
        description=(
            "Write to the customer of a hand-off that the member of staff has claimed. `seen_seq` is the last message that "
            "was read: when the customer has written since, nothing is sent, and the 409 has `last_seq`. It counts in the "
            "case's `conversation`: send that, too, else `seen_seq` counts as 0 once the hand-off has moved to another "
            "conversation. (Scope: `handoffs`.)"
        ),
        parameters=[_NUMBER, _ONCE],
        request=ReplyBody,
        responses={201: ReplyWritten, **_OF_POSTS},
        tags=["hand-offs"],
    )
    def post(self, request: Request, number: str) -> Response:
        """Write the reply."""
        body = _body(ReplyBody, request)
        found, user = self.found(request, number), self.user_of(request)

        def work(row: Handoff) -> dict[str, Any]:
            access, seen = self.access(request), body.seen_seq
            seq = reply_write(row, user, body.text, seen_seq=seen, access=access, seen_in=body.conversation)
            return {"seq": seq}

        # Reply and response together: a process that dies between them would let a repetition write it again.
        with transaction.atomic():
            return self.done(request, found, work, 201)


def _body(model: type[Body], request: Request) -> Body:
    try:
        return model.model_validate(request.data)
    except ValidationError as error:
        raise Invalid(field_errors(error)) from None


def _known(row: Handoff | None) -> Handoff:
    if row is None:
        raise NotFound("There is no such hand-off.")
    return row


def _answered(work: Callable[[], dict[str, Any]], status: int) -> Response:
    """Do the work and return its response, or that of its refusal."""
    try:
        return Response(work(), status=status)
    except HandoffTaken as taken:
        said = f"{taken.holder} has claimed this." if taken.holder else "Claim this hand-off first."
        return Response(
            {
                "detail": said,
                "code": "claimed" if taken.holder else "not_claimed",
                "claimed_by": taken.holder or None,
            },
            status=409,
        )
    except UnseenMessages as unseen:
        said = "The customer wrote meanwhile; nothing was sent."
        return Response({"detail": said, "code": "unseen", "last_seq": unseen.last_seq}, status=409)
    except RefillChangedMeanwhile:
        return _refused("changed", 409)
    except (HandoffRefused, RefillRefused) as refusal:
        if field := _FIELD_OF.get(refusal.code):
            problem = {"field": field, "message": _SAID.get(refusal.code, refusal.code)}
            return Response({"errors": [problem]}, status=400)
        return _refused(refusal.code, 409 if refusal.code in _CONFLICTS else 403)


def _refused(code: str, status: int) -> Response:
    return Response({"detail": _SAID.get(code, "This is not possible."), "code": code}, status=status)


def _private(response: Response) -> Response:
    response["Cache-Control"] = "no-store"
    return response

"""What a system sends to decide a hand-off or to write to its customer, and how that becomes a decision of staff."""

from typing import Annotated, Final, Literal
from uuid import UUID

from django.contrib.auth.models import User
from pydantic import BeforeValidator, Field

from agent.tools.base import Arguments, Text, Whole, whole
from pharmacy_site.lib.text import clean, language_of
from prescriptions.audit import Access
from prescriptions.cases.decisions import OUTCOMES, REASONS, case_decide, refill_of, roles_for
from prescriptions.errors import HandoffRefused, RefillRefused
from prescriptions.models import Handoff, RefillRequest
from prescriptions.refill.collection import Pickup
from prescriptions.staff_roles import LADDER
from stores.models import Store

_Decision = Literal["approve", "deny", "ask", "change_quantity", "pass_on", "close"]
_NOT_HERE: Final = frozenset({"approve", "change_quantity", "deny", "close"})
"""Decisions that end the wait of a controlled medicine: they need a person who has just signed in."""
_MOST_UNITS: Final = 10_000
_MOST_TEXT: Final = 4_000


class DecideBody(Arguments):
    """A decision.

    `reason` is a code of the staff's page ("reviewed", "unsafe", "too_early", …; of "close" how it ended: "answered",
    "by_phone", …); any other text is kept as the note of the reason "other". `note` is for staff; of "ask" it is the question to the
    customer, in the customer's language. `role` and `person` (a user name) are to whom it is passed on, by default the next role.
    """

    decision: _Decision
    reason: Text = ""
    note: Text = ""
    quantity: Annotated[int, Field(ge=1, le=_MOST_UNITS), BeforeValidator(whole)] | None = None
    reference: Annotated[Text, Field(max_length=60)] = ""
    pickup: Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(whole)] | Literal["delivery"] | None = (
        None
    )
    role: Literal["technician", "pharmacist", "physician"] | None = None
    person: Text | None = None


class ReplyBody(Arguments):
    """A message to the customer; `seen_seq` is the number of the last message that its writer has read.

    `conversation` is that of the case in which it was read; a hand-off that has moved to another one needs it.
    """

    text: Annotated[str, Field(min_length=1, max_length=_MOST_TEXT, pattern="^[^\\u0000]*$")]
    seen_seq: Whole
    # Strict values are no strings, and JSON has no UUIDs.
    conversation: Annotated[UUID | None, Field(strict=False)] = None


def decide(handoff: Handoff, user: User, body: DecideBody, *, access: Access) -> None:
    """Make the decision. Raises what `case_decide` raises, and HandoffRefused for what the body lacks."""
    refill = refill_of(handoff)
    if body.decision in _NOT_HERE and _is_controlled(handoff, refill):
        raise RefillRefused("fresh_sign_in_needed")
    if body.decision == "ask":
        _question_check(handoff, body.note)
    reason, note = clean(body.reason), clean(body.note)
    both = "\n".join(part for part in (reason, note) if part)
    if body.decision == "pass_on":
        note = both
    elif reason and body.decision in REASONS and reason not in REASONS[body.decision]:
        reason, note = "other", both
    case_decide(
        handoff,
        user,
        body.decision,
        access=access,
        reason=reason if body.decision in REASONS else "",
        quantity=body.quantity,
        reference=body.reference.strip(),
        question=note if body.decision == "ask" else "",
        pickup=_place(body) if refill else None,
        note="" if body.decision == "ask" else note,
        role=_role(handoff, body) if body.decision == "pass_on" else "",
        person=_person(body) if body.decision == "pass_on" else None,
        outcome=_outcome(reason) if body.decision == "close" else "",
    )


def _outcome(reason: str) -> str:
    """Return how a hand-off was closed; what is no such code tells nothing of it."""
    return reason if reason in OUTCOMES else str(Handoff.Outcome.UNANSWERED)


def _question_check(handoff: Handoff, question: str) -> None:
    if not question.strip():
        raise HandoffRefused("question")
    if language_of(question) != handoff.language:
        raise HandoffRefused("language")


def _is_controlled(handoff: Handoff, refill: RefillRequest | None) -> bool:
    products = [handoff.medication, refill.prescription.medication if refill else None]
    return any(product is not None and bool(product.schedule) for product in products)


def _place(body: DecideBody) -> Pickup | None:
    if body.pickup is None:
        return None
    if body.pickup == "delivery":
        return Pickup(None)
    store = Store.objects.filter(pk=body.pickup, is_active=True).first()
    if store is None:
        raise RefillRefused("place_stock")
    return Pickup(store)


def _role(handoff: Handoff, body: DecideBody) -> str:
    """Return to which role it is passed on: the one that was named, else the next one that may take it."""
    roles = roles_for(handoff)
    if body.role is not None:
        if body.role not in roles:
            raise HandoffRefused("to")
        return body.role
    later = [role for role in roles if LADDER.index(role) > LADDER.index(handoff.contact)]
    if not later:
        raise HandoffRefused("to")
    return later[0]


def _person(body: DecideBody) -> User | None:
    if body.person is None:
        return None
    found = User.objects.filter(username=body.person, is_active=True, is_staff=True).first()
    if found is None:
        raise HandoffRefused("to")
    return found

"""Do what somebody pressed on the page of a case, and return what they are told."""

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from prescriptions.admin.case_forms import OF_REFILLS, REPLY
from prescriptions.audit import Access
from prescriptions.cases.case import Case
from prescriptions.cases.decisions import Decision, case_decide
from prescriptions.cases.wording import page_language
from prescriptions.errors import HandoffRefused, HandoffTaken, RefillRefused
from prescriptions.handoffs.services import handoff_claim, handoff_release
from prescriptions.models import RefillRequest
from prescriptions.refill.orders import order_is_out
from prescriptions.refill.states import State
from prescriptions.refill.wording import reason_text
from prescriptions.transcripts import give_back, reply_write

Told = tuple[int, str]
_OF_CASES: Final = (*OF_REFILLS, Decision.PASS_ON, Decision.CLOSE)
_TAKEN: Final = (
    *("version", "reason", "quantity", "reference", "question", "pickup"),
    *("note", "role", "person", "outcome"),
)
"""What `case_decide` takes of a form's values."""


def act_on(
    case: Case, user: User, act: str, values: Mapping[str, Any], *, access: Access, is_fresh: bool
) -> Told:
    """Do it by a service; returns the level and the sentence of a message. Raises what the services raise."""
    handoff = case.handoff
    match act:
        case "claim":
            handoff_claim(handoff, user, access=access)
            return messages.SUCCESS, _("This hand-off is yours now.")
        case "release":
            handoff_release(handoff, user, access=access)
            return messages.SUCCESS, _("It is back in the queue.")
        case "give_back":
            give_back(handoff, user, access)
            return messages.SUCCESS, _("The assistant answers this customer again.")
    if handoff.is_over:
        raise HandoffRefused("over")
    if not case.is_mine:
        # Its forms were not on the page; they may have been when the claim was still live.
        raise HandoffTaken(case.row.claimed_by)
    if act == REPLY and values:
        seen_seq, seen_in = values["seen_seq"], values["conversation"]
        reply_write(handoff, user, values["text"], seen_seq=seen_seq, access=access, seen_in=seen_in)
        return messages.SUCCESS, _("Sent to the customer.")
    if act == Decision.CHANGE_QUANTITY and case.waits and case.refill and order_is_out(case.refill):
        # Its form was on a page from before the order was sent.
        raise RefillRefused("order_out")
    if act not in _OF_CASES or not values:
        raise HandoffRefused("no_such_decision")
    taken = {name: values[name] for name in _TAKEN if name in values}
    decided = case_decide(handoff, user, act, access=access, is_fresh=is_fresh, **taken)
    return _told(act, decided)


def _told(act: str, decided: RefillRequest | None) -> Told:
    """Return what became of a decision."""
    if act == Decision.PASS_ON:
        return messages.SUCCESS, _("Passed on. It waits there unclaimed.")
    if act == Decision.CLOSE:
        return messages.SUCCESS, _("The hand-off is closed.")
    if decided is None or act not in {Decision.APPROVE, Decision.CHANGE_QUANTITY}:
        return messages.SUCCESS, _("Your decision was recorded. The customer is told.")
    if decided.outcome == RefillRequest.Outcome.DISPENSED:
        return messages.SUCCESS, _("Approved, and sent for preparation.")
    if decided.state == State.COMPLETE:
        reason = reason_text(decided.reason, page_language())
        return messages.WARNING, _("You approved it, but it was stopped again: %(reason)s.") % {
            "reason": reason
        }
    return messages.WARNING, _("Approved. The dispenser has not answered yet.")

"""Find who decides an escalated request (S3 "Central Intelligence"): a loop of thought, action and observation.

A language model may reason, where the site has one. Rules check whatever it proposes, and walk the same tools themselves
when there is no model, or it fails, takes too long or proposes somebody who may not decide. All steps are kept.
No transaction may be open: a model is waited for.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from pharmacy_site.lib.text import clean
from prescriptions.models import RefillRequest
from prescriptions.refill.contacts import Contact, contact_by_rules, roles_for
from prescriptions.refill.reasoning import (
    By,
    Reasoner,
    ReasonerFailed,
    ReasonerOpener,
    ReasoningStep,
    Thought,
)
from prescriptions.refill.reservations import store_of
from prescriptions.refill.safety import Check
from prescriptions.refill.states import Reason
from prescriptions.roster import Duty, on_call
from stores.models import Store
from stores.selectors import opening_state

log = logging.getLogger(__name__)
MOST_STEPS: Final = 8
_LONGEST_THOUGHT: Final = 400
_LONGEST_VALUE: Final = 40
_ARGUMENTS: Final = frozenset({"branch", "role", "person"})
"""The arguments that a tool or a choice has; whatever else a model writes is dropped."""
Observation = Mapping[str, object]


class Routed(NamedTuple):
    """The contact, who found it, and how."""

    contact: Contact
    by: By
    steps: list[dict[str, object]]


class Refused(Exception):
    """A proposal that the rules refuse; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def contact_find(request: RefillRequest, findings: list[Check]) -> Routed:
    """Return who decides this request, found by the model where there is one and else by rules.

    What an earlier decision covers needs no second one, except of the role that the law names.
    """
    reason = Reason(request.reason)
    new = [
        one for one in findings if one.key not in request.covered or one.decided_by or one.reason == reason
    ]
    case = Case(request, reason, new, timezone.now())
    contact = _by_model(case)
    by: By = "model" if contact else "rules"
    contact = contact or _by_rules(case)
    return Routed(contact, by, [step.as_json() for step in case.steps])


@dataclass
class Case:
    """One request on its way to a person: what the tools show of it, and the steps so far."""

    request: RefillRequest
    reason: Reason
    findings: list[Check]
    at: datetime
    steps: list[ReasoningStep] = field(default_factory=list)

    def act(self, by: By, thought: Thought) -> Observation:
        """Call a tool, record the step and return what the tool returned: an error for an unknown tool or a wrong argument."""
        tool = _TOOLS.get(thought.action)
        seen = tool(self, thought.arguments) if tool else {"error": "unknown_action"}
        self.record(by, thought, seen)
        return seen

    def record(self, by: By, thought: Thought, seen: Observation) -> None:
        """Add a step."""
        text = clean(thought.thought)[:_LONGEST_THOUGHT]
        arguments = {
            name: value[:_LONGEST_VALUE] if isinstance(value, str) else value
            for name, value in thought.arguments.items()
            if name in _ARGUMENTS and isinstance(value, str | int | None)
        }
        self.steps.append(ReasoningStep(by, text, thought.action[:_LONGEST_VALUE], arguments, dict(seen)))

    @property
    def branch(self) -> Store:
        """The store whose stock is used."""
        return store_of(self.request)

    def duties(self, role: str) -> list[Duty]:
        """Return the people of a role who are on call, except the one who made the request: nobody decides their own."""
        found = on_call(role, self.branch.pk, self.reason, at=self.at)
        return [duty for duty in found if f"user:{duty.person}" != self.request.requested_by]


def _by_model(case: Case) -> Contact | None:
    """Return what the model proposes and the rules accept, None when there is no model or nothing of use."""
    if not settings.REFILL_REASONER:
        return None
    try:
        opener: ReasonerOpener = import_string(settings.REFILL_REASONER)
        opened = opener(settings.REFILL_ROUTING_TIMEOUT)
        if opened is None:
            return None
        with opened as reasoner:
            return _loop(case, reasoner)
    except Refused as refusal:
        case.record("rules", Thought("proposal_refused", "check"), {"refused": refusal.code})
    except ReasonerFailed as failure:
        case.record("rules", Thought("model_failed", "check"), {"failed": failure.reason})
    except Exception as error:
        # Whatever a model does, the request reaches a person.
        log.exception("routing by model failed")
        case.record("rules", Thought("model_failed", "check"), {"failed": type(error).__name__})
    return None


def _loop(case: Case, reasoner: Reasoner) -> Contact:
    """Ask the model for one step after another until it proposes a contact, and check that. Raises ReasonerFailed, Refused."""
    for _ in range(MOST_STEPS):
        thought = reasoner.next(tuple(case.steps))
        if thought.action == "choose":
            case.record("model", thought, {})
            return proposal_check(case, thought.arguments)
        case.act("model", thought)
    raise ReasonerFailed("too_many_steps")


def proposal_check(case: Case, proposed: Observation) -> Contact:
    """Return the proposed contact if its role may decide and its person is on call for it. Raises Refused."""
    role, person = proposed.get("role"), proposed.get("person")
    if not isinstance(role, str) or role not in roles_for(case.reason, case.findings):
        raise Refused("role_not_allowed")
    people = {duty.person for duty in case.duties(role)}
    if person is None and people:
        raise Refused("somebody_is_on_call")
    if person is not None and (type(person) is not int or person not in people):
        raise Refused("person_not_on_call")
    return Contact(role, contact_by_rules(case.reason, case.findings).why, person)


def _by_rules(case: Case) -> Contact:
    """Call each tool once in a fixed order, then choose the usual role and the first person of it on call."""
    branch = case.branch.pk
    case.act("rules", Thought("why_a_person", "reason"))
    case.act("rules", Thought("who_may_decide", "roles"))
    case.act("rules", Thought("where_it_is_picked_up", "branch"))
    case.act("rules", Thought("whether_it_is_open", "working_hours", {"branch": branch}))
    usual = contact_by_rules(case.reason, case.findings)
    case.act("rules", Thought("who_is_on_call", "on_call", {"role": usual.role, "branch": branch}))
    duties = case.duties(usual.role)
    contact = Contact(usual.role, usual.why, duties[0].person if duties else None)
    thought = "first_on_call" if duties else "nobody_on_call"
    case.record(
        "rules",
        Thought(thought, "choose", {"role": contact.role, "person": contact.person}),
        {"why": usual.why},
    )
    return contact


def _see_reason(case: Case, arguments: Observation) -> Observation:
    return {
        "reason": str(case.reason),
        "findings": [
            {
                "check": one.name,
                "level": one.level,
                "reason": str(one.reason or ""),
                "decided_by": one.decided_by,
            }
            for one in case.findings
            if one.escalates
        ],
    }


def _see_roles(case: Case, arguments: Observation) -> Observation:
    usual = contact_by_rules(case.reason, case.findings)
    return {"roles": list(roles_for(case.reason, case.findings)), "why": usual.why}


def _see_branch(case: Case, arguments: Observation) -> Observation:
    return {"branch": case.branch.pk, "is_delivery": case.request.pickup == "delivery"}


def _see_hours(case: Case, arguments: Observation) -> Observation:
    number = arguments.get("branch")
    store = Store.objects.filter(pk=number).first() if type(number) is int else None
    if store is None:
        return {"error": "no_such_branch"}
    state = opening_state(store, case.at)
    changes = state.closes_at if state.is_open else state.opens_at
    return {
        "is_open": state.is_open,
        "changes_at": changes.isoformat(timespec="minutes") if changes else None,
    }


def _see_on_call(case: Case, arguments: Observation) -> Observation:
    role, number = arguments.get("role"), arguments.get("branch")
    if not isinstance(role, str) or type(number) is not int:
        return {"error": "role_and_branch_needed"}
    duties = on_call(role, number, case.reason, at=case.at)
    return {
        "people": [
            {
                "person": duty.person,
                "branch": duty.branch,
                "until": duty.until.isoformat(timespec="minutes"),
                "made_the_request": f"user:{duty.person}" == case.request.requested_by,
            }
            for duty in duties
        ]
    }


_TOOLS: Final[Mapping[str, Callable[[Case, Observation], Observation]]] = {
    "reason": _see_reason,
    "roles": _see_roles,
    "branch": _see_branch,
    "working_hours": _see_hours,
    "on_call": _see_on_call,
}

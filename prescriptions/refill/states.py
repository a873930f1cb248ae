"""THE table of the refill workflow (S3): states, events, transitions, and the reasons for which it stops. Pure.

S3's two labels that name no state are read as README section 5 says: `to_Refill_Available` leads to Backend_Check and
`to_Escalation_Required` to PA_Approval_Needed.
"""

from collections.abc import Mapping, Set
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The seven states, by S3's names."""

    COLLECT = "Collect_Refill_Request"
    SAFETY = "Rx_Safety_Check"
    BACKEND = "Backend_Check"
    APPROVAL = "PA_Approval_Needed"
    HANDOFF = "Escalate_Handoff"
    DISPENSED = "Refill_Dispensed"
    COMPLETE = "Escalation_Complete"


class Event(StrEnum):
    """What moves a request from one state to the next."""

    CONFIRMED = "confirmed"
    SAFE = "safe"
    ESCALATED = "escalated"
    DISPENSED = "dispensed"
    CONTACT_CHOSEN = "contact_chosen"
    HANDED_OFF = "handed_off"
    APPROVED = "approved"


class Reason(StrEnum):
    """Why a request goes to a person: S3's seven breakers, then the other reasons of the specification."""

    LOW_CONFIDENCE = "low_confidence"
    IDENTITY_FAILED = "identity_failed"
    MAJOR_INTERACTION = "major_interaction"
    DIRECT_ALLERGY = "direct_allergy"
    CONTROLLED_SUBSTANCE = "controlled_substance"
    BACKEND_UNAVAILABLE = "backend_unavailable"
    MAX_ATTEMPTS = "max_attempts"

    ALLERGY_UNKNOWN = "allergy_unknown"
    RELATED_ALLERGY = "related_allergy"
    NOT_REFILLABLE = "not_refillable"
    INTERACTION_UNKNOWN = "interaction_unknown"
    DUPLICATE_THERAPY = "duplicate_therapy"
    QUANTITY = "quantity"
    LABS = "labs"
    AGE = "age"
    ACUTE_ANTIBIOTIC = "acute_antibiotic"
    PRIOR_AUTHORISATION = "prior_authorisation"
    EARLY = "early"
    OUT_OF_STOCK = "out_of_stock"
    ORDER_REFUSED = "order_refused"
    ORDER_UNKNOWN = "order_unknown"
    CHECK_FAILED = "check_failed"


BREAKERS: Final[tuple[Reason, ...]] = (
    Reason.LOW_CONFIDENCE,
    Reason.IDENTITY_FAILED,
    Reason.MAJOR_INTERACTION,
    Reason.DIRECT_ALLERGY,
    Reason.CONTROLLED_SUBSTANCE,
    Reason.BACKEND_UNAVAILABLE,
    Reason.MAX_ATTEMPTS,
)
"""S3's seven, in its order."""

TABLE: Final[Mapping[State, Mapping[Event, State]]] = {
    State.COLLECT: {Event.CONFIRMED: State.SAFETY},
    State.SAFETY: {Event.SAFE: State.BACKEND, Event.ESCALATED: State.APPROVAL},
    State.BACKEND: {Event.DISPENSED: State.DISPENSED, Event.ESCALATED: State.APPROVAL},
    State.APPROVAL: {Event.CONTACT_CHOSEN: State.HANDOFF},
    State.HANDOFF: {Event.HANDED_OFF: State.COMPLETE},
    State.DISPENSED: {},
    State.COMPLETE: {},
}
"""Where each event leads within one walk."""

NEW_WALK: Final = (State.COMPLETE, Event.APPROVED, State.BACKEND)
"""An approval starts the next walk of an escalated request; no other event leaves an end state."""

END_STATES: Final[Set[State]] = frozenset(state for state, events in TABLE.items() if not events)


class IllegalTransition(ValueError):
    """The table has no such event in this state."""


def next_state(state: State, event: Event) -> State:
    """Return the state that an event leads to. Raises IllegalTransition."""
    if (state, event) == NEW_WALK[:2]:
        return NEW_WALK[2]
    try:
        return TABLE[state][event]
    except KeyError:
        raise IllegalTransition(f"{event} in {state}") from None


def diagram() -> str:
    """Return the table as a Mermaid state diagram; a dotted note says where an approval goes on."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.COLLECT}"]
    for state, events in TABLE.items():
        lines += [f"    {state} --> {target}: {event}" for event, target in events.items()]
        if not events:
            lines.append(f"    {state} --> [*]")
    start, event, target = NEW_WALK
    lines.append(f"    {start} --> {target}: {event} (next walk)")
    return "\n".join(lines) + "\n"

"""What a model can ask the server to do besides calling tools: send a code, bring in a person, forget who it is.

Each action leaves its row before anything is promised, and repeating it for the same run changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.db.models import Q

from agent.conversation import confirmations
from agent.conversation.handoff import run_hand_over
from agent.conversation.identity import identity_begin, identity_end
from agent.conversation.stores import branches_all, by_distance, store_nearest, stores_described
from agent.inference.base import Step, StepResult
from agent.models import Run
from prescriptions import identity
from prescriptions.errors import IdentityLimited, PatientNotFound
from prescriptions.models import Handoff
from stores.places import CityPlace, StorePlace, UnservedPlace, place_find


def identity_code(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Starts proving who asks: a code to the contact on file (policy `otp`), or at once (policy `identifier`).

    Nothing is started inside a frame on a site that is not ours.
    """
    conversation = run.conversation
    if conversation.identity_elsewhere:
        return {"verified": False, "elsewhere": True}
    identifier = str(arguments.get("identifier", ""))[:254]
    if settings.CHAT_IDENTITY == "identifier":
        try:
            patient = identity.identifier_accept(
                conversation_id=conversation.pk, identifier=identifier, address=address
            )
        except PatientNotFound:
            return {"verified": False, "found": False}
        identity_begin(conversation.pk, patient)
        return {"verified": True}
    try:
        started = identity.challenge_start(
            conversation_id=conversation.pk,
            identifier=identifier,
            address=address,
            run_key=str(run.pk),
            language=conversation.language,
        )
    except IdentityLimited:
        return {"verified": False, "limited": True}
    return {"verified": False, "expires_at": started.expires_at.isoformat()}


def handoff_open(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Brings in a person: the row with its number, or the one that this conversation has open already."""
    reason = str(arguments.get("reason", "customer_asked"))
    patient = run.conversation.proven_patient
    theirs = Handoff.objects.filter(Q(patient=None) | Q(patient=patient), conversation_id=run.conversation_id)
    done = run_hand_over(
        run,
        reason=reason if reason in Handoff.Reason.values else "customer_asked",
        run_key=str(run.pk),
        earlier=theirs,
        patient=patient,
    )
    if done is None:
        # Cancelled meanwhile: nobody reads this.
        return {"number": "", "again": True, "reason": reason}
    return {"number": done.handoff.number, "again": done.again, "reason": done.handoff.reason}


def refill_ask(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Asks for the customer's yes before a refill is passed to a pharmacist."""
    prescription_id = arguments.get("prescription_id")
    if not isinstance(prescription_id, int) or isinstance(prescription_id, bool):
        return {}
    return confirmations.refill_ask(run, prescription_id)


def refill_pass_on(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Passes a refill to a pharmacist, as the customer confirmed it; only a run of that yes can do it."""
    waiting = confirmations.confirmed(run)
    patient = run.conversation.proven_patient
    if waiting is None or patient is None or patient.pk != waiting.payload["patient"]:
        return {}
    # Read by staff in either language.
    summary = f"Rx {waiting.payload['prescription']}"
    done = run_hand_over(
        run,
        reason="refill",
        run_key=f"confirm:{waiting.pk}",
        earlier=Handoff.objects.filter(patient=patient, summary=summary),
        patient=patient,
        summary=summary,
    )
    if done is None:
        return {}
    return {"number": done.handoff.number, "again": done.again, "reason": done.handoff.reason}


def identity_forget(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Ends the proof of who asks: the next patient question needs a new code."""
    identity_end(run.conversation_id)
    return {}


def store_info(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Facts of a store, of a city's branches, or of all branches; with kilometres, nearest first, when a location was shared."""
    query = str(arguments.get("query") or "")
    place = place_find(query) if query else None
    if isinstance(place, UnservedPlace):
        nearest = None
        if place.locality:
            nearest = store_nearest(place.locality.point)
        return {"stores": [], "unserved": place.name, "nearest": nearest}
    if isinstance(place, StorePlace):
        stores = [place.store]
    elif isinstance(place, CityPlace):
        stores = place.stores
    else:
        stores = list(branches_all())
    here = run.conversation.location
    if stores and here:
        return {"stores": by_distance(stores, here)}
    return {"stores": stores_described(stores)}


ACTIONS: Final[Mapping[str, Callable[[Run, Mapping[str, Any], str], dict[str, Any]]]] = {
    "identity.code": identity_code,
    "store.info": store_info,
    "identity.forget": identity_forget,
    "handoff.open": handoff_open,
    "refill.ask": refill_ask,
    "refill.pass_on": refill_pass_on,
}


def action_run(run: Run, step: Step, address: str) -> StepResult:
    """Carries out one action and returns what came of it."""
    return StepResult(step, ok=True, result=ACTIONS[step.name](run, step.arguments, address))

"""What a model can ask the server to do besides calling tools: send a code, bring in a person, forget who it is.

Each action leaves its row before anything is promised, and repeating it for the same run changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent.conversation import confirmations
from agent.conversation.runs import handoff_tell, run_hold
from agent.conversation.stores import branches_all, by_distance, store_nearest, stores_described
from agent.inference.base import Step, StepResult
from agent.models import Conversation, Run
from agent.turn.context import verified_patient
from prescriptions import handoffs, identity
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
        now = timezone.now()
        proof = {"patient": patient, "verified_at": now, "active_at": now}
        Conversation.objects.filter(pk=conversation.pk).update(**proof)
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
    conversation = run.conversation
    patient = verified_patient(conversation)
    with transaction.atomic():
        if not run_hold(run):
            return {"number": "", "again": True, "reason": reason}  # cancelled meanwhile: nobody reads this
        is_open = Handoff.objects.filter(conversation_id=conversation.pk, state=Handoff.State.OPEN)
        theirs = is_open.filter(Q(patient=None) | Q(patient=patient))
        existing = theirs.exclude(run_key=str(run.pk)).order_by("-pk").first()
        if existing:
            return {"number": existing.number, "again": True, "reason": existing.reason}
        # A run that was taken up again finds what its first attempt has done.
        known = Handoff.objects.filter(run_key=str(run.pk)).exists()
        opened = handoffs.handoff_open(
            conversation_id=conversation.pk,
            reason=reason if reason in Handoff.Reason.values else "customer_asked",
            run_key=str(run.pk),
            language=conversation.language,
            patient=patient,
        )
        if not known:
            handoff_tell(conversation, opened, run)
    return {"number": opened.number, "again": False, "reason": opened.reason}


def refill_ask(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Asks for the customer's yes before a refill is passed to a pharmacist."""
    prescription_id = arguments.get("prescription_id")
    if not isinstance(prescription_id, int) or isinstance(prescription_id, bool):
        return {}
    return confirmations.refill_ask(run, prescription_id)


def refill_pass_on(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Passes a refill to a pharmacist, as the customer confirmed it; only a run of that yes can do it."""
    waiting = confirmations.confirmed(run)
    patient = verified_patient(run.conversation)
    if waiting is None or patient is None or patient.pk != waiting.payload["patient"]:
        return {}
    conversation = run.conversation
    run_key = f"confirm:{waiting.pk}"
    summary = f"Rx {waiting.payload['prescription']}"  # read by staff in either language
    with transaction.atomic():
        if not run_hold(run):
            return {}  # cancelled meanwhile
        same = Handoff.objects.filter(patient=patient, summary=summary, state=Handoff.State.OPEN)
        earlier = same.exclude(run_key=run_key).first()
        if earlier:
            return {"number": earlier.number, "again": True}
        known = Handoff.objects.filter(run_key=run_key).exists()
        opened = handoffs.handoff_open(
            conversation_id=conversation.pk,
            reason="refill",
            run_key=run_key,
            language=conversation.language,
            patient=patient,
            summary=summary,
        )
        if not known:
            handoff_tell(conversation, opened, run)
    return {"number": opened.number, "again": False, "reason": opened.reason}


def identity_forget(run: Run, arguments: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Ends the proof of who asks: the next patient question needs a new code."""
    Conversation.objects.filter(pk=run.conversation_id).update(patient=None, verified_at=None)
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

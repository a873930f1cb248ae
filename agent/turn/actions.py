"""What a model can ask the server to do besides calling tools: send a code, bring in a person, end an identification.

Each action writes its row before anything is promised, and repeating it for the same run changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent.conversation import confirmations
from agent.conversation.handoff import handoff_announce
from agent.conversation.runs import run_still_ours
from agent.conversation.stores import branches_all, by_distance, store_nearest, stores_described
from agent.inference.base import Step
from agent.models import Conversation, Run
from agent.turn.context import verified_patient
from agent.turn.steps import ActionResult
from prescriptions import handoffs, identity
from prescriptions.errors import IdentityLimited, PatientNotFound
from prescriptions.models import Handoff, Patient
from stores.places import CityPlace, StorePlace, UnservedPlace, place_find


def identity_code(run: Run, step: Step, address: str) -> ActionResult:
    """Start proving who asks: by a code to the contact on file (policy `otp`), or at once (policy `identifier`).

    Nothing is started inside a frame on a site that is not ours.
    """
    conversation = run.conversation
    if conversation.identity_elsewhere:
        return ActionResult(step, result={"verified": False, "elsewhere": True})
    identifier = str(step.arguments.get("identifier", ""))[:254]
    if settings.CHAT_IDENTITY == "identifier":
        try:
            patient = identity.identifier_accept(
                conversation_id=conversation.pk, identifier=identifier, address=address
            )
        except PatientNotFound:
            return ActionResult(step, result={"verified": False, "found": False})
        now = timezone.now()
        proof = {"patient": patient, "verified_at": now, "active_at": now}
        Conversation.objects.filter(pk=conversation.pk).update(**proof)
        return ActionResult(step, result={"verified": True}, identity_changed=True)
    try:
        started = identity.challenge_start(
            conversation_id=conversation.pk,
            identifier=identifier,
            address=address,
            run_key=str(run.pk),
            language=conversation.language,
        )
    except IdentityLimited:
        return ActionResult(step, result={"verified": False, "limited": True})
    until = {"expires_at": started.expires_at.isoformat()}
    return ActionResult(step, result={"verified": False, **until}, events=[("identity.requested", until)])


def identity_forget(run: Run, step: Step, address: str) -> ActionResult:
    """End the proof of who asks: the next patient question needs a new code."""
    Conversation.objects.filter(pk=run.conversation_id).update(patient=None, verified_at=None)
    return ActionResult(step, identity_changed=True)


def handoff_open(run: Run, step: Step, address: str) -> ActionResult:
    """Bring in a person: open a hand-off, or return the one that this conversation has open already."""
    reason = str(step.arguments.get("reason", "customer_asked"))
    patient = verified_patient(run.conversation)
    with transaction.atomic():
        if not run_still_ours(run):
            # Cancelled meanwhile: nobody reads this.
            return ActionResult(step, result={"number": "", "again": True, "reason": reason})
        is_open = Handoff.objects.filter(conversation_id=run.conversation_id, state=Handoff.State.OPEN)
        theirs = is_open.filter(Q(patient=None) | Q(patient=patient))
        earlier = theirs.exclude(run_key=str(run.pk)).order_by("-pk").first()
        if earlier:
            again = {"number": earlier.number, "again": True, "reason": earlier.reason}
            return ActionResult(step, result=again)
        known = reason if reason in Handoff.Reason.values else "customer_asked"
        return _handed_over(run, step, reason=known, run_key=str(run.pk), patient=patient)


def refill_ask(run: Run, step: Step, address: str) -> ActionResult:
    """Ask for the customer's yes before a refill is passed to a pharmacist."""
    prescription_id = step.arguments.get("prescription_id")
    if not isinstance(prescription_id, int) or isinstance(prescription_id, bool):
        return ActionResult(step)
    asked = confirmations.refill_ask(run, prescription_id)
    return ActionResult(step, result=asked, events=[("confirm.requested", asked)] if asked else ())


def refill_pass_on(run: Run, step: Step, address: str) -> ActionResult:
    """Pass a refill to a pharmacist, as the customer confirmed it; only a run of that yes can do it."""
    confirmed = confirmations.confirmed(run)
    patient = verified_patient(run.conversation)
    if confirmed is None or patient is None or patient.pk != confirmed.payload["patient"]:
        return ActionResult(step)
    run_key = f"confirm:{confirmed.pk}"
    summary = f"Rx {confirmed.payload['prescription']}"  # read by staff in either language
    with transaction.atomic():
        if not run_still_ours(run):
            return ActionResult(step)
        same = Handoff.objects.filter(patient=patient, summary=summary, state=Handoff.State.OPEN)
        earlier = same.exclude(run_key=run_key).first()
        if earlier:
            return ActionResult(step, result={"number": earlier.number, "again": True})
        return _handed_over(run, step, reason="refill", run_key=run_key, patient=patient, summary=summary)


def _handed_over(
    run: Run, step: Step, *, reason: str, run_key: str, patient: Patient | None, summary: str = ""
) -> ActionResult:
    """Open a hand-off and log its event, once per `run_key`. Call it in the transaction that holds the run."""
    # A run that was taken up again finds the hand-off of its first attempt.
    is_known = Handoff.objects.filter(run_key=run_key).exists()
    opened = handoffs.handoff_open(
        conversation_id=run.conversation_id,
        reason=reason,
        run_key=run_key,
        language=run.conversation.language,
        patient=patient,
        summary=summary,
    )
    if not is_known:
        handoff_announce(run.conversation, opened, run)
    return ActionResult(step, result={"number": opened.number, "again": False, "reason": opened.reason})


def store_info(run: Run, step: Step, address: str) -> ActionResult:
    """Describe a store, a city's branches, or all branches; nearest first when the customer shared a location."""
    query = str(step.arguments.get("query") or "")
    place = place_find(query) if query else None
    if isinstance(place, UnservedPlace):
        nearest = None
        if place.locality:
            nearest = store_nearest(place.locality.point)
        return ActionResult(step, result={"stores": [], "unserved": place.name, "nearest": nearest})
    if isinstance(place, StorePlace):
        stores = [place.store]
    elif isinstance(place, CityPlace):
        stores = place.stores
    else:
        stores = list(branches_all())
    here = run.conversation.location
    if stores and here:
        return ActionResult(step, result={"stores": by_distance(stores, here)})
    return ActionResult(step, result={"stores": stores_described(stores)})


ACTIONS: Final[Mapping[str, Callable[[Run, Step, str], ActionResult]]] = {
    "identity.code": identity_code,
    "identity.forget": identity_forget,
    "store.info": store_info,
    "handoff.open": handoff_open,
    "refill.ask": refill_ask,
    "refill.pass_on": refill_pass_on,
}


def action_run(run: Run, step: Step, address: str) -> ActionResult:
    """Carry out an action for the customer at this address, as `ACTIONS` names it."""
    return ACTIONS[step.name](run, step, address)

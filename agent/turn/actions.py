"""Do what a model asks of the server besides tools: send a code, bring in a person, end an identification.

Each action writes its row before anything is promised, and repeating it for the same run changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import Final

from django.conf import settings
from django.db.models import Q

from agent.conversation import confirmations
from agent.conversation.handoff import run_hand_over
from agent.conversation.identity import identity_begin, identity_end
from agent.conversation.stores import branches_all, by_distance, store_facts, store_nearest, stores_described
from agent.inference.base import Step
from agent.llm.offline.reading.recognise import recognise
from agent.models import Run
from agent.turn.allergies import allergies_compared, allergy_noted
from agent.turn.steps import ActionResult
from pharmacy_site.lib.bilingual import labels
from prescriptions import identity
from prescriptions.errors import IdentityLimited, PatientNotFound
from prescriptions.models import Handoff
from stores.models import SiteAnswer
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
        identity_begin(conversation.pk, patient)
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
    identity_end(run.conversation_id)
    return ActionResult(step, identity_changed=True)


def handoff_open(run: Run, step: Step, address: str) -> ActionResult:
    """Bring in a person: open a hand-off, or return the one that this conversation has open already."""
    reason = str(step.arguments.get("reason", "customer_asked"))
    patient = run.conversation.proven_patient
    handoff = run_hand_over(
        run,
        reason=reason if reason in Handoff.Reason.values else "customer_asked",
        run_key=str(run.pk),
        earlier=Handoff.objects.filter(
            Q(patient=None) | Q(patient=patient), conversation_id=run.conversation_id
        ),
        patient=patient,
    )
    if handoff is None:
        # Cancelled meanwhile: nobody reads this.
        return ActionResult(step, result={"number": "", "again": True, "reason": reason})
    row = handoff.row
    return ActionResult(step, result={"number": row.number, "again": handoff.again, "reason": row.reason})


def refill_ask(run: Run, step: Step, address: str) -> ActionResult:
    """Ask for the customer's yes before refills are passed to a pharmacist: of one prescription, or of several at once."""
    ids = step.arguments.get("prescription_ids", [step.arguments.get("prescription_id")])
    if not ids or any(not isinstance(pk, int) or isinstance(pk, bool) for pk in ids):
        return ActionResult(step)
    request = confirmations.refill_ask(run, *ids)
    if request is None:
        return ActionResult(step)
    return ActionResult(step, result=request, events=[("confirm.requested", request)])


def refill_pass_on(run: Run, step: Step, address: str) -> ActionResult:
    """Pass refills to a pharmacist, as the customer confirmed it; only a run of that yes can do it."""
    confirmed = confirmations.confirmed(run)
    patient = run.conversation.proven_patient
    if confirmed is None or patient is None or patient.pk != confirmed.payload["patient"]:
        return ActionResult(step)
    # Read by staff in either language.
    summary = f"Rx {', '.join(map(str, confirmed.payload['prescriptions']))}"
    handoff = run_hand_over(
        run,
        reason="refill",
        run_key=f"confirm:{confirmed.pk}",
        earlier=Handoff.objects.filter(patient=patient, summary=summary),
        patient=patient,
        summary=summary,
    )
    if handoff is None:
        return ActionResult(step)
    result = {"number": handoff.row.number, "again": handoff.again}
    return ActionResult(step, result=result if handoff.again else {**result, "reason": handoff.row.reason})


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


def site_answer(run: Run, step: Step, address: str) -> ActionResult:
    """Return the site answer of a subject: its text in both languages, its offer, and the branch of an offered phone.

    Empty for an unknown subject.
    """
    row = SiteAnswer.objects.filter(topic=str(step.arguments.get("topic", ""))).first()
    if row is None:
        return ActionResult(step)
    result: dict[str, object] = {**labels(row, "text", key="text"), "offer": row.offer}
    if row.offer == SiteAnswer.Offer.PHONE and (branch := str(step.arguments.get("branch") or "")):
        place = place_find(branch)
        result |= {"store": store_facts(place.store)} if isinstance(place, StorePlace) else {}
    return ActionResult(step, result=result)


def medicine_taken(run: Run, step: Step, address: str) -> ActionResult:
    """Find the medicine that the customer says they take; products that differ in strength only count as one."""
    named = [
        one
        for clause in recognise(str(step.arguments["medication_name"])).clauses
        for one in clause.medicines
    ]
    candidates = named[0].candidates if len(named) == 1 else ()
    known = [one for one in candidates if "id" in one]
    if not known or len(known) < len(candidates) or len({one.get("generic") for one in known}) > 1:
        return ActionResult(step, ok=False, code="unknown_medicine")
    return ActionResult(step, result={"medicine": known[0]})


ACTIONS: Final[Mapping[str, Callable[[Run, Step, str], ActionResult]]] = {
    "identity.code": identity_code,
    "identity.forget": identity_forget,
    "store.info": store_info,
    "site.answer": site_answer,
    "medicine.taken": medicine_taken,
    "allergy.noted": allergy_noted,
    "allergies.check": allergies_compared,
    "handoff.open": handoff_open,
    "refill.ask": refill_ask,
    "refill.pass_on": refill_pass_on,
}


def action_run(run: Run, step: Step, address: str) -> ActionResult:
    """Carry out an action for the customer at this address, as `ACTIONS` names it."""
    return ACTIONS[step.name](run, step, address)

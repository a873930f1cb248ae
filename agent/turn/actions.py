"""Do what a model asks of the server besides tools: send a code, bring in a person, end an identification.

Each action writes its row before anything is promised, and repeating it for the same run changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import Final

from django.conf import settings
from django.db.models import Q

from agent.answers.render import wait_of
from agent.conversation.handoff import handoffs_about, number_known, run_hand_over
from agent.conversation.identity import identity_begin, identity_end
from agent.conversation.patient_handoffs import handoffs_take
from agent.conversation.stores import (
    branches_all,
    by_distance,
    store_facts,
    store_nearest,
    store_of_staff,
    stores_described,
)
from agent.inference.base import Step
from agent.llm.offline.reading.recognise import recognise
from agent.models import Run
from agent.safety.privacy.storing import storable
from agent.turn import calling_off, refill_names, refills
from agent.turn.allergies import allergies_compared, allergy_noted
from agent.turn.handoff_reason import reason_asked
from agent.turn.knowledge import knowledge_asked
from agent.turn.steps import ActionResult
from agent.turn.withdrawal import handoffs_withdraw
from pharmacy_site.lib.bilingual import labels
from prescriptions import identity
from prescriptions.errors import IdentityLimited, PatientNotFound
from prescriptions.models import Handoff
from stores.models import SiteAnswer
from stores.places import CityPlace, StorePlace, UnservedPlace, place_find

_LONGEST_SUMMARY: Final = 500


def identity_code(run: Run, step: Step, address: str) -> ActionResult:
    """Start proving who asks: by a code to the contact on file (policy `otp`), by the date of
    birth (`dob`), or at once (`identifier`).

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
        handoffs_take(conversation.pk, patient)
        return ActionResult(step, result={"verified": True}, identity_changed=True)
    try:
        started = identity.challenge_start(
            conversation_id=conversation.pk,
            identifier=identifier,
            address=address,
            run_key=str(run.pk),
            language=conversation.language,
        )
    except IdentityLimited as error:
        # As the answer says it: its numbers need a result that proves them.
        limited = {"verified": False, "limited": True, "wait": list(wait_of(error.retry_after))}
        return ActionResult(step, result=limited)
    until = {"expires_at": started.expires_at.isoformat()}
    asked = {**until, "asks": "date_of_birth" if settings.CHAT_IDENTITY == "dob" else "code"}
    return ActionResult(step, result={"verified": False, **until}, events=[("identity.requested", asked)])


def identity_forget(run: Run, step: Step, address: str) -> ActionResult:
    """End the proof of who asks: the next patient question needs a new code."""
    identity_end(run.conversation_id)
    return ActionResult(step, identity_changed=True)


def handoff_open(run: Run, step: Step, address: str) -> ActionResult:
    """Bring in a person: open a hand-off, or return the one that this conversation has open already.

    When too many were opened, `limited` is in the result, with the branch to call.
    One that failed verifications share with other conversations is this one's only while nothing else is asked for:
    whoever wants a person gets one of their own, also while somebody else guesses at the same account.
    """
    reason = str(step.arguments.get("reason", "customer_asked"))
    if reason == "customer_asked":
        reason = reason_asked(run)
    patient = run.conversation.proven_patient
    own = Q(conversation_id=run.conversation_id)
    handoff = run_hand_over(
        run,
        reason=reason if reason in Handoff.Reason.values else "customer_asked",
        run_key=str(run.pk),
        earlier=Handoff.objects.filter(
            Q(patient=None) | Q(patient=patient),
            handoffs_about(run.conversation_id) if reason == Handoff.Reason.IDENTITY_FAILED else own,
        ),
        patient=patient,
        summary=storable(str(step.arguments.get("summary", ""))).text[:_LONGEST_SUMMARY],
        address_key=address,
    )
    if handoff is None:
        # Cancelled meanwhile: nobody reads this.
        return ActionResult(step, result={"number": "", "again": True, "reason": reason})
    row = handoff.row
    if row is None:
        place = run.conversation.state.get("place") or {}
        return ActionResult(step, result={"limited": True, "store": store_of_staff(place.get("store"))})
    result = {"number": number_known(row), "again": handoff.again, "reason": row.reason}
    return ActionResult(step, result=result)


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
    "knowledge.ask": knowledge_asked,
    "allergy.noted": allergy_noted,
    "allergies.check": allergies_compared,
    "handoff.open": handoff_open,
    "handoff.withdraw": handoffs_withdraw,
    "refill.collect": refills.refill_collect,
    "refill.submit": refills.refill_submit,
    "refill.drop": calling_off.refill_drop,
    "refill.call_off": refills.refill_call_off,
    "refill.cancel_ask": refills.refill_cancel_ask,
    "refill.cancel": refills.refill_cancelled,
    "refill.list": refills.refills_list,
    "refill.match": refill_names.refill_match,
    "refill.give_up": refill_names.refill_give_up,
    "refill.answer": refills.refill_answer,
}


def action_run(run: Run, step: Step, address: str) -> ActionResult:
    """Carry out an action for the customer at this address, as `ACTIONS` names it."""
    return ACTIONS[step.name](run, step, address)

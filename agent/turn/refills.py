"""Do what a turn asks of the refill workflow: collect a request, submit it after a yes, show, cancel.

Each action is safe to repeat for the same run. What a customer confirms is bound to the request's version.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import transaction

from agent.answers.refills import amount, checks_said, medicine_name, place_name
from agent.answers.render import label, say
from agent.conversation import confirmations
from agent.conversation.events import messages_until
from agent.conversation.refills import refill_facts
from agent.conversation.runs import run_still_ours
from agent.conversation.stores import branches_all, by_distance, stores_described
from agent.inference.base import Step
from agent.models import Confirmation, Conversation, Run
from agent.turn.steps import ActionResult
from pharmacy_site.lib.text import Language, as_language
from prescriptions.audit import Access
from prescriptions.errors import (
    PrescriptionNotFound,
    RefillAlreadyOpen,
    RefillChangedMeanwhile,
    RefillRefused,
)
from prescriptions.models import Patient, RefillRequest
from prescriptions.refill.collection import (
    Pickup,
    Preview,
    collection_begin,
    collection_confirm,
    collection_preview,
    collection_withdraw,
    collections_withdraw,
)
from prescriptions.refill.questions import Written, answer_take
from prescriptions.refill.selectors import refill_get, refills_shown
from prescriptions.refill.services import refill_cancel, refill_walk
from prescriptions.refill.states import Reason
from prescriptions.selectors import prescription_get_for
from stores.models import Store


def refill_collect(run: Run, step: Step, address: str) -> ActionResult:
    """Collect requests for these prescriptions; when nothing is missing, ask for the customer's yes on a card.

    Arguments: `prescription_ids`; `amounts` with `units`, `packs` or `days` by prescription; `store_id` or `delivery`; `anyway`
    when the customer waits for a place that has too little. `missing` in the result says what has to be asked: "pickup", "address" or "stock".
    """
    patient, ids = run.conversation.proven_patient, step.arguments.get("prescription_ids") or []
    if patient is None or not all(isinstance(pk, int) and not isinstance(pk, bool) for pk in ids):
        return ActionResult(step, ok=False)
    access, language = refill_access(run, "refill"), as_language(run.conversation.language)
    requests: list[RefillRequest] = []
    result: dict[str, Any] = {"refills": [], "open": [], "missing": ""}
    try:
        pickup = _pickup(step, patient)
        for pk in ids:
            try:
                requests.append(_begun(run, step, patient, pk, pickup, access, language))
            except RefillAlreadyOpen as error:
                earlier = refill_get(error.number, access=access, patient=patient)
                result["open"].append(refill_facts(earlier))
    except (PrescriptionNotFound, RefillChangedMeanwhile):
        return ActionResult(step, ok=False, is_personal=True)
    previews = [collection_preview(one) for one in requests]
    result["refills"] = [refill_facts(one) for one in requests]
    result["missing"] = _missing(step, requests, previews)
    if not requests or result["missing"]:
        result["stores"] = _stores_with(previews, run.conversation)
        result["packs"] = max((one.packs for one in previews), default=0)
        result["can_deliver"] = bool(_address_of(patient))
        return ActionResult(step, result=result, is_personal=True)
    rows = [
        row for one, seen in zip(requests, previews, strict=True) for row in _card_rows(one, seen, language)
    ]
    asked = confirmations.confirmation_request(run, confirmations.REFILL, requests, rows)
    if asked is None:
        return ActionResult(step, ok=False, is_personal=True)
    result["asked"] = True
    events = [("confirm.requested", asked)]
    return ActionResult(step, result=result, is_personal=True, events=events)


def refill_submit(run: Run, step: Step, address: str) -> ActionResult:
    """Submit what the customer confirmed and walk it as far as it goes now; only a run of that yes can do it."""
    confirmed = _confirmed(run, confirmations.REFILL)
    if confirmed is None or not is_at_work(run):
        return ActionResult(step, is_personal=True)
    access = refill_access(run, "confirmed")
    facts, earlier, changed = [], [], False
    for request, version in _requests_of(confirmed):
        try:
            collection_confirm(request, version=version, access=access)
        except RefillAlreadyOpen as error:
            earlier.append(refill_facts(refill_get(error.number, access=access, patient=request.patient)))
            continue
        except RefillChangedMeanwhile:
            changed = True
            continue
        facts.append(refill_facts(refill_walk(request)))
    return ActionResult(
        step, result={"refills": facts, "open": earlier, "changed": changed}, is_personal=True
    )


def refill_cancel_ask(run: Run, step: Step, address: str) -> ActionResult:
    """Ask on a card whether a request shall be cancelled, or say what there is to cancel; what is only collected ends at once."""
    patient = run.conversation.proven_patient
    if patient is None:
        return ActionResult(step, ok=False)
    access = refill_access(run, "cancel")
    number = str(step.arguments.get("number") or "")
    rows = refills_cancellable(run)
    chosen = [one for one in rows if one.number == number] or (rows if len(rows) == 1 else [])
    result: dict[str, Any] = {"refills": [refill_facts(one) for one in chosen or rows]}
    if not chosen:
        return ActionResult(step, result=result, is_personal=True)
    [request] = chosen
    if not request.is_confirmed:
        collection_withdraw(request, access=access)
        confirmations.confirmations_call_off(run, about=request)
        return ActionResult(
            step, result={"refills": [refill_facts(request)], "withdrawn": True}, is_personal=True
        )
    language = as_language(run.conversation.language)
    facts = refill_facts(request)
    card = [
        [label("column", "medicine", language), medicine_name(facts, language)],
        [label("column", "number", language), request.number],
    ]
    asked = confirmations.confirmation_request(run, confirmations.CANCEL, [request], card)
    if asked is None:
        return ActionResult(step, ok=False, is_personal=True)
    return ActionResult(
        step, result={**result, "asked": True}, is_personal=True, events=[("confirm.requested", asked)]
    )


def refill_call_off(run: Run, step: Step, address: str) -> ActionResult:
    """End what the customer has not confirmed: the card that asks for a yes, and requests that are being collected.

    `kept` in the result: the card asked whether a submitted request shall be cancelled, which it is not now.
    """
    if not is_at_work(run):
        return ActionResult(step, ok=False)
    closed, patient = confirmations.confirmations_call_off(run), run.conversation.proven_patient
    access = refill_access(run, "called_off")
    ended = collections_withdraw(run.conversation_id, patient, access=access) if patient else []
    result = {"refills": [refill_facts(one) for one in ended], "kept": confirmations.CANCEL in closed}
    return ActionResult(step, result=result, is_personal=bool(ended))


def refills_cancellable(run: Run) -> list[RefillRequest]:
    """Return the requests of the proven customer that can still be cancelled."""
    patient = run.conversation.proven_patient
    if patient is None:
        return []
    shown = refills_shown(patient, access=refill_access(run, "cancel"))
    return [one for one in shown if _can_be_cancelled(one)]


def refill_cancelled(run: Run, step: Step, address: str) -> ActionResult:
    """Cancel the request whose cancellation the customer confirmed; `refused` says why it could not be."""
    confirmed = _confirmed(run, confirmations.CANCEL)
    if confirmed is None or not is_at_work(run):
        return ActionResult(step, is_personal=True)
    facts, refused = [], ""
    for request, _version in _requests_of(confirmed):
        try:
            facts.append(refill_facts(refill_cancel(request, access=refill_access(run, "cancelled"))))
        except RefillRefused as error:
            refused = error.code
        except RefillChangedMeanwhile:
            refused = "too_late"
    return ActionResult(step, result={"refills": facts, "refused": refused}, is_personal=True)


def refills_list(run: Run, step: Step, address: str) -> ActionResult:
    """Return the requests of the customer, newest first: how far each is."""
    patient = run.conversation.proven_patient
    if patient is None:
        return ActionResult(step, ok=False)
    rows = refills_shown(patient, access=refill_access(run, "status"))
    return ActionResult(step, result={"refills": [refill_facts(one) for one in rows]}, is_personal=True)


def refill_answer(run: Run, step: Step, address: str) -> ActionResult:
    """Store the run's message as the answer to what staff asked this customer; `numbers` are the refills it is about."""
    patient = run.conversation.proven_patient
    if patient is None or not is_at_work(run):
        return ActionResult(step, ok=False)
    [said] = messages_until(run.conversation_id, run.input_seq, most=1)
    message = replace(message_of(run), text=str(said.payload["text"]))
    taken = answer_take(message, patient, access=refill_access(run, "asked_by_staff"))
    return ActionResult(
        step, ok=bool(taken), result={"numbers": [one.number for one in taken]}, is_personal=True
    )


def message_of(run: Run) -> Written:
    """Return the message that a run answers, without its text."""
    return Written(run.conversation_id, run.input_seq, run.created_at)


def is_at_work(run: Run) -> bool:
    """Return whether the run was neither cancelled nor taken up by another process."""
    with transaction.atomic():
        return run_still_ours(run)


def refill_access(run: Run, why: str) -> Access:
    """Return who acts on a refill in a chat, for the audit log."""
    return Access(who=f"chat:{run.conversation_id}", where="chat", why=why)


def _begun(
    run: Run,
    step: Step,
    patient: Patient,
    prescription_id: int,
    pickup: Pickup | None,
    access: Access,
    language: Language,
) -> RefillRequest:
    prescription = prescription_get_for(patient, prescription_id, access=access)
    amount = (step.arguments.get("amounts") or {}).get(str(prescription_id), {})
    units, packs, days = (amount.get(name) for name in ("units", "packs", "days"))
    size = prescription.medication.pack_size
    if isinstance(packs, int) and size:
        units = packs * size
    elif isinstance(days, int) and prescription.days_supply:
        units = -(-prescription.quantity * days // prescription.days_supply)
    return collection_begin(
        patient=patient,
        prescription_id=prescription_id,
        access=access,
        language=language,
        conversation_id=run.conversation_id,
        quantity=units if isinstance(units, int) and units > 0 else None,
        pickup=pickup,
    )


def _pickup(step: Step, patient: Patient) -> Pickup | None:
    """Return where the refill is wanted, if the customer said so and it can be there."""
    if step.arguments.get("delivery"):
        return Pickup(None) if _address_of(patient) else None
    store_id = step.arguments.get("store_id")
    store = Store.objects.filter(pk=store_id, is_active=True).first() if isinstance(store_id, int) else None
    return Pickup(store) if store else None


def _address_of(patient: Patient) -> str:
    return patient.address


def _missing(step: Step, requests: Sequence[RefillRequest], previews: Sequence[Preview]) -> str:
    if not requests:
        return ""
    if not all(one.pickup_known for one in requests):
        return "address" if step.arguments.get("delivery") else "pickup"
    if not all(one.in_stock for one in previews) and not step.arguments.get("anyway"):
        return "stock"
    return ""


def _stores_with(previews: Sequence[Preview], conversation: Conversation) -> list[dict[str, Any]]:
    """Return the stores that have enough packs of everything, nearest first when the customer shared where they are.

    The online store comes last.
    """
    online = Store.objects.filter(pk=settings.DEFAULT_STORE, is_active=True)
    stores = [
        store
        for store in (*branches_all(), *online)
        if previews and all(store.pk in one.stores for one in previews)
    ]
    here = conversation.location
    return by_distance(stores, here) if here else stores_described(stores)


def _card_rows(request: RefillRequest, preview: Preview, language: Language) -> list[list[str]]:
    """Return what the customer confirms of one request: all from the database."""
    facts = refill_facts(request)
    rows = [
        ["medicine", medicine_name(facts, language)],
        ["quantity", amount(request.quantity, request.days_supply, language)],
        ["refills", str(request.prescription.refills_left)],
        ["pickup", place_name(facts["store"], language)],
    ]
    reasons = [str(one.reason) for one in preview.stops]
    if not preview.in_stock:
        reasons.append(str(Reason.OUT_OF_STOCK))
    warnings = [f"warn_{one.name}" for one in preview.warnings]
    rows += [["check", text] for text in checks_said([*reasons, *warnings], language)]
    if reasons:
        rows.append(["next", say("refill_person_first", language)])
    return [[label("column", name, language), text] for name, text in rows]


def _confirmed(run: Run, action: str) -> Confirmation | None:
    confirmed, patient = confirmations.confirmed(run), run.conversation.proven_patient
    if confirmed is None or confirmed.action != action:
        return None
    return confirmed if patient and patient.pk == confirmed.payload["patient"] else None


def _requests_of(confirmed: Confirmation) -> list[tuple[RefillRequest, int]]:
    rows = RefillRequest.objects.select_related("patient", "prescription__medication", "store").in_bulk(
        [pk for pk, _version in confirmed.payload["refills"]]
    )
    return [(rows[pk], version) for pk, version in confirmed.payload["refills"] if pk in rows]


def _can_be_cancelled(request: RefillRequest) -> bool:
    return request.outcome is None or request.fulfilment == RefillRequest.Fulfilment.PREPARING

"""Match the medicines that a request for a refill names with the customer's file, and hand over what cannot be collected."""

from collections.abc import Sequence
from typing import Any, Final

from agent.conversation.refills import refill_facts
from agent.inference.base import Step
from agent.models import Run
from agent.turn.refills import refill_access
from agent.turn.steps import ActionResult
from inventory.catalog import medications_search, medications_suggest
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.text import as_language
from prescriptions.audit import Access
from prescriptions.eligibility import can_refill
from prescriptions.errors import RefillAlreadyOpen, RefillChangedMeanwhile, RefillNotFound
from prescriptions.models import Patient, Prescription, RefillRequest
from prescriptions.refill.collection import collection_begin, collection_give_up
from prescriptions.refill.naming import prescriptions_named
from prescriptions.refill.selectors import refill_get
from prescriptions.refill.services import refill_walk
from prescriptions.refill.states import Reason
from prescriptions.selectors import prescriptions_for

_MOST_NAMES: Final = 12


def refill_match(run: Run, step: Step, address: str) -> ActionResult:
    """Return for each of `names` the customer's prescriptions that it names (`sure`) or is like (`likely`).

    `listed` says whether the catalogue has such a name, or one that is a typo away.
    """
    patient = run.conversation.proven_patient
    names = [str(name) for name in step.arguments.get("names", ())][:_MOST_NAMES]
    if patient is None or not names:
        return ActionResult(step, ok=False)
    found = prescriptions_named(patient, names, access=refill_access(run, "named"))
    matches = {
        name: {
            "sure": [_described(row) for row in named.sure],
            "likely": [_described(row) for row in named.likely],
            "listed": bool(
                named.sure
                or named.likely
                or medications_search(name, limit=1)
                or medications_suggest(name, limit=1)
            ),
        }
        for name, named in found.items()
    }
    return ActionResult(step, result={"matches": matches}, is_personal=True)


def refill_give_up(run: Run, step: Step, address: str) -> ActionResult:
    """Hand what could not be collected to a person, by the breaker that `reason` names.

    That is the requests that are being collected, or, where `medication_ids` is given, new ones for the customer's
    prescriptions of these medicines; without any the result is not ok, and the caller hands over the conversation alone.
    """
    patient = run.conversation.proven_patient
    if patient is None:
        return ActionResult(step, ok=False)
    access, reason = refill_access(run, "gave_up"), Reason(str(step.arguments["reason"]))
    facts = []
    for request in _given_up(run, step, patient, access):
        try:
            facts.append(refill_facts(refill_walk(collection_give_up(request, reason, access=access))))
        except (RefillAlreadyOpen, RefillChangedMeanwhile):
            continue
    return ActionResult(step, ok=bool(facts), result={"refills": facts}, is_personal=True)


def _given_up(run: Run, step: Step, patient: Patient, access: Access) -> Sequence[RefillRequest]:
    found: list[RefillRequest] = []
    ids = step.arguments.get("medication_ids")
    if ids is None:
        for number in run.conversation.state.get("refills", ()):
            try:
                found.append(refill_get(number, access=access, patient=patient))
            except RefillNotFound:
                continue
        return found
    for row in prescriptions_for(patient, access=access):
        if row.medication_id not in ids or not can_refill(row):
            continue
        try:
            begun = collection_begin(
                patient=patient,
                prescription_id=row.pk,
                access=access,
                language=as_language(run.conversation.language),
                conversation_id=run.conversation_id,
            )
        except (RefillAlreadyOpen, RefillChangedMeanwhile):
            continue
        found.append(begun)
    return found


def _described(row: Prescription) -> dict[str, Any]:
    english, hebrew = both(row.medication, "name")
    return {
        "id": row.pk,
        "med_id": row.medication_id,
        "en": english,
        "he": hebrew or english,
        "strength": row.medication.strength,
    }

"""Check products against allergies for a turn: those that were mentioned, and those on the verified patient's file."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.inference.base import Step
from agent.llm.offline.reading.allergies import allergens_named
from agent.models import Run
from agent.state import RememberedAllergen
from agent.turn.steps import ActionResult
from inventory.allergies import Allergen, AllergyMatch, allergen_of_class, allergies_check
from inventory.drug_classes import class_key, class_labels
from inventory.models import Medication
from pharmacy_site.lib.bilingual import both
from pharmacy_site.lib.errors import trace_of
from pharmacy_site.lib.savepoint import savepoint
from prescriptions.audit import Access
from prescriptions.selectors import allergies_for

log = logging.getLogger(__name__)
_Named = tuple[str, Mapping[str, str], Allergen]
"""Where an allergen is known from ("said", "file"), what it is called in both languages, and what it is."""


def allergy_noted(run: Run, step: Step, address: str) -> ActionResult:
    """Find what the customer says somebody is allergic to."""
    found = allergens_named(str(step.arguments["allergen"]))
    if not found:
        return ActionResult(step, ok=False, code="unknown_allergen")
    return ActionResult(step, result={"allergies": found})


def allergies_compared(run: Run, step: Step, address: str) -> ActionResult:
    """Compare products with the allergies that were mentioned and those on file; not `ok` when that failed."""
    try:
        with savepoint():
            return _compared(run, step)
    except Exception as error:  # the customer is told; the error's text may hold what they wrote
        log.error("allergy check failed: %s at %s", type(error).__name__, trace_of(error))
        return ActionResult(step, ok=False, code="failed")


def _compared(run: Run, step: Step) -> ActionResult:
    named = [*_said(step.arguments["said"]), *_on_file(run)]
    if not named:
        return ActionResult(step, result={"matches": [], "unchecked": [], "partly": []})
    names = dict[Allergen, _Named]()
    for one in named:
        names.setdefault(one[2], one)
    ids: Sequence[int] = step.arguments["med_ids"]
    products = {row.pk: _labels(row) for row in Medication.objects.filter(pk__in=ids)}
    report = allergies_check([pk for pk in ids if pk in products], list(names))
    listed = set(step.arguments.get("listed", ()))
    matches = [
        _match(one, products[one.medication_id], names[one.allergen])
        | {"is_listed": one.medication_id in listed}
        for one in report.matches
    ]
    unchecked = {
        f"allergy-{labels['en']}": {**labels, "key": f"allergy-{labels['en']}"}
        for _source, labels, allergen in named
        if not allergen.can_be_checked
    }
    partly = [{**products[pk], "key": f"allergy-partly-{pk}"} for pk in report.unassessed]
    result = {"matches": matches, "unchecked": list(unchecked.values()), "partly": partly}
    return ActionResult(step, result=result, is_personal=any(source == "file" for source, *_ in named))


def _said(said: Sequence[RememberedAllergen]) -> Iterator[_Named]:
    for one in said:
        allergen = Allergen(frozenset(one["ingredients"]), frozenset(one["classes"]))
        yield "said", {"en": one["en"], "he": one["he"]}, allergen


def _on_file(run: Run) -> Iterator[_Named]:
    patient = run.conversation.proven_patient
    if patient is None:
        return
    access = Access(who=f"chat:{run.conversation_id}", where="action:allergies.check", why=f"run:{run.pk}")
    for row in allergies_for(patient, access=access):
        if row.ingredient:
            yield "file", _labels(row.ingredient), Allergen(frozenset({row.ingredient.pk}))
        else:
            yield "file", _class_labels(row.drug_class), allergen_of_class(row.drug_class)


def _match(match: AllergyMatch, product: Mapping[str, str], named: _Named) -> dict[str, Any]:
    source, labels, allergen = named
    is_group = match.kind == "class" and match.drug_class in allergen.classes
    detail = _labels(match.ingredient) if match.kind == "ingredient" else _class_labels(match.drug_class)
    about = "-".join([*map(str, sorted(allergen.ingredients)), *sorted(allergen.classes)])
    return {
        "key": f"allergy-{about}-{match.medication_id}",
        "source": source,
        "kind": "group" if is_group else match.kind,
        "allergen": labels,
        "product": product,
        "detail": detail,
    }


def _labels(row: object) -> dict[str, str]:
    english, hebrew = both(row, "name")
    return {"en": english, "he": hebrew}


def _class_labels(drug_class: str) -> dict[str, str]:
    english, hebrew = class_labels(class_key(drug_class))
    return {"en": english, "he": hebrew}

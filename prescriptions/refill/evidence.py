"""Collect the facts of a refill's safety checks from our rows and the health record; the stricter of both counts."""

from typing import Literal

from django.conf import settings
from django.utils import timezone

from inventory.allergies import Allergen, allergen_of_class, allergies_check, classes_of, contents_of
from inventory.interactions import interactions_check
from inventory.models import Ingredient, Medication
from prescriptions.connectors.protocols import HealthRecord
from prescriptions.models import (
    Allergy,
    CoverageRule,
    LabRule,
    Patient,
    Prescription,
    RefillRequest,
    ScheduleRule,
    SupplyLimit,
)
from prescriptions.refill.safety import Facts, Lab, Limits, Match, Schedule

_TAKEN = (Prescription.Status.ACTIVE, Prescription.Status.REFILL_PENDING)


def facts_collect(request: RefillRequest, record: HealthRecord | None) -> Facts:
    """Return the facts of this request; without a health record the rules for laboratory values find nothing."""
    prescription = Prescription.objects.select_related("medication", "patient").get(
        pk=request.prescription_id
    )
    medication, patient = prescription.medication, prescription.patient
    others = _others(prescription)
    contents = contents_of([medication.pk, *(other.pk for other in others)])
    own = contents[medication.pk]
    own_ids, own_classes = {one.pk for one in own}, {name for one in own for name in classes_of(one)}
    same_ingredient, same_class = [], []
    for other in others:
        if own_ids & {one.pk for one in contents[other.pk]}:
            same_ingredient.append(other.pk)
        elif own_classes & {name for one in contents[other.pk] for name in classes_of(one)}:
            same_class.append(other.pk)
    matches, allergies_unassessed, has_allergies = _allergies(patient, medication, record)
    pairs, interactions_unassessed = _interactions(medication, others)
    limit = SupplyLimit.objects.filter(medication=medication).first()
    coverage = CoverageRule.objects.filter(medication=medication).first()
    asked_on = (
        patient.allergies_recorded_on if patient.allergy_status == Patient.AllergyStatus.NONE_KNOWN else None
    )
    return Facts(
        today=timezone.localdate(),
        born=patient.born,
        quantity=request.quantity,
        days_supply=request.days_supply,
        is_active=prescription.status in _TAKEN,
        refills_left=prescription.refills_left,
        expires_on=prescription.expires_on,
        issued_on=prescription.issued_on,
        prescribed_quantity=prescription.quantity,
        prescribed_days=prescription.days_supply,
        last_filled_on=prescription.last_filled_on,
        has_allergies=has_allergies,
        allergies_asked_on=asked_on,
        allergy_matches=matches,
        allergies_unassessed=allergies_unassessed,
        interactions=pairs,
        interactions_unassessed=interactions_unassessed,
        same_ingredient=same_ingredient,
        same_class=same_class,
        labs=_labs(own, record),
        limits=Limits(limit.most_units, limit.most_days, limit.minimum_age, limit.maximum_age)
        if limit
        else Limits(),
        schedule_name=medication.schedule,
        schedule=_schedule(medication.schedule),
        acute_antibiotic=medication.acute_antibiotic,
        needs_authorisation=medication.prior_authorization or bool(coverage and coverage.needs_authorisation),
        insured_units=coverage.most_units if coverage else None,
        early_percent=settings.REFILL_EARLY_PERCENT,
        early_percent_controlled=settings.REFILL_EARLY_PERCENT_CONTROLLED,
    )


def pairs_for_staff(request: RefillRequest) -> list[dict[str, int | str]]:
    """Return the pairs on file that the requested product is not part of: a note to staff, no reason to stop."""
    prescription = Prescription.objects.select_related("medication").get(pk=request.prescription_id)
    found = interactions_check(_others(prescription)).pairs
    return [{"a": pair.a.pk, "b": pair.b.pk, "level": pair.level} for pair in found]


def _others(prescription: Prescription) -> list[Medication]:
    """Return the products of the patient's other prescriptions in force."""
    rows = (
        Prescription.objects.filter(
            patient_id=prescription.patient_id,
            status__in=_TAKEN,
            expires_on__gte=timezone.localdate(),
        )
        .exclude(pk=prescription.pk)
        .select_related("medication")
    )
    return [row.medication for row in rows.order_by("pk")]


def _allergies(
    patient: Patient, medication: Medication, record: HealthRecord | None
) -> tuple[list[Match], bool, bool]:
    """Return the matches, whether something could not be compared, and whether any allergy is on record."""
    on_file = list(Allergy.objects.filter(patient=patient))
    allergens = [
        Allergen(ingredients=frozenset({row.ingredient_id}))
        if row.ingredient_id
        else allergen_of_class(row.drug_class)
        for row in on_file
    ]
    if record:
        allergens += [allergen_of_class(name) for name in record.allergy_classes]
        ids = Ingredient.objects.in_bulk(record.allergy_ingredients, field_name="key")
        allergens += [
            Allergen(ingredients=frozenset({ids[key].pk})) if key in ids else Allergen()
            for key in record.allergy_ingredients
        ]
    report = allergies_check([medication.pk], allergens)
    matches: list[Match] = []
    for match in report.matches:
        name = match.ingredient.key if match.kind == "ingredient" else match.drug_class
        matches.append((match.kind, name))
    unassessed = bool(report.unassessed) or not all(one.can_be_checked for one in allergens)
    return list(dict.fromkeys(matches)), unassessed, bool(allergens)


def _interactions(
    medication: Medication, others: list[Medication]
) -> tuple[list[tuple[Literal["avoid", "caution"], int]], bool]:
    """Return the pairs of the requested product, and whether a product of the check was never assessed."""
    report = interactions_check([medication, *others])
    pairs: list[tuple[Literal["avoid", "caution"], int]] = [
        (pair.level, pair.b.pk if pair.a.pk == medication.pk else pair.a.pk)
        for pair in report.pairs
        if medication.pk in (pair.a.pk, pair.b.pk) and pair.kind == "listed"
    ]
    return pairs, bool(report.unassessed)


def _labs(own: list[Ingredient], record: HealthRecord | None) -> list[Lab]:
    rules = LabRule.objects.filter(ingredient__in=own).order_by("pk")
    labs = record.labs if record else {}
    return [
        Lab(
            code=rule.code,
            not_older_than_days=rule.not_older_than_days,
            at_least=rule.at_least,
            at_most=rule.at_most,
            value=labs[rule.code].value if rule.code in labs else None,
            taken_on=labs[rule.code].taken_on if rule.code in labs else None,
        )
        for rule in rules
    ]


def _schedule(name: str) -> Schedule | None:
    rule = ScheduleRule.objects.filter(schedule=name).first() if name else None
    if rule is None:
        return None
    return Schedule(rule.schedule, rule.is_refillable, rule.decided_by, rule.most_days_since_issue)

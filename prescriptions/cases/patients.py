"""Read what a case shows of its patient and of the medicine that it is about; what is not on record is None, never a guess."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.utils import timezone

from inventory.drug_classes import class_shown
from inventory.models import Medication, StockLevel
from inventory.stock import is_low, restock_on
from pharmacy_site.lib.bilingual import named
from prescriptions.cases.wording import HOW, VERIFIED, page_language, verified_code, word
from prescriptions.models import Allergy, AuditEvent, CoverageRule, Handoff, Patient, Prescription
from prescriptions.refill.reservations import packs_for
from stores.models import Store

_IN_FORCE = (Prescription.Status.ACTIVE, Prescription.Status.REFILL_PENDING)


@dataclass(frozen=True)
class AllergyShown:
    """One allergy on record."""

    name: str
    severity: str


@dataclass(frozen=True)
class PatientShown:
    """The patient of a case; `identity` is None while the reader has not claimed it."""

    identity: Patient | None
    name: str
    age: int
    language: str
    allergy_status: str
    allergies_asked_on: date | None
    allergies: Sequence[AllergyShown]
    medicines: Sequence[str]

    @property
    def allergies_unknown(self) -> bool:
        """Whether nobody has recorded allergies, or that there are none, with a date."""
        if self.allergies:
            return False
        return self.allergy_status != Patient.AllergyStatus.NONE_KNOWN or self.allergies_asked_on is None


@dataclass(frozen=True)
class MedicineShown:
    """The product of a case, and its prescription when the case is a refill."""

    product: Medication
    schedule: str
    coverage: str | None
    prescription: Prescription | None = None
    directions: str = ""
    days_left: int | None = None


@dataclass(frozen=True)
class StockShown:
    """What one store has of the product; `packs` is None when it never carried it."""

    store: str
    packs: int | None
    low: bool
    restock: date | None
    is_asked: bool
    is_enough: bool | None


@dataclass(frozen=True)
class Proof:
    """How well it is known who asks, and how and when it was proven; both None when that is not on record."""

    code: str
    text: str
    how: str | None = None
    at: datetime | None = None


def patient_shown(patient: Patient, *, with_identity: bool) -> PatientShown:
    """Return what staff read about a patient; name, number and contacts only with the identity."""
    language = page_language()
    rows = Allergy.objects.filter(patient=patient).select_related("ingredient").order_by("pk")
    today = timezone.localdate()
    born = patient.born
    taken = Prescription.objects.filter(patient=patient, status__in=_IN_FORCE, expires_on__gte=today)
    return PatientShown(
        identity=patient if with_identity else None,
        name=named(patient, language) if with_identity else "",
        age=today.year - born.year - ((today.month, today.day) < (born.month, born.day)),
        language=patient.get_language_display(),
        allergy_status=patient.allergy_status,
        allergies_asked_on=patient.allergies_recorded_on,
        allergies=[
            AllergyShown(
                named(row.ingredient, language) if row.ingredient else class_shown(row.drug_class, language),
                str(row.get_severity_display()),
            )
            for row in rows
        ],
        medicines=list(
            dict.fromkeys(str(row.medication) for row in taken.select_related("medication").order_by("pk"))
        ),
    )


def medicine_shown(product: Medication, prescription: Prescription | None) -> MedicineShown:
    """Return what staff read about the product of a case."""
    return MedicineShown(
        product=product,
        schedule=product.schedule,
        coverage=_coverage(product),
        prescription=prescription,
        directions=named(prescription, page_language(), "directions") if prescription else "",
        days_left=_days_left(prescription) if prescription else None,
    )


def stock_shown(product: Medication, asked: Store | None, units: int | None) -> list[StockShown]:
    """Return the stock of every active store, the one where it is picked up first."""
    language = page_language()
    levels = {row.store_id: row for row in StockLevel.objects.filter(medication=product)}
    needed = packs_for(product, units) if units else None
    stores = sorted(
        Store.objects.filter(is_active=True), key=lambda one: (asked is None or one.pk != asked.pk, one.pk)
    )
    shown = []
    for store in stores:
        level = levels.get(store.pk)
        packs = level.quantity if level else None
        shown.append(
            StockShown(
                store=named(store, language),
                packs=packs,
                low=is_low(level) if level else False,
                restock=restock_on(level) if level else None,
                is_asked=asked is not None and store.pk == asked.pk,
                is_enough=None if needed is None else (packs or 0) >= needed,
            )
        )
    return shown


def proof_of(handoff: Handoff) -> Proof:
    """Return how the identity of whoever asks was proven, by the audit log."""
    code = verified_code(handoff)
    text = word(VERIFIED, code)
    if code != "identified" or handoff.patient_id is None or handoff.conversation_id is None:
        return Proof(code, text)
    line = AuditEvent.objects.filter(
        who=f"chat:{handoff.conversation_id}",
        what="identity_verified",
        patient_id=handoff.patient_id,
        at__lte=handoff.created_at,
    ).first()
    return Proof(code, text, word(HOW, line.how), line.at) if line and line.how in HOW else Proof(code, text)


def _coverage(product: Medication) -> str | None:
    """Return what the insurer asks for, as a code; None when there is no rule on record."""
    rule = CoverageRule.objects.filter(medication=product).first()
    if product.prior_authorization or (rule and rule.needs_authorisation):
        return "authorisation"
    if rule is None:
        return None
    return str(rule.most_units) if rule.most_units is not None else "covered"


def _days_left(prescription: Prescription) -> int | None:
    """Return the days of supply that the last fill still covers; None when that is not known."""
    if prescription.last_filled_on is None or not prescription.days_supply:
        return None
    until = prescription.last_filled_on + timedelta(days=prescription.days_supply)
    return max(0, (until - timezone.localdate()).days)

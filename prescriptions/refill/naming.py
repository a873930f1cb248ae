"""Find the prescriptions of a patient that a written name may mean: by names, brands and ingredients, in both languages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from inventory.catalog import MedicationName, medication_names
from prescriptions.audit import Access
from prescriptions.eligibility import can_refill
from prescriptions.models import Patient, Prescription
from prescriptions.refill.confidence import MATCH_SURE, MOST_OFFERED, Verdict, likeness, match_verdict
from prescriptions.selectors import prescriptions_for

_LONGEST: Final = 200


@dataclass(frozen=True)
class Named:
    """The prescriptions that a written name means: those that it names, and those that it is like, the nearest first."""

    sure: Sequence[Prescription]
    likely: Sequence[Prescription]


def prescriptions_named(patient: Patient, written: Sequence[str], *, access: Access) -> dict[str, Named]:
    """Return for each written name the patient's prescriptions that it names, and at most three that it is like.

    Of several for one product those that can be refilled count, and of those the newest.
    """
    rows = prescriptions_for(patient, access=access)
    names = medication_names({row.medication_id for row in rows})
    return {name: _named(name[:_LONGEST], rows, names) for name in written}


def _named(
    written: str, rows: Sequence[Prescription], names: Mapping[int, Sequence[MedicationName]]
) -> Named:
    scored = {pk: _score(written, of_product) for pk, of_product in names.items()}
    one_each: dict[int, Prescription] = {}
    for row in sorted(rows, key=lambda row: (can_refill(row), row.pk)):
        one_each[row.medication_id] = row
    found = sorted(one_each.values(), key=lambda row: (-scored.get(row.medication_id, 0.0), row.pk))
    verdicts = {row.pk: match_verdict(scored.get(row.medication_id, 0.0)) for row in found}
    return Named(
        [row for row in found if verdicts[row.pk] == Verdict.GO_ON],
        [row for row in found if verdicts[row.pk] == Verdict.ASK][:MOST_OFFERED],
    )


def _score(written: str, names: Sequence[MedicationName]) -> float:
    """Return how like a product's names what was written is; a part of a combination alone never is the product."""
    whole = likeness(written, [name.text for name in names if name.is_whole])
    part = likeness(written, [name.text for name in names if not name.is_whole])
    return max(whole, min(part, MATCH_SURE))

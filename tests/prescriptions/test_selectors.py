"""The doors to a person's data: what they find, what they refuse, and that both are on record."""

from collections.abc import Callable

import pytest

from inventory.models import Medication
from prescriptions.audit import Access
from prescriptions.errors import PatientNotFound, PrescriptionNotFound
from prescriptions.models import AuditEvent, Patient, Prescription
from prescriptions.selectors import patient_find, patient_get, prescription_get_for, prescriptions_for

ASKING = Access(who="key:7", where="tool:prescription_management", why="asked")
Prescribe = Callable[..., Prescription]


@pytest.mark.parametrize(
    "identifier",
    [
        "david.cohen@example.com",
        "  David.COHEN@Example.com ",
        "050-1234567",
        "0501234567",
        "050 123 4567",
        "+972 50-123-4567",
        "٠٥٠١٢٣٤٥٦٧",
        "０５０－１２３４５６７",
    ],
)
def test_a_patient_is_found_by_every_spelling_of_a_contact(
    david: Patient, rachel: Patient, identifier: str
) -> None:
    assert patient_find(identifier, access=ASKING) == david


@pytest.mark.parametrize(
    "identifier",
    ["", "-", "nobody@example.com", "050-0000000", "david", "%", "a\x00b@example.com", "@", "x" * 500],
)
def test_unknown_and_malformed_identifiers_find_nobody(david: Patient, identifier: str) -> None:
    with pytest.raises(PatientNotFound):
        patient_find(identifier, access=ASKING)
    event = AuditEvent.objects.get()
    assert (event.what, event.patient_id, event.detail) == ("patient_refused", None, {})


@pytest.mark.parametrize("mrn", ["10000999", "", "abc", "١٠٠٠٠١٠١", "1" * 400, "10000101 "])
def test_a_patient_is_found_by_record_number_only(david: Patient, mrn: str) -> None:
    assert patient_get("10000101", access=ASKING) == david
    with pytest.raises(PatientNotFound):
        patient_get(mrn, access=ASKING)
    assert list(AuditEvent.objects.order_by("number").values_list("what", flat=True)) == [
        "patient_found",
        "patient_refused",
    ]


def test_another_patients_prescription_and_a_missing_one_give_the_same_error(
    david: Patient, rachel: Patient, amoxicillin: Medication, prescribe: Prescribe
) -> None:
    mine, theirs = prescribe(david, amoxicillin), prescribe(rachel, amoxicillin)
    assert prescription_get_for(david, mine.pk, access=ASKING) == mine
    messages = set()
    for number in (theirs.pk, theirs.pk + 1000, 0, -5, 2**63, 10**30):
        with pytest.raises(PrescriptionNotFound) as refused:
            prescription_get_for(david, number, access=ASKING)
        messages.add((type(refused.value), str(refused.value)))
    assert len(messages) == 1
    assert AuditEvent.objects.filter(what="prescription_refused", patient=david).count() == 6


def test_prescriptions_are_the_patients_own_in_order(
    david: Patient, rachel: Patient, amoxicillin: Medication, metformin: Medication, prescribe: Prescribe
) -> None:
    first, _, third = prescribe(david, amoxicillin), prescribe(rachel, metformin), prescribe(david, metformin)
    rows = prescriptions_for(david, access=ASKING)
    assert rows == [first, third]
    event = AuditEvent.objects.get()
    assert (event.who, event.where, event.why) == ("key:7", "tool:prescription_management", "asked")

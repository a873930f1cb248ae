"""Read a person's data: the only functions that do, each with an Access that the audit log records, refused or not.

"Not yours" and "does not exist" are the same error, so that a refusal does not reveal what is on file.
"""

from django.db.models import Q

from prescriptions.audit import Access, audit_record
from prescriptions.contacts import Contact, contact_parse
from prescriptions.errors import PatientNotFound, PrescriptionNotFound
from prescriptions.models import Allergy, Patient, Prescription

_LARGEST_ID = 2**63 - 1


def contact_patient(contact: Contact) -> Patient | None:
    """Return the patient with this contact, by the same query for known, unknown and malformed contacts.

    For `identity`, which writes its own audit lines; everybody else calls `patient_find`.
    """
    return Patient.objects.filter(
        Q(email=contact.email) | Q(phone=contact.phone) | Q(mrn=contact.mrn)
    ).first()


def patient_find(identifier: str, *, access: Access) -> Patient:
    """Return the patient with this e-mail (in any case) or phone (in any notation), or raise PatientNotFound."""
    return _recorded(contact_patient(contact_parse(identifier)), access)


def patient_get(mrn: str, *, access: Access) -> Patient:
    """Return the patient with this medical record number, or raise PatientNotFound."""
    well_formed = mrn.isascii() and mrn.isdigit() and len(mrn) <= 8
    return _recorded(Patient.objects.filter(mrn=mrn).first() if well_formed else None, access)


def prescriptions_for(patient: Patient, *, access: Access) -> list[Prescription]:
    """Return all prescriptions of this patient with their medications, by id."""
    rows = list(Prescription.objects.filter(patient=patient).select_related("medication").order_by("id"))
    audit_record(
        who=access.who,
        what="prescriptions_read",
        where=access.where,
        why=access.why,
        patient=patient,
        detail={"prescriptions": [row.pk for row in rows]},
    )
    return rows


def allergies_for(patient: Patient, *, access: Access) -> list[Allergy]:
    """Return the allergies on this patient's file with their ingredients, by id."""
    rows = list(Allergy.objects.filter(patient=patient).select_related("ingredient").order_by("id"))
    audit_record(
        who=access.who,
        what="allergies_read",
        where=access.where,
        why=access.why,
        patient=patient,
        detail={"allergies": [row.pk for row in rows]},
    )
    return rows


def prescription_get_for(patient: Patient, prescription_id: int, *, access: Access) -> Prescription:
    """Return this patient's prescription with its medication, or raise PrescriptionNotFound."""
    row = None
    if 0 < prescription_id <= _LARGEST_ID:
        rows = Prescription.objects.filter(patient=patient, pk=prescription_id)
        row = rows.select_related("medication").first()
    audit_record(
        who=access.who,
        what="prescription_read" if row else "prescription_refused",
        where=access.where,
        why=access.why,
        patient=patient,
        detail={"prescription": prescription_id if row else str(prescription_id)[:20]},
    )
    if row is None:
        raise PrescriptionNotFound
    return row


def _recorded(patient: Patient | None, access: Access) -> Patient:
    """Record that the patient was found or refused, and return the patient or raise PatientNotFound."""
    audit_record(
        who=access.who,
        what="patient_found" if patient else "patient_refused",
        where=access.where,
        why=access.why,
        patient=patient,
    )
    if patient is None:
        raise PatientNotFound
    return patient

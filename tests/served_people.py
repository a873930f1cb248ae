"""Patients of a test's own on a served site's database; imported by the tests that need them."""

from typing import Any

# The columns that a new patient and a new prescription have from David and his metformin.
PATIENT = "name, name_en, name_he, born, language, address"
PRESCRIPTION = "expires_on, issued_on, medication_id, status, directions, directions_en, directions_he, quantity, days_supply, prescriber"


def people(site: Any, first: int, count: int = 1) -> list[dict[str, Any]]:
    """New patients with these numbers, each with a prescription like David's; what each asks for."""
    for number in range(first, first + count):
        site.sql(
            f"INSERT INTO prescriptions_patient ({PATIENT}, mrn, email, phone, allergy_status, allergies_recorded_on)"
            f" SELECT {PATIENT}, '{number}', 'p{number}@example.com', '+9725{number}', 'none_known', current_date"
            " FROM prescriptions_patient WHERE mrn = '10000101'",
            "INSERT INTO prescriptions_simulatedlab (mrn, code, value, taken_on)"
            f" VALUES ('{number}', 'egfr', 90, current_date)",
            f"INSERT INTO prescriptions_prescription (id, patient_id, refills_left, {PRESCRIPTION}) SELECT {number},"
            f" (SELECT id FROM prescriptions_patient WHERE mrn = '{number}'), 1, {PRESCRIPTION}"
            " FROM prescriptions_prescription WHERE id = 2",
        )
    return [
        {"patient_id": str(number), "prescription_id": number, "pickup": 1}
        for number in range(first, first + count)
    ]


def copied(site: Any, number: int, mrn: str, *prescriptions: int) -> str:
    """A new patient with what the one with this record number is allergic to and these of their prescriptions; the e-mail address.

    The prescriptions have the numbers `number` times ten, and on from there.
    """
    new = f"(SELECT id FROM prescriptions_patient WHERE mrn = '{number}')"
    site.sql(
        f"INSERT INTO prescriptions_patient ({PATIENT}, mrn, email, phone, allergy_status, allergies_recorded_on)"
        f" SELECT {PATIENT}, '{number}', 'p{number}@example.com', '+9725{number}', allergy_status, allergies_recorded_on"
        f" FROM prescriptions_patient WHERE mrn = '{mrn}'",
        "INSERT INTO prescriptions_allergy (patient_id, ingredient_id, drug_class, severity)"
        f" SELECT {new}, ingredient_id, drug_class, severity FROM prescriptions_allergy"
        f" WHERE patient_id = (SELECT id FROM prescriptions_patient WHERE mrn = '{mrn}')",
        "INSERT INTO prescriptions_simulatedlab (mrn, code, value, taken_on)"
        f" SELECT '{number}', code, value, taken_on FROM prescriptions_simulatedlab WHERE mrn = '{mrn}'",
        *(
            f"INSERT INTO prescriptions_prescription (id, patient_id, refills_left, {PRESCRIPTION})"
            f" SELECT {number * 10 + place}, {new}, refills_left, {PRESCRIPTION}"
            f" FROM prescriptions_prescription WHERE id = {one}"
            for place, one in enumerate(prescriptions)
        ),
    )
    return f"p{number}@example.com"

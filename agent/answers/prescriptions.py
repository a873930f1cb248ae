"""Word a customer's prescriptions and whether they can be refilled."""

from typing import TypedDict

from agent.answers.layout import paragraphs
from agent.answers.render import apart
from agent.answers.renderer import Facts, Renderer
from agent.state import RememberedMedication, RememberedPrescription


class PrescriptionRow(TypedDict):
    """A prescription as S0 lists it."""

    presc_id: int
    med_id: int
    medication_name_en: str
    medication_name_he: str
    refills_left: int
    status: str
    can_refill: bool


def remembered_prescription(row: PrescriptionRow) -> RememberedPrescription:
    """Return a prescription as the conversation remembers it, so that one of several can be pointed at."""
    return {
        "id": row["presc_id"],
        "med_id": row["med_id"],
        "en": row["medication_name_en"],
        "he": row["medication_name_he"],
    }


def prescribed(row: PrescriptionRow) -> RememberedMedication:
    """Return a prescription's medicine as the conversation remembers it."""
    return {"id": row["med_id"], "en": row["medication_name_en"], "he": row["medication_name_he"]}


def prescription_name(renderer: Renderer, row: PrescriptionRow) -> str:
    """Return the name of a prescription's medicine."""
    name = row["medication_name_he"] if renderer.language == "he" else row["medication_name_en"]
    return str(name or row["medication_name_en"])


def prescription_line(renderer: Renderer, row: PrescriptionRow, facts: Facts) -> str:
    """Return a prescription with its refills and status."""
    name, status = prescription_name(renderer, row), renderer.word("status", row["status"])
    left = renderer.count("refills_short", row["refills_left"])
    line = f"{apart(name, renderer.language)} - {left} ({status})"
    if facts.get("refill_pending"):
        return f"{line}. {renderer.say('refill_pending', name=name)}"
    if facts.get("status_known") is False:
        return f"{line}. {renderer.say('refill_staff', name=name)}"
    return line


def refill_verdict(row: PrescriptionRow, facts: Facts) -> str:
    """Return whether a prescription can be refilled, or what prevents it: a key of the sentences `refill_…`."""
    if facts.get("status_known") is False:
        return "staff"
    if facts.get("schedule") == "II":
        return "controlled"
    if facts.get("refill_pending"):
        return "pending"
    if row["can_refill"]:
        return "yes"
    return row["status"] if row["status"] in ("completed", "expired") else "none_left"


def refill_text(renderer: Renderer, row: PrescriptionRow, facts: Facts) -> str:
    """Say whether a prescription can be refilled."""
    name, verdict = prescription_name(renderer, row), refill_verdict(row, facts)
    text = renderer.say(f"refill_{verdict}", name=name)
    if verdict != "yes":
        return text
    left = renderer.count("refills_left", row["refills_left"])
    if early := early_text(renderer, name, facts):
        return f"{early} {left}"
    return paragraphs(f"{text} {left}", renderer.say("refill_note", name=name))


def early_text(renderer: Renderer, name: str, facts: Facts) -> str:
    """Say since when and from when, of a prescription whose last fill is not used up enough; "" for another one."""
    filled, until = facts.get("last_filled_on"), facts.get("too_early_until")
    if not (filled and until):
        return ""
    return renderer.say(
        "refill_early", name=name, filled=renderer.date(str(filled)), date=renderer.date(str(until))
    )

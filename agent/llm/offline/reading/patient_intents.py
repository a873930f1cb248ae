"""Read clauses about a customer's own prescriptions."""

from collections.abc import Mapping
from typing import Any, Final

from agent.llm.offline.frames import SHORT, Frame
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.references import asks_rx, has_topic, medications_of, position_of
from agent.llm.offline.reading.refilled import asks_for_all, refilled_in, rows_named
from agent.state import RememberedMedication

PRESCRIPTION_MATTERS: Final = frozenset({"prescriptions", "refill_status", "refill", "renew"})


def patient_frame(clause: Clause, state: Mapping[str, Any]) -> Frame | None:
    """Return what a clause wants about prescriptions, refills or identification."""
    if clause.has("strong_person") and not clause.medicines:
        return None  # "talk to someone about my refill"
    medicines = medications_of(clause.medicines) or _name_to_refill(clause)
    other = clause.has("other_person")
    details = {"other_person": True} if other else {}
    if clause.has("logout"):
        return Frame("logout", 0.95)
    if clause.has("resend") and (
        clause.has("code_word") or state.get("waiting") or state.get("identifier_asked")
    ):
        return Frame("resend", 0.95)
    if clause.has("renew"):
        medicines = refilled_in(clause) or medicines
        return Frame("renew", 0.95, medicines=medicines, details=details)
    if clause.has("refill_term") and not medicines and not clause.has("my"):
        return Frame("what_refill", 0.95)
    if clause.has("refill"):
        medicines = refilled_in(clause) or medicines
        if asks_for_all(clause) and not medicines:
            details = {**details, "all": True}
        position = position_of(clause, 9)
        shown = state.get("prescriptions") or []
        medicines = medicines or rows_named(clause, shown)
        if position is not None and position < len(shown) and not medicines:
            details = {**details, "prescription": shown[position]}
        numbered = [number for number in clause.numbers if number in {row["id"] for row in shown}]
        if not medicines and "prescription" not in details and numbered:
            details = {**details, "prescription": next(row for row in shown if row["id"] == numbered[0])}
        asks = clause.has("refill_status") or (clause.asks and not clause.has("weak_stock"))
        return Frame("refill_status" if asks else "refill", 0.95, medicines=medicines, details=details)
    mine = (clause.has("prescriptions") and len(medicines) < 2) or (
        clause.has("my") and clause.has("rx_word")
    )
    if mine and not (medicines and asks_rx(clause) and not clause.has("my", "prescriptions")):
        return Frame("prescriptions", 0.95, details=details)
    if clause.has("rx_plural") and len(clause.words) <= 2 and not medicines:
        return Frame("prescriptions", 0.9)
    if other and clause.has("rx_word", "prescriptions"):
        return Frame("prescriptions", 0.9, details=details)
    matter = (state.get("waiting") or state).get("intent")
    if len(medicines) == 1 and matter in PRESCRIPTION_MATTERS and _only_names(clause):
        # "And the metformin?"; "no wait, the amoxicillin one" is the same request for the other medicine.
        changed = clause.has("correction", "no", "instead") and matter in ("refill", "renew")
        return Frame(str(matter) if changed else "refill_status", 0.9, medicines=medicines, details=details)
    shown = state.get("prescriptions") or []
    position = (
        position_of(clause, len(shown))
        if shown and state.get("intent") in ("prescriptions", "refill_status")
        else None
    )
    if position is not None and not medicines:
        return Frame("refill_status", 0.9, details={"prescription": shown[position]})
    return None


def _name_to_refill(clause: Clause) -> tuple[RememberedMedication, ...]:
    """Return an unknown name right after "refill", so that no other prescription is taken for it."""
    ends = [end for _start, end in clause.cues.spans("refill")]
    behind = [name.text for name in clause.unknown if any(0 <= name.start - end <= 1 for end in ends)]
    return tuple({"query": name} for name in behind[:1])


def _only_names(clause: Clause) -> bool:
    """Return whether a clause about prescriptions does no more than name another medicine."""
    instead = clause.cues.spans("equivalent") <= clause.cues.spans("instead")
    topic = has_topic(clause, but=("equivalent",) if instead else ())
    asks_else = topic or clause.places or clause.without("stock", "weak_stock") or clause.has("interaction")
    leans = clause.has("follow", "my", "correction", "no", "instead", "that_one")
    return not asks_else and (leans or (len(clause.words) <= SHORT + 2 and not clause.unknown))

"""Make the facts of a customer's own prescriptions."""

from collections.abc import Iterator, Sequence

from agent.answers.facts.fact import Fact
from agent.answers.facts.lists import unreadable_fact
from agent.answers.facts.medicines import prescription_fact
from agent.answers.layout import numbered
from agent.answers.prescriptions import (
    PrescriptionRow,
    early_text,
    prescription_line,
    prescription_name,
    refill_text,
    refill_verdict,
)
from agent.answers.renderer import Facts, Renderer
from agent.evidence import PrescriptionFacts, ProductFacts
from agent.inference.base import StepResult


def own_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield state, refill and dates of each prescription, all in one list first (S0 `prescription_management`)."""
    if not result.ok:
        yield unreadable_fact(renderer)
        return
    rows = result.result.get("prescriptions")
    listed: list[PrescriptionRow] = [result.result["prescription"]] if rows is None else rows
    known = {row["presc_id"]: row for row in result.evidence.get("prescriptions", ())}
    if not listed:
        yield Fact("prescriptions", "", renderer.say("prescriptions_none"), polarity=False, is_lasting=False)
    elif rows is not None:
        yield _list(renderer, rows, known, str(result.result["user_name"]))
    for row in listed:
        yield from _facts_of(renderer, row, known.get(row["presc_id"]))


def _list(
    renderer: Renderer, rows: Sequence[PrescriptionRow], known: dict[int, PrescriptionFacts], patient: str
) -> Fact:
    """Return all prescriptions of a patient as one list."""
    is_active = all(row["status"] == "active" for row in rows)
    key = "prescriptions_head_active" if is_active else "prescriptions_head"
    head = renderer.count(key, len(rows), name=patient)
    lines = [prescription_line(renderer, row, known.get(row["presc_id"]) or {}) for row in rows]
    return Fact("prescriptions", "", f"{head}\n{numbered(lines)}", is_lasting=False)


def _facts_of(renderer: Renderer, row: PrescriptionRow, facts: PrescriptionFacts | None) -> Iterator[Fact]:
    name = prescription_name(renderer, row)
    on_file: Facts = facts or {}
    line = prescription_line(renderer, row, on_file)
    yield Fact("prescription_state", name, line if line.endswith(".") else f"{line}.", is_lasting=False)
    can_refill = refill_verdict(row, on_file) == "yes"
    yield Fact("refill", name, refill_text(renderer, row, on_file), polarity=can_refill, is_lasting=False)
    if facts is not None:
        yield from _dates(renderer, name, facts)


def _dates(renderer: Renderer, name: str, facts: PrescriptionFacts) -> Iterator[Fact]:
    is_over = facts["expires_on"] < renderer.turn.now.date().isoformat()
    key = "rx_expired_on" if is_over else "rx_expires"
    until = renderer.say(key, name=name, date=renderer.date(facts["expires_on"]))
    yield Fact("valid_until", name, until, is_lasting=False)
    issued = renderer.say("rx_issued", name=name, date=renderer.date(facts["issued_on"]))
    yield Fact("issued", name, issued, is_lasting=False)
    filled = facts["last_filled_on"]
    text = (
        renderer.say("rx_filled", name=name, date=renderer.date(filled))
        if filled
        else renderer.say("rx_never_filled", name=name)
    )
    yield Fact("last_filled", name, text, is_lasting=False)
    if days := facts["days_supply"]:
        yield Fact("supply", name, renderer.say("rx_supply", name=name, days=days), is_lasting=False)


def verified_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield whether the customer has a valid prescription for a product (S1 `prescription_verify`)."""
    facts = result.evidence.get("medication")
    if facts is None or not result.ok:
        yield unreadable_fact(renderer)
        return
    yield prescription_fact(renderer, facts)
    name, on_file = renderer.of(facts), result.evidence.get("prescription")
    if result.step.arguments.get("intent") == "refill":
        key, left = _refill_key(facts, result), int(result.result["refills_remaining"] or 0)
        more = f" {renderer.count('refills_left', left)}" if key == "verify_ok" else ""
        early = early_text(renderer, name, on_file or {}) if key == "verify_ok" else ""
        text = f"{early or renderer.say(key, name=name)}{more}"
        yield Fact("refill", name, text, polarity=key == "verify_ok", is_lasting=False)
    elif notes := str(result.result.get("notes") or ""):
        is_valid = bool(result.result["has_valid_rx"])
        yield Fact("prescription_state", name, notes, polarity=is_valid, is_lasting=False)
    if on_file:
        yield from _dates(renderer, name, on_file)


def _refill_key(facts: ProductFacts, result: StepResult) -> str:
    """Return the sentence that says whether a product can be refilled now, or what prevents it."""
    verified, on_file = result.result, result.evidence.get("prescription")
    is_refillable = verified["rx_status"] == "active" and verified["refills_remaining"]
    if not verified["rx_required"] and not (on_file and is_refillable):
        return "verify_otc"
    if facts["schedule"] == "II":
        return "refill_controlled"
    if on_file and not on_file["status_known"]:
        return "refill_staff"
    if verified["rx_status"] == "refill_pending":
        return "refill_pending"
    if verified["next_step"] == "allow_refill_request":
        return "verify_ok"
    if verified["next_step"] == "request_rx_details":
        return "verify_none"
    is_only_over = verified["rx_status"] == "expired" and verified["refills_remaining"]
    return "refill_expired" if is_only_over else "verify_no"

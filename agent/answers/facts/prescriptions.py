"""Make the facts of a customer's own prescriptions."""

from collections.abc import Iterator

from agent.answers.facts.fact import Fact
from agent.answers.facts.medicines import prescription_fact
from agent.answers.prescriptions import (
    PrescriptionRow,
    prescription_line,
    prescription_name,
    refill_text,
    refill_verdict,
)
from agent.answers.renderer import Facts, Renderer
from agent.evidence import PrescriptionFacts
from agent.inference.base import StepResult


def own_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield state, refill and dates of each prescription (S0 `prescription_management`, both actions)."""
    if not result.ok:
        yield Fact("prescription_state", "", renderer.say("data_error"), is_lasting=False)
        return
    rows = result.result.get("prescriptions")
    listed: list[PrescriptionRow] = [result.result["prescription"]] if rows is None else rows
    if not listed:
        text = renderer.say("prescriptions_none")
        yield Fact("prescription_state", "", text, polarity=False, is_lasting=False)
    known = {row["presc_id"]: row for row in result.evidence.get("prescriptions", ())}
    if one := result.evidence.get("prescription"):
        known[one["presc_id"]] = one
    for row in listed:
        yield from _facts_of(renderer, row, known.get(row["presc_id"]))


def _facts_of(renderer: Renderer, row: PrescriptionRow, facts: PrescriptionFacts | None) -> Iterator[Fact]:
    name = prescription_name(renderer, row)
    on_file: Facts = facts or {}
    line = prescription_line(renderer, row, on_file)
    yield Fact("prescription_state", name, line if line.endswith(".") else f"{line}.", is_lasting=False)
    can_refill = refill_verdict(row, on_file) == "yes"
    yield Fact("refill", name, refill_text(renderer, row, on_file), polarity=can_refill, is_lasting=False)
    if facts is None:
        return
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


def verified_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield whether the customer has a valid prescription for a product (S1 `prescription_verify`)."""
    facts = result.evidence.get("medication")
    if facts is None or not result.ok:
        yield Fact("prescription_state", "", renderer.say("data_error"), is_lasting=False)
        return
    yield prescription_fact(renderer, facts)
    if notes := str(result.result.get("notes") or ""):
        is_valid = bool(result.result["has_valid_rx"])
        yield Fact("prescription_state", renderer.of(facts), notes, polarity=is_valid, is_lasting=False)

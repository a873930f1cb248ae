"""Plans for a customer's own prescriptions: proving who asks, listing, refill status, a refill (S0 flow C, S1)."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.answers.render import apart
from agent.inference.base import Step
from agent.llm.offline.answer import Part, Plan, View, numbered, paragraphs
from agent.llm.offline.cards import identity_card, prescriptions_card, refill_verdict
from agent.llm.offline.frames import Frame


def ask_identifier(view: View, frame: Frame) -> Part:
    """Asks whose prescriptions; the question waits in the conversation."""
    if view.turn.identity_elsewhere:
        return _elsewhere(view, frame)
    key = "ask_identifier_other" if frame.details.get("other_person") else "ask_identifier"
    if view.turn.identity_policy != "otp" and key == "ask_identifier":
        key = "ask_identifier_plain"
    if view.turn.challenge_open and key == "ask_identifier":
        key = "code_waiting"
    return Part(
        view.say(key),
        suggestions=[view.say("chip_person")],
        state={
            "waiting": frame.kept(),
            "pending": {"kind": "identifier", "frame": frame.kept()},
            "identifier_asked": True,
        },
    )


def _elsewhere(view: View, frame: Frame) -> Part:
    """On a site that is not ours: the way to a window of our own, where the question is taken up again."""
    data = {"title": view.say("card_elsewhere"), "action": "continue"}
    return Part(
        view.say("identity_elsewhere"),
        cards=[{"kind": "identity", "data": data}],
        suggestions=[view.say("chip_person")],
        state={"waiting": frame.kept(), "pending": {"kind": "identifier", "frame": frame.kept()}},
    )


def identify(view: View, frame: Frame) -> Plan:
    """An identifier was given: prove it, and go on with what was asked once it is proven."""
    waiting = Frame.again(frame.details["waiting"])
    if view.turn.identity_elsewhere:
        return _elsewhere(view, waiting)
    identifier = str(frame.details["identifier"])
    [result] = yield [Step("identity.code", {"identifier": identifier})]
    if result.result.get("verified"):
        return (yield from PATIENT_PLANS[waiting.intent](view, waiting, identifier))
    if result.result.get("limited"):
        return Part(view.say("code_limited"), suggestions=[view.say("chip_person")])
    if view.turn.identity_policy != "otp":
        pending = {"kind": "identifier", "frame": waiting.kept()}
        return Part(
            view.say("no_account"),
            suggestions=[view.say("chip_person")],
            state={"pending": pending, "waiting": waiting.kept()},
        )
    return Part(
        view.say("code_sent"), cards=[identity_card(view)], state={"waiting": waiting.kept(), "pending": None}
    )


def prescriptions(view: View, frame: Frame, identifier: str | None = None) -> Plan:
    """The customer's prescriptions, once they are known."""
    identifier = identifier or view.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(view, frame)
    [result] = yield [
        Step(
            "prescription_management",
            {"user_identifier": identifier, "action": "LIST", "prescription_id": None},
        )
    ]
    if not result.ok:
        return _failed(view, frame, result.code)
    rows = list(result.result["prescriptions"])
    if not rows:
        return Part(view.say("prescriptions_none"), state={"waiting": None, "prescriptions": []})
    facts = {row["presc_id"]: row for row in result.evidence.get("prescriptions", ())}
    active = all(row["status"] == "active" for row in rows)
    head = view.count(
        "prescriptions_head_active" if active else "prescriptions_head",
        len(rows),
        name=result.result["user_name"],
    )
    lines = [_line(view, row, facts.get(row["presc_id"], {})) for row in rows]
    chips = [view.say("chip_refill", name=_name(view, row)) for row in rows if row["can_refill"]][:2]
    return Part(
        paragraphs(
            f"{head}\n{numbered(lines)}",
            view.say("prescriptions_ask" if len(rows) > 1 else "prescriptions_ask_one"),
        ),
        cards=[prescriptions_card(view, rows, facts)],
        suggestions=[*chips, view.say("chip_person")],
        state={
            "waiting": None,
            "prescriptions": [prescription_kept(row) for row in rows],
            "shown": [],
            "pending": _waits(Frame("refill_status", 0.9), rows),
        }
        | _focus(rows),
    )


def _waits(frame: Frame, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The question which of these prescriptions is meant."""
    return {
        "kind": "which_prescription",
        "frame": frame.kept(),
        "options": [prescription_kept(row) for row in rows],
    }


def prescription_kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """A prescription as the conversation keeps it, so that one of several can be pointed at."""
    return {
        "id": row["presc_id"],
        "med_id": row["med_id"],
        "en": row["medication_name_en"],
        "he": row["medication_name_he"],
    }


def _focus(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The only prescription's medicine is what "it" means next."""
    if len(rows) != 1:
        return {}
    row = rows[0]
    return {
        "focus": [{"id": row["med_id"], "en": row["medication_name_en"], "he": row["medication_name_he"]}]
    }


def _name(view: View, row: Mapping[str, Any]) -> str:
    return str(row[f"medication_name_{view.language}"] or row["medication_name_en"])


def _line(view: View, row: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    status = view.word("status", row["status"])
    line = f"{apart(_name(view, row), view.language)} - {view.count('refills_short', row['refills_left'])} ({status})"
    if facts.get("refill_pending"):
        return f"{line}. {view.say('refill_pending', name=_name(view, row))}"
    if facts.get("status_known") is False:
        return f"{line}. {view.say('refill_staff', name=_name(view, row))}"
    return line


def _failed(view: View, frame: Frame, code: str) -> Part:
    """A patient tool that did not succeed never reads as a success."""
    if code in ("UNAUTHORIZED", "PATIENT_NOT_FOUND"):
        return ask_identifier(view, frame)
    if code == "NOT_FOUND":
        return Part(
            view.say("no_prescription_found"),
            suggestions=[view.say("chip_prescriptions"), view.say("chip_person")],
        )
    return Part(view.say("data_error"), suggestions=[view.say("chip_person")])


def refill_status(view: View, frame: Frame, identifier: str | None = None) -> Plan:
    """Whether a prescription can be refilled (S0 flow C, step 7)."""
    identifier = identifier or view.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(view, frame)
    chosen = frame.details.get("prescription")
    state: dict[str, Any] = {"waiting": None}
    if not chosen:
        [listed] = yield [
            Step(
                "prescription_management",
                {"user_identifier": identifier, "action": "LIST", "prescription_id": None},
            )
        ]
        if not listed.ok:
            return _failed(view, frame, listed.code)
        rows = list(listed.result["prescriptions"])
        state["prescriptions"] = [prescription_kept(row) for row in rows]
        if not rows:
            return Part(view.say("prescriptions_none"), state=state)
        fitting = _fitting(rows, frame)
        if frame.medicines and not fitting:
            name = view.name(frame.medicines[0])
            lines = numbered([_line(view, row, {}) for row in rows])
            text = paragraphs(view.say("no_such_prescription", name=name), lines)
            return Part(text, suggestions=[view.say("chip_person")], state=state)
        if len(fitting) > 1:
            lines = numbered([_line(view, row, {}) for row in fitting])
            state["prescriptions"] = [prescription_kept(row) for row in fitting]
            state["pending"] = _waits(frame, fitting)
            chips = [view.say("chip_refill", name=_name(view, row)) for row in fitting[:3]]
            return Part(paragraphs(view.say("which_prescription"), lines), suggestions=chips, state=state)
        chosen = prescription_kept(fitting[0])
    asked = {"user_identifier": identifier, "action": "REFILL_STATUS", "prescription_id": chosen["id"]}
    [result] = yield [Step("prescription_management", asked)]
    if not result.ok:
        return _failed(view, frame, result.code)
    row = result.result["prescription"]
    facts: Mapping[str, Any] = next(iter(result.evidence.get("prescriptions", ())), {})
    text = _verdict(view, row, facts)
    medicine = {"id": row["med_id"], "en": row["medication_name_en"], "he": row["medication_name_he"]}
    chips = [view.say("chip_stock", name=_name(view, row)), view.say("chip_person")]
    card = prescriptions_card(view, [row], {row["presc_id"]: facts})
    return Part(text, cards=[card], suggestions=chips, state=state | {"focus": [medicine]})


def _fitting(rows: Sequence[Mapping[str, Any]], frame: Frame) -> list[Mapping[str, Any]]:
    """The prescriptions that the customer may mean; of several for one product, those that can be refilled."""
    if not frame.medicines:
        return list(rows)
    medicine = frame.medicines[0]
    ids = (
        {medicine["id"]} if "id" in medicine else {option["id"] for option in medicine.get("candidates", ())}
    )
    fitting = [row for row in rows if row["med_id"] in ids]
    usable = [row for row in fitting if row["can_refill"]]
    return usable or fitting


def _verdict(view: View, row: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    name, verdict = _name(view, row), refill_verdict(row, facts)
    text = view.say(f"refill_{verdict}", name=name)
    if verdict != "yes":
        return text
    left = view.count("refills_left", row["refills_left"])
    return paragraphs(f"{text} {left}", view.say("refill_note", name=name))


def refill(view: View, frame: Frame, identifier: str | None = None) -> Plan:
    """A refill is wanted: stock and prescription are both checked before anything else (S1)."""
    identifier = identifier or view.turn.identifier
    if identifier is None or frame.details.get("other_person"):
        return ask_identifier(view, frame)
    medicine = frame.medicines[0] if frame.medicines else None
    if medicine is None or "id" not in medicine:
        chosen = frame.details.get("prescription")
        if chosen:
            medicine = {"id": chosen["med_id"], "en": chosen["en"], "he": chosen["he"]}
        else:
            return (yield from refill_status(view, frame, identifier))
    asked = {"query": str(medicine.get("en") or medicine.get("said")), "language": view.language}
    patient = view.turn.patient_id or identifier
    verify = {
        "patient_id": patient,
        "med_id": str(medicine["id"]),
        "intent": "refill",
        "language": view.language,
    }
    [stocked, verified] = yield [Step("inventory_check", asked), Step("prescription_verify", verify)]
    name = view.name(medicine)
    if not verified.ok:
        return _failed(view, frame, verified.code)
    state: dict[str, Any] = {"waiting": None, "focus": [dict(medicine)]}
    result, facts = verified.result, verified.evidence.get("prescription") or {}
    medication = verified.evidence.get("medication") or {}
    lines = []
    if not result["rx_required"]:
        lines.append(view.say("verify_otc", name=name))
    elif medication.get("schedule") == "II":
        lines.append(view.say("refill_controlled", name=name))
    elif facts.get("status_known") is False:
        lines.append(view.say("refill_staff", name=name))
    elif result["rx_status"] == "refill_pending":
        lines.append(view.say("refill_pending", name=name))
    elif result["next_step"] == "allow_refill_request":
        lines.append(
            f"{view.say('verify_ok', name=name)} {view.count('refills_left', int(result['refills_remaining'] or 0))}"
        )
        state["pending"] = {"kind": "offer_person", "reason": "refill"}
    elif result["next_step"] == "request_rx_details":
        lines.append(view.say("verify_none", name=name))
    elif result["rx_status"] == "expired" and not result["refills_remaining"]:
        lines.append(view.say("verify_no", name=name))
    else:
        lines.append(
            view.say("refill_expired" if result["rx_status"] == "expired" else "verify_no", name=name)
        )
    lines.append(_stock_line(view, medicine, stocked.result, medication, ok=stocked.ok))
    if state.get("pending"):
        [asked_back] = yield [Step("refill.ask", {"prescription_id": facts.get("presc_id")})]
        lines.append(view.say("refill_confirm" if asked_back.result else "refill_offer"))
    chips = [view.say("chip_person"), view.say("chip_where", name=name)]
    return Part(paragraphs(*lines), suggestions=chips, state=state)


def _stock_line(
    view: View, medicine: Mapping[str, Any], result: Mapping[str, Any], facts: Mapping[str, Any], *, ok: bool
) -> str:
    """Stock of the very product, over all stores."""
    name = view.name(medicine)
    if facts.get("controlled"):
        return view.say("controlled_stock", name=name)
    match = (
        next((m for m in result.get("matches", ()) if m["med_id"] == str(medicine["id"])), None)
        if ok
        else None
    )
    if match is None:
        return view.say("no_inventory", name=name)
    quantity = int(match["qty_on_hand"])
    if not quantity:
        return view.say("out_of_stock", name=name)
    return view.count("in_stock_low" if quantity <= 10 else "in_stock", quantity, name=name)


def renew(view: View, frame: Frame) -> Plan:
    """A renewal may be a refill or a doctor's new prescription: the customer says which."""
    yield from ()
    return Part(
        view.say("renew_which"),
        suggestions=[view.say("renew_refill"), view.say("renew_new")],
        state={"pending": {"kind": "which_refill", "frame": frame.kept()}},
    )


def renew_doctor(view: View, frame: Frame) -> Plan:
    """A doctor's new prescription is not the pharmacy's to give."""
    yield from ()
    return Part(
        view.say("renew_doctor"), suggestions=[view.say("chip_prescriptions"), view.say("chip_person")]
    )


def resend(view: View, frame: Frame) -> Plan:
    """Another code: the contact is asked for again, since it is kept nowhere."""
    yield from ()
    if view.turn.identity_elsewhere:
        return _elsewhere(view, Frame("prescriptions", 0.9))
    return Part(view.say("code_waiting"), suggestions=[view.say("chip_person")])


def logout(view: View, frame: Frame) -> Plan:
    """Forget who asks."""
    yield [Step("identity.forget")]
    return Part(view.say("logged_out"), state={"waiting": None, "prescriptions": [], "pending": None})


PATIENT_PLANS = {"prescriptions": prescriptions, "refill_status": refill_status, "refill": refill}

"""Answers to what the assistant had asked: a name, a choice, a yes, an identifier."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.llm.offline.clauses import clause_frame
from agent.llm.offline.frames import SURE, Frame, Medication
from agent.llm.offline.pointing import (
    has_topic,
    medications_of,
    option_chosen,
    place_of,
    position_of,
    prescription_chosen,
)
from agent.llm.offline.recognise import Message


def pending_answer(message: Message, pending: Mapping[str, Any], state: Mapping[str, Any]) -> Frame | None:
    """The frame that was waiting, completed by this message; None when the message is about something else."""
    clauses = message.clauses
    kind = pending["kind"]
    if kind == "identifier" and message.contacts:
        return identity_frame(message, state)
    if not clauses:
        return None
    clause = clauses[0]
    says_yes, says_no = clause.has("yes"), clause.has("no")
    new_topic = has_topic(clause)
    if kind == "offer_person":
        # "OK, what pain relievers do you have then?" takes up no offer.
        asks = (
            clause.categories
            or clause.places
            or clause.unknown
            or clause.has("stock", "list", "hours", "price")
        )
        asks = asks or any(later.asks or later.medicines or later.categories for later in clauses[1:])
        if says_yes and not clause.medicines and not says_no and not asks:
            return Frame("person", 0.95, details={"reason": pending.get("reason", "not_understood")})
        if says_no and not new_topic:
            return Frame("declined", 0.95)
        return None
    waiting = Frame.again(pending["frame"])
    if kind == "which_refill":
        if clause.has("new_prescription") or position_of(clause, 2) == 1:
            return replace(waiting, intent="renew_doctor")
        if clause.has("refill") or position_of(clause, 2) == 0:
            return replace(waiting, intent="refill_status")
        return None
    options = list(pending.get("options", ()))
    if kind == "which_prescription":
        if new_topic:
            return None
        row = prescription_chosen(clause, options)
        if row is None and says_yes and not says_no and not clause.medicines and len(clause.words) <= 3:
            return waiting
        return replace(waiting, details={**waiting.details, "prescription": row}) if row else None
    if kind == "which_medication":
        chosen = option_chosen(clause, options)
        if chosen is not None and not (new_topic and not clause.medicines):
            # Two that are looked at together keep the other one; of two candidates only the chosen one stays.
            return replace(waiting, medicines=(*_others(waiting), chosen))
        if says_yes and len(options) == 1 and not says_no and not clause.medicines:
            return replace(waiting, medicines=(*_others(waiting), options[0]))
        if clause.has("both") and len(options) <= 3 and options:
            return replace(waiting, medicines=tuple(options))
        if says_no and not clause.medicines and not new_topic and not clause.unknown:
            return Frame("declined_name", 0.95)
        if says_yes and not new_topic and not clause.medicines and len(clause.words) <= 3:
            return replace(waiting, intent="which", details={"options": options, "frame": pending["frame"]})
        if clause.medicines and not new_topic:
            return replace(waiting, medicines=medications_of(clause.medicines))
        return None
    if kind == "medication" and not new_topic and (clause.medicines or clause.unknown):
        named = medications_of(clause.medicines) or ({"query": clause.unknown[0].text},)
        first = (
            waiting.medicines if waiting.intent in ("interaction", "same") else ()
        )  # "with which other one?"
        sure = waiting.confidence if clause.medicines else 0.72
        place = place_of(clause) or waiting.place
        intent = "stock_place" if place and waiting.intent in ("stock", "info") else waiting.intent
        return replace(waiting, intent=intent, medicines=(*first, *named), place=place, confidence=sure)
    if kind == "what" and not clause.medicines:
        inner = clause_frame(clause, state, list(waiting.medicines), [])
        if inner and inner.confidence >= SURE and inner.medicines:
            return inner
    return None


def _others(waiting: Frame) -> tuple[Medication, ...]:
    """The medicines beside the one that was asked back about: two that are looked at together stay together."""
    if waiting.intent not in ("interaction", "same"):
        return ()
    open_one = next((place for place, medicine in enumerate(waiting.medicines) if "id" not in medicine), 0)
    return (*waiting.medicines[:open_one], *waiting.medicines[open_one + 1 :])


def identity_frame(message: Message, state: Mapping[str, Any]) -> Frame:
    """An e-mail address or phone number: whose prescriptions are asked for."""
    waiting = state.get("waiting")
    details = {"identifier": message.contacts[0]}
    if waiting:
        return Frame("identify", 0.95, details={**details, "waiting": waiting})
    asked = next((clause for clause in message.clauses if clause.has("refill", "refill_status")), None)
    medicines = medications_of(asked.medicines) if asked else ()
    inner = Frame("refill_status" if asked else "prescriptions", 0.9, medicines=medicines)
    return Frame("identify", 0.9, details={**details, "waiting": inner.kept()})

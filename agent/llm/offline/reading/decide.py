"""Decide what the customer wants: frames with a confidence that code computes.

A frame is one question with its medicines, place and details filled in, from the message or from the conversation.
Below SURE the assistant asks back; below LOST it says that it has not understood.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.answers.facts.leaflets import SECTIONS
from agent.llm.offline.frames import LOST, REFILLS, REPEATABLE, SURE, Decision, Frame
from agent.llm.offline.reading.amounts import amounts_joined, wished_in
from agent.llm.offline.reading.clauses import clause_frame
from agent.llm.offline.reading.message import Clause, Message
from agent.llm.offline.reading.pending import identity_frame, pending_answer
from agent.llm.offline.reading.references import has_topic, medications_of
from agent.state import RememberedMedication


def decide(message: Message, state: Mapping[str, Any]) -> Decision:
    """Return the frames of a message, given the conversation so far."""
    pending = state.get("pending") or {}
    answered = pending_answer(message, pending, state) if pending else None
    if answered and not _goes_on(message, pending):
        return Decision((answered,), answers_question=True)
    if message.contacts and not answered:
        return Decision((identity_frame(message, state),))
    frames: list[Frame] = [answered] if answered else []
    focus = list(answered.medicines if answered else state.get("focus", ()))
    whole = None if answered else _joined(message)
    remarked: tuple[str, ...] = ()
    whose = any(clause.has("other_person") for clause in message.clauses)
    for clause in [whole] if whole else message.clauses[len(frames) :]:
        frame = clause_frame(clause, state, focus, frames)
        if frame is None:
            continue
        if remarked and frame.intent == "info" and clause.has("leaflet"):
            frame = replace(frame, intent="section", sections=remarked)
        alone = (
            not clause.medicines and not clause.asks and (frame.intent == "unknown" or not frame.medicines)
        )
        # "I'm pregnant, what does the leaflet of X say?": the remark is what is asked about.
        remarked = tuple(name for name in SECTIONS if clause.has(name)) if alone else ()
        if whose and frame.intent in ("prescriptions", "refill", "refill_status", "renew"):
            frame = replace(frame, details={**frame.details, "other_person": True})
        if frame.medicines:
            # A name that nothing is called stays what is talked about: nothing earlier takes its place.
            focus = list({one.get("id") or one.get("query"): one for one in frame.medicines}.values())
        if frame.intent in REPEATABLE:  # "does X need a prescription? and Y?"
            state = {**state, "last": frame.remembered()}
        if frame.intent in REFILLS:  # "refill X, and Y"
            state = {**state, "intent": frame.intent}
            frame = _same_request(frame, clause, frames)
        if frame.intent in ("hours", "branch"):
            state = {**state, "last_branch": frame.remembered()}
        if frame.place:  # "when does Jaffa close, and do you have X there?"
            state = {**state, "place": dict(frame.place)}
        frames.append(frame)
    kept = _distilled(frames)
    together = _together(message, kept, answered.medicines if answered else ())
    return Decision((*kept, *together), answers_question=answered is not None)


def _goes_on(message: Message, pending: Mapping[str, Any]) -> bool:
    """Return whether more is asked after the choice of a medicine: "yes, and do you have X?"."""
    later = message.clauses[1:]
    return pending["kind"] == "which_medication" and any(
        clause.medicines or clause.unknown or clause.asks for clause in later
    )


def _together(
    message: Message, frames: Sequence[Frame], chosen: Sequence[RememberedMedication]
) -> tuple[Frame, ...]:
    """Return the interaction check of medicines that a message names in separate questions: two or more always get it."""
    told = [*chosen, *(one for clause in message.clauses for one in medications_of(clause.medicines))]
    named = [one for one in told if "id" in one]
    ids = {one["id"] for one in named}
    if len(ids) < 2 or not frames:
        return ()
    for frame in frames:
        if frame.intent in ("interaction", "same") or ids <= {
            medicine.get("id") for medicine in frame.medicines
        }:
            return ()
    return (Frame("interaction", 0.9, tuple({one["id"]: one for one in named}.values())),)


def _joined(message: Message) -> Clause | None:
    """Return as one clause a message that names medicines across a stop ("Warfarin. And ibuprofen. Together?")."""
    clauses = message.clauses
    if len(clauses) == 2 and clauses[1].has("same") and not clauses[1].medicines:
        named = clauses[0].medicines
        if len(named) >= 2 and not has_topic(clauses[0]):
            return replace(clauses[1], medicines=named)  # "X or Y, what's the difference?"
    asks_else = any(clause.has("stock", "where", "price", "refill") for clause in clauses)
    if len(clauses) > 1 and any(
        clause.has("strong_interaction") or (clause.has("taking") and not asks_else) for clause in clauses
    ):
        named = [medicine for clause in clauses for medicine in clause.medicines]
        if len(named) >= 2 and all(len(clause.medicines) < 2 for clause in clauses):
            main = next(clause for clause in clauses if clause.has("strong_interaction", "taking"))
            return replace(main, medicines=named)
    return None


def _same_request(frame: Frame, clause: Clause, before: Sequence[Frame]) -> Frame:
    """Return a refill that only adds a name to the request before it as a part of that request."""
    adds = frame.medicines and not clause.asks and not clause.has("refill", "refill_status")
    if not before or before[-1].intent not in REFILLS or not adds:
        return frame
    details = {**frame.details, **wished_in(clause)} if before[-1].intent == "refill" else frame.details
    return replace(frame, intent=before[-1].intent, details=details)


def _question(frame: Frame) -> tuple[object, ...]:
    ids = [medicine.get("id") or medicine.get("query") for medicine in frame.medicines]
    facts = tuple(name for name in ("ingredient", "pack", "maker") if frame.details.get(name))
    return frame.intent, ids, frame.place, frame.sections, facts if frame.intent == "detail" else ()


def _is_joined(other: Frame, frame: Frame) -> bool:
    """Return whether two questions are one about several medicines."""
    is_refill = frame.intent in REFILLS and bool(other.medicines and frame.medicines)
    return other.intent == frame.intent and (frame.intent == "stock" or is_refill)


def _answers_where(kept: Sequence[Frame], frame: Frame) -> bool:
    ids = [medicine.get("id") for medicine in frame.medicines]
    return any(
        k.intent in ("stock", "stock_place") and [m.get("id") for m in k.medicines] == ids for k in kept
    )


def _distilled(frames: Sequence[Frame]) -> list[Frame]:
    """Drop greetings and remarks beside a real question, and questions that are asked twice."""
    courtesies = {"greeting", "thanks", "bye", "unknown", "help", "cancelled", "nothing_asked"}
    # A refill that was read with doubt stays one: its plan asks, or hands it over.
    real = [
        frame
        for frame in frames
        if frame.intent not in courtesies and (frame.confidence >= LOST or frame.intent == "refill")
    ]
    real = [frame for frame in real if frame.confidence >= SURE or frame.intent == "refill"] or real
    if any(frame.intent in ("prescriptions", "refill", "refill_status") for frame in real):
        real = [frame for frame in real if frame.intent != "branch" or frame.place]  # "…can I use my phone?"
    kept: list[Frame] = []
    stocked = [frame.medicines for frame in real if frame.intent == "stock"]
    # What is out of stock is said with its restock date already.
    real = [frame for frame in real if not (frame.intent == "restock" and frame.medicines in stocked)]
    for place, frame in enumerate(real or frames[:1]):
        if frame.bare and any(later.assumed or later.intent in REFILLS for later in real[place + 1 :]):
            continue  # "I take warfarin, is it kept in the fridge?", "I take warfarin, can I refill X?"
        if (
            frame.assumed
            and frame.intent == "stock_place"
            and not frame.place
            and _answers_where(kept, frame)
        ):
            # "…in Jaffa? if not, where?": the branches are listed anyway; "do you have X, and where?": they are now.
            ids = [medicine.get("id") for medicine in frame.medicines]
            kept = [
                replace(k, intent="stock_place")
                if k.intent == "stock" and [m.get("id") for m in k.medicines] == ids
                else k
                for k in kept
            ]
            continue
        same = next((n for n, other in enumerate(kept) if _is_joined(other, frame)), None)
        if (
            same is not None
            and not kept[same].details.get("strengths")
            and not frame.details.get("strengths")
        ):
            # One plan looks at them together, within the steps that a turn has.
            merged = {
                one.get("id") or one.get("query"): one for one in (*kept[same].medicines, *frame.medicines)
            }
            kept[same] = replace(
                kept[same],
                medicines=tuple(merged.values()),
                confidence=min(kept[same].confidence, frame.confidence),
                details=amounts_joined(kept[same], frame),
            )
        elif all(_question(frame) != _question(other) for other in kept):
            kept.append(frame)
    return kept[:3]

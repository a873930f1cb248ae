"""Ask what is unclear of a refill before it is begun: whether it is wanted, and which prescription is meant.

What stays unclear goes to a person: below a confidence or a likeness, and after three turns that answer nothing.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.answers.answer import Answer, Piece
from agent.answers.facts.fact import Fact
from agent.answers.facts.lists import unreadable_fact
from agent.answers.handoffs import handed_off, person_offered
from agent.answers.layout import numbered
from agent.answers.refills import refill_fact
from agent.answers.render import listed, measure
from agent.answers.renderer import Renderer
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.reading.amounts import amount_of
from agent.state import PendingQuestion, RememberedMedication, RememberedPrescription
from prescriptions.refill.confidence import MOST_TURNS, Verdict, reading_verdict
from prescriptions.refill.wording import reason_text

Named = Generator[Sequence[Step], Sequence[StepResult], tuple[Frame, Answer | None]]


def is_given_up(frame: Frame) -> bool:
    """Return whether so many turns answered nothing that a person takes over."""
    return int(frame.details.get("turns") or 0) >= MOST_TURNS


def wanted_question(renderer: Renderer, frame: Frame) -> Answer | None:
    """Return the question whether a refill is wanted, where that is doubtful.

    Nobody is identified yet? Then nothing was begun that could be handed over, and a lower confidence is asked about as well.
    """
    verdict = reading_verdict(frame.confidence)
    is_begun = renderer.turn.identifier is not None
    if verdict == Verdict.GO_ON or (verdict == Verdict.STOP and is_begun):
        return None
    names = [renderer.name(one) for one in frame.medicines]
    key = "refill_wanted" if names else "refill_wanted_any"
    pending: PendingQuestion = {"kind": "refill_wanted", "frame": frame.remembered()}
    return Answer(
        [renderer.say(key, names=listed(names, renderer.language))],
        suggestions=[renderer.say("chip_yes"), renderer.say("chip_no")],
        state={"pending": pending},
    )


def own_names(renderer: Renderer, frame: Frame) -> Named:
    """Return the frame with the customer's own prescriptions for the names in it, and the answer where that is unclear.

    Names, brands and ingredients on the customer's file come before the catalogue: what only is like one of them is
    asked about, also where another product has exactly that name.
    """
    is_stopped = frame.intent == "refill" and reading_verdict(frame.confidence) == Verdict.STOP
    if not frame.medicines or frame.details.get("prescription"):
        return frame, (yield from given_up(renderer, frame, "low_confidence")) if is_stopped else None
    written = [_written(one) for one in frame.medicines]
    [found] = yield [Step("refill.match", {"names": written})]
    if not found.ok:
        return frame, Answer([unreadable_fact(renderer)], suggestions=[renderer.say("chip_person")])
    matches = [
        _matched(one, found.result["matches"][name])
        for one, name in zip(frame.medicines, written, strict=True)
    ]
    medicines = [_own(one, match) for one, match in zip(frame.medicines, matches, strict=True)]
    known = replace(frame, medicines=tuple(medicines))
    if is_stopped:
        return known, (yield from given_up(renderer, known, "low_confidence"))
    if len(medicines) > 1:
        return known, _likely_question(renderer, known)
    if frame.details.get("none_meant"):
        return known, _none_meant(renderer)
    [match] = matches
    if len(match["sure"]) > 1:
        return known, _which(renderer, frame, match["sure"], "refill_which_own")
    if match["likely"] and not match["sure"]:
        key = "refill_did_you_mean" if len(match["likely"]) == 1 else "refill_which_of"
        return known, _which(renderer, frame, match["likely"], key)
    if not match["listed"] and "id" not in medicines[0] and frame.intent == "refill":
        return known, (yield from given_up(renderer, known, "low_confidence"))
    return known, None


def given_up(renderer: Renderer, frame: Frame, reason: str) -> Plan:
    """Hand a request that was not understood to a person: with its prescription where one is known, else the conversation."""
    picked = frame.details.get("prescription")
    ids = [picked["med_id"]] if picked else [one["id"] for one in frame.medicines if "id" in one]
    if ids and not frame.details.get("is_guess"):
        [ended] = yield [Step("refill.give_up", {"reason": reason, "medication_ids": ids})]
        if ended.ok:
            facts: list[Piece] = [refill_fact(renderer, one) for one in ended.result["refills"]]
            return Answer(
                [renderer.say("refill_unsure"), *facts],
                suggestions=[renderer.say("chip_person")],
                state={"pending": None, "waiting": None, "refills": []},
            )
    names = listed([_written(one) for one in frame.medicines], renderer.language)
    why = reason_text(reason, renderer.language)
    arguments = {"reason": "refill", "summary": f"{why}: {names}" if names else why}
    [result] = yield [Step("handoff.open", arguments)]
    said = handed_off(renderer, result.result)
    unclear: list[Piece] = [renderer.say("refill_not_found_out")]
    if names and not ids and reason == "low_confidence":
        text = renderer.say("no_such_prescription", name=names)
        unclear = [Fact("prescription_state", names, text, polarity=False, is_lasting=False)]
    said.pieces = [*unclear, *said.pieces]
    said.state = {**said.state, "waiting": None}
    return said


def _likely_question(renderer: Renderer, frame: Frame) -> Answer | None:
    """Ask one yes for all names of a request that are like one prescription each; None where there are none, or more to choose from."""
    likely = [one for one in frame.medicines if one.get("likely")]
    unclear = [one for one in frame.medicines if len(one.get("candidates", ())) > 1]
    if not likely or unclear:
        return None
    meant = [one["candidates"][0] for one in likely]
    names = listed([_written(one) for one in likely], renderer.language)
    others = listed([renderer.name(one) for one in meant], renderer.language)
    medicines: list[RememberedMedication] = [
        _as_product(one["candidates"][0], _written(one)) if one.get("likely") else one
        for one in frame.medicines
    ]
    guess = replace(frame, medicines=tuple(medicines), details={**frame.details, "is_guess": True})
    return Answer(
        [renderer.say("refill_did_you_mean", name=names, other=others)],
        suggestions=[renderer.say("chip_yes"), renderer.say("chip_no"), renderer.say("chip_person")],
        state={"pending": {"kind": "refill_wanted", "frame": guess.remembered()}, "waiting": None},
    )


def _none_meant(renderer: Renderer) -> Answer:
    """Offer a person to a customer who means none of the prescriptions that a name is like."""
    return Answer(
        [renderer.say("refill_none_meant")],
        suggestions=[renderer.say("chip_yes"), renderer.say("chip_no")],
        state={"pending": person_offered("refill"), "waiting": None},
    )


def _written(medicine: RememberedMedication) -> str:
    """Return a name as the customer wrote it, else as it is on file."""
    return str(medicine.get("said") or medicine.get("query") or medicine.get("en") or "")


def _matched(medicine: RememberedMedication, match: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the match of a name, sure where the catalogue has the name for a product on file: for one of several ingredients."""
    same = [row for row in match["likely"] if row["med_id"] == medicine.get("id")]
    return {**match, "sure": match["sure"] or same}


def _own(medicine: RememberedMedication, match: Mapping[str, Any]) -> RememberedMedication:
    """Return a medicine as the customer's file has it; as it was where nothing on it is meant."""
    sure: Sequence[RememberedPrescription] = match["sure"]
    likely: Sequence[RememberedPrescription] = match["likely"]
    if len(sure) == 1:
        row = sure[0]
        return _as_product({"id": row["med_id"], "en": row["en"], "he": row["he"]}, _written(medicine))
    if not sure and not likely:
        return medicine
    candidates = [{"id": one["med_id"], "en": one["en"], "he": one["he"]} for one in sure or likely]
    return {"query": _written(medicine), "candidates": candidates, "likely": not sure}


def _as_product(product: RememberedMedication, said: str) -> RememberedMedication:
    return {"id": product["id"], "en": product["en"], "he": product["he"], "said": said}


def _which(renderer: Renderer, frame: Frame, rows: Sequence[RememberedPrescription], key: str) -> Answer:
    """Ask which of these prescriptions is meant; the answer goes on with what else was said."""
    names = [_label(renderer, row) for row in rows]
    asked = renderer.say(key, name=_written(frame.medicines[0]), other=names[0])
    lines = [Fact("prescriptions", "", numbered(names), is_lasting=False)] if len(rows) > 1 else []
    chips = names if len(rows) > 1 else [renderer.say("chip_yes"), renderer.say("chip_no")]
    amount = amount_of(frame.details, frame.medicines[0])
    details = {key: value for key, value in frame.details.items() if key != "amounts"}
    waiting = replace(frame, details={**details, **amount})
    pending: PendingQuestion = {
        "kind": "which_offered",
        "frame": waiting.remembered(),
        "options": list(rows),
    }
    return Answer(
        [asked, *lines],
        suggestions=[*chips, renderer.say("chip_person")],
        state={"pending": pending, "waiting": None},
    )


def _label(renderer: Renderer, row: RememberedPrescription) -> str:
    name = row["he"] if renderer.language == "he" else row["en"]
    return f"{name} {measure(row.get('strength', ''), renderer.language)}".strip()

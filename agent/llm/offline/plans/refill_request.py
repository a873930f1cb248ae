"""Collect a refill request, tell how far requests are, cancel one (S3): where to pick up, then a card to confirm."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.answers.answer import Answer, Piece
from agent.answers.facts.fact import Fact
from agent.answers.facts.lists import unreadable_fact
from agent.answers.layout import numbered
from agent.answers.refills import RefillFacts, already_said, refill_fact, refills_answer
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.inference.base import Step, StepResult
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.plans.talk import courtesy
from agent.llm.offline.plans.whose import ask_identifier
from agent.llm.offline.reading.amounts import amount_of, amount_of_all, is_unowned
from agent.state import (
    ConversationState,
    PendingQuestion,
    RememberedMedication,
    RememberedPlace,
    RememberedQuestion,
)
from prescriptions.refill.confidence import MOST_TURNS

_MOST_OFFERED: Final = 6
_OF_REQUESTS: Final = ("confirm", "pickup")
"""Kinds of our questions about a request that is not confirmed."""


def collect(
    renderer: Renderer,
    frame: Frame,
    prescription_ids: Sequence[int],
    medicines: Sequence[RememberedMedication],
) -> Generator[Sequence[Step], Sequence[StepResult], Answer]:
    """Take the request up as far as the customer said it, and ask for what is missing, or for the yes on the card.

    `medicines` are those of the prescriptions, in the same order. An amount that may belong to any of several is not taken up.
    """
    ids = list(prescription_ids)
    wanted: dict[str, Any] = {"prescription_ids": ids, "amounts": _amounts(frame, ids, medicines)}
    wanted |= {key: frame.details[key] for key in ("delivery", "anyway") if key in frame.details}
    place = frame.place or renderer.turn.state.get("place")
    if place and "store" in place and "delivery" not in wanted:
        wanted["store_id"] = place["store"]
    [collected] = yield [Step("refill.collect", wanted)]
    if not collected.ok:
        return Answer([unreadable_fact(renderer)], suggestions=[renderer.say("chip_person")])
    result = collected.result
    pieces: list[Piece] = [already_said(renderer, one) for one in result["open"]]
    refills: Sequence[RefillFacts] = result["refills"]
    if not refills:
        return Answer(pieces, suggestions=[renderer.say("chip_refills"), renderer.say("chip_person")])
    if is_unowned(frame.details, len(medicines)):
        example = renderer.of(refills[0])
        pieces.append(renderer.say("refill_amount_whose", name=example))
    state: ConversationState = {"refills": [one["number"] for one in refills], "waiting": None}
    if not result["missing"]:
        names = listed([renderer.of(one) for one in refills], renderer.language)
        pieces.append(renderer.say("refill_confirm", names=names))
        return Answer(
            pieces, state=state | {"pending": {"kind": "confirm", "frame": _waiting(frame, refills)}}
        )
    pieces += _question(renderer, result, frame)
    stores = result["stores"][:_MOST_OFFERED]
    chips = [renderer.of(one) for one in stores[:3]]
    if result["missing"] != "stock" and result["can_deliver"]:
        chips = [*chips[:2], renderer.say("chip_delivery")]
    pending: PendingQuestion = {
        "kind": "pickup",
        "frame": _waiting(frame, refills),
        "options": [_remembered(one) for one in stores],
    }
    return Answer(pieces, suggestions=chips, state=state | {"pending": pending})


def pickup(renderer: Renderer, frame: Frame) -> Plan:
    """Go on with a request whose place was asked for; after three turns without one a person takes over."""
    turns = int(frame.details.get("turns") or 0)
    if turns >= MOST_TURNS:
        [given_up] = yield [Step("refill.give_up", {"reason": "max_attempts"})]
        if given_up.ok:
            facts: list[Piece] = [refill_fact(renderer, one) for one in given_up.result["refills"]]
            return Answer(
                [renderer.say("refill_gave_up"), *facts],
                suggestions=[renderer.say("chip_person")],
                state={"pending": None, "refills": []},
            )
        return Answer(
            [renderer.say("refill_offer")], state={"pending": {"kind": "offer_person", "reason": "refill"}}
        )
    if renderer.turn.identifier is None:
        return ask_identifier(renderer, frame)
    if frame.details.get("withdrawn"):
        return (yield from call_off(renderer, replace(frame, intent="cancelled")))
    return (yield from collect(renderer, frame, frame.details["prescription_ids"], frame.medicines))


def resume(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Go on with the requests that are being collected or are paused, from where they were."""
    if (identifier or renderer.turn.identifier) is None:
        return ask_identifier(renderer, frame)
    [found] = yield [Step("refill.list")]
    refills: Sequence[RefillFacts] = found.result.get("refills") or ()
    waiting = [one for one in refills if one["status"] in ("collecting", "paused")]
    if not waiting:
        answer = refills_answer(renderer, refills)
        answer.state = {**answer.state, "waiting": None}
        return answer
    again = Frame.recalled(_waiting(frame, waiting))
    return (yield from collect(renderer, again, again.details["prescription_ids"], again.medicines))


def progress(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Say how far the customer's requests are ("where is my refill?")."""
    if (identifier or renderer.turn.identifier) is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    [found] = yield [Step("refill.list")]
    if not found.ok:
        return Answer([unreadable_fact(renderer)], suggestions=[renderer.say("chip_person")])
    answer = refills_answer(renderer, found.result["refills"])
    answer.state = {**answer.state, "waiting": None}
    return answer


def cancel(renderer: Renderer, frame: Frame, identifier: str | None = None) -> Plan:
    """Cancel a request: by a card for one that was submitted, at once for one that was not."""
    if (identifier or renderer.turn.identifier) is None or frame.details.get("other_person"):
        return ask_identifier(renderer, frame)
    [asked] = yield [Step("refill.cancel_ask", {"number": str(frame.details.get("number") or "")})]
    return _ended(renderer, asked)


def call_off(renderer: Renderer, frame: Frame) -> Plan:
    """End what the customer no longer wants: our question, requests that are not confirmed, and the card that asks for a yes.

    A plain no ends requests only where the question was about them.
    """
    answer = yield from courtesy(renderer, frame)
    kind = (renderer.turn.state.get("pending") or {}).get("kind")
    if frame.intent == "declined" and kind not in _OF_REQUESTS:
        return answer
    [ended] = yield [Step("refill.call_off")]
    refills: Sequence[RefillFacts] = ended.result.get("refills") or ()
    facts: list[Piece] = [refill_fact(renderer, one) for one in refills]
    answer.pieces = (
        [*facts, renderer.say("confirm_kept")] if ended.result.get("kept") else [*facts, *answer.pieces]
    )
    answer.state = {**answer.state, "refills": []}
    return answer


def _ended(renderer: Renderer, asked: StepResult) -> Answer:
    refills: Sequence[RefillFacts] = asked.result.get("refills") or ()
    if not asked.ok or not refills:
        return Answer([renderer.say("cancel_nothing")], suggestions=[renderer.say("chip_person")])
    if asked.result.get("withdrawn"):
        return Answer([refill_fact(renderer, one) for one in refills], state={"refills": [], "pending": None})
    if asked.result.get("asked"):
        return Answer([renderer.say("cancel_confirm")], state={"pending": {"kind": "confirm"}})
    lines = numbered([refill_fact(renderer, one).text for one in refills])
    which = Fact("refill_request", "", lines, is_lasting=False)
    chips = [renderer.say("chip_cancel", number=one["number"]) for one in refills[:3]]
    return Answer([renderer.say("cancel_which"), which], suggestions=chips)


def _question(renderer: Renderer, result: Mapping[str, Any], frame: Frame) -> list[Piece]:
    """Ask where, with the branches that have enough."""
    names = [renderer.of(one) for one in result["stores"][:_MOST_OFFERED]]
    where = numbered(names)
    if result["missing"] == "stock":
        place = frame.place or renderer.turn.state.get("place") or {}
        head = renderer.say("refill_too_little", store=renderer.name(place))
        if not names:
            return [head, renderer.say("refill_nowhere")]
        return [head, renderer.say("refill_elsewhere"), Fact("stores", "", where, is_lasting=False)]
    head = renderer.say("refill_no_address" if result["missing"] == "address" else "refill_where")
    if not names:
        return [renderer.say("refill_nowhere")]
    return [head, Fact("stores", "", where, is_lasting=False)]


def _amounts(
    frame: Frame, ids: Sequence[int], medicines: Sequence[RememberedMedication]
) -> dict[str, dict[str, int]]:
    """Return how much is wanted of each prescription, by its id; one amount for several only where "each" was said."""
    is_for_all = len(ids) == 1 or frame.details.get("each")
    common = amount_of_all(frame.details) if is_for_all else {}
    named = {
        str(pk): amount_of(frame.details, medicine) or common
        for pk, medicine in zip(ids, medicines, strict=False)
    }
    return {pk: amount for pk, amount in named.items() if amount}


def _waiting(frame: Frame, refills: Sequence[RefillFacts]) -> RememberedQuestion:
    """Return the question that waits for the customer: the requests with their medicines, whose amounts are recorded."""
    turns = {"turns": frame.details["turns"]} if "turns" in frame.details else {}
    medicines: list[RememberedMedication] = [
        {"id": one["medicine_id"], "en": one["label_en"], "he": one["label_he"]} for one in refills
    ]
    ids = [one["prescription_id"] for one in refills]
    waiting = Frame(
        "refill_pickup",
        0.95,
        medicines=tuple(medicines),
        place=frame.place,
        details={**turns, "prescription_ids": ids},
    )
    return waiting.remembered()


def _remembered(store: Mapping[str, Any]) -> RememberedPlace:
    return {
        "query": str(store["label_en"]),
        "en": str(store["label_en"]),
        "he": str(store["label_he"]),
        "store": int(store["store_id"]),
    }

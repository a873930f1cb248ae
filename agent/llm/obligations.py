"""Complete a language model's answer: the interaction check that comes first, cards, suggestions, the conversation's state."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from agent.answers.answer import Piece
from agent.answers.card_types import Card
from agent.answers.cards import medication_card, prescriptions_card, products_card, sources_card, stock_card
from agent.answers.composition import Composition
from agent.answers.equivalents import equivalents_cards
from agent.answers.facts.fact import Fact
from agent.answers.facts.interactions import checked_medicines, unassessable_fact
from agent.answers.facts.lists import MOST_LISTED, sorted_there
from agent.answers.handoffs import person_question
from agent.answers.interactions import pairs_part
from agent.answers.knowledge import state_after, suggestions_of
from agent.answers.prescriptions import remembered_prescription
from agent.answers.products import about, medicine_of, option_of
from agent.answers.renderer import Renderer
from agent.answers.stock import stock_at
from agent.evidence import ProductFacts, products_listed
from agent.inference.base import Reply, Step, StepResult, Turn
from agent.llm.offline.frames import Frame, asks_for_several
from agent.llm.offline.reply import reply_of
from agent.llm.offline.understand import Understood
from agent.state import ConversationState, RememberedMedication

_OUTCOMES: Final = frozenset({"refill", "prescription_state"})
_CHECK: Final = "interaction_check"
_SHORTEST_SENTENCE: Final = 30
_ISOLATES: Final = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
_SHOWS_CARD: Final = ("get_medication_by_name", "get_medication_info")


def due(understood: Understood) -> list[Step]:
    """Return the interaction check for a request with two or more medicines; it runs before any model is called."""
    ids = asked_together(understood)
    if len(ids) < 2:
        return []
    return [Step(_CHECK, {"med_ids": [str(pk) for pk in ids], "language": understood.renderer.language})]


def unassessable(understood: Understood) -> list[Fact]:
    """Return that an interaction cannot be assessed, when the message asks about one with a name that is not on file."""
    asked = [
        medicine
        for frame in understood.frames
        if frame.intent == "interaction"
        for medicine in (*frame.medicines, *frame.details.get("others", ()))
    ]
    names = [str(medicine["query"]) for medicine in asked if "id" not in medicine and medicine.get("query")]
    return [unassessable_fact(understood.renderer, names)] if names else []


def facts_at_once(understood: Understood, turn: Turn) -> list[Fact]:
    """Return the facts of a turn before anything is looked up.

    What the assistant is; the refusal, to a request for advice; that an interaction cannot be assessed.
    """
    itself = Fact("assistant", "", understood.renderer.say("who"), is_lasting=False, id="f0")
    refusals = understood.answers if turn.refused else ()
    refused = [fact for answer in refusals for fact in answer.facts]
    return [itself, *refused, *unassessable(understood)]


def asked_together(understood: Understood) -> list[int]:
    """Return the ids of the medicines that a message names, and of those that it asks about together with them."""
    named: list[RememberedMedication] = []
    for frame in understood.frames:
        if frame.intent == "interaction":
            named += [*frame.medicines, *frame.details.get("others", ())]
    also = [int(one["id"]) for one in named if "id" in one]
    return list(dict.fromkeys([*understood.message.named_ids, *also]))


def companions_further(used: Sequence[Fact]) -> list[Fact]:
    """Return the companions of the companions of these facts: beside the stock of a prescription medicine its time."""
    return [
        fact.companion.companion for fact in used if fact.companion is not None and fact.companion.companion
    ]


def completed(
    understood: Understood, turn: Turn, results: Sequence[StepResult], composed: Composition
) -> Reply:
    """Return a composed answer with its cards and suggestions, and what the conversation is about from here on."""
    renderer = replace(understood.renderer, turn=turn)
    state = _talked_about(results)
    own = composed.answer
    own.cards = cards_of(renderer, results)
    own.suggestions = suggestions_of(results) or _chips(renderer, results, state)
    own.state = state | {"facts": composed.menu.to_remember()}
    for result in (one for one in results if one.step.name == "knowledge.ask" and one.ok):
        own.state |= state_after(result, turn)
    if _offers_person(composed, results):
        asked = person_question(renderer)
        own.pieces = [*_without_question(own.pieces), *asked.pieces]
        own.suggestions, own.state = asked.suggestions, own.state | asked.state
    elif composed.offers_person:
        asked = person_question(renderer)
        own.suggestions, own.state = asked.suggestions, own.state | asked.state
    if turn.refused:
        for answer in understood.answers:
            own.state.update(answer.state)
            own.suggestions = answer.suggestions
    before = turn.state.copy()
    before.pop("basic", None)
    return reply_of(understood, [own], replace(turn, state=before), free=True)


def _offers_person(composed: Composition, results: Sequence[StepResult]) -> bool:
    """Return whether the answer has a site answer that comes with the offer of a person."""
    offering = {
        f"site.{result.step.arguments['topic']}"
        for result in results
        if result.step.name == "site.answer" and result.result.get("offer") == "person"
    }
    return any(fact.kind in offering for fact in composed.used)


def _without_question(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return pieces without the model's closing question, since an answer asks one thing."""
    last = len(pieces)
    while last and isinstance(piece := pieces[last - 1], str) and (piece.isspace() or piece.endswith("?")):
        last -= 1
    return pieces[:last]


def _chips(renderer: Renderer, results: Sequence[StepResult], state: ConversationState) -> list[str]:
    """Return suggestions: further questions about the one medicine of the answer, and a person."""
    chips = [renderer.say("chip_person")]
    focus = state.get("focus", [])
    if len(focus) != 1:
        return chips
    name, called = renderer.name(focus[0]), {result.step.name for result in results}
    if "check_stock" not in called:
        chips.insert(0, renderer.say("chip_where", name=name))
    if not called & {*_SHOWS_CARD}:
        chips.insert(0, renderer.say("chip_info", name=name))
    return chips


def _checked(result: StepResult) -> set[str]:
    """Return the ids that an interaction check looked at; none for other calls and for a call that was refused."""
    if result.step.name != _CHECK or result.code == "invalid":
        return set()
    return {str(pk).removeprefix("med-") for pk in result.step.arguments["med_ids"]}


def is_repeated(result: StepResult, results: Sequence[StepResult]) -> bool:
    """Return whether another check says all that this one says; of two equal ones the second repeats the first.

    A check that failed is repeated only by one that succeeded with all its medicines.
    """
    ids, is_later = _checked(result), False
    if not ids:
        return False
    for other in results:
        if other is result:
            is_later = True
            continue
        known = _checked(other)
        if other.ok and (known > ids or (known == ids and not (result.ok and is_later))):
            return True
    return False


def looked_up(results: Sequence[StepResult]) -> list[int]:
    """Return the ids of the products that these results are about."""
    found: list[int] = []
    for evidence in (result.evidence for result in results):
        one = evidence.get("medication")
        products = [*([one] if one else []), *products_listed(evidence), *evidence.get("equivalents", ())]
        found += [facts["id"] for facts in products]
    return list(dict.fromkeys(found))


def came_up(understood: Understood, results: Sequence[StepResult]) -> list[int]:
    """Return the ids of the products that the message names, or that were looked up, also as prescriptions."""
    ids = [*asked_together(understood), *looked_up(results), *prescribed_ids(results)]
    return list(dict.fromkeys(ids))


def prescribed_ids(results: Sequence[StepResult]) -> list[int]:
    """Return the ids of the products of the prescriptions that were read."""
    rows = [row for result in results for row in result.evidence.get("prescriptions", ())]
    return [row["med_id"] for row in rows if "med_id" in row]


def refilled(understood: Understood, results: Sequence[StepResult]) -> list[int]:
    """Return the ids of the products that a refill is asked for: those named, and those whose refill was looked up."""
    status = [result for result in results if result.step.arguments.get("action") == "REFILL_STATUS"]
    return [*asked_together(understood), *prescribed_ids(status)]


def refills_all(understood: Understood, frame: Frame) -> bool:
    """Return whether this frame asks for refills of all medicines that the message names."""
    ids = {one.get("id") for one in frame.medicines}
    return asks_for_several(frame) and ids.issuperset(asked_together(understood))


def answers_refills(understood: Understood, turn: Turn, composed: Composition) -> bool:
    """Return whether a model's answer says of each medicine what becomes of its refill, if several were asked for.

    Of a customer who is not identified nothing can be said.
    """
    if not turn.identifier or turn.refused:
        return True
    said = {fact.subject for fact in composed.used if fact.kind in _OUTCOMES}
    asked = [one for frame in understood.frames if asks_for_several(frame) for one in frame.medicines]
    return all(understood.renderer.name(one) in said for one in asked)


def _talked_about(results: Sequence[StepResult]) -> ConversationState:
    """Return the state after this answer: the medicines that were looked up, and the products that were listed."""
    looked = [result for result in results if result.ok]
    found = [medicine_of(one.evidence["medication"]) for one in looked if "medication" in one.evidence]
    state = about(list({one["id"]: one for one in found}.values()))
    for result in looked:
        if result.step.name == "prescription_management" and "prescriptions" in result.result:
            state["prescriptions"] = [remembered_prescription(row) for row in result.result["prescriptions"]]
        if result.step.name == "inventory_check":
            state["shown"] = [option_of(facts) for facts in _listed(result)]
    for result in results:
        if options := result.evidence.get("candidates") or result.evidence.get("near"):
            state["shown"] = [option_of(facts) for facts in options]
    return state


def _listed(result: StepResult) -> list[ProductFacts]:
    """Return the products of a list in the order in which the customer reads them."""
    return sorted_there(products_listed(result.evidence), result.evidence)[:MOST_LISTED]


def cards_of(renderer: Renderer, results: Sequence[StepResult]) -> list[Card]:
    """Return the cards of an answer that these results led to."""
    return list(_cards(renderer, results))


def _cards(renderer: Renderer, results: Sequence[StepResult]) -> Iterator[Card]:
    for result in results:
        if not result.ok:
            continue
        evidence, name = result.evidence, result.step.name
        if name == _CHECK and not is_repeated(result, results):
            yield from pairs_part(renderer, checked_medicines(result), result).cards
        if name == "inventory_find_equivalent":
            yield from equivalents_cards(renderer, result)
        if name in _SHOWS_CARD:
            leaflet = evidence.get("leaflet", {})
            yield medication_card(renderer, evidence["medication"], result.result["medication"], leaflet)
        elif name == "check_stock":
            requested = evidence.get("requested")
            stores = [row for row in evidence.get("stores", ()) if row["quantity"]]
            if requested and (requested["quantity"] or not stores):
                stores = [requested]
            if stores:
                yield stock_card(renderer, evidence["medication"], stores)
        elif name == "check_inventory" and "store" in evidence:
            inventory = result.result.get("inventory") or {}
            store = stock_at(evidence["store"], int(inventory.get("qty") or 0), low=bool(evidence.get("low")))
            yield stock_card(renderer, evidence["medication"], [store])
        elif name == "inventory_check":
            title = renderer.say("card_products")
            yield products_card(renderer, "stock", title, _listed(result), evidence, "")
        elif name == "knowledge.ask" and result.result["quotes"]:
            yield sources_card(renderer, result.result["quotes"])
        elif name == "prescription_management":
            listed = result.result.get("prescriptions") or [result.result["prescription"]]
            facts = {row["presc_id"]: row for row in evidence.get("prescriptions", ())}
            yield prescriptions_card(renderer, listed, facts)

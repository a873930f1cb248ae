"""Word refill requests: how far they are, what a customer confirms, and what a check means for them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from django.utils import timezone

from agent.answers.answer import MOST_CARDS, Answer, Piece
from agent.answers.card_types import Card, Row, Step
from agent.answers.facts.fact import Fact
from agent.answers.render import count, label, measure, say
from agent.answers.renderer import Renderer
from agent.evidence import StoreLabel
from pharmacy_site.lib.text import Language


class StageFacts(TypedDict):
    """A step of a refill request: its code, whether it is done, now, next or stopped, and when it was."""

    code: str
    state: str
    at: str | None


class RefillFacts(TypedDict):
    """A refill request as its customer sees it; without a store it is delivered, once its place is known."""

    number: str
    state: str
    status: str
    is_open: bool
    prescription_id: int
    says_en: str
    says_he: str
    medicine_id: int
    label_en: str
    label_he: str
    strength: str
    quantity: int
    days_supply: int
    store: StoreLabel | None
    pickup_known: bool
    expires_at: str | None
    stages: list[StageFacts]


def progress_card(facts: RefillFacts, language: Language) -> Card:
    """Return the card of a request: title, its steps, what and where, and what happens now in words."""
    steps: list[Step] = [
        {
            "label": _stage(facts, stage["code"], language),
            "state": stage["state"],
            "mark": label("step", stage["state"], language),
            "time": _time(stage["at"]),
        }
        for stage in facts["stages"]
    ]
    rows: list[Row] = [
        [label("column", "quantity", language), amount(facts["quantity"], facts["days_supply"], language)],
    ]
    if facts["pickup_known"]:
        rows.append([label("column", "pickup", language), place_name(facts["store"], language)])
    return {
        "kind": "refill",
        "data": {
            "title": say(
                "card_refill_of", language, name=medicine_name(facts, language), number=facts["number"]
            ),
            "steps": steps,
            "rows": rows,
            "note": facts["says_he" if language == "he" else "says_en"],
        },
    }


def medicine_name(facts: RefillFacts, language: Language) -> str:
    """Return the name of a request's medicine with its strength."""
    name = facts["label_he"] if language == "he" else facts["label_en"]
    return f"{name or facts['label_en']} {measure(facts['strength'], language)}".strip()


def place_name(store: StoreLabel | None, language: Language) -> str:
    """Return where a refill is picked up: a store's name, or, without one, that it is delivered."""
    if store is None:
        return say("delivery_on_file", language)
    return str(store["label_he"] if language == "he" else store["label_en"])


def amount(units: int, days: int, language: Language) -> str:
    """Return a quantity with the days that it lasts."""
    return say("units_for_days", language, units=count("single_units", language, units), days=days)


def checks_said(reasons: Sequence[str], language: Language) -> list[str]:
    """Return in plain words what these findings mean for a customer, each once."""
    said = [label("refill_check", reason, language) for reason in reasons]
    return list(dict.fromkeys(said))


def _stage(facts: RefillFacts, code: str, language: Language) -> str:
    key = "ready_delivery" if code == "ready" and facts["store"] is None else code
    return label("refill_stage", key, language)


def _time(at: str | None) -> str:
    return f"{timezone.localtime(datetime.fromisoformat(at)):%d.%m.%Y %H:%M}" if at else ""


def refill_fact(renderer: Renderer, facts: RefillFacts) -> Fact:
    """Return how far a request is, as a sentence that names its medicine, without a strength: it tells no dose."""
    name = renderer.of(facts)
    said = facts["says_he"] if renderer.language == "he" else facts["says_en"]
    text = renderer.say("refill_of", name=name, said=said)
    return Fact("refill_request", name, text, is_lasting=False, brief=said)


def already_said(renderer: Renderer, earlier: RefillFacts) -> str:
    """Say that the customer has asked for this already, and how far it is."""
    key = "refill_open_already" if earlier["is_open"] else "refill_sent_already"
    return renderer.say(key, said=refill_fact(renderer, earlier).text)


def refill_outcomes(renderer: Renderer, result: Mapping[str, Any]) -> Answer:
    """Say what became of the requests that the customer confirmed or cancelled; their cards come with the events."""
    refills: Sequence[RefillFacts] = result.get("refills") or ()
    pieces: list[Piece] = [refill_fact(renderer, one) for one in refills]
    pieces += [already_said(renderer, one) for one in result.get("open") or ()]
    if refused := str(result.get("refused") or ""):
        key = "cancel_too_late" if refused == "too_late" else "cancel_failed"
        pieces.append(renderer.say(key))
    if result.get("changed") or not pieces:
        pieces.append(renderer.say("confirm_over"))
    chips = [renderer.say("chip_refills")] if refills else []
    return Answer(pieces, suggestions=[*chips, renderer.say("chip_person")], state={"refills": []})


def refills_answer(renderer: Renderer, refills: Sequence[RefillFacts]) -> Answer:
    """Say how far the customer's requests are, each with its card."""
    if not refills:
        said = Fact("refill_request", "", renderer.say("refills_none"), polarity=False, is_lasting=False)
        return Answer([said], suggestions=[renderer.say("chip_prescriptions"), renderer.say("chip_person")])
    shown = refills[:MOST_CARDS]
    cards = [progress_card(one, renderer.language) for one in shown]
    return Answer(
        [refill_fact(renderer, one) for one in shown], cards=cards, suggestions=[renderer.say("chip_person")]
    )

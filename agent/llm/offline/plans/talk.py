"""Answer courtesies, wishes for a person, and questions about branches."""

from collections.abc import Sequence
from dataclasses import replace

from agent.answers.answer import Answer, Piece, joined
from agent.answers.branches import WEEK, StoreDescription, stores_of
from agent.answers.facts.fact import Fact, chosen
from agent.answers.facts.results import facts_of
from agent.answers.facts.stores import branch_fact
from agent.answers.handoffs import REASON_OF_TOPIC, handed_off, person_offered, person_question
from agent.answers.knowledge import knowledge_answer
from agent.answers.refills import refills_answer
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.inference.base import Step
from agent.llm.offline.frames import Frame
from agent.llm.offline.plans.names import choose
from agent.llm.offline.plans.plan import Plan
from agent.state import ConversationState


def courtesy(renderer: Renderer, frame: Frame) -> Plan:
    """Answer a greeting, thanks and the like."""
    yield from ()
    chips = {
        "greeting": ["chip_branches", "chip_prescriptions", "chip_person"],
        "help": ["chip_branches", "chip_prescriptions", "chip_person"],
        "who": ["chip_person"],
        "out_of_scope": ["chip_branches", "chip_person"],
    }.get(frame.intent, [])
    state: ConversationState = {"pending": None} if frame.intent in ("cancelled", "declined") else {}
    if frame.intent == "cancelled":
        state["waiting"] = None
    if frame.intent == "declined_name":
        state["pending"] = None
    return Answer(
        [renderer.say(frame.intent)], suggestions=[renderer.say(chip) for chip in chips], state=state
    )


def allergy_noted(renderer: Renderer, frame: Frame) -> Plan:
    """Say that the allergies of this message are noted."""
    yield from ()
    names = listed([renderer.name(one) for one in frame.details["allergies"]], renderer.language)
    return Answer([renderer.say("allergy_noted", names=names)])


def person(renderer: Renderer, frame: Frame) -> Plan:
    """Open a hand-off, then tell the customer its number."""
    [result] = yield [Step("handoff.open", {"reason": frame.details.get("reason", "customer_asked")})]
    return handed_off(renderer, result.result)


def which(renderer: Renderer, frame: Frame) -> Plan:
    """Ask again which of several is meant, after a plain yes."""
    yield from ()
    waiting = Frame.recalled(frame.details["frame"])
    return choose(renderer, waiting, frame.details["options"], head=renderer.say("which_of_these"))


def site(renderer: Renderer, frame: Frame) -> Plan:
    """Answer a question about parking, deliveries and the like with the text that staff wrote.

    Its row says what to add: the phone of the branch that was talked about, the offer of a person, or nothing.
    Who asks for their order may mean a refill: how far those are is said as well.
    """
    place = frame.place or renderer.turn.state.get("place") or {}
    branch = place["query"] if place.get("store") else None
    [found] = yield [
        Step("site.answer", {"topic": frame.details.get("topic", frame.intent), "branch": branch})
    ]
    said, offered = facts_of(renderer, found), found.result.get("offer")
    if not said:
        return (yield from courtesy(renderer, replace(frame, intent="out_of_scope")))
    if frame.details.get("topic") == "orders" and renderer.turn.identifier is not None:
        [listed] = yield [Step("refill.list")]
        if refills := listed.result.get("refills"):
            mine = refills_answer(renderer, refills)
            mine.pieces = [*mine.pieces, *said]
            return mine
    if offered == "person":
        topic = str(frame.details.get("topic", ""))
        asked = person_question(renderer, reason=REASON_OF_TOPIC.get(topic, "customer_asked"))
        asked.pieces = [*said, *asked.pieces]
        return asked
    chips = ["chip_branches", "chip_person"] if offered == "phone" else ["chip_person"]
    return Answer(said, suggestions=[renderer.say(chip) for chip in chips])


def health(renderer: Renderer, frame: Frame) -> Plan:
    """Decline a general question about health."""
    yield from ()
    return Answer(
        [renderer.say("health")],
        suggestions=[renderer.say("chip_person")],
        state={"pending": person_offered()},
    )


def knowledge(renderer: Renderer, frame: Frame) -> Plan:
    """Answer a general question about health from the knowledge base; what was shown before (`without`) is no new answer."""
    [result] = yield [Step("knowledge.ask", {"question": frame.details["question"]})]
    shown = {quote["id"] for quote in result.result.get("quotes", ())}
    if not result.ok or (shown and shown <= {*frame.details.get("without", ())}):
        result = replace(result, ok=True, result={"status": "nothing"})
    return knowledge_answer(renderer, result)


def offer(renderer: Renderer, frame: Frame) -> Plan:
    """Offer a pharmacist."""
    yield from ()
    return person_question(renderer)


def is_anybody_there(renderer: Renderer, frame: Frame) -> Plan:
    """Say that the assistant is there, and offer a person."""
    yield from ()
    return person_question(renderer, "is_anybody_there")


def upset(renderer: Renderer, frame: Frame) -> Plan:
    """Apologise to a customer who is annoyed, and offer a person."""
    yield from ()
    return person_question(renderer, "upset")


def branch(renderer: Renderer, frame: Frame) -> Plan:
    """Say where branches are, when they are open and how to call them."""
    places = frame.details.get("places", ())
    if frame.place and places and places[0] == frame.place:
        details = {key: value for key, value in frame.details.items() if key != "places"}
        answers = []
        for place in places[:3]:
            answers.append((yield from branch(renderer, replace(frame, place=place, details=details))))
        whole = joined(answers)
        whole.suggestions = answers[0].suggestions
        whole.state = {"last_stores": [one for each in answers for one in each.state.get("last_stores", ())]}
        return whole
    arguments = {"query": frame.place["query"]} if frame.place else {}
    if frame.details.get("online") and not frame.place:
        arguments = {"query": "online"}
    [result] = yield [Step("store.info", arguments)]
    stores = list(result.result.get("stores", ()))
    if result.result.get("unserved"):
        said = chosen(facts_of(renderer, result), "place", "nearest")
        if len(said) > 1 and any(frame.details.get(key) for key in ("open", "phone", "address")):
            [near] = yield [Step("store.info", {"query": result.result["nearest"]["label_en"]})]
            said += [_branch(renderer, frame, store) for store in near.result.get("stores", ())[:1]]
        return Answer(said, suggestions=[renderer.say("chip_branches")])
    return Answer(
        _branches(renderer, frame, stores),
        suggestions=[renderer.say("chip_person")],
        state={"last_stores": stores_of(stores)},
    )


def _branches(renderer: Renderer, frame: Frame, stores: Sequence[StoreDescription]) -> list[Piece]:
    """Return each branch on a line of its own, nearest first if it is known from where."""
    facts = [_branch(renderer, frame, store) for store in stores]
    if len(facts) == 1:
        return [*facts]
    is_measured = any(store.get("km") is not None for store in stores)
    said: list[Piece] = [renderer.say("branches_by_distance" if is_measured else "branches_list")]
    for place, fact in enumerate(facts, 1):
        said += [f"\n{place}. " if is_measured else "\n• ", fact]
    if frame.details.get("here") and not is_measured:
        said.append(renderer.say("share_location"))
    return said


def _branch(renderer: Renderer, frame: Frame, store: StoreDescription) -> Fact:
    day = str(frame.details.get("day") or "")
    if frame.details.get("tomorrow"):
        day = WEEK[(renderer.turn.now.weekday() + 1) % 7]
    is_week = bool(frame.details.get("closed_days") and store.get("week"))
    return branch_fact(renderer, store, day=day, is_week=is_week)

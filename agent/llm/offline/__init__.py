"""The offline model: deterministic, English and Hebrew, no network. What every installation without a key gets.

normalise and recognise (`recognise`) → decide (`decide`) → plan (`facts`, `supply`, `patients`, `talk`) → word (`wording`).
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.conf import settings

from agent.inference.base import Reply, Session, Speech, Step, StepResult, Turn
from agent.llm.offline import facts, listing, patients, supply, talk
from agent.llm.offline.answer import Part, Plan, View, paragraphs
from agent.llm.offline.decide import decide
from agent.llm.offline.frames import LOST, NEEDS_MEDICINE, PLAIN_FACTS, REPEATABLE, SURE, Frame
from agent.llm.offline.names import choose
from agent.llm.offline.recognise import Message, recognise
from agent.safety import emergency, policy
from agent.threads import run_db
from pharmacy_site.lib.text import Language, language_of, words

COURTESIES: Final = (
    "greeting", "thanks", "bye", "help", "who", "language", "cancelled", "declined", "declined_name", "nothing_asked",
    "out_of_scope", "what_refill",
)  # fmt: skip
PLANS: Final[Mapping[str, Callable[[View, Frame], Plan]]] = {
    "info": facts.info,
    "section": facts.section,
    "detail": facts.each(facts.detail),
    "rx": facts.rx,
    "price": facts.each(facts.price),
    "insurance": facts.insurance,
    "same": facts.same,
    "interaction": facts.interaction,
    "stock": supply.stock,
    "stock_place": supply.stock_place,
    "list": listing.category,
    "list_at": listing.category_at,
    "equivalent": facts.each(listing.equivalents),
    "restock": facts.each(supply.restock),
    "hours": talk.branch,
    "branch": talk.branch,
    "person": talk.person,
    "health": talk.health,
    "upset": talk.upset,
    "offer_person": talk.offer,
    "which": talk.which,
    "identify": patients.identify,
    "prescriptions": patients.prescriptions,
    "refill_status": patients.refill_status,
    "refill": patients.refill,
    "renew": patients.renew,
    "renew_doctor": patients.renew_doctor,
    "resend": patients.resend,
    "logout": patients.logout,
    **dict.fromkeys(
        COURTESIES,
        talk.courtesy,
    ),
}
ASKING: Final = frozenset(
    words("what which should can could is do does how when who מה איזה איזו כדאי האם אפשר מתי כמה איך")
)
REMEMBERED: Final = frozenset({*REPEATABLE, "interaction", "same", "list"})


@dataclass(frozen=True)
class Understood:
    """What was read from a message: what the customer wants, as frames, and what is said in any case (`parts`)."""

    view: View
    frames: tuple[Frame, ...]
    message: Message
    parts: tuple[Part, ...] = ()
    answers_question: bool = False
    """Whether the message answers a question of ours: a name, a choice, a yes, an identifier."""


class OfflineModel:
    """The model of every installation without a language model."""

    name = "offline"

    async def open(self, turn: Turn) -> "OfflineSession":
        """Read the message."""
        return OfflineSession(turn, await run_db(understand)(turn))


class OfflineSession(Session):
    """Carries out one plan per frame, in order, and puts their parts together as the answer."""

    def __init__(self, turn: Turn, understood: Understood) -> None:
        super().__init__(turn)
        self._understood = understood
        self._plans = self._run_plans()
        self._is_begun = False

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self._understood.view.language

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the steps that the current plan needs, or the whole answer."""
        given, self._is_begun = results if self._is_begun else None, True
        try:
            return self._plans.send(given)  # type: ignore[arg-type]  # a generator begins with None
        except StopIteration as done:
            reply: Reply = done.value
            return reply

    def _run_plans(self) -> Generator[Sequence[Step], Sequence[StepResult], Reply]:
        view, parts = self._understood.view, list(self._understood.parts)
        for frame in self._understood.frames:
            if question := ask_back(view, frame, self.turn):
                parts.append(question)
                continue
            part = yield from PLANS[frame.intent](view, frame)
            if frame.details.get("offered"):
                part.text = paragraphs(view.say("offered_name", name=_offered_name(view)), part.text)
            parts.append(facts.lost(view, part) if frame.confidence < SURE else part)
        return reply_of(self._understood, parts, self.turn)


def understand(turn: Turn) -> Understood:
    """Recognises the message and decides what to do; reads only the indexes of names."""
    if turn.resumed or (turn.code.get("outcome") == "ok" and turn.state.get("waiting")):
        waiting = turn.state.get("waiting")
        frame = Frame.again(waiting) if waiting else Frame("prescriptions", 0.9)
        # The code went to that person's own contact: whose prescriptions they are is proven now.
        frame = replace(frame, details={k: v for k, v in frame.details.items() if k != "other_person"})
        return Understood(View(turn, turn.language), (frame,), Message("", (), ()))
    message = recognise(turn.text)
    view = View(turn, _language(turn, message))
    decided = decide(message, turn.state)
    frames = decided.frames
    if turn.refused:
        return _refused(turn, view, message, frames)
    first = frames[0] if frames else Frame("unknown", 0.4)
    if first.intent == "language":
        view = View(turn, first.details["language"])
    if first.confidence < LOST or first.intent == "unknown":
        misses = int(turn.state.get("misses") or 0) + 1
        return Understood(view, (), message, (talk.unknown(view, misses),))
    return Understood(view, frames, message, answers_question=decided.answers_question)


def _language(turn: Turn, message: Message) -> Language:
    """The last message's language; names, numbers and identifiers keep the conversation's."""
    kept = turn.conversation_language
    found = language_of(turn.text)
    if found is None or (found == "en" and message.names_only):
        return kept
    return found


def _refused(turn: Turn, view: View, message: Message, frames: Sequence[Frame]) -> Understood:
    """Advice is refused; a plain fact that was asked in a clause of its own is still answered."""
    medicines = [medicine for frame in frames for medicine in frame.medicines]
    part = talk.refusal(view, turn.refused, turn.state, medicines)
    plain: list[Frame] = []
    if len(message.clauses) > 1:
        allowed = [
            clause
            for clause in message.clauses
            if policy.check_input(clause.text) == policy.InputVerdict.ANSWER
        ]
        if allowed and len(allowed) < len(message.clauses):
            rest = Message(
                message.text,
                tuple(clause for clause in allowed if clause.asks or clause.has("stock", "price")),
                (),
            )
            found = decide(rest, {**turn.state, "pending": None}).frames if rest.clauses else ()
            plain = [frame for frame in found if frame.intent in PLAIN_FACTS and frame.confidence >= SURE]
    return Understood(view, tuple(plain), message, (part,))


def _offered_name(view: View) -> str:
    """Return the medicine that was only offered as what may be meant."""
    options = (view.turn.state.get("pending") or {}).get("options") or [{}]
    return view.name(options[0])


def ask_back(view: View, frame: Frame, turn: Turn) -> Part | None:
    """The question back when a frame lacks its medicine or is not sure enough."""
    if frame.intent == "ask_what" or (
        LOST <= frame.confidence < SURE and frame.medicines and frame.intent == "info"
    ):
        names = [medicine for medicine in frame.medicines if "id" in medicine]
        if names:
            name = view.name(names[0])
            chips = [view.say(chip, name=name) for chip in ("chip_info", "chip_stock", "chip_rx")]
            state = {"pending": {"kind": "what", "frame": frame.kept()}, "focus": [dict(names[0])]}
            return Part(view.say("ask_what", name=name), suggestions=chips, state=state)
    shown = [medicine for medicine in turn.state.get("shown", ()) if "id" in medicine]
    if frame.intent in NEEDS_MEDICINE and not frame.medicines and len(shown) > 1:
        return choose(view, frame, shown, head=view.say("which_of_these"))
    if frame.intent in NEEDS_MEDICINE and not frame.medicines:
        pending = {"kind": "medication", "frame": frame.kept()}
        return Part(view.say("which_medicine"), state={"pending": pending})
    if frame.intent == "interaction" and len(frame.medicines) < 2 and not frame.details.get("others"):
        focus = [
            m
            for m in turn.state.get("focus", ())
            if all(m.get("id") != own.get("id") for own in frame.medicines)
        ]
        if focus and frame.medicines:
            return None
    return None


def reply_of(understood: Understood, parts: Sequence[Part], turn: Turn) -> Reply:
    """Return all parts as one answer, with what the conversation is about from here on."""
    state: dict[str, Any] = dict(turn.state)
    before = list(turn.state.get("focus", ()))
    state["pending"] = None
    if not (parts and "misses" in parts[0].state):
        state["misses"] = 0
    if "refusals" in state and understood.frames:
        state["refused_with"] = ""
    for part in parts:
        state |= part.state
    for frame in understood.frames:
        if frame.intent in REMEMBERED:
            kept = frame.kept()
            kept["details"] = {
                k: v for k, v in kept["details"].items() if k not in ("text", "others", "places", "offered")
            }
            state["last"] = kept
        state["last_branch"] = frame.kept() if frame.intent in ("hours", "branch") else None
        state["intent"] = frame.intent
        if frame.place:
            state["place"] = dict(frame.place)
    state["focus"] = _named(state.get("focus", ()), [*_medicines(understood), *before])
    ids = [medicine.get("id") for medicine in state["focus"]]
    if before and [medicine.get("id") for medicine in before] != ids:
        state["earlier"] = before
    cards = [card for part in parts for card in part.cards]
    chips = list(dict.fromkeys(chip for part in parts for chip in part.suggestions))
    texts = list(dict.fromkeys(part.text for part in parts))
    if _may_be_urgent(understood, turn):
        texts.append(understood.view.say("urgent_line", medical=settings.EMERGENCY_MEDICAL))
    return Reply(
        text=paragraphs(*texts),
        language=understood.view.language,
        state={key: value for key, value in state.items() if value not in (None, "", [])},
        cards=cards[:4],
        suggestions=chips[:3],
        quoted=[text for part in parts for text in part.quoted],
    )


def _may_be_urgent(understood: Understood, turn: Turn) -> bool:
    """Whether a message that got no facts may be an emergency in words that no rule knows."""
    unknown = any("query" in medicine for medicine in _medicines(understood))
    answered = (
        understood.frames and not unknown and not any(frame.intent == "health" for frame in understood.frames)
    )
    if answered and not turn.refused:
        return False
    if emergency.hints(turn.text) or any(clause.has("unwell") for clause in understood.message.clauses):
        return True
    # A complaint ("I feel awful"), as against a question for advice ("what is good for a cold?").
    return (
        turn.refused in ("ADVICE", "DIAGNOSIS")
        and not any(clause.medicines or clause.asks for clause in understood.message.clauses)
        and not any(clause.words[0] in ASKING for clause in understood.message.clauses)
    )


def _medicines(understood: Understood) -> list[Mapping[str, Any]]:
    return [medicine for frame in understood.frames for medicine in frame.medicines]


def _named(focus: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The medicines talked about, still called as they were chosen: names of a large catalogue repeat."""
    names = {
        medicine["id"]: medicine["name"] for medicine in known if "id" in medicine and "name" in medicine
    }
    return [
        {**medicine, **({"name": names[medicine["id"]]} if medicine.get("id") in names else {})}
        for medicine in focus
    ]

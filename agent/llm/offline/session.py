"""Answer without a language model: deterministic, English and Hebrew, no network."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final

from agent.answers.allergies import allergy_part
from agent.answers.answer import Answer
from agent.answers.interactions import clash_part
from agent.answers.renderer import Renderer
from agent.inference.base import Reply, Session, Speech, Step, StepResult, Turn
from agent.llm.offline.allergies import (
    allergens_said,
    allergy_step,
    names_what_is_refilled,
    products_in,
    products_named,
)
from agent.llm.offline.clashes import clash_step, is_whole, taken_ids
from agent.llm.offline.frames import LOST, NEEDS_MEDICINE, REFILLS, SURE, Frame
from agent.llm.offline.plans import (
    branch_stock,
    facts,
    listing,
    patients,
    refill_request,
    refills,
    stock,
    talk,
)
from agent.llm.offline.plans.names import choose
from agent.llm.offline.plans.plan import Plan
from agent.llm.offline.reading.taken import medicines_taken
from agent.llm.offline.reply import reply_of
from agent.llm.offline.understand import Understood, understand
from agent.threads import run_db
from pharmacy_site.lib.text import Language

COURTESIES: Final = (
    "greeting", "thanks", "bye", "help", "who", "language", "cancelled", "declined", "declined_name", "nothing_asked",
    "out_of_scope", "what_refill",
)  # fmt: skip
PLANS: Final[Mapping[str, Callable[[Renderer, Frame], Plan]]] = {
    "info": facts.info,
    "section": facts.section,
    "detail": facts.each(facts.detail),
    "rx": facts.rx,
    "price": facts.each(facts.price),
    "insurance": talk.site,
    "site": talk.site,
    "same": facts.same,
    "interaction": facts.interaction,
    "stock": stock.stock,
    "stock_place": branch_stock.stock_place,
    "list": listing.category,
    "list_at": listing.category_at,
    "equivalent": facts.each(listing.equivalents),
    "restock": facts.each(stock.restock),
    "hours": talk.branch,
    "branch": talk.branch,
    "person": talk.person,
    "health": talk.health,
    "knowledge": talk.knowledge,
    "upset": talk.upset,
    "offer_person": talk.offer,
    "is_anybody_there": talk.is_anybody_there,
    "which": talk.which,
    "identify": patients.identify,
    "prescriptions": patients.prescriptions,
    "refill_status": refills.refill_status,
    "refill": refills.refill,
    "refill_pickup": refill_request.pickup,
    "refill_progress": refill_request.progress,
    "refill_cancel": refill_request.cancel,
    "refill_resume": refill_request.resume,
    "confirm_on_card": refills.confirm_on_card,
    "renew": patients.renew,
    "renew_doctor": patients.renew_doctor,
    "resend": patients.resend,
    "logout": patients.logout,
    "allergy_noted": talk.allergy_noted,
    **dict.fromkeys(COURTESIES, talk.courtesy),
    **dict.fromkeys(("cancelled", "declined"), refill_request.call_off),
}


_STEPS_OF_REFILLS: Final = 64


class OfflineModel:
    """The model of every installation without a language model."""

    name = "offline"
    says_refusals = True

    async def open(self, turn: Turn) -> "OfflineSession":
        """Read the message."""
        return OfflineSession(turn, await run_db(understand)(turn))


class OfflineSession(Session):
    """Carries out one plan per frame, in order, and puts what they answer together."""

    def __init__(self, turn: Turn, understood: Understood) -> None:
        super().__init__(turn)
        self._understood = understood
        self._plans = self._run_plans()
        self._is_begun = False
        self._own_checks = 0

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self._understood.renderer.language

    @property
    def further_steps(self) -> int:
        """How many steps the turn may take beyond its limit: of a refill several medicines are looked at one by one.

        The checks that come after the plans do not count.
        """
        steps = _STEPS_OF_REFILLS if any(frame.intent in REFILLS for frame in self._frames) else 0
        return steps + self._own_checks

    @property
    def _frames(self) -> list[Frame]:
        """What the customer wants, also what waits for who they are."""
        frames = self._understood.frames
        waiting = [Frame.recalled(one.details["waiting"]) for one in frames if "waiting" in one.details]
        return [*frames, *waiting]

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the steps that the current plan needs, or the whole answer."""
        given, self._is_begun = results if self._is_begun else None, True
        try:
            return self._plans.send(given)  # type: ignore[arg-type]  # a generator begins with None
        except StopIteration as done:
            reply: Reply = done.value
            return reply

    def _run_plans(self) -> Generator[Sequence[Step], Sequence[StepResult], Reply]:
        renderer, answers = self._understood.renderer, list(self._understood.answers)
        for frame in self._understood.frames:
            if question := ask_back(renderer, frame, self.turn):
                answers.append(question)
                continue
            answer = yield from PLANS[frame.intent](renderer, frame)
            if frame.details.get("offered"):
                answer.pieces = [renderer.say("offered_name", name=_offered_name(renderer)), *answer.pieces]
            is_guess = frame.confidence < SURE and frame.intent != "refill"  # whose plan asks
            answers.append(facts.lost(renderer, answer) if is_guess else answer)
        if clash := (yield from self._clashes(renderer, answers)):
            answers.append(clash)
        if allergy := (yield from self._allergies(renderer, answers)):
            answers.append(allergy)
        return reply_of(self._understood, answers, self.turn)

    def _clashes(
        self, renderer: Renderer, answers: Sequence[Answer]
    ) -> Generator[Sequence[Step], Sequence[StepResult], Answer | None]:
        """Check the medicines of the answer against those that the customer takes."""
        intents = {frame.intent for frame in self._frames}
        if "interaction" in intents and not intents & REFILLS:
            return None  # asked for, so that it is answered already
        state = self.turn.state
        about = [
            one for each in answers for one in (*each.state.get("focus", ()), *each.state.get("shown", ()))
        ]
        asked = [*(one["id"] for one in about if "id" in one), *self._named_in_question()]
        taken = taken_ids(self._understood, self.turn)
        if intents & REFILLS:
            # What is refilled is checked against the rest of the customer's list.
            listed = [row["med_id"] for each in answers for row in each.state.get("prescriptions", ())]
            taken = {*taken, *listed} - set(asked)
        new = {one["id"] for one in medicines_taken(self._understood.message)}
        if new:  # what was talked about comes up again
            asked += products_in(state)
        named = set(self._understood.message.named_ids)
        asked.sort(key=lambda pk: pk not in named)  # if there are too many to check, these are checked
        step = clash_step(asked, taken, renderer.language, new)
        if step is None:
            return None
        self._own_checks += 1
        [result] = yield [step]
        warned, whole = state.get("warned", ()), is_whole(step, asked, taken)
        part = clash_part(renderer, result, taken, warned, new=new, is_whole=whole)
        return part if part.pieces else None

    def _named_in_question(self) -> list[int]:
        """Return the medicines that a question for the knowledge base names: its answer does not say which they are."""
        is_asked = any(frame.intent == "knowledge" for frame in self._frames)
        return self._understood.message.named_ids if is_asked else []

    def _allergies(
        self, renderer: Renderer, answers: Sequence[Answer]
    ) -> Generator[Sequence[Step], Sequence[StepResult], Answer | None]:
        """Check the products of the answer against allergies; what was talked about before, when one is new."""
        state = self.turn.state
        asked = [pk for answer in answers for pk in products_in(answer.state)] + self._named_in_question()
        if self._understood.allergies:
            asked += products_in(state)
        listed: set[int] = set()
        if names_what_is_refilled(self._frames):
            listed = set(asked) - {pk for answer in answers for pk in products_named(answer.state)}
        step = allergy_step(asked, allergens_said(self._understood, self.turn), self.turn, listed=listed)
        if step is None:
            return None
        self._own_checks += 1
        [result] = yield [step]
        warned = [one.state["warned"] for one in answers if "warned" in one.state]
        part = allergy_part(renderer, result, warned[-1] if warned else state.get("warned", ()))
        return part if part.pieces else None


def _offered_name(renderer: Renderer) -> str:
    """Return the medicine that was only offered as what may be meant."""
    options = (renderer.turn.state.get("pending") or {}).get("options") or [{}]
    return renderer.name(options[0])


def ask_back(renderer: Renderer, frame: Frame, turn: Turn) -> Answer | None:
    """Return a question back if the frame lacks its medicine or is not certain enough."""
    if frame.intent == "ask_what" or (
        LOST <= frame.confidence < SURE and frame.medicines and frame.intent == "info"
    ):
        names = [medicine for medicine in frame.medicines if "id" in medicine]
        if names:
            name = renderer.name(names[0])
            chips = [renderer.say(chip, name=name) for chip in ("chip_info", "chip_stock", "chip_rx")]
            return Answer(
                [renderer.say("ask_what", name=name)],
                suggestions=chips,
                state={"pending": {"kind": "what", "frame": frame.remembered()}, "focus": [names[0].copy()]},
            )
    shown = [medicine for medicine in turn.state.get("shown", ()) if "id" in medicine]
    if frame.intent in NEEDS_MEDICINE and not frame.medicines and len(shown) > 1:
        return choose(renderer, frame, shown, head=renderer.say("which_of_these"))
    if frame.intent in NEEDS_MEDICINE and not frame.medicines:
        return Answer(
            [renderer.say("which_medicine")],
            state={"pending": {"kind": "medication", "frame": frame.remembered()}},
        )
    return None

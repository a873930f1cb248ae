"""Answer by the language model, and by the offline model within the same turn whatever goes wrong.

The offline model also carries out what is done by fixed steps: proving who asks, refills, a yes to the offer of a person.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.answers.allergies import allergy_part
from agent.answers.answer import MOST_CARDS
from agent.answers.composition import Composition
from agent.answers.emergencies import alarm_reply
from agent.answers.facts.fact import Fact, Menu
from agent.answers.facts.results import facts_of
from agent.answers.interactions import clash_part
from agent.answers.render import say
from agent.answers.renderer import Renderer
from agent.inference.base import (
    ModelUnavailable,
    Reply,
    Session,
    Speech,
    Step,
    StepResult,
    Turn,
    Withheld,
)
from agent.llm import obligations
from agent.llm.dialogue import LanguageModel
from agent.llm.functions import Procedure, frame_of
from agent.llm.offline.allergies import (
    allergens_said,
    allergy_step,
    in_own_words,
    names_what_is_refilled,
    products_in,
)
from agent.llm.offline.clashes import clash_step, is_whole, taken_ids
from agent.llm.offline.frames import OF_IDENTITY, REFILLS
from agent.llm.offline.reading.taken import medicines_taken
from agent.llm.offline.session import OfflineModel, OfflineSession
from agent.llm.offline.understand import Understood, understand
from agent.llm.refill_wishes import with_wishes
from agent.state import ConversationState, RememberedAllergen, RememberedMedication
from agent.threads import run_db
from pharmacy_site.lib.text import Language

log = logging.getLogger(__name__)
_CORRECTIONS: Final = 1
_OWN_QUESTIONS: Final = frozenset(
    {
        "identifier", "offer_person", "confirm", "pickup", "which_refill", "which_prescription", "refill_wanted",
        "which_offered",
    }
)  # fmt: skip
"""Kinds of our own questions whose answers only fixed steps take up."""
_OF_PATIENT: Final = frozenset({"refill", "renew", "refill_progress", "refill_cancel", "refill_resume"})
"""What fixed steps go on with once the customer is identified."""


class FirstAvailable:
    """A language model with the offline model behind it, as one model."""

    says_refusals = True

    def __init__(self, first: LanguageModel) -> None:
        self._first = first
        self.name = OfflineModel.name

    async def open(self, turn: Turn) -> Session:
        """Read the message; what only fixed steps can take up is the offline model's, the rest the language model's."""
        understood = await run_db(understand)(turn)
        if needs_fixed_steps(understood, turn):
            return OfflineSession(turn, understood)
        return FallbackSession(turn, understood, self._first)


@dataclass
class FallbackState:
    """Whether the offline model has taken over, and how often the language model was corrected."""

    offline: OfflineSession | None = None
    is_announced: bool = False
    """Whether the answer says that the assistant works in basic mode."""
    corrections: int = 0
    procedure: Procedure | None = None
    """What the language model asked for, while its notes are taken."""


class FallbackSession(Session):
    """A turn that the language model answers as long as it can."""

    def __init__(self, turn: Turn, understood: Understood, first: LanguageModel) -> None:
        super().__init__(turn)
        self._understood = understood
        self._first = first.open(turn, understood, self.usage)
        self._due = obligations.due(understood)
        self._results: list[StepResult] = []
        self._menu = Menu(turn.state.get("facts", []), self.language)
        self._menu.add(obligations.facts_at_once(understood, turn))
        self._facts: list[list[Fact]] = []  # of each result
        # Results that the model is sent with those of the next step.
        self._held: list[tuple[StepResult, list[Fact]]] = []
        # Ids that were checked together.
        self._checked = {pk for step in self._due for pk in step.arguments["med_ids"]}
        self._checks_clash = False  # whether the next result is of a check against the medicines taken
        self._own_checks = 0  # how many were made that no model asked for
        self._checks_all = True  # whether that check is of all medicines
        self._compared: set[tuple[int, int]] = (
            set()
        )  # products, each with the number of allergens it was compared with
        self._warned: list[str] = []
        # What the customer takes and is allergic to, as the model understood it.
        self._noted: list[RememberedMedication] = []
        self._allergies: list[RememberedAllergen] = []
        self._state = FallbackState()

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self._understood.renderer.language

    @property
    def further_steps(self) -> int:
        """How many steps the turn may take beyond its limit: our own checks, and the offline model's once that answers."""
        return self._own_checks + (self._state.offline.further_steps if self._state.offline else 0)

    async def next(self, results: Sequence[StepResult], speech: Speech) -> Sequence[Step] | Reply:
        """Return the next steps, or the answer, of whichever model can give one."""
        if self._state.offline:
            return await self._next_offline(self._state.offline, results, speech)
        self._take_notes(results)
        if procedure := self._state.procedure:
            self._state.procedure = None
            return await self._carry_out(procedure, speech)
        fresh = [(result, self._menu_of(result)) for result in results]
        if due := self._due:
            self._due = []
            self._own_checks += len(due)
            return due
        if (check := self._clash_step() or self._allergy_step()) is not None:
            self._held = [*self._held, *fresh]
            self._own_checks += 1
            return [check]
        fresh, self._held = [*self._held, *fresh], []
        while True:
            answer = self._composition(speech)
            try:
                asked = await self._first.next(fresh, answer)
                if asked is None and not obligations.answers_refills(self._understood, self.turn, answer):
                    return await self._fall_back(speech, "procedure")
                if asked is None and not answer.is_answer:
                    raise Withheld([one.fault for one in answer.dropped] or ["no_answer"])
                break
            except ModelUnavailable as error:
                return await self._fall_back(speech, error.reason, announce=True)
            except Withheld as error:
                log.warning("a model's answer was withheld: %s", ",".join(sorted(set(error.problems))))
                speech.restart()
                if self._state.corrections >= _CORRECTIONS:
                    return await self._fall_back(speech, "withheld")
                self._state.corrections += 1
                self._first.correct(answer)
                fresh = []
        self.usage.model = self._first.name
        if asked is None:
            answer.add(obligations.companions_further(answer.used))
            return obligations.completed(self._understood, self._turn_with_notes(), self._results, answer)
        speech.restart()
        if not isinstance(asked, Procedure):
            return asked
        if not asked.notes or asked.emergency:
            return await self._carry_out(asked, speech)
        self._state.procedure = asked
        return asked.notes

    def _take_notes(self, results: Sequence[StepResult]) -> None:
        for result in (one.result for one in results):
            self._noted += [result["medicine"]] if "medicine" in result else []
            self._allergies += in_own_words(result.get("allergies", ()), self.turn.text)

    def _clash_step(self) -> Step | None:
        """Return the check of medicines that came up against those that the customer takes, unless it was made."""
        taken = self._taken()
        asked = obligations.came_up(self._understood, self._results)
        new = self._newly_taken()
        if new:  # what was talked about comes up again
            asked += products_in(self.turn.state)
        if self.turn.refused:  # nothing is looked up; the advice was asked about these
            asked += [pk for answer in self._understood.answers for pk in products_in(answer.state)]
        step = clash_step(asked, taken, self.language, new)
        if step is None or set(step.arguments["med_ids"]) <= self._checked:
            return None
        self._checked |= set(step.arguments["med_ids"])
        self._checks_clash, self._checks_all = True, is_whole(step, asked, taken)
        return step

    def _newly_taken(self) -> set[int]:
        """Return the medicines of which this message says that they are taken."""
        return {one["id"] for one in (*self._noted, *medicines_taken(self._understood.message))}

    def _taken(self) -> set[int]:
        """Return the medicines that others are checked against: of a refill, all others that are on the patient's list."""
        taken = taken_ids(self._understood, self._turn_with_notes())
        if not any(frame.intent in REFILLS for frame in self._understood.frames):
            return taken
        listed = obligations.prescribed_ids(self._results) if self.turn.identifier else []
        return {*taken, *listed} - {*obligations.refilled(self._understood, self._results)}

    def _allergy_step(self) -> Step | None:
        """Return the check of products that came up against allergies, unless it was made.

        When an allergy is new, what was talked about before comes up again.
        """
        said = allergens_said(self._understood, self._turn_with_notes())
        asked = obligations.came_up(self._understood, self._results)
        if self._understood.allergies or self._allergies:
            asked += products_in(self.turn.state)
        listed: set[int] = set()
        if names_what_is_refilled(self._understood.frames):
            listed = set(asked) - set(obligations.refilled(self._understood, self._results))
        step = allergy_step(asked, said, self.turn, listed=listed)
        if step is None:
            return None
        pairs = {(pk, len(said)) for pk in step.arguments["med_ids"]}
        if pairs <= self._compared:
            return None
        self._compared |= pairs
        return step

    def _menu_of(self, result: StepResult) -> list[Fact]:
        """Put the facts of a result on the menu; those of a check that a larger one repeats need not be said."""
        renderer = replace(self._understood.renderer, turn=self.turn)
        if self._checks_clash:
            self._checks_clash = False
            return self._menu.add(self._clash_facts(renderer, result))
        if result.step.name == "allergies.check":
            return self._menu.add(self._allergy_facts(renderer, result))
        self._results.append(result)
        self._facts.append(self._menu.add(facts_of(renderer, result)))
        repeated = [obligations.is_repeated(one, self._results) for one in self._results]
        needed = {
            fact.id for again, facts in zip(repeated, self._facts, strict=True) if not again for fact in facts
        }
        for again, facts in zip(repeated, self._facts, strict=True):
            if again:
                self._menu.release([fact for fact in facts if fact.id not in needed])
        return self._facts[-1]

    def _clash_facts(self, renderer: Renderer, result: StepResult) -> list[Fact]:
        turn = self._turn_with_notes()
        warned = turn.state.get("warned", ())
        new, taken = self._newly_taken(), self._taken()
        part = clash_part(renderer, result, taken, warned, new=new, is_whole=self._checks_all)
        self._warned = part.state.get("warned", self._warned)
        return part.facts

    def _allergy_facts(self, renderer: Renderer, result: StepResult) -> list[Fact]:
        part = allergy_part(renderer, result, self._turn_with_notes().state.get("warned", ()))
        self._warned = part.state.get("warned", self._warned)
        return part.facts

    def _turn_with_notes(self, *, is_begun_anew: bool = False) -> Turn:
        """Return the turn with what came up in it: what the model noted, and, in the same answer, what was warned of."""
        state: ConversationState = {**self.turn.state}
        if self._noted:
            state["takes"] = [*state.get("takes", ()), *self._noted]
        if self._allergies:
            state["allergies"] = [*state.get("allergies", ()), *self._allergies]
        if self._warned and not is_begun_anew:
            state["warned"] = self._warned
        return replace(self.turn, state=state)

    def _composition(self, speech: Speech) -> Composition:
        renderer = replace(self._understood.renderer, turn=self.turn)
        cards = obligations.cards_of(renderer, self._results)[:MOST_CARDS]
        return Composition(self._menu, speech.show, cards)

    async def _carry_out(self, procedure: Procedure, speech: Speech) -> Sequence[Step] | Reply:
        """Do what the language model may only ask for: raise an emergency, or let the offline model carry out a plan."""
        if procedure.emergency:
            speech.restart()
            return alarm_reply(self.turn, [], [procedure.emergency])
        frame = with_wishes(await run_db(frame_of)(procedure), self._understood)
        # Two medicines in one message: our own plans say what they must; a refill of all of them does.
        if obligations.due(self._understood) and not obligations.refills_all(self._understood, frame):
            return await self._fall_back(speech, "procedure")
        self._state.offline = OfflineSession(
            self.turn, replace(self._understood, frames=(frame,), answers=())
        )
        return await self._next_offline(self._state.offline, (), speech)

    async def _fall_back(
        self, speech: Speech, reason: str, *, announce: bool = False
    ) -> Sequence[Step] | Reply:
        """Let the offline model answer this turn from its beginning."""
        speech.restart()
        self.usage.fallback = reason
        self._state.is_announced = announce
        self._state.offline = OfflineSession(self.turn, self._understood)
        return await self._next_offline(self._state.offline, (), speech)

    async def _next_offline(
        self, offline: OfflineSession, results: Sequence[StepResult], speech: Speech
    ) -> Sequence[Step] | Reply:
        offline.turn = self._turn_with_notes(is_begun_anew=True)
        answered = await offline.next(results, speech)
        if not isinstance(answered, Reply) or not self._state.is_announced:
            return answered
        state: ConversationState = {**answered.state, "basic": True}
        if self.turn.state.get("basic"):
            return replace(answered, state=state)
        return replace(answered, state=state).framed(before=say("basic_mode", answered.language))


def needs_fixed_steps(understood: Understood, turn: Turn) -> bool:
    """Return whether a message never reaches the language model.

    So it is with proving who asks, an answer to a question of ours that only fixed steps take up, giving up such a question
    or a request that is not confirmed, a refill that waited for the proof, and a fact that is asked for beside advice.
    """
    pending, intents = turn.state.get("pending"), {frame.intent for frame in understood.frames}
    if understood.answers_question and pending and pending["kind"] in _OWN_QUESTIONS:
        return True
    if intents & OF_IDENTITY or (turn.refused and understood.frames):
        return True
    is_open = pending or turn.state.get("waiting") or turn.state.get("refills")
    if "cancelled" in intents and is_open:
        return True
    is_proven_now = turn.resumed or bool(turn.code.get("outcome"))
    return is_proven_now and bool(intents & _OF_PATIENT)

"""Turns of the site itself, and what its model is sent in one: to be imported when Django is set up."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from django.utils import timezone

from agent.answers.facts.fact import Menu
from agent.answers.facts.results import facts_of
from agent.answers.renderer import Renderer
from agent.chat.hub import Hub
from agent.chat.progress import RunProgress
from agent.conversation import accept, runs
from agent.conversation.events import conversation_begin
from agent.inference.base import Step, StepResult
from agent.inference.base import Turn as ModelTurn
from agent.llm import prompt
from agent.llm.functions import functions_offered
from agent.models import Conversation
from agent.safety.privacy.placeholders import Placeholders
from agent.threads import run_db
from agent.tools.base import ToolContext
from agent.tools.registry import call_tool
from agent.turn import loop
from benchmarks.model_loops import Lesson, Turn
from benchmarks.model_server import ANSWER, CALLS, MESSAGE
from inventory.categories import category_names
from prescriptions.models import Patient

PATIENT = "10000101"
SHOWN = "Ibuprofen is in stock at Florentin, Tel Aviv but limited quantity available (3 units)."
"""What the server's answer becomes for a customer: the facts that it names."""


def lesson() -> Lesson:
    """Return what our own model is sent and its tools answer, for the other loops."""
    turn, hidden = ModelTurn(MESSAGE, "en", {}, timezone.localtime()), Placeholders()
    menu, hints = Menu([], "en"), prompt.Hints([], category_names())
    messages = prompt.messages_of(turn, [], menu, hints, hidden, "en")
    context = ToolContext("chat:benchmark", "chat", "en", message=MESSAGE)
    results = {}
    for name, arguments in CALLS:
        outcome = call_tool(name, arguments, context)
        result = StepResult(Step(name, arguments), outcome.ok, outcome.result, "", outcome.evidence)
        facts = menu.add(facts_of(Renderer(turn, "en"), result))
        results[name] = prompt.result_json(result, facts, hidden, "en")
    instructions = "\n".join(message["content"] for message in messages if message["role"] == "system")
    functions: Any = list(functions_offered(turn))
    return Lesson(instructions, MESSAGE, functions, results)


def turns() -> dict[str, Callable[[], Awaitable[Turn]]]:
    """Return our kinds of turns by name; each turn begins with a conversation of its own."""
    site = _Site()
    return {"ours, turn": site.whole, "ours, answer": site.answer_alone, "ours, identified": site.identified}


class _NoticingHub(Hub):
    """A hub that notices when a customer would see text, and that the answer is in the log."""

    shown: Callable[[], None]
    is_done = False

    def send(self, key: str, message: Any) -> None:
        if message["type"] == "message.delta":
            self.shown()
        super().send(key, message)

    def ring(self, key: str) -> None:
        self.is_done = True
        super().ring(key)


class _Site:
    """The site's chat, with one hub for the event loop in which all its turns are made."""

    _hub: _NoticingHub | None = None

    async def whole(self) -> Turn:
        """A turn from the message's arrival to the stored answer."""
        return self._turn(await _conversation())

    async def identified(self) -> Turn:
        """The same of a customer whose identity is proven."""
        conversation = await _conversation()
        await run_db(_identify)(conversation)
        return self._turn(conversation)

    async def answer_alone(self) -> Turn:
        """A turn whose run is claimed already."""
        claim = await _claim(await _conversation())
        return lambda shown: self._answer(claim, shown)

    def _turn(self, conversation: Conversation) -> Turn:
        async def turn(shown: Callable[[], None]) -> str:
            return await self._answer(await _claim(conversation), shown)

        return turn

    async def _answer(self, claim: runs.Claim, shown: Callable[[], None]) -> str:
        hub = self._hub = self._hub or _NoticingHub()
        hub.shown, hub.is_done = shown, False
        run = claim.run
        progress = RunProgress(hub, claim.conversation.secret_hash, run.pk, run.attempts)
        await loop.answer(claim, progress)
        called = [call.step.name for call in progress.calls.values() if call.ok]
        if not hub.is_done or called != [name for name, _ in CALLS]:
            raise RuntimeError(f"the turn called {called}")
        if SHOWN not in progress.text:
            raise RuntimeError(f"the answer was {progress.text!r}")
        return ANSWER


async def _conversation() -> Conversation:
    conversation: Conversation = (await run_db(conversation_begin)(language="en"))[0]
    return conversation


async def _claim(conversation: Conversation) -> runs.Claim:
    await run_db(accept.message_accept)(
        conversation_id=conversation.pk, client_msg_id=uuid4(), text=MESSAGE, address="192.0.2.1"
    )
    claim = await run_db(runs.run_claim)(conversation.pk)
    assert claim is not None
    return claim


def _identify(conversation: Conversation) -> None:
    proof = {"patient": Patient.objects.get(mrn=PATIENT), "verified_at": timezone.now()}
    Conversation.objects.filter(pk=conversation.pk).update(**proof)

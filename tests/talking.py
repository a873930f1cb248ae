"""A conversation in the test's own process, without a server: say something, read the answer and what was shown."""

import asyncio
import json
from typing import Any
from unittest import mock
from uuid import uuid4

from django.utils import timezone
from scripted_model import ScriptedModel
from scripted_replies import Computed, Forever, Reply

from agent.chat.progress import RunProgress
from agent.conversation import accept, events, runs
from agent.models import Conversation, Event, Run
from agent.turn import loop
from prescriptions.models import Patient


class RecordingHub:
    """A hub without sockets that records what a customer's socket would be sent."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []

    def send(self, key: str, frame: dict[str, Any]) -> None:
        self.frames.append(frame)

    def ring(self, key: str) -> None:
        pass


class Talk:
    """One conversation, turn by turn; a model that is given answers instead of the one that the settings name.

    `run`, `event`, `payload` and `frames` are those of the last turn.
    """

    def __init__(
        self,
        language: str = "en",
        patient: str | None = None,
        *,
        model: Any = None,
        conversation: Conversation | None = None,
    ) -> None:
        self.conversation = conversation or events.conversation_begin(language=language)[0]
        self.model = model
        self.run: Run
        self.event: Event
        self.payload: dict[str, Any]
        self.frames: list[dict[str, Any]] = []
        if patient:
            self.verify(patient)

    # -- Who asks ----------------------------------------------------------------------------------------------
    def verify(self, mrn: str | None) -> None:
        """Make this patient the verified one, from now on; None: nobody is verified any more."""
        patient = Patient.objects.get(mrn=mrn) if mrn else None
        Conversation.objects.filter(pk=self.conversation.pk).update(
            patient=patient, verified_at=timezone.now() if patient else None
        )

    def forget(self) -> None:
        """End the proof of identity."""
        self.verify(None)

    # -- Turns -------------------------------------------------------------------------------------------------
    def say(self, text: str) -> str:
        """Send a message and return the text of its answer."""
        return str(self.ask(text)["text"])

    def ask(self, text: str) -> dict[str, Any]:
        """Send a message and return its whole answer, with cards and suggestions."""
        self.send(text)
        self.answer()
        return self.payload

    def send(self, text: str) -> None:
        """Send a message and leave it unanswered."""
        accept.message_accept(
            conversation_id=self.conversation.pk, client_msg_id=uuid4(), text=text, address="192.0.2.1"
        )

    def claim(self) -> runs.Claim:
        """Claim the next run."""
        claim = runs.run_claim(self.conversation.pk)
        assert claim is not None
        return claim

    def answer(self, claim: runs.Claim | None = None) -> None:
        """Answer a claimed run, or the next one."""
        claim = claim or self.claim()
        asyncio.run(self.answering(claim))
        self.run = Run.objects.get(pk=claim.run.pk)
        if self.run.answer_seq is None:
            self.payload = {"text": ""}  # a person answers
            return
        self.event = Event.objects.get(conversation=self.conversation, seq=self.run.answer_seq)
        self.payload = self.event.payload

    async def answering(self, claim: runs.Claim) -> None:
        """Answer a claimed run, or fail to, inside the test's own event loop; rows are not read afterwards."""
        hub, run = RecordingHub(), claim.run
        self.frames = hub.frames
        progress = RunProgress(hub, claim.conversation.secret_hash, run.pk, run.attempts)  # type: ignore[arg-type]
        chosen = loop.model_chosen if self.model is None else lambda: self.model
        with mock.patch.object(loop, "model_chosen", chosen):
            await loop.answer(claim, progress)

    # -- What was shown ----------------------------------------------------------------------------------------
    @property
    def shown(self) -> list[str]:
        """What a customer saw, text by text, at every moment of the answer."""
        seen, text = [], ""
        for frame in self.frames:
            if frame["type"] == "message.delta":
                text = text[: frame["offset"]] + frame["text"]
                seen.append(text)
        return seen

    @property
    def frames_text(self) -> str:
        """Every frame and the stored answer, as one text."""
        return json.dumps([self.frames, self.payload], ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        return [frame["name"] for frame in self.frames if frame["type"] == "tool.started"]

    @property
    def page(self) -> list[dict[str, Any]]:
        """What a page gets that opens the conversation now."""
        return events.events_shown(events.conversation_get(self.conversation.pk), 0)


def once(
    model: ScriptedModel,
    text: str,
    *replies: Reply | Computed | Forever,
    language: str = "en",
    patient: str | None = None,
) -> Talk:
    """One message of a new conversation, whose model gives these replies, as far as it is called."""
    model.verify()
    model.reset()
    model.script(*replies)
    talk = Talk(language, patient)
    talk.say(text)
    model.forget()
    return talk


def sent_to(model: ScriptedModel) -> str:
    """All that was sent to the model since its last reset, as text."""
    return "\n".join(json.dumps(request.body, ensure_ascii=False) for request in model.requests)

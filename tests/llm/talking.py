"""A conversation in the test's own process whose model is the scripted server: what was said, shown and asked."""

import asyncio
import json
from typing import Any
from uuid import uuid4

from django.utils import timezone
from scripted_model import ScriptedModel
from scripted_replies import Computed, Forever, Reply

from agent.chat.progress import RunProgress
from agent.conversation import accept, events, runs
from agent.models import Conversation, Event, Run
from agent.turn import loop
from prescriptions.models import Patient


class Listener:
    """A hub that only keeps what a customer's socket would be told."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []

    def send(self, key: str, frame: dict[str, Any]) -> None:
        self.frames.append(frame)

    def ring(self, key: str) -> None:
        pass


class Talk:
    """One conversation, message by message."""

    def __init__(self, language: str = "en", patient: str | None = None) -> None:
        self.conversation, _ = events.conversation_begin(language=language)
        self.run: Run
        self.frames: list[dict[str, Any]] = []
        if patient:
            self.verify(patient)

    def verify(self, mrn: str) -> None:
        """From here on it is proven that this patient asks."""
        proof = {"patient": Patient.objects.get(mrn=mrn), "verified_at": timezone.now()}
        Conversation.objects.filter(pk=self.conversation.pk).update(**proof)

    def forget(self) -> None:
        """The proof has ended."""
        Conversation.objects.filter(pk=self.conversation.pk).update(patient=None, verified_at=None)

    def say(self, text: str) -> str:
        """Sends a message and returns the answer's text."""
        accept.message_accept(
            conversation_id=self.conversation.pk, client_msg_id=uuid4(), text=text, address="192.0.2.1"
        )
        claim = runs.run_claim(self.conversation.pk)
        assert claim is not None
        run = claim.run
        listener = Listener()
        live = RunProgress(listener, run.conversation.secret_hash, run.pk, run.attempts)  # type: ignore[arg-type]
        asyncio.run(loop.answer(claim, live))
        self.run, self.frames = Run.objects.get(pk=run.pk), listener.frames
        self.payload: dict[str, Any] = Event.objects.get(
            conversation=self.conversation, seq=self.run.answer_seq
        ).payload
        return str(self.payload["text"])

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
        """Every frame and the kept answer, as one text."""
        return json.dumps([self.frames, self.payload], ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        return [frame["name"] for frame in self.frames if frame["type"] == "tool.started"]


def once(
    model: ScriptedModel,
    text: str,
    *replies: Reply | Computed | Forever,
    language: str = "en",
    patient: str = "",
) -> Talk:
    """One message of a new conversation, whose model replies this, as far as it is asked."""
    model.verify()
    model.reset()
    model.script(*replies)
    talk = Talk(language, patient=patient or None)
    talk.say(text)
    model.forget()
    return talk


def told(model: ScriptedModel) -> str:
    """All that the model was told since it was last reset, as text."""
    return "\n".join(json.dumps(request.body, ensure_ascii=False) for request in model.requests)

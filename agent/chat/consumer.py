"""The WebSocket door `/ws/chat/`: frames in, one call each, frames out. What is said lives in the database."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from channels.exceptions import StopConsumer
from django.conf import settings
from django.db import DatabaseError

from agent.answers import render
from agent.chat import protocol
from agent.chat.admission import address_of, origin_allowed, socket_admitted
from agent.chat.chat_socket import SLOW, ChatSocket, Frame
from agent.chat.process import RESTART, Process, process
from agent.chat.protocol import BadFrame
from agent.conversation import accept, confirmations, embedding, events, feedback, modes, retention
from agent.models import Conversation, Run
from agent.threads import run_urgent
from pharmacy_site.lib.errors import trace_of
from pharmacy_site.lib.shutdown import shutting_down

log = logging.getLogger(__name__)
FORBIDDEN: Final = 4403
_open: Counter[str] = Counter()  # open sockets per address, of this process


class ChatConsumer(ChatSocket):
    """One open socket of one conversation: each frame of its client is one call."""

    language = "en"
    counted = False
    process: Process

    async def connect(self) -> None:
        self.address = address_of(self.scope)
        self.process = process()
        self._greeting: asyncio.TimerHandle | None = None
        if not origin_allowed(self.scope) or shutting_down.is_set():
            await self.close()
            return
        full = (
            _open[self.address] >= settings.CHAT_SOCKETS_OPEN or _open.total() >= settings.CHAT_SOCKETS_TOTAL
        )
        if full:
            await self.close()
            return
        _open[self.address] += 1  # before anything is waited for
        self.counted = True
        # A Redis that hangs would keep everybody out for as long as its client waits.
        if not self.process.hub.deaf and not await socket_admitted(self.address):
            await self.close()
            return
        await self.accept()
        self._greeting = asyncio.get_running_loop().call_later(settings.CHAT_HELLO_TIMEOUT, self._no_hello)

    def _no_hello(self) -> None:
        if not self.key:
            self.leave(SLOW)

    async def disconnect(self, code: int) -> None:
        self.stop_news()
        if self.counted:
            self.counted = False
            if self._greeting:
                self._greeting.cancel()
            _open[self.address] -= 1
            if _open[self.address] <= 0:
                del _open[self.address]
        if self.key:
            await self.process.hub.leave(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.heard_at = time.monotonic()
        if self.stuck:
            # Its good-bye would never arrive: hang up, and read no more from it either.
            await self.disconnect(SLOW)
            raise StopConsumer
        if self.leaving:
            return
        frame: Frame = {}
        try:
            frame = protocol.read(text_data)
            handler = _HANDLERS.get(frame["type"])
            if handler is None or (not self.key and frame["type"] not in ("hello", "ping")):
                raise BadFrame
            await handler(self, frame)
        except BadFrame as error:
            self._error(error.code, frame)
        except accept.RateLimited:
            self._error("rate_limited", frame, retryable=True)
        except confirmations.ConfirmationExpired:
            self._error("expired", frame)
        except embedding.TicketExpired:
            self._error("expired", frame, retryable=True)
            self.leave(SLOW)
        except embedding.TicketRefused:
            self._error("forbidden_origin", frame)
            self.leave(FORBIDDEN)
        except events.ConversationGone:
            self._error("unknown_conversation", frame)
        except DatabaseError as error:
            # Nothing was accepted, so nothing is lost: the client keeps the message and sends it again.
            log.error("database unavailable: %s", type(error).__name__)
            self._error("busy", frame, retryable=True)
        except Exception as error:
            log.error("frame failed: %s at %s", type(error).__name__, trace_of(error))
            self._error("internal", frame, retryable=True)
        finally:
            if self.key and not self.ready:
                self.leave(RESTART)  # a hello that failed half-way: the client comes back at once

    # -- frames of the client -------------------------------------------------------------------------------
    async def on_hello(self, frame: Frame) -> None:
        if self.key:
            raise BadFrame
        self.language = protocol.choice(frame, "lang", (None, "en", "he")) or "en"
        last = protocol.whole(frame, "last_seq", 0)
        active = frame.get("active_run") or {}
        if not isinstance(active, dict):
            raise BadFrame
        offset = protocol.whole(active, "offset", 0)
        entrance = await run_urgent(embedding.entrance)(
            address=self.address,
            language=self.language,
            site=protocol.short(frame, "site"),
            ticket=protocol.short(frame, "ticket"),
            secret=protocol.short(frame, "conversation"),
        )
        found = entrance.conversation
        if entrance.left:
            self.process.hub.part(entrance.left, {"type": "conversation.moved"})
        self.language = frame.get("lang") or found.language
        self.conversation_id, self.key = found.pk, found.secret_hash
        await self.process.hub.join(self)  # before reading, so that no event falls between
        deaf, mode = self.process.hub.deaf, found.mode
        if deaf != (mode == Conversation.Mode.DEGRADED):
            mode = await run_urgent(modes.settle)(found.pk, degraded=deaf)
        missed, run, is_theirs, ratings = await run_urgent(_missed)(found, last)
        self.sent = missed[-1]["seq"] if missed else min(last, found.seq_head)
        answer: Frame = {
            "type": "hello.ok",
            "conversation": entrance.secret,
            "last_seq": self.sent,
            "mode": mode,
            "events": missed,
            "retention_days": settings.CHAT_RETENTION_DAYS,
            "feedback": ratings,
            "identity": "elsewhere" if entrance.identity_elsewhere else "here",
        }
        if run is None:
            self.push(answer)
        else:
            self.push(answer | {"active_run": {"run_id": str(run.pk)}})
            if is_theirs:
                here = self.process.runner.live(found.pk)
                self.replay(here.progress() if here else run.progress, active, offset)
            else:
                self.ignore(run.pk)
            self.process.runner.wake(found.pk)  # its process may have died
        self.ready = True
        if self._grown:
            self.grown()

    async def on_message(self, frame: Frame) -> None:
        client_msg_id = protocol.uuid(frame, "client_msg_id")
        accepted = await run_urgent(accept.message_accept)(
            conversation_id=self.conversation_id,
            key=self.key,
            client_msg_id=client_msg_id,
            text=protocol.text(frame, "text", settings.CHAT_TEXT_LIMIT),
            address=self.address,
            location=protocol.location(frame["location"]) if "location" in frame else accept.UNCHANGED,
        )
        self.push(
            {
                "type": "message.accepted",
                "client_msg_id": str(client_msg_id),
                "seq": accepted.seq,
                "duplicate": accepted.duplicate,
            }
        )
        if self.process.hub.deaf:
            await run_urgent(modes.settle)(self.conversation_id, degraded=True)
        self._go_on()

    async def on_code(self, frame: Frame) -> None:
        outcome = await run_urgent(accept.code_submit)(
            conversation_id=self.conversation_id,
            key=self.key,
            code=protocol.text(frame, "code", 20).strip(),
            address=self.address,
        )
        if outcome.outcome == "ok":
            self._go_on()
            return
        self.process.hub.ring(self.key)
        told = {"wrong": "code_wrong", "expired": "code_expired", "locked": "locked"}[outcome.outcome]
        self._error(told, frame, retryable=told == "code_wrong", tries_left=outcome.tries_left)

    async def on_confirm(self, frame: Frame) -> None:
        await run_urgent(confirmations.confirmation_answer)(
            conversation_id=self.conversation_id,
            key=self.key,
            confirm_id=protocol.uuid(frame, "confirm_id"),
            decision=protocol.choice(frame, "decision", ("yes", "no")),
            address=self.address,
        )
        self._go_on()

    async def on_handoff(self, frame: Frame) -> None:
        await run_urgent(accept.handoff_request)(conversation_id=self.conversation_id, key=self.key)
        self._go_on()

    async def on_cancel(self, frame: Frame) -> None:
        run_id = await run_urgent(accept.run_cancel)(conversation_id=self.conversation_id, key=self.key)
        if run_id:
            self.process.runner.stop(run_id)
            self._go_on()

    async def on_feedback(self, frame: Frame) -> None:
        seq, rating = protocol.whole(frame, "seq"), protocol.choice(frame, "rating", (1, -1))
        comment = frame.get("comment") or ""
        if not isinstance(comment, str):
            raise BadFrame
        if len(comment) > settings.CHAT_COMMENT_LIMIT:
            raise BadFrame("too_long")
        saved = await run_urgent(feedback.feedback_save)(
            conversation_id=self.conversation_id, key=self.key, seq=seq, rating=rating, comment=comment
        )
        if not saved:
            raise BadFrame
        self.push({"type": "feedback.saved", "seq": seq, "rating": rating})

    async def on_handover(self, frame: Frame) -> None:
        url = await run_urgent(embedding.handover_issue)(self.conversation_id, self.key, self.address)
        self.push({"type": "handover.ready", "url": url})

    async def on_delete(self, frame: Frame) -> None:
        await run_urgent(retention.conversation_delete)(self.conversation_id, self.key)
        self.process.hub.part(self.key, {"type": "conversation.deleted"})

    async def on_ping(self, frame: Frame) -> None:
        self.push({"type": "pong"})

    def _go_on(self) -> None:
        self.process.hub.ring(self.key)
        self.process.runner.wake(self.conversation_id)

    def _error(
        self, code: str, frame: Frame, *, retryable: bool = False, tries_left: int | None = None
    ) -> None:
        told: Frame = {
            "type": "error",
            "code": code,
            "message": render.error_text(code, self.language, tries_left=tries_left),
            "retryable": retryable,
        }
        if isinstance(frame.get("client_msg_id"), str):
            told["client_msg_id"] = frame["client_msg_id"][:64]
        if tries_left is not None:
            told["tries_left"] = tries_left
        self.push(told)


_HANDLERS: dict[str, Callable[[ChatConsumer, Frame], Awaitable[None]]] = {
    "hello": ChatConsumer.on_hello,
    "message.send": ChatConsumer.on_message,
    "identity.code": ChatConsumer.on_code,
    "confirm.answer": ChatConsumer.on_confirm,
    "handoff.request": ChatConsumer.on_handoff,
    "run.cancel": ChatConsumer.on_cancel,
    "feedback": ChatConsumer.on_feedback,
    "handover.request": ChatConsumer.on_handover,
    "conversation.delete": ChatConsumer.on_delete,
    "ping": ChatConsumer.on_ping,
}


def _missed(conversation: Conversation, last: int) -> tuple[list[Frame], Run | None, bool, list[Frame]]:
    """What a client that saw `last` has not seen, the run that is at work or comes next, whether the client may see what
    it shows, and the ratings given."""
    missed = events.events_shown(conversation, last)
    rated = conversation.feedback.order_by("seq").values_list("seq", "rating")
    ratings = [{"seq": seq, "rating": rating} for seq, rating in rated]
    unfinished = Run.objects.filter(
        conversation_id=conversation.pk, state__in=[Run.State.PENDING, Run.State.RUNNING]
    )
    run = unfinished.order_by("-state", "input_seq").first()
    answered = conversation.events.filter(seq=run.input_seq).first() if run else None
    return missed, run, answered is None or events.is_shown(answered, conversation), ratings

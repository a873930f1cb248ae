"""The WebSocket `/ws/chat/`: parse a client's message, make one call, answer. What was said is in the database."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from channels.exceptions import StopConsumer
from django.conf import settings

from agent.chat import protocol
from agent.chat.admission import (
    FrameAllowance,
    address_of,
    conversation_refused,
    handshake_refusal,
    origin_allowed,
    socket_admitted,
)
from agent.chat.chat_socket import ChatSocket
from agent.chat.client_view import event_shown
from agent.chat.process import Process, process
from agent.chat.protocol import FLOODED, RESTART, TIMED_OUT, BadMessage
from agent.chat.refusals import CODE_REFUSALS, Refusal, error_message, refusal_of
from agent.chat.server_messages import HelloOk
from agent.conversation import (
    accept,
    confirmations,
    embedding,
    feedback,
    handoff_contact,
    modes,
    retention,
)
from agent.conversation.resume import conversation_resume
from agent.models import Conversation
from agent.threads import run_urgent
from pharmacy_site.lib.errors import trace_of
from pharmacy_site.lib.shutdown import shutting_down

log = logging.getLogger(__name__)
BEFORE_HELLO: Final = ("hello", "ping")
# Open sockets per address, of this process.
_open: Counter[str] = Counter()


class ChatConsumer(ChatSocket):
    """One open socket of one conversation: each message of its client is one call."""

    language = "en"
    counted = False
    process: Process

    async def connect(self) -> None:
        self.address = address_of(self.scope)
        self.process = process()
        self._greeting: asyncio.TimerHandle | None = None
        self._frames = FrameAllowance()
        if not origin_allowed(self.scope):
            await self._turn_away(
                403, "This page may not open the chat. Ask the pharmacy to allow its origin."
            )
            return
        if shutting_down.is_set():
            await self._turn_away(503, "The site restarts. Connect again", 5)
            return
        full = (
            _open[self.address] >= settings.CHAT_SOCKETS_OPEN or _open.total() >= settings.CHAT_SOCKETS_TOTAL
        )
        if full:
            await self._turn_away(429, "Too many chats are open. Close one, or connect again", 60)
            return
        # Before anything is awaited, or sockets that come at once are not counted.
        _open[self.address] += 1
        self.counted = True
        # A Redis that hangs would keep everybody out for as long as its client waits.
        if not self.process.hub.disconnected and not await socket_admitted(self.address):
            await self._turn_away(429, "Too many connections from this address. Connect again", 60)
            return
        await self.accept()
        self._greeting = asyncio.get_running_loop().call_later(settings.CHAT_HELLO_TIMEOUT, self._no_hello)

    async def _turn_away(self, status: int, detail: str, retry_after: int | None = None) -> None:
        """Refuse the handshake and say why; daphne cannot send a body and answers 403."""
        if "websocket.http.response" not in self.scope.get("extensions", {}):
            await self.close()
            return
        for part in handshake_refusal(status, detail, retry_after):
            await self.base_send(part)

    def _no_hello(self) -> None:
        if not self.key:
            self.leave(TIMED_OUT)

    async def disconnect(self, code: int) -> None:
        self.stop()
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
        self.received_at = time.monotonic()
        if self.stuck:
            # The close code cannot be delivered: drop the connection.
            await self.disconnect(TIMED_OUT)
            raise StopConsumer
        if self.leaving:
            return
        if not self._frames.take():
            # Before anything is read of it; what waits behind it is not even looked at.
            self._refuse(protocol.TooManyFrames())
            if self._closing:
                await asyncio.wait([self._closing])
            await self.disconnect(FLOODED)
            raise StopConsumer
        content: dict[str, Any] = {}
        try:
            content = protocol.read(text_data)
            if not self.key and content["type"] not in BEFORE_HELLO:
                raise BadMessage
            message = protocol.parse(content)
            await HANDLERS[type(message)](self, message)
        except Exception as error:
            self._refuse(error, content.get("client_msg_id"))
        finally:
            if self.key and not self.ready:
                # The hello failed half-way: the client connects again at once.
                self.leave(RESTART)

    # -- Messages of the client -----------------------------------------------------------------------------
    async def on_hello(self, message: protocol.Hello) -> None:
        if self.key:
            raise BadMessage
        self.language = message.lang or "en"
        self.shows_cards = message.cards is not False
        if embedding.is_beginning(site=message.site, ticket=message.ticket, secret=message.conversation):
            await self._count_conversation()
        entrance = await run_urgent(embedding.entrance)(
            address=self.address,
            language=self.language,
            site=message.site,
            ticket=message.ticket,
            secret=message.conversation,
        )
        conversation, hub = entrance.conversation, self.process.hub
        if entrance.revoked_key:
            hub.revoke(entrance.revoked_key, {"type": "conversation.moved"})
        self.language = message.lang or conversation.language
        self.conversation_id, self.key = conversation.pk, conversation.secret_hash
        # Before the log is read, or an event in between is missed.
        await hub.join(self)
        await self._catch_up(entrance, message)
        self.ready = True
        if self._unread:
            self.log_grown()

    async def _count_conversation(self) -> None:
        """Raise ConversationsLimited when the address has begun too many conversations."""
        if not self.process.hub.disconnected and (wait := await conversation_refused(self.address)):
            raise accept.ConversationsLimited(wait)

    async def _catch_up(self, entrance: embedding.Entrance, message: protocol.Hello) -> None:
        """Send what the client has missed, and what the run at work has shown so far."""
        conversation, hub = entrance.conversation, self.process.hub
        disconnected, mode = hub.disconnected, conversation.mode
        if disconnected != (mode == Conversation.Mode.DEGRADED):
            mode = await run_urgent(modes.set_degraded)(conversation.pk, degraded=disconnected)
        resumed = await run_urgent(conversation_resume)(conversation, message.last_seq)
        self.sent_seq = (
            resumed.missed[-1]["seq"] if resumed.missed else min(message.last_seq, conversation.seq_head)
        )
        answer: HelloOk = {
            "type": "hello.ok",
            "conversation": entrance.secret,
            "last_seq": self.sent_seq,
            "mode": mode,
            "events": [event_shown(event, cards=self.shows_cards) for event in resumed.missed],
            "retention_days": settings.CHAT_RETENTION_DAYS,
            "feedback": [{"seq": seq, "rating": rating} for seq, rating in resumed.ratings],
            "identity": "elsewhere" if entrance.identity_elsewhere else "here",
            "located": conversation.location is not None,
            "queue": resumed.queue,
        }
        if run := resumed.run:
            answer["active_run"] = {"run_id": str(run.pk)}
        self.push(answer)
        if run and resumed.run_is_shown:
            here = self.process.runner.progress(conversation.pk)
            self.replay(here.snapshot() if here else run.progress, message.active_run)
        elif run:
            self.hide_run(run.pk)
        if run:
            # The process that worked at it may have died.
            self.process.runner.wake(conversation.pk)

    async def on_message(self, message: protocol.SendMessage) -> None:
        place = message.location
        location = (place.lat, place.lng) if place else None
        accepted = await run_urgent(accept.message_accept)(
            conversation_id=self.conversation_id,
            key=self.key,
            client_msg_id=message.client_msg_id,
            text=message.text,
            address=self.address,
            location=location if "location" in message.model_fields_set else accept.UNCHANGED,
        )
        self.push(
            {
                "type": "message.accepted",
                "client_msg_id": str(message.client_msg_id),
                "seq": accepted.seq,
                "duplicate": accepted.duplicate,
            }
        )
        if self.process.hub.disconnected:
            await run_urgent(modes.set_degraded)(self.conversation_id, degraded=True)
        self._go_on()

    async def on_code(self, message: protocol.IdentityCode) -> None:
        result = await run_urgent(accept.code_submit)(
            conversation_id=self.conversation_id,
            key=self.key,
            code=message.code.strip(),
            address=self.address,
        )
        if result.outcome == "ok":
            self._go_on()
            return
        self.process.hub.ring(self.key)
        # What is no date has cost no try: no number is said.
        tries_left = None if result.outcome == "unreadable" else result.tries_left
        self._send_error(CODE_REFUSALS[result.outcome], tries_left=tries_left)

    async def on_confirm(self, message: protocol.ConfirmAnswer) -> None:
        await run_urgent(confirmations.confirmation_answer)(
            conversation_id=self.conversation_id,
            key=self.key,
            confirm_id=message.confirm_id,
            decision=message.decision,
            address=self.address,
        )
        self._go_on()

    async def on_handoff(self, message: protocol.RequestHandoff) -> None:
        await run_urgent(accept.handoff_request)(
            conversation_id=self.conversation_id, key=self.key, address=self.address
        )
        self._go_on()

    async def on_contact(self, message: protocol.LeaveContact) -> None:
        await run_urgent(handoff_contact.contact_save)(
            conversation_id=self.conversation_id,
            key=self.key,
            number=message.number,
            email=message.email,
            address=self.address,
        )
        self.process.hub.ring(self.key)

    async def on_cancel(self, message: protocol.CancelRun) -> None:
        run_id = await run_urgent(accept.run_cancel)(conversation_id=self.conversation_id, key=self.key)
        if run_id:
            self.process.runner.stop(run_id)
            self._go_on()

    async def on_feedback(self, message: protocol.RateAnswer) -> None:
        saved = await run_urgent(feedback.feedback_save)(
            conversation_id=self.conversation_id,
            key=self.key,
            seq=message.seq,
            rating=message.rating,
            comment=message.comment or "",
        )
        if not saved:
            raise BadMessage
        self.push({"type": "feedback.saved", "seq": message.seq, "rating": message.rating})

    async def on_handover(self, message: protocol.RequestHandover) -> None:
        url = await run_urgent(embedding.handover_issue)(self.conversation_id, self.key, self.address)
        self.push({"type": "handover.ready", "url": url})

    async def on_delete(self, message: protocol.DeleteConversation) -> None:
        await run_urgent(retention.conversation_delete)(self.conversation_id, self.key)
        self.process.hub.revoke(self.key, {"type": "conversation.deleted"})

    async def on_ping(self, message: protocol.Ping) -> None:
        self.push({"type": "pong"})

    def _go_on(self) -> None:
        """Show what is new in the log, and work at the run that waits."""
        self.process.hub.ring(self.key)
        self.process.runner.wake(self.conversation_id)

    def _refuse(self, error: Exception, client_msg_id: object = None) -> None:
        """Answer a message with the error that it caused."""
        refusal = refusal_of(error)
        if refusal.code == "busy":
            log.error("database unavailable: %s", type(error).__name__)
        elif refusal.code == "internal":
            log.error("message failed: %s at %s", type(error).__name__, trace_of(error))
        retry_after: int | None = getattr(error, "retry_after", refusal.retry_after)
        self._send_error(refusal, client_msg_id, retry_after=retry_after)
        if refusal.close is not None:
            self.leave(refusal.close)

    def _send_error(
        self,
        refusal: Refusal,
        client_msg_id: object = None,
        *,
        tries_left: int | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.push(
            error_message(
                refusal, self.language, client_msg_id, tries_left=tries_left, retry_after=retry_after
            )
        )


HANDLERS: Final[dict[type[protocol.ClientMessage], Callable[[ChatConsumer, Any], Awaitable[None]]]] = {
    protocol.Hello: ChatConsumer.on_hello,
    protocol.SendMessage: ChatConsumer.on_message,
    protocol.IdentityCode: ChatConsumer.on_code,
    protocol.ConfirmAnswer: ChatConsumer.on_confirm,
    protocol.RequestHandoff: ChatConsumer.on_handoff,
    protocol.LeaveContact: ChatConsumer.on_contact,
    protocol.CancelRun: ChatConsumer.on_cancel,
    protocol.RateAnswer: ChatConsumer.on_feedback,
    protocol.RequestHandover: ChatConsumer.on_handover,
    protocol.DeleteConversation: ChatConsumer.on_delete,
    protocol.Ping: ChatConsumer.on_ping,
}

"""What a client's socket gets while a person is waited for, and has the conversation: on a served site."""

import asyncio
import uuid
from typing import Any

from desk import Desk
from websockets.asyncio.client import connect

from evaluation.chat import Chat


def message(text: str) -> dict[str, Any]:
    return {"type": "message.send", "client_msg_id": str(uuid.uuid4()), "text": text}


def test_a_client_follows_a_hand_off_from_its_opening_to_its_end(chat_server: Any) -> None:
    desk = Desk(chat_server)

    async def run() -> None:
        async with Chat(chat_server.ws_url, chat_server.url, "en") as chat:
            await chat.send({"type": "handoff.request"})
            assert (await chat.receive("mode.changed"))["mode"] == "queued"
            opened = await chat.receive("handoff.updated")
            number = opened["number"]
            assert (opened["state"], opened["asks_email"]) == ("open", True)
            await chat.receive("run.completed")
            await chat.send({"type": "handoff.contact", "number": number, "email": "nobody"})
            assert (await chat.receive("error"))["code"] == "email_invalid"
            await chat.send({"type": "handoff.contact", "number": number, "email": "dina@example.com"})
            saved = await chat.receive("handoff.updated")
            assert not saved["asks_email"] and "@example.com" in saved["contact"][1]

            told = await chat.ask(message("Hello? Is anybody there?"))
            assert number in told.texts[0]
            quiet = await chat.ask(message("Thanks, I'll wait"))
            assert (quiet.texts, quiet.error) == ([], "")

            await asyncio.to_thread(desk.do, number, "claim")
            assert (await chat.receive("handoff.updated"))["state"] == "claimed"
            await asyncio.to_thread(desk.do, number, "reply", "Good morning")
            assert (await chat.receive("mode.changed"))["mode"] == "human"
            said = await chat.receive("message.completed")
            assert (said["role"], said["text"], said["author"]) == ("staff", "Good morning", "Dana Levi")
            assert "run_id" not in said
            quiet = await chat.ask(message("Do you have Advil?"))
            assert (quiet.texts, quiet.error) == ([], "")

            await asyncio.to_thread(desk.do, number, "give_back")
            assert (await chat.receive("mode.changed"))["mode"] == "bot"
            assert "Advil" in (await chat.ask(message("Do you have Advil?"))).texts[0]
            await asyncio.to_thread(desk.do, number, "close", "by_phone")
            ended = await chat.receive("handoff.updated")
            assert (ended["state"], ended["outcome"]) == ("closed", "by_phone")
            secret, last = chat.secret, ended["seq"]
        # Who comes back is told the same, once each and in order.
        back = Chat(chat_server.ws_url, chat_server.url, "en")
        back.socket = await connect(chat_server.ws_url, origin=chat_server.url)
        await back.send({"type": "hello", "conversation": secret})
        hello = await back.receive("hello.ok")
        await back.socket.close()
        assert hello["mode"] == "bot" and hello["last_seq"] >= last
        assert [event["seq"] for event in hello["events"]] == list(range(1, hello["last_seq"] + 1))
        assert [event["text"] for event in hello["events"] if event.get("role") == "staff"] == [
            "Good morning"
        ]

    try:
        asyncio.run(run())
    finally:
        desk.end()

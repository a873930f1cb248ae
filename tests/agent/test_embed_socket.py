"""A frame's socket on the served site: what opens it, what does not, and that the way out cuts it off."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.request import Request, urlopen

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

SITE = "pub_demo"  # of the demo data


def ticket(server: Any) -> str:
    request = Request(
        f"{server.url}/embed/{SITE}/ticket/", data=b"", headers={"Origin": server.url}, method="POST"
    )
    with urlopen(request) as answer:
        return str(json.load(answer)["ticket"])


async def receive(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """The next frame of this kind."""
    while True:
        frame: dict[str, Any] = json.loads(await asyncio.wait_for(socket.recv(), 20))
        if frame["type"] == kind:
            return frame


async def send(socket: ClientConnection, type: str, **fields: Any) -> None:
    await socket.send(json.dumps({"v": 1, "type": type, **fields}))


async def ask(socket: ClientConnection, text: str) -> str:
    """Says something and returns the text of the answer."""
    await send(socket, "message.send", client_msg_id=str(uuid.uuid4()), text=text)
    while True:
        said = await receive(socket, "message.completed")
        if said["role"] == "assistant":
            return str(said["text"])


@asynccontextmanager
async def opened(server: Any, **hello: Any) -> AsyncIterator[tuple[ClientConnection, dict[str, Any]]]:
    """A socket whose hello was answered, with the answer."""
    async with connect(server.ws_url, origin=server.url) as socket:
        await send(socket, "hello", lang="en", **hello)
        yield socket, await receive(socket, "hello.ok")


async def refused(server: Any, code: str = "forbidden_origin", **hello: Any) -> bool:
    """Whether a hello is answered by this error and the end of the socket."""
    async with connect(server.ws_url, origin=server.url) as socket:
        await send(socket, "hello", lang="en", **hello)
        frame = json.loads(await asyncio.wait_for(socket.recv(), 20))
        if frame["type"] != "error":
            return False
        assert frame["code"] == code
        await asyncio.wait_for(socket.wait_closed(), 20)
        assert socket.close_code == (4403 if code == "forbidden_origin" else 4408)
        return True


def test_each_socket_of_a_frame_needs_a_new_ticket(chat_server: Any) -> None:
    async def run() -> None:
        used = ticket(chat_server)
        async with opened(chat_server, site=SITE, ticket=used) as (_, hello):
            assert hello["identity"] == "elsewhere"
            secret = hello["conversation"]
        assert await refused(chat_server, "expired", site=SITE, ticket=used)
        assert await refused(chat_server, "expired", site=SITE, ticket=used, conversation=secret)
        assert await refused(chat_server, "expired", site=SITE)
        assert await refused(chat_server, site="pub_nobody", ticket=ticket(chat_server))
        fresh = {"site": SITE, "ticket": ticket(chat_server), "conversation": secret}
        async with opened(chat_server, **fresh) as (_, hello):
            assert hello["conversation"] == secret

    asyncio.run(run())


def test_a_conversations_secret_is_refused_on_another_site(chat_server: Any) -> None:
    async def run() -> None:
        async with opened(chat_server, site=SITE, ticket=ticket(chat_server)) as (_, hello):
            framed = hello["conversation"]
        async with opened(chat_server) as (_, hello):
            assert hello["identity"] == "here"
            own = hello["conversation"]
        assert await refused(chat_server, conversation=framed)
        assert await refused(chat_server, site=SITE, ticket=ticket(chat_server), conversation=own)

    asyncio.run(run())


def test_leaving_the_frame_keeps_the_conversation_and_disconnects_the_frame(chat_server: Any) -> None:
    async def run() -> None:
        async with opened(chat_server, site=SITE, ticket=ticket(chat_server)) as (frame, hello):
            old = hello["conversation"]
            assert "own site" in await ask(frame, "What prescriptions do I have?")
            await send(frame, "handover.request")
            url = (await receive(frame, "handover.ready"))["url"]
            path, _, out = url.partition("#")
            assert path.startswith("/continue/")
            async with opened(chat_server, ticket=out) as (window, hello):
                assert hello["identity"] == "here" and hello["conversation"] != old
                assert [event["role"] for event in hello["events"]] == ["user", "assistant"]
                assert "email" in (await receive(window, "message.completed"))["text"]
                assert "sent a code" in await ask(window, "david.cohen@example.com")
                heard = []
                try:
                    while True:
                        heard.append(json.loads(await asyncio.wait_for(frame.recv(), 20)))
                except ConnectionClosed:
                    assert frame.close_code == 4410
                assert heard[-1]["type"] == "conversation.moved"
                assert not [
                    event for event in heard if "text" in event or event["type"].startswith("identity")
                ]
            assert await refused(chat_server, "expired", ticket=out)
            async with connect(chat_server.ws_url, origin=chat_server.url) as again:
                await send(again, "hello", site=SITE, ticket=ticket(chat_server), conversation=old)
                assert (await receive(again, "error"))["code"] == "unknown_conversation"

    asyncio.run(run())


def test_the_sites_own_page_issues_no_handover_ticket(chat_server: Any) -> None:
    async def run() -> None:
        async with opened(chat_server) as (socket, _):
            await send(socket, "handover.request")
            assert (await receive(socket, "error"))["code"] == "forbidden_origin"

    asyncio.run(run())

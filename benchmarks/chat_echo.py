"""The baselines of the chat's load: a WebSocket that says again what it hears, by Channels and by Starlette."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Give the application that is asked for, and load only what that one needs."""
    if name == "channels":
        return _channels()
    if name == "starlette":
        return _starlette()
    raise AttributeError(name)


def _channels() -> Any:
    from channels.generic.websocket import AsyncWebsocketConsumer
    from channels.routing import ProtocolTypeRouter, URLRouter
    from django.conf import settings
    from django.urls import path

    if not settings.configured:
        settings.configure()

    class Echo(AsyncWebsocketConsumer):
        async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
            await self.send(text_data=text_data)

    return ProtocolTypeRouter({"websocket": URLRouter([path("echo/", Echo.as_asgi())])})


def _starlette() -> Any:
    from starlette.applications import Starlette
    from starlette.routing import WebSocketRoute
    from starlette.websockets import WebSocket

    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        async for text in socket.iter_text():
            await socket.send_text(text)

    return Starlette(routes=[WebSocketRoute("/echo/", echo)])

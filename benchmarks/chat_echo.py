"""The baselines of the chat: a WebSocket that says again what it hears, by Channels and by Starlette; and its pages."""

from typing import Any

PAGE = """<!doctype html><title>Echo</title><div data-status="connecting"><textarea id="chat-input"></textarea><ol></ol></div>
<script>
const place = document.querySelector("div"), field = document.querySelector("textarea");
const socket = new WebSocket(`ws://${location.host}/echo/`);
const show = (role, text) => {
  const item = document.createElement("li"), inner = document.createElement("p");
  item.className = `chat-${role}`;
  inner.className = "chat-text";
  inner.textContent = text;
  item.append(inner);
  document.querySelector("ol").append(item);
};
socket.onopen = () => (place.dataset.status = "online");
socket.onmessage = ({data}) => show("assistant", data);
field.onkeydown = (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  show("user", field.value);
  socket.send(field.value);
  field.value = "";
};
</script>"""
SHOP = """<!doctype html><title>Shop</title><script src="{chat}w/v1/loader.js" data-site="{site}" async></script>"""


def __getattr__(name: str) -> Any:
    """Return the application of this name, and load only what it needs."""
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
    from starlette.requests import Request
    from starlette.responses import HTMLResponse
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket

    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        async for text in socket.iter_text():
            await socket.send_text(text)

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse(PAGE)

    async def shop(request: Request) -> HTMLResponse:
        return HTMLResponse(SHOP.format(**request.query_params))

    return Starlette(routes=[WebSocketRoute("/echo/", echo), Route("/", page), Route("/shop/", shop)])

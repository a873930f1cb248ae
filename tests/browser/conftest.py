"""Chromium on the demo page: console errors, blocked content and foreign requests fail the test."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser.windows import SharedWindow
from lines import Line
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Locator,
    Page,
    ViewportSize,
    WebSocketRoute,
    expect,
    sync_playwright,
)

# The one without windows, where it is installed, needs less of the processor.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium") or "/usr/bin/chromium"
# Popups of an address bar that nobody sees: they cost more than all else of a window.
ADDRESS_BAR = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"]
# What Playwright switches off itself (chromiumSwitches.ts); Chromium heeds only the last such list, which is ours.
BY_PLAYWRIGHT = [
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
]
# A process in reserve for each page, of which none is used.
IN_RESERVE = ["SpareRendererForSitePerProcess"]
ARGUMENTS = [
    f"--disable-features={','.join(ADDRESS_BAR + BY_PLAYWRIGHT + IN_RESERVE)}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--site-per-process",  # as in a browser with windows: a frame of another site has a process of its own
    "--renderer-process-limit=1",  # and pages of one site in one window share theirs
]
WATCH = """
window.seen = {violations: [], spoken: []};
addEventListener("securitypolicyviolation", (event) => seen.violations.push(event.violatedDirective));
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  const region = document.querySelector(".chat > [aria-live=polite]");
  if (region?.textContent && seen.spoken.at(-1) !== region.firstChild) seen.spoken.push(region.firstChild);
}).observe(document.body, {childList: true, subtree: true}));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module only: while Playwright's event loop runs, Django's ORM refuses to work in this thread."""
    if not os.access(CHROMIUM, os.X_OK):
        if os.environ.get("CI"):
            pytest.fail(f"{CHROMIUM} is missing")
        pytest.skip(f"{CHROMIUM} is missing")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def storing_window(browser: Browser, tmp_path: Path) -> Callable[..., BrowserContext]:
    """Opens a window in which frames of other sites can store something; in the others they cannot."""
    preferences = tmp_path / "Default" / "Preferences"
    preferences.parent.mkdir()
    allowed = {"cookie_controls_mode": 0, "block_third_party_cookies": False}
    preferences.write_text(json.dumps({"profile": allowed}))

    def launch(**options: Any) -> BrowserContext:
        kind = browser.browser_type
        return kind.launch_persistent_context(tmp_path, executable_path=CHROMIUM, args=ARGUMENTS, **options)

    return launch


class ChatPage:
    """The demo page as a person uses it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("console", self._console)
        page.on("request", self._request)
        page.add_init_script(WATCH)
        self.lost_line = False  # a test that cuts the line expects the browser to complain about it

    def _dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning") and not (self.lost_line and "WebSocket" in message.text):
            self.problems.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.base).netloc:
            self.problems.append(f"foreign request: {request.url}")

    def open(self, lang: str = "en") -> "ChatPage":
        self.page.goto(f"{self.base}/?lang={lang}")
        return self.online()

    def online(self) -> "ChatPage":
        expect(self.page.locator("#chat[data-status=online]")).to_be_attached(timeout=15_000)
        return self

    @property
    def input(self) -> Locator:
        return self.page.locator("#chat-input")

    @property
    def items(self) -> Locator:
        return self.page.locator(".chat-list > li")

    @property
    def answers(self) -> Locator:
        """The assistant's finished messages."""
        return self.page.locator(".chat-assistant:not(:has(.chat-progress))")

    def ask(self, text: str) -> Locator:
        """Send a message with the keyboard and return the finished answer to it."""
        before = self.answers.count()
        self.input.fill(text)
        self.input.press("Enter")
        answer = self.answers.nth(before)
        expect(answer).to_be_visible(timeout=15_000)
        return answer

    def texts(self) -> list[str]:
        return self.items.locator(".chat-text").all_inner_texts()

    def spoken(self) -> list[str]:
        """What was announced to screen readers, in order."""
        told: list[str] = self.page.evaluate("seen.spoken.map((node) => node.textContent)")
        return told


@pytest.fixture(scope="module")
def shared_window(browser: Browser, chat_server: Any) -> SharedWindow:
    return SharedWindow(browser, chat_server.url)


@pytest.fixture
def new_chat(
    browser: Browser, chat_server: Any, shared_window: SharedWindow
) -> Iterator[Callable[..., ChatPage]]:
    """Makes pages, each in a window of its own, and checks at the end that none of them had a problem."""
    made: list[ChatPage] = []

    def make(width: int = 1280, height: int = 900, base: str = chat_server.url, **options: Any) -> ChatPage:
        if made or options:
            page = browser.new_context(reduced_motion="reduce", **options).new_page()
        else:
            page = shared_window.new_page(base)
        page.set_viewport_size(ViewportSize(width=width, height=height))
        made.append(ChatPage(page, base.rstrip("/")))
        return made[-1]

    yield make
    for chat in made:
        assert chat.problems == []
        assert chat.page.evaluate("window.seen.violations") == []
        if chat.page.context is not shared_window.context:
            chat.page.context.close()
    shared_window.close_pages()


@pytest.fixture
def line(chat_server: Any) -> Iterator[Line]:
    port = urlsplit(chat_server.url).port
    assert port
    line = Line(port)
    yield line
    line.close()


Frame = dict[str, Any]


class ScriptedServer:
    """Answers the page's sockets from a script and keeps what the page sent."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.socket: WebSocketRoute | None = None
        self.frames: list[Frame] = []
        self.log: list[Frame] = []
        self.answers: dict[str, Callable[[Frame], None]] = {
            "hello": self.welcome,
            "message.send": self.accept,
        }
        page.route_web_socket("**/ws/chat/", self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        self.socket = socket
        socket.on_message(self._receive)

    def _receive(self, message: str | bytes) -> None:
        frame = json.loads(message)
        self.frames.append(frame)
        if answer := self.answers.get(frame["type"]):
            answer(frame)

    def send(self, type: str, **fields: Any) -> None:
        assert self.socket
        self.socket.send(json.dumps({"v": 1, "type": type, **fields}))

    def say(self, seq: int, text: str, role: str = "assistant", **fields: Any) -> Frame:
        """A numbered message; stored for replays, sent by `send(**…)`."""
        body = {"seq": seq, "role": role, "text": text, "lang": "en", "cards": [], "suggestions": []}
        body["factual"] = True
        return {"type": "message.completed", **body, **fields}

    def welcome(self, frame: Frame) -> None:
        missed = [event for event in self.log if event["seq"] > frame.get("last_seq", 0)]
        head = self.log[-1]["seq"] if self.log else 0
        self.send("hello.ok", conversation="secret-1", last_seq=head, mode="bot", events=missed)

    def accept(self, frame: Frame) -> None:
        event = self.say(len(self.log) + 1, frame["text"], "user", client_msg_id=frame["client_msg_id"])
        self.log.append(event)
        self.send("message.accepted", client_msg_id=frame["client_msg_id"], seq=event["seq"], duplicate=False)
        self.send(**event)

    def sent(self, type: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] == type]

    def wait(self, type: str, count: int = 1) -> list[Frame]:
        for _tick in range(100):
            if len(self.sent(type)) >= count:
                break
            self.page.wait_for_timeout(50)
        assert len(self.sent(type)) == count
        return self.sent(type)


@pytest.fixture
def make_server() -> type[ScriptedServer]:
    return ScriptedServer


@pytest.fixture
def chat(new_chat: Callable[..., ChatPage]) -> ChatPage:
    return new_chat()


@pytest.fixture
def server(chat: ChatPage) -> ScriptedServer:
    """In place of the real server; make it before the page is opened."""
    return ScriptedServer(chat.page)

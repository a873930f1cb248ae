"""The chat on somebody else's website: a second server plays a shop with a strict policy and unkind styles."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.looking import AXE
from playwright.sync_api import Browser, FrameLocator, Locator, Page, ViewportSize, expect

pytestmark = pytest.mark.browser
LABEL = {"en": "Chat with the pharmacy", "he": "שיחה עם בית המרקחת"}
UNKIND = """
* { all: unset !important; display: block !important; font: 30px cursive !important; color: #888 !important;
    letter-spacing: 9px !important; text-transform: uppercase !important }
head, head * { display: none !important }
div, dialog, iframe, span { display: none !important; visibility: hidden !important; opacity: 0 !important }
button { position: static !important; width: 9px !important; background: red !important; pointer-events: none !important }
"""
PAGE = """<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>Shop</title>{style}
<meta name="viewport" content="width=device-width, initial-scale=1">{snippets}</head>
<body><main><h1>Shop</h1><p>Soap and tea. <a href="/?{query}&again=1">Again</a></p></main></body></html>"""
SITE = """
from agent.models import ChatSite
ChatSite.objects.update_or_create(public_id="pub_shop", defaults={{"name": "Shop", "origins": ["{origin}"]}})
ChatSite.objects.update_or_create(public_id="pub_other", defaults={{"name": "Other", "origins": ["https://other.example"]}})
"""


class Shop:
    """A website of its own origin, in this process."""

    def __init__(self, chat_url: str) -> None:
        self.chat_url = chat_url
        shop = self

        class Door(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shop.answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        # Another host name than the chat's: to the browser it is another site, not only another port.
        self.url = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, door: BaseHTTPRequestHandler) -> None:
        address = urlsplit(door.path)
        asked = dict(pair.split("=", 1) for pair in address.query.split("&") if "=" in pair)
        kind, body = "text/html", ""
        if address.path == "/unkind.css":
            kind, body = "text/css", UNKIND
        elif address.path == "/":
            line = '<script src="{}/w/v1/loader.js" data-site="{}" data-locale="{}" async></script>'
            line = line.format(self.chat_url, asked.get("site", "pub_shop"), asked.get("locale", "auto"))
            body = PAGE.format(
                lang=asked.get("lang", "en"),
                query=address.query,
                style='<link rel="stylesheet" href="/unkind.css">' if "unkind" in asked else "",
                snippets=line * int(asked.get("times", "1")),
            )
        policy = (
            f"default-src 'none'; script-src {self.chat_url}; frame-src {self.chat_url}; style-src 'self'"
        )
        door.send_response(200 if body else 204)
        door.send_header("Content-Type", f"{kind}; charset=utf-8")
        door.send_header("Content-Security-Policy", policy)
        door.end_headers()
        door.wfile.write(body.encode())


@pytest.fixture(scope="module")
def shop(chat_server: Any) -> Iterator[Shop]:
    shop = Shop(chat_server.url)
    chat_server.shell(SITE.format(origin=shop.url))
    yield shop
    shop.server.shutdown()
    shop.server.server_close()


class ShopPage:
    """The shop's page as a visitor uses it."""

    def __init__(self, page: Page, shop: Shop) -> None:
        self.page, self.shop = page, shop
        self.console: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda told: told.type in ("error", "warning") and self.console.append(told.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.add_init_script(
            "window.reports = []; addEventListener('securitypolicyviolation', (e) => reports.push(e.violatedDirective))"
        )

    def open(self, **asked: str) -> "ShopPage":
        query = "&".join(f"{name}={value}" for name, value in asked.items())
        self.page.goto(f"{self.shop.url}/?{query}")
        return self

    @property
    def launcher(self) -> Locator:
        return self.page.locator("#launch")

    @property
    def panel(self) -> Locator:
        return self.page.locator("dialog#panel")

    @property
    def chat(self) -> FrameLocator:
        return self.page.frame_locator("iframe")

    @property
    def input(self) -> Locator:
        return self.chat.locator("#chat-input")

    def opened(self) -> "ShopPage":
        self.launcher.click()
        expect(self.chat.locator("#chat[data-status=online]")).to_be_visible(timeout=15_000)
        return self

    def ask(self, text: str) -> Locator:
        answers = self.chat.locator(".chat-assistant:not(:has(.chat-progress))")
        before = answers.count()
        self.input.fill(text)
        self.input.press("Enter")
        expect(answers.nth(before)).to_be_visible(timeout=15_000)
        return answers.nth(before)

    def from_frame(self, message: dict[str, Any]) -> None:
        """Has the frame's page say something to the page around it."""
        self.chat.locator("body").evaluate(
            "(body, message) => parent.postMessage(message, '*')", {"pharmacyChat": 1, **message}
        )

    def chats_requests(self) -> list[str]:
        base = self.shop.chat_url
        return [url.removeprefix(base) for url in self.requests if url.startswith(base)]


@pytest.fixture
def visit(browser: Browser, storing_window: Any, shop: Shop) -> Iterator[Callable[..., ShopPage]]:
    """Makes visitors' pages and checks at the end that none had a console error or a policy report.

    In their windows a frame of another site can store nothing, unless `stores` is asked for.
    """
    made: list[ShopPage] = []

    def make(width: int = 1280, height: int = 900, stores: bool = False, **options: Any) -> ShopPage:
        options["viewport"] = ViewportSize(width=width, height=height)
        context = storing_window(**options) if stores else browser.new_context(**options)
        made.append(ShopPage(context.new_page(), shop))
        return made[-1]

    yield make
    for visitor in made:
        assert visitor.console == []
        for frame in visitor.page.frames:
            assert frame.evaluate("window.reports") == []
        visitor.page.context.close()


# -- Before the first click ---------------------------------------------------------------------------------
def test_the_frame_is_loaded_only_after_the_click(visit: Callable[..., ShopPage]) -> None:
    visitor = visit().open()
    expect(visitor.launcher).to_be_visible()
    visitor.page.wait_for_load_state("networkidle")
    assert visitor.chats_requests() == ["/w/v1/loader.js", "/w/v1/sites/pub_shop.js"]
    assert visitor.page.locator("iframe").count() == 0
    visitor.opened()
    assert "/embed/pub_shop/?lang=en" in visitor.chats_requests()


def test_a_page_that_is_not_listed_shows_nothing_and_warns_once(
    visit: Callable[..., ShopPage], shop: Shop
) -> None:
    for site, why in (("pub_other", f"{shop.url} is not on the list"), ("pub_nobody", "there is no site")):
        visitor = visit().open(site=site)
        visitor.page.wait_for_load_state("networkidle")
        assert len(visitor.console) == 1 and why in visitor.console[0]
        visitor.page.evaluate("PharmacyChat.open()")
        assert visitor.launcher.count() == 0 and visitor.page.locator("iframe").count() == 0
        assert not [path for path in visitor.chats_requests() if path.startswith("/embed/")]
        visitor.console.clear()


def test_a_frame_on_a_page_that_is_not_listed_is_blocked(visit: Callable[..., ShopPage], shop: Shop) -> None:
    visitor = visit().open()
    visitor.page.evaluate(
        "(src) => document.body.append(Object.assign(document.createElement('iframe'), {src}))",
        f"{shop.chat_url}/embed/pub_other/",
    )
    visitor.page.wait_for_timeout(1_000)
    assert "frame-ancestors" in " ".join(visitor.console)
    visitor.console.clear()
    visitor.open()


@pytest.mark.parametrize("times", ["2", "3"])
def test_two_script_tags_make_one_chat(visit: Callable[..., ShopPage], times: str) -> None:
    visitor = visit().open(times=times)
    expect(visitor.launcher).to_have_count(1)
    visitor.page.wait_for_load_state("networkidle")
    expect(visitor.launcher).to_have_count(1)


# -- Open and closed ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("lang", ["en", "he"])
def test_the_keyboard_opens_and_closes_the_chat_and_the_focus_returns(
    visit: Callable[..., ShopPage], lang: str
) -> None:
    visitor = visit().open(lang=lang)
    expect(visitor.launcher).to_have_accessible_name(LABEL[lang])
    expect(visitor.launcher).to_have_attribute("aria-expanded", "false")
    visitor.launcher.focus()
    visitor.page.keyboard.press("Enter")
    expect(visitor.launcher).to_have_attribute("aria-expanded", "true")
    expect(visitor.panel).to_have_accessible_name(LABEL[lang])
    expect(visitor.input).to_be_focused(timeout=15_000)
    expect(visitor.chat.locator("html")).to_have_attribute("dir", "rtl" if lang == "he" else "ltr")
    visitor.page.keyboard.press("Escape")
    expect(visitor.panel).to_be_hidden()
    expect(visitor.launcher).to_be_focused()
    expect(visitor.launcher).to_have_attribute("aria-expanded", "false")
    visitor.page.keyboard.press("Enter")
    expect(visitor.input).to_be_focused()
    box, edge = visitor.launcher.bounding_box(), 1280 / 2
    assert box and box["width"] == box["height"] == 56 and (box["x"] < edge) is (lang == "he")


def test_on_a_phone_the_chat_fills_the_screen(visit: Callable[..., ShopPage]) -> None:
    visitor = visit(390, 844, has_touch=True, is_mobile=True).open().opened()
    assert visitor.panel.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert visitor.panel.evaluate("(panel) => panel.matches(':modal')")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.chat.locator(".chat-head button").last.click()  # the chat's own button
    expect(visitor.panel).to_be_hidden()
    expect(visitor.launcher).to_be_visible()


def test_the_chat_stays_open_when_the_window_becomes_narrow(visit: Callable[..., ShopPage]) -> None:
    visitor = visit().open().opened()
    visitor.input.fill("half a question")
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    expect(visitor.page.locator("dialog#panel:modal")).to_be_visible()
    expect(visitor.input).to_have_value("half a question")


def test_styles_of_the_page_do_not_affect_the_chat(visit: Callable[..., ShopPage]) -> None:
    kind, unkind = visit().open(), visit().open(unkind="1")
    for visitor in (kind, unkind):
        expect(visitor.launcher).to_be_visible()
    look = """(element) => { const style = getComputedStyle(element); return ["width", "height", "position", "color",
      "backgroundColor", "fontSize", "letterSpacing", "textTransform", "opacity", "pointerEvents", "display"]
      .map((name) => style[name]) }"""
    assert unkind.launcher.evaluate(look) == kind.launcher.evaluate(look)
    assert unkind.launcher.bounding_box() == kind.launcher.bounding_box()
    for visitor in (kind, unkind):
        visitor.opened()
    assert unkind.panel.evaluate(look) == kind.panel.evaluate(look)
    assert unkind.panel.bounding_box() == kind.panel.bounding_box()


@pytest.mark.parametrize("lang", ["en", "he"])
@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"forced_colors": "active"}])
def test_the_embedded_chat_passes_axe(
    visit: Callable[..., ShopPage], lang: str, options: dict[str, str]
) -> None:
    visitor = visit(**options).open(lang=lang)
    expect(visitor.launcher).to_be_visible()

    def problems() -> list[str]:
        # The page's policy refuses a script of the test's, so that it is put in by the debugger.
        found = Axe().run(visitor.page, options=AXE).response["violations"]
        return [
            f"{rule['id']}: {json.dumps([node['html'][:90] for node in rule['nodes']])}" for rule in found
        ]

    assert problems() == []
    visitor.opened()
    assert problems() == []


# -- What page and frame tell each other --------------------------------------------------------------------
def test_unread_messages_are_counted_while_the_chat_is_closed(visit: Callable[..., ShopPage]) -> None:
    visitor = visit().open().opened()
    visitor.page.evaluate("window.told = []; PharmacyChat.on('unread', (news) => told.push(news.count))")
    visitor.launcher.click()
    visitor.from_frame({"type": "unread", "count": 2})
    expect(visitor.launcher).to_have_accessible_name("Chat with the pharmacy, 2 new messages")
    expect(visitor.page.locator("#badge")).to_have_text("2")
    assert visitor.page.evaluate("told") == [2]
    visitor.launcher.click()
    expect(visitor.launcher).to_have_accessible_name("Chat with the pharmacy")
    expect(visitor.page.locator("#badge")).to_be_hidden()


def test_an_answer_that_comes_while_it_is_closed_is_counted(visit: Callable[..., ShopPage]) -> None:
    visitor = visit().open().opened()
    visitor.input.fill("Do you have Advil in Jaffa?")
    # Sent and closed in one go: the answer finds the panel closed.
    visitor.chat.locator("body").evaluate(
        """() => { document.querySelector(".chat-composer").requestSubmit();
                   parent.postMessage({pharmacyChat: 1, type: "close"}, "*") }"""
    )
    expect(visitor.panel).to_be_hidden()
    expect(visitor.page.locator("#badge")).to_have_text("1", timeout=15_000)


def test_the_loader_accepts_messages_only_from_its_frame(visit: Callable[..., ShopPage]) -> None:
    visitor = visit().open().opened()
    visitor.page.evaluate("postMessage({pharmacyChat: 1, type: 'close'}, '*')")
    for message in (
        {"type": "unread", "count": -1},
        {"type": "unread", "count": "9"},
        {"type": "unread", "count": 2},  # nothing is unread while it is open
        {"type": "gone"},
        {"type": "constructor"},
        {"type": "close", "pharmacyChat": 2},
        {"type": "ready", "lang": "constructor"},
    ):
        visitor.from_frame(message)
    visitor.page.wait_for_timeout(200)
    expect(visitor.panel).to_be_visible()
    expect(visitor.launcher).to_have_accessible_name(LABEL["en"])
    expect(visitor.page.locator("#badge")).to_be_hidden()


def test_the_frame_accepts_messages_only_from_the_sites_pages(
    visit: Callable[..., ShopPage], shop: Shop
) -> None:
    visitor = visit().open().opened()
    inner = visitor.page.frames[1]
    inner.evaluate("postMessage({pharmacyChat: 1, type: 'shutdown'}, '*')")
    inner.evaluate(
        """() => dispatchEvent(new MessageEvent("message", {source: parent, origin: "https://evil.example",
             data: {pharmacyChat: 1, type: "shutdown"}}))"""
    )
    visitor.page.wait_for_timeout(200)
    expect(visitor.chat.locator("#chat")).to_have_attribute("data-status", "online")


def test_the_pages_script_interface_controls_the_chat(visit: Callable[..., ShopPage]) -> None:
    visitor = visit().open()
    expect(visitor.launcher).to_be_visible()
    visitor.page.evaluate(
        """window.told = []; for (const name of ["ready", "open", "unread", "error"])
           PharmacyChat.on(name, () => told.push(name)); PharmacyChat.open()"""
    )
    expect(visitor.chat.locator("#chat[data-status=online]")).to_be_visible(timeout=15_000)
    visitor.page.evaluate("PharmacyChat.setLocale('he')")
    expect(visitor.chat.locator("html")).to_have_attribute("lang", "he", timeout=15_000)
    expect(visitor.launcher).to_have_accessible_name(LABEL["he"])
    visitor.chat.locator(".chat-switch").click()  # the chat's own switch takes the page's button along
    expect(visitor.launcher).to_have_accessible_name(LABEL["en"], timeout=15_000)
    assert visitor.page.evaluate("history.length") == 2  # about:blank and the shop
    visitor.page.evaluate("PharmacyChat.toggle()")
    expect(visitor.panel).to_be_hidden()
    assert visitor.page.evaluate("told") == ["ready", "open"]


def test_shutdown_forgets_the_conversation(visit: Callable[..., ShopPage]) -> None:
    visitor = visit(stores=True).open().opened()
    visitor.ask("Do you have Advil in Jaffa?")
    visitor.open().opened()
    expect(visitor.chat.locator(".chat-user")).to_have_count(1)
    visitor.open()  # a page on which the chat was not opened
    expect(visitor.launcher).to_be_visible()
    visitor.page.evaluate("PharmacyChat.shutdown()")
    expect(visitor.launcher).to_have_count(0, timeout=15_000)
    visitor.open().opened()
    expect(visitor.chat.locator(".chat-user")).to_have_count(0)


# -- Navigation ---------------------------------------------------------------------------------------------
def test_a_site_that_changes_its_body_keeps_the_chat(visit: Callable[..., ShopPage]) -> None:
    visitor = visit().open().opened()
    visitor.ask("Do you have Advil in Jaffa?")
    visitor.page.evaluate(
        "history.pushState({}, '', '/?next=1'); document.body.replaceWith(document.createElement('body'))"
    )
    expect(visitor.panel).to_be_visible()
    expect(visitor.chat.locator(".chat-user")).to_have_count(1)
    visitor.page.go_back()
    expect(visitor.chat.locator(".chat-user")).to_have_count(1)


def test_following_a_link_and_going_back_keeps_the_conversation(visit: Callable[..., ShopPage]) -> None:
    visitor = visit(stores=True).open().opened()
    visitor.ask("Do you have Advil in Jaffa?")
    visitor.page.get_by_role("link", name="Again").click()
    visitor.opened()
    expect(visitor.chat.locator(".chat-user")).to_have_count(1)
    visitor.page.go_back()
    visitor.opened()
    expect(visitor.chat.locator(".chat-user")).to_have_count(1)


# -- The chat in the frame ----------------------------------------------------------------------------------
def test_prescriptions_are_shown_only_in_a_window_of_the_sites_own(visit: Callable[..., ShopPage]) -> None:
    visitor = visit(stores=True).open().opened()
    expect(visitor.ask("Do you have Advil in Jaffa?").locator(".chat-text")).to_contain_text("Jaffa")
    said = visitor.ask("What prescriptions do I have? My e-mail is david.cohen@example.com")
    expect(said.locator(".chat-text").first).to_contain_text("own site")
    with visitor.page.context.expect_page() as opening:
        said.locator(".chat-card button").click()
    own = opening.value
    expect(own.locator("#chat[data-status=online]")).to_be_visible(timeout=15_000)
    assert own.evaluate("location.hash") == "" and own.evaluate("window.opener") is None
    expect(own.locator(".chat-user")).to_have_count(2)
    expect(own.locator(".chat-assistant").last).to_contain_text("email", timeout=15_000)
    own.locator("#chat-input").fill("david.cohen@example.com")
    own.locator("#chat-input").press("Enter")
    code = own.locator("#inbox .code")
    expect(code).to_be_visible(timeout=15_000)
    own.get_by_label("Code from your message").fill(code.inner_text())
    own.get_by_role("button", name="Confirm").click()
    expect(own.get_by_role("log")).to_contain_text("Metformin", timeout=15_000)
    # The frame has lost the conversation: nothing of the patient arrives there.
    assert "Metformin" not in visitor.chat.locator("body").inner_text()
    for page in (visitor.page.frames[1], own):
        stored = page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])")
        assert "Metformin" not in stored and "david" not in stored


def test_the_demo_shop_shows_the_chat(browser: Browser, chat_server: Any) -> None:
    chat_server.manage("load_demo", "-v0", "--port", str(urlsplit(chat_server.url).port))
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{chat_server.url}/?lang=en")
    expect(page.locator("#chat[data-status=online]")).to_be_visible(timeout=15_000)
    page.goto(f"{chat_server.url}/demo/shop/?lang=en")  # of the same origin, with a conversation of its own
    page.locator("#launch").click()
    expect(page.frame_locator("iframe").locator("#chat[data-status=online]")).to_be_visible(timeout=15_000)
    context.close()

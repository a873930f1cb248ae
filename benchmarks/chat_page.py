"""What a customer waits for: the served demo page and the frame on another website, in Chromium."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.chat_client import SCRIPTS
from benchmarks.databases import ROOT, Databases
from benchmarks.measure import percentile, ratio
from benchmarks.servers import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TITLE = "The chat in Chromium: what a customer waits for, and its bytes"
NOTES = (
    "Command: python benchmarks/run.py --only chat_page",
    "Milliseconds from pressing Enter until the frame in which it is on the screen: the customer's own message, the first",
    "sign of work, the first text of the answer, the whole answer. `usable`: from going to the address (empty cache), or",
    "from the click on the button that an embedding website shows, until the field takes text and the line is open.",
    "Baseline, in the same run and browser: a bare page with one field and one list, whose WebSocket says again what it",
    "hears (Starlette). × bare: our median over its median for the same thing (its echo stands for sign, text and answer).",
    "Files: what the page loads of ours, collected as for a deployment; KB as they are, compressed by gzip, and sent.",
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]  # fmt: skip
SENDS, OPENS = 20, 8
SITE = "pub_bench"
STAGES = {
    "own message": "mark.mine().length > mark.before.mine",
    "sign of work": "document.querySelector('.chat-progress') || mark.texts().length > mark.before.texts",
    "text of the answer": "mark.texts().length > mark.before.texts",
    "whole answer": "mark.texts().length > mark.before.texts && !document.querySelector('.chat-progress')",
}
WATCH = """
const mark = window.mark = {
  mine: () => [...document.querySelectorAll(".chat-user")],
  texts: () => [...document.querySelectorAll(".chat-assistant .chat-text")].filter((each) => !each.hidden && each.textContent),
  seen: {},
};
const stages = {STAGES};
addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  mark.before = {mine: mark.mine().length, texts: mark.texts().length};
  mark.seen = {};
  mark.at = performance.now();
}, true);
new MutationObserver(() => {
  if (!mark.at) return;
  for (const [name, there] of Object.entries(stages)) {
    if (name in mark.seen || !there()) continue;
    mark.seen[name] = null;
    requestAnimationFrame(() => (mark.seen[name] = performance.now() - mark.at));
  }
}).observe(document, {childList: true, subtree: true, attributes: true, characterData: true});
""".replace(
    "STAGES", ", ".join(f"{json.dumps(name)}: () => Boolean({test})" for name, test in STAGES.items())
)
USABLE = """() => {
  const field = document.querySelector("#chat-input");
  const place = document.querySelector("[data-status]");
  return field && !field.disabled && field.getClientRects().length && place?.dataset.status === "online"
    && performance.now();
}"""
Row = dict[str, Any]


def absent(vendor: str) -> str:
    """Return why this cannot be measured here, empty when it can."""
    if not os.access(CHROMIUM, os.X_OK):
        return f"chat_page skipped, {CHROMIUM} is missing"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "chat_page skipped, playwright is missing"
    return ""


def measure(own: Databases) -> list[Row]:
    """Return a row per thing that is waited for, and the bytes."""
    from playwright.sync_api import sync_playwright

    static = own.folder / f"static_{own.vendor}"
    limits = dict.fromkeys(
        ("CHAT_MESSAGES_PER_MINUTE", "CHAT_SOCKETS_PER_MINUTE", "CHAT_CONVERSATIONS_PER_HOUR"), "10000"
    )
    env = {**os.environ, **limits, "DEBUG": "0", "STATIC_ROOT": str(static)}
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, cwd=ROOT, env=env, check=True)
    with served("serve", "", env) as site, served("uvicorn", "benchmarks.chat_echo:starlette", env) as bare:
        ours = f"http://127.0.0.1:{site.port}/"
        elsewhere = f"http://localhost:{bare.port}"  # to the browser another host name is another website
        _site_make(elsewhere)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            bare_page = f"http://127.0.0.1:{bare.port}/"
            rows = _waits(browser, ours, bare_page, own)
            shop = f"{elsewhere}/shop/?chat={ours}&site={SITE}"
            rows += _opens(browser, ours, bare_page, shop, own, static)
            browser.close()
    return rows


def _site_make(origin: str) -> None:
    """Allow the embedding website of this benchmark."""
    import django

    django.setup()
    from agent.models import ChatSite

    ChatSite.objects.create(public_id=SITE, name="Benchmark", origins=[origin])


def _waits(browser: "Browser", ours: str, bare: str, own: Databases) -> list[Row]:
    """Send the same messages on both pages in turn."""
    texts = [text for script in SCRIPTS for text in script]
    taken: dict[str, list[dict[str, float]]] = {ours: [], bare: []}
    with _page(browser, ours) as first, _page(browser, bare) as second:
        for turn in range(-2, SENDS):  # the first two are not counted
            for address, page in ((ours, first), (bare, second)):
                page.locator("#chat-input").fill(texts[turn % len(texts)])
                page.locator("#chat-input").press("Enter")
                everything = (
                    f"() => Object.values(mark.seen).filter(Number.isFinite).length === {len(STAGES)}"
                )
                page.wait_for_function(everything, timeout=60_000)
                if turn >= 0:
                    taken[address].append(page.evaluate("mark.seen"))
    return [
        _row(own, f"Enter → {name}", *([one[name] for one in taken[address]] for address in (ours, bare)))
        for name in STAGES
    ]


def _opens(browser: "Browser", ours: str, bare: str, shop: str, own: Databases, static: Path) -> list[Row]:
    """Open both pages in turn, each time in a new browser session, then the frame, and count what came."""
    taken: dict[str, list[float]] = {ours: [], bare: []}
    for _ in range(OPENS):
        for address, times in taken.items():
            with _page(browser, address) as page:
                times.append(page.evaluate("usable"))
                if address == ours:
                    files = page.evaluate(
                        "performance.getEntriesByType('resource')"
                        ".map(({name, transferSize}) => [name, transferSize])"
                    )
    rows = [_row(own, "address → usable", taken[ours], taken[bare])]
    clicks = [_frame_opens(browser, shop) for _ in range(OPENS)]
    rows.append(_row(own, "button of a website → usable", [click for click, _ in clicks], taken[bare]))
    rows.append({"database": own.vendor, "what": "files of the page", **_bytes(files, static)})
    # Browsers do not tell how much of another site's files was sent.
    before = _bytes(clicks[-1][1], static) | {"KB sent": None}
    rows.append({"database": own.vendor, "what": "files of a website before the click", **before})
    return rows


def _frame_opens(browser: "Browser", shop: str) -> tuple[float, list[list[Any]]]:
    """Return the milliseconds from the click on the button, and the files that the website had loaded before it."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(shop)
    page.locator("#launch").wait_for()
    files = page.evaluate(
        "performance.getEntriesByType('resource').map((each) => [each.name, each.transferSize])"
    )
    began = time.perf_counter()
    page.locator("#launch").click()
    page.wait_for_selector("iframe", state="attached")
    frame = page.frames[-1]
    frame.wait_for_function(USABLE, timeout=30_000)
    seconds = time.perf_counter() - began
    context.close()
    return seconds * 1000, files


@contextmanager
def _page(browser: "Browser", address: str) -> "Iterator[Page]":
    """Give the page, in a session of its own, when it can be used."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(address, wait_until="commit")
    usable = page.wait_for_function(USABLE, timeout=30_000).json_value()
    page.evaluate("(usable) => (window.usable = usable)", usable)
    yield page
    context.close()


def _bytes(files: list[list[Any]], static: Path) -> Row:
    """Return how many files of ours these addresses are, and how large."""
    own = [(data, sent) for address, sent in files if (data := _ours(address, static))]
    return {
        "requests": len(files),
        "KB": sum(len(data) for data, _ in own) / 1024,
        "KB gzip": sum(len(gzip.compress(data)) for data, _ in own) / 1024,
        "KB sent": sum(sent for _, sent in own) / 1024,
    }


def _ours(address: str, static: Path) -> bytes:
    """Return the collected file of ours at this address, empty for any other."""
    path = address.split("/", 3)[3].partition("?")[0].replace("w/v1/loader.js", "static/embed/loader.js")
    file = static / path.removeprefix("static/")
    return file.read_bytes() if path.startswith("static/") and file.is_file() else b""


def _row(own: Databases, what: str, ours: list[float], bare: list[float]) -> Row:
    return {
        "database": own.vendor,
        "what": what,
        "median": percentile(ours, 0.5),
        "p95": percentile(ours, 0.95),
        "bare": percentile(bare, 0.5),
        "× bare": ratio(ours, bare),
        "requests": None,
        "KB": None,
        "KB gzip": None,
        "KB sent": None,
    }

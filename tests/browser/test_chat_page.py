"""The demo page in Chromium on the real server: languages, keyboard, codes, reload, a lost line, markup."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.looking import AXE
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
DISCLOSURE = {
    "en": "Digital assistant (AI) – not medical advice",
    "he": "עוזר דיגיטלי (בינה מלאכותית) – לא ייעוץ רפואי",
}
SMALL_TARGETS = """
[...document.querySelectorAll("button, .chat a, nav a, textarea")].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width && (box.width < 44 || box.height < 44);
}).map((element) => element.outerHTML)
"""
INVISIBLE = r"[\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
EMAIL = "What prescriptions do I have? My e-mail is david.cohen@example.com"


def test_a_window_that_tests_share_is_empty_for_each_of_them(shared_window: Any, chat_server: Any) -> None:
    address = f"{chat_server.url}/healthz"
    before = shared_window.new_page(chat_server.url)
    before.goto(address)
    stored = "document.cookie = 'a=1'; localStorage.setItem('a', '1'); sessionStorage.setItem('a', '1')"
    before.evaluate(stored)
    found = "[document.cookie, localStorage.length, sessionStorage.length]"
    assert before.evaluate(found) == ["a=1", 1, 1]
    page = shared_window.new_page(chat_server.url)
    page.goto(address)
    assert before.is_closed() and page.evaluate(found) == ["", 0, 0]


@pytest.mark.parametrize("lang", ["en", "he"])
def test_the_page_opens_with_the_chat(new_chat: Any, lang: str) -> None:
    chat = new_chat().open(lang)
    expect(chat.page.locator("html")).to_have_attribute("dir", "rtl" if lang == "he" else "ltr")
    expect(chat.page.locator(".chat-disclosure")).to_have_text(DISCLOSURE[lang])
    for width in (320, 390, 1280):
        chat.page.set_viewport_size({"width": width, "height": 844})
        expect(chat.input).to_be_in_viewport()
        assert chat.page.evaluate("document.documentElement.scrollWidth") <= width
        assert chat.page.evaluate(SMALL_TARGETS) == []


def test_a_chosen_language_is_remembered(new_chat: Any) -> None:
    chat = new_chat().open("en")
    chat.page.get_by_role("link", name="עברית").click()
    expect(chat.page.locator("html")).to_have_attribute("lang", "he")
    chat.page.goto(chat.base)
    expect(chat.page.locator("html")).to_have_attribute("lang", "he")


def test_an_answer_shows_its_tool_calls(new_chat: Any) -> None:
    chat = new_chat().open()
    answer = chat.ask("Do you have Advil in Jaffa?")
    expect(answer.locator(".chat-text")).to_contain_text("Jaffa")
    expect(answer.locator(".chat-bubble")).to_have_attribute("dir", "ltr")
    expect(chat.items.locator("h3")).to_have_text(
        [re.compile(r"^You, \d\d:\d\d$"), re.compile("^Assistant, ")]
    )
    steps = answer.locator(".chat-steps")
    expect(steps.locator("li").first).to_be_hidden()
    steps.locator("summary").click()
    expect(steps).to_contain_text("Checking stock in Jaffa")
    expect(steps.locator(".chat-time").first).to_have_text(
        re.compile(r"^Source: the pharmacy's stock records · \d\d:\d\d$")
    )
    # Names and arguments of functions are nothing to tell a customer.
    expect(steps.locator("code")).to_have_count(0)
    assert not re.search(r"\w_\w|\bms\b", steps.inner_text())
    chat.page.goto(f"{chat.base}/?lang=en&debug")
    chat.online()
    steps.locator("summary").click()
    expect(steps.locator("code", has_text="check_stock")).to_be_visible()


def test_a_hebrew_answer_names_the_branch_in_hebrew_in_its_look_ups(new_chat: Any) -> None:
    chat = new_chat().open("he")
    chat.ask("יש לכם Advil ב-Jaffa?")
    answer = chat.ask("יש לכם אקמול בפלורנטין?")
    chat.ask("וביפו?")
    steps = chat.page.locator(".chat-steps")
    assert answer.locator(".chat-steps").count() == 1
    told = " ".join(each.evaluate("(e) => e.textContent") for each in steps.all())
    assert "פלורנטין" in told
    assert "יפו" in told
    assert not re.search("Jaffa|Florentin|Tel Aviv", told)


def test_an_answer_is_announced_once(new_chat: Any) -> None:
    chat = new_chat().open()
    text = chat.ask("Do you have Advil in Jaffa?").locator(".chat-text").inner_text()
    chat.page.wait_for_function("() => seen.spoken.length > 0")
    opening = " ".join(text.split())[:40]
    assert sum(opening in " ".join(told.split()) for told in chat.spoken()) == 1
    expect(chat.page.get_by_role("log")).to_have_attribute("aria-live", "off")


def test_a_hebrew_answer_is_right_to_left_on_an_english_page(new_chat: Any) -> None:
    chat = new_chat().open("en")
    bubble = chat.ask("יש לכם אקמול בפלורנטין?").locator(".chat-bubble")
    expect(bubble).to_have_attribute("dir", "rtl")
    expect(bubble).to_have_attribute("lang", "he")
    expect(bubble.locator(".chat-text")).to_contain_text("פלורנטין")


def test_a_chosen_suggestion_is_sent_as_a_message(new_chat: Any) -> None:
    chat = new_chat().open()
    chat.ask("Do you have Advil in Jaffa?")
    chip = chat.page.locator(".chat-chips button").first
    text = chip.inner_text()
    chip.click()
    expect(chat.page.locator(".chat-user").last).to_contain_text(text)
    expect(chat.input).to_be_focused()
    expect(chat.answers).to_have_count(2, timeout=15_000)


def test_a_chosen_example_is_sent_as_a_message(new_chat: Any) -> None:
    chat = new_chat(390, 844, has_touch=True).open("he")
    example = chat.page.locator("[data-ask]").first
    text = example.inner_text()
    example.click()
    expect(chat.page.locator(".chat-user")).to_contain_text(text)
    expect(chat.answers).to_have_count(1, timeout=15_000)
    expect(chat.input).to_be_in_viewport()


def test_prescriptions_are_shown_after_the_code_from_the_demo_inbox(new_chat: Any) -> None:
    chat = new_chat().open()
    chat.ask(EMAIL)
    field = chat.page.get_by_label("Code from your message")
    expect(field).to_be_visible()
    expect(field).to_have_attribute("autocomplete", "one-time-code")
    expect(field).to_have_attribute("inputmode", "numeric")
    expect(field).not_to_be_focused()  # focus never moves by itself

    code = chat.page.locator("#inbox .code")
    expect(code).to_have_text(re.compile(r"^\d{6}$"), timeout=10_000)
    right = code.inner_text()
    field.fill("000000" if right != "000000" else "111111")
    field.press("Enter")
    expect(chat.page.locator("#chat-code-error")).to_contain_text("2 tries")
    expect(field).to_be_focused()

    field.fill(right)
    chat.page.get_by_role("button", name="Confirm").click()
    expect(field).to_be_hidden()
    expect(chat.page.get_by_role("log")).to_contain_text("Metformin", timeout=15_000)
    assert right not in chat.page.get_by_role("log").inner_text()


def test_a_refill_is_sent_after_confirmation_and_the_conversation_deleted(new_chat: Any) -> None:
    chat = new_chat(390, 844).open()
    chat.ask(EMAIL)
    chat.page.locator("#chat-code").fill(chat.page.locator("#inbox .code").inner_text())
    chat.page.locator("#chat-code").press("Enter")
    log = chat.page.get_by_role("log")
    expect(log).to_contain_text("Metformin", timeout=15_000)
    chat.ask("I want to refill my Metformin")
    chat.ask("the online store")
    card = chat.page.locator(".chat-confirm")
    expect(card).to_contain_text("Metformin")
    card.get_by_role("button").first.click()
    expect(card).to_contain_text("Your answer", timeout=15_000)
    progress = chat.page.locator(".chat-card-refill")
    expect(progress).to_have_count(1)
    expect(progress.locator("[aria-current=step]")).to_contain_text("Being prepared")
    chat.page.get_by_role("button", name="Helpful", exact=True).last.click()
    expect(chat.page.locator(".chat-feedback").last).to_contain_text("Thank you")
    # Other tests use this site: the refill is given back.
    chat.ask("cancel my refill")
    expect(card).to_have_count(2)
    card.last.get_by_role("button").first.click()
    expect(progress.locator(".chat-step-stopped")).to_contain_text("Cancelled", timeout=15_000)
    old = chat.page.evaluate("sessionStorage.getItem('pharmacy-chat')")
    chat.page.reload()
    chat.online()
    expect(card.first).to_contain_text("Your answer: Yes, request it")

    other = new_chat()
    other.page.add_init_script(f"sessionStorage.setItem('pharmacy-chat', '{old}')")
    other.open()
    chat.page.get_by_role("button", name="Menu").click()
    chat.page.get_by_role("button", name="Delete the conversation").click()
    chat.page.get_by_role("button", name="Delete it").click()
    for tab in (chat, other):
        expect(tab.page.get_by_role("log")).to_contain_text("The conversation was deleted")
        expect(tab.page.get_by_role("log")).not_to_contain_text("Metformin")
    chat.input.fill("Do you have Acamol?")
    chat.input.press("Enter")
    expect(chat.answers).to_have_count(1, timeout=15_000)
    assert chat.page.evaluate("sessionStorage.getItem('pharmacy-chat')") not in (None, old)


def test_a_reload_keeps_the_conversation_in_this_tab_only(new_chat: Any) -> None:
    chat = new_chat().open()
    chat.ask("Do you have Advil in Jaffa?")
    chat.ask("יש לכם אקמול בפלורנטין?")
    before = chat.texts()
    assert len(before) == 4
    chat.page.reload()
    chat.online()
    expect(chat.items).to_have_count(4)
    assert chat.texts() == before
    assert chat.spoken() == []  # what was read before is not read out again
    secret = chat.page.evaluate("sessionStorage.getItem('pharmacy-chat')")
    assert secret
    assert secret not in chat.page.url
    stored = chat.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert "Advil" not in stored
    assert stored.count(secret) == 1

    other = new_chat().open()
    expect(other.items).to_have_count(0)


def test_a_lost_connection_is_shown_and_a_message_written_meanwhile_is_sent_once(
    new_chat: Any, line: Any
) -> None:
    chat = new_chat(base=line.url)
    chat.lost_line = True
    chat.open()
    chat.ask("Do you have Advil in Jaffa?")
    line.cut()
    banner = chat.page.locator(".chat-banner")
    expect(banner).to_have_text(re.compile("Reconnecting|offline"))
    chat.input.fill("Is amoxicillin in stock?")
    chat.input.press("Enter")
    waiting = chat.page.locator(".chat-user", has_text="amoxicillin")
    expect(waiting.locator(".chat-state")).to_have_text("Waiting for the connection")
    line.mend()
    expect(chat.answers).to_have_count(2, timeout=30_000)
    expect(banner).to_be_hidden()
    expect(waiting).to_have_count(1)
    expect(waiting.locator(".chat-state")).to_have_text("Sent")


def test_only_answers_with_facts_can_be_rated(new_chat: Any) -> None:
    chat = new_chat().open()
    thumbs = ".chat-thumb"
    expect(chat.ask("Thank you!").locator(thumbs)).to_have_count(0)
    expect(chat.ask("Which is better for my headache?").locator(thumbs)).to_have_count(0)
    expect(chat.ask("Do you have Advil in Jaffa?").locator(thumbs)).to_have_count(2)
    expect(chat.ask("When is the Jaffa branch open?").locator(thumbs)).to_have_count(2)
    expect(chat.ask("What prescriptions do I have?").locator(thumbs)).to_have_count(0)


def test_the_skip_link_leads_to_the_composer(new_chat: Any) -> None:
    chat = new_chat().open()
    chat.page.keyboard.press("Tab")
    expect(chat.page.get_by_role("link", name="Skip to the chat")).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(chat.input).to_be_focused()


def test_a_request_for_a_person_opens_a_hand_off(new_chat: Any) -> None:
    chat = new_chat().open()
    chat.page.get_by_role("button", name="Talk to a person").click()
    expect(chat.answers).to_have_count(1, timeout=15_000)
    card = chat.page.locator(".chat-card-handoff")  # one, although the event and the answer both tell of it
    expect(card).to_contain_text(re.compile(r"[A-Z]-\d+"))
    expect(chat.page.get_by_role("button", name="Talk to a person")).to_be_visible()


def test_ending_the_chat_clears_page_and_browser_storage(new_chat: Any) -> None:
    chat = new_chat().open()
    chat.ask("Do you have Advil in Jaffa?")
    old = chat.page.evaluate("sessionStorage.getItem('pharmacy-chat')")
    chat.page.get_by_role("button", name="Menu").click()
    chat.page.get_by_role("button", name="End and clear").click()
    expect(chat.page.get_by_role("log")).not_to_contain_text("Advil")
    chat.online()
    chat.page.wait_for_function(
        "old => ![null, old].includes(sessionStorage.getItem('pharmacy-chat'))", arg=old
    )
    chat.page.reload()
    chat.online()
    expect(chat.items).to_have_count(0)


@pytest.mark.parametrize(("lang", "scheme"), [("en", "dark"), ("he", "light")])
def test_the_page_passes_axe(new_chat: Any, lang: str, scheme: str) -> None:
    chat = new_chat(color_scheme=scheme).open(lang)
    question = {"en": "Do you have Advil in Jaffa?", "he": "יש לכם אקמול בפלורנטין?"}[lang]
    chat.ask(question).locator("summary").click()
    chat.ask("What prescriptions do I have? My e-mail is noa.shapiro@example.com")
    expect(chat.page.locator("#chat-code")).to_be_visible()
    result = Axe().run(chat.page, options=AXE)
    assert len(result.response["passes"]) > 10  # it did look
    assert result.violations_count == 0, result.generate_report()


def test_the_chat_works_with_the_keyboard_alone(new_chat: Any) -> None:
    chat = new_chat().open()
    for _step in range(30):
        chat.page.keyboard.press("Tab")
        if chat.page.evaluate("document.activeElement.id") == "chat-input":
            break
    expect(chat.input).to_be_focused()
    chat.page.keyboard.type("Do you have Advil")
    chat.page.keyboard.press("Shift+Enter")
    chat.page.keyboard.type("in Jaffa?")
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator(".chat-user .chat-text")).to_have_text(
        "Do you have Advil\nin Jaffa?", use_inner_text=True
    )
    expect(chat.answers).to_have_count(1, timeout=15_000)
    expect(chat.input).to_be_focused()
    expect(chat.input).to_have_value("")
    chat.page.get_by_role("log").focus()
    chat.page.keyboard.press("Home")
    expect(chat.items.first).to_be_focused()
    chat.page.keyboard.press("ArrowDown")
    expect(chat.items.nth(1)).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(chat.page.get_by_role("log")).to_be_focused()


MARKUP = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "javascript:alert(1)",
    "[click](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "{{constructor.constructor('alert(1)')()}}",
    "\u202e<b>txet</b>\u202c & &lt;i&gt;",
    "</textarea><style>*{display:none}</style>",
    "<a href=https://evil.example>Advil</a> <math><mtext><img src=//evil.example>",
]


def test_markup_in_a_message_is_shown_as_text(new_chat: Any) -> None:
    chat = new_chat().open()
    log = chat.page.get_by_role("log")
    for payload in MARKUP:
        chat.ask(payload)
        assert log.locator("script, img, iframe, a, style, math, b:not(code b), i").count() == 0
        # The server may drop invisible characters; nothing else is changed.
        visible = re.sub(INVISIBLE, "", payload)
        assert re.sub(INVISIBLE, "", chat.page.locator(".chat-user .chat-text").last.inner_text()) == visible
    before = chat.texts()
    chat.page.reload()
    chat.online()
    expect(chat.items).to_have_count(len(before))
    assert chat.texts() == before


@pytest.mark.parametrize("lang", ["en", "he"])
@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_the_chat_is_the_whole_screen_and_no_control_wraps(
    new_chat: Any, lang: str, width: int
) -> None:
    chat = new_chat(width, 700, has_touch=True, is_mobile=True).open(lang)
    box = chat.page.locator(".chat").bounding_box()
    assert box == {"x": 0, "y": 0, "width": width, "height": 700}
    lines = """[...document.querySelectorAll(".chat-tools span, .chat-title, .chat-switch, .bar a")].filter((each) => {
      const range = document.createRange();
      range.selectNodeContents(each.lastChild); // the text behind an icon
      return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom / 12))).size > 1;
    }).map((each) => each.textContent)"""
    assert chat.page.evaluate(lines) == []
    tools = chat.page.locator(".chat-tools button").all()
    assert len({round(each.bounding_box()["y"]) for each in tools}) == 1
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= width

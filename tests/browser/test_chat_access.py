"""Who cannot use a mouse, cannot see, or sees little: axe in every state, keyboard-only tasks, zoom, narrow screens."""

from collections.abc import Callable
from typing import Any

import pytest
from browser.card_samples import handoff
from browser.looking import LOOKS, NARROW, WIDE, check_page
from playwright.sync_api import expect
from sampling import sampled

pytestmark = pytest.mark.browser
Frame = dict[str, Any]
LATER = "2999-01-01T10:00:00+00:00"
TEXTS = {
    "en": (
        "Do you have Advil in Jaffa?",
        "Yes, Advil 200 mg is in stock.",
        "Ask for this refill?",
        "Medicine",
    ),
    "he": ("יש לכם אדוויל ביפו?", "כן, Advil 200 mg נמצא במלאי.", "לבקש את הניפוק?", "תרופה"),
}


def _states(chat: Any, server: Any, lang: str, look: Callable[[str], None]) -> None:
    """Walks through the states of the chat and looks at each."""
    question, answer, refill, label = TEXTS[lang]
    page = chat.page
    fields = {"mode": "bot", "events": [], "retention_days": 30}
    server.answers["hello"] = lambda frame: server.send("hello.ok", conversation="s", last_seq=0, **fields)
    chat.open(lang)
    look("open")
    page.locator(".chat-menu-place > button").click()
    look("menu")
    page.locator(".chat-menu ul button").nth(3).click()
    look("question")
    page.keyboard.press("Escape")
    chat.input.fill(question)
    chat.input.press("Enter")
    server.wait("message.send")
    server.send("run.started", run_id="r1")
    server.send(
        "tool.started", run_id="r1", call_id="c1", name="check_stock", label=answer, arguments={"q": 1}
    )
    server.send("message.delta", run_id="r1", offset=0, text=answer)
    expect(page.locator(".chat-stop")).to_be_visible()
    look("streaming")
    card = {"kind": "identity", "data": {"title": answer, "action": "continue"}}
    chips = [question, question]
    server.send(**server.say(2, answer, run_id="r1", lang=lang, cards=[card], suggestions=chips))
    page.locator(".chat-thumb-unhelpful").click()
    server.send("feedback.saved", seq=2, rating=-1)
    expect(page.locator(".chat-why")).to_be_visible()
    look("feedback")
    summary = {"title": refill, "rows": [[label, "Advil 200 mg"]], "yes": label, "no": refill}
    for seq, until in ((3, LATER), (4, "2001-01-01T00:00:00+00:00")):
        fields = {"confirm_id": f"k{seq}", "action": "refill", "summary": summary, "expires_at": until}
        server.send("confirm.requested", seq=seq, **fields)
    server.send("handoff.updated", seq=5, **handoff(lang))
    server.send("handoff.updated", seq=6, **handoff("he" if lang == "en" else "en", "H-1007"))
    server.send("mode.changed", seq=7, mode="queued")
    look("hand-offs in both languages")
    phones = {"phones": ["101", "04-7771900"], "factual": False}
    server.send(**server.say(8, f"{answer} 101", lang=lang, suggestions=[question], **phones))
    server.send(**server.say(9, answer, lang=lang, locate=True))
    look("emergency, location")
    page.locator(".chat-new").click()
    look("new chat")
    page.keyboard.press("Escape")
    server.send("identity.requested", seq=10, expires_at=LATER)
    server.answers["identity.code"] = lambda frame: server.send(
        "error", code="code_wrong", message="x", retryable=True, tries_left=2
    )
    page.locator("#chat-code").fill("123456")
    page.locator("#chat-code").press("Enter")
    expect(page.locator("#chat-code-error")).not_to_be_empty()
    page.locator(".chat-menu-place > button").click()
    page.locator(".chat-sizes button").last.click()
    page.keyboard.press("Escape")
    look("confirm card and code, large text")
    server.answers["message.send"] = lambda frame: server.send(
        "error", code="rate_limited", message="x", retryable=True, client_msg_id=frame["client_msg_id"]
    )
    chat.input.fill(question)
    chat.input.press("Enter")
    expect(page.locator(".chat-failed")).to_be_visible()
    server.send("run.failed", seq=11, run_id="r2", code="internal", retryable=True)
    chat.lost_line = True
    server.answers["hello"] = lambda frame: None
    server.socket.close(code=1001)
    expect(page.locator(".chat-banner.chat-offline")).to_be_visible()
    look("errors, offline")


@pytest.mark.parametrize(
    ("lang", "width", "options"),
    [
        *((lang, width, {}) for lang, width in sampled(LOOKS, one_in=len(LOOKS))),
        ("he", NARROW, {"color_scheme": "dark"}),
        ("en", WIDE, {"color_scheme": "dark"}),
        ("he", 320, {"forced_colors": "active"}),
    ],
    ids=lambda value: next(iter(value.values()), "light") if isinstance(value, dict) else str(value),
)
def test_every_state_passes_axe(
    new_chat: Any, make_server: Any, lang: str, width: int, options: dict[str, str]
) -> None:
    chat = new_chat(width, 900, **options)
    seen: list[str] = []

    def look(state: str) -> None:
        check_page(chat.page, state)
        seen.append(state)

    _states(chat, make_server(chat.page), lang, look)
    assert len(seen) == 10


def _type(chat: Any, text: str) -> None:
    """Goes to the composer by Tab, from wherever the focus is, and sends a message."""
    for _step in range(40):
        if chat.page.evaluate("document.activeElement.id") == "chat-input":
            break
        chat.page.keyboard.press("Tab")
    before = chat.answers.count()
    chat.page.keyboard.type(text)
    chat.page.keyboard.press("Enter")
    expect(chat.answers).to_have_count(before + 1, timeout=20_000)


def test_three_tasks_can_be_done_with_the_keyboard_alone(new_chat: Any) -> None:
    chat = new_chat().open()
    keys, log = chat.page.keyboard, chat.page.get_by_role("log")
    # Information on a medicine, read message by message, rated.
    _type(chat, "What is Advil for?")
    for _step in range(10):
        keys.press("Shift+Tab")
        if chat.page.evaluate("document.activeElement.getAttribute('role')") == "log":
            break
    expect(log).to_be_focused()
    expect(chat.page.get_by_text("Arrow keys move through the messages")).to_be_visible()
    keys.press("End")
    expect(chat.answers.last).to_be_focused()
    keys.press("Enter")
    for _step in range(20):
        if "chat-thumb-helpful" in chat.page.evaluate("document.activeElement.className"):
            break
        keys.press("Tab")
    keys.press("Space")
    expect(chat.answers.last).to_contain_text("Thank you, noted.", timeout=10_000)
    keys.press("Escape")
    expect(chat.answers.last).to_be_focused()
    keys.press("Escape")
    expect(log).to_be_focused()
    # Stock in a branch.
    _type(chat, "Do you have it in Jaffa?")
    expect(chat.answers.last).to_contain_text("Jaffa")
    # Prescriptions, with the code from the inbox.
    _type(chat, "What prescriptions do I have? My e-mail is david.cohen@example.com")
    field = chat.page.get_by_label("Code from your message")
    expect(field).to_be_visible()
    secret = chat.page.evaluate("sessionStorage.getItem('pharmacy-chat')")
    inbox = chat.page.request.get(f"{chat.base}/demo/inbox/", params={"conversation": secret}).json()
    keys.press("Shift+Tab")
    keys.press("Shift+Tab")
    expect(field).to_be_focused()
    keys.type(inbox["messages"][-1]["code"])
    keys.press("Enter")
    expect(log).to_contain_text("Metformin", timeout=20_000)
    # Buttons come with the end of the answer, and would be between the composer and what is before it.
    expect(chat.page.locator(".chat-progress")).to_have_count(0)
    focus = chat.page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    expect(chat.input, f"the focus was on {focus}").to_be_focused()
    keys.press("Shift+Tab")
    keys.press("Tab")
    expect(chat.input).to_be_focused()  # nothing keeps the focus


def test_the_transcript_is_one_tab_stop(chat: Any, server: Any) -> None:
    chat.open()
    for seq in (1, 2):
        server.send(**server.say(seq, f"Answer {seq}."))
    server.send("handoff.updated", seq=3, number="R-1", state="open", message="Soon.")
    expect(chat.items).to_have_count(3)
    assert chat.page.evaluate(
        "[...document.querySelectorAll('.chat-list *')].every((each) => each.tabIndex < 0)"
    )
    chat.page.get_by_role("log").focus()
    chat.page.keyboard.press("Tab")
    expect(chat.input).to_be_focused()


def test_a_new_message_does_not_move_the_focus(chat: Any, server: Any) -> None:
    chat.open()
    server.send(**server.say(1, "Choose.", suggestions=["This", "That"]))
    chip = chat.page.get_by_role("button", name="That")
    chip.focus()
    server.send("run.started", run_id="r1")
    server.send(**server.say(2, "Something else.", run_id="r1"))
    expect(chip).to_have_count(0)
    expect(chat.page.get_by_role("log")).to_be_focused()  # what had the focus is gone: its place has it
    chat.page.get_by_role("button", name="Talk to a person").focus()
    server.send(**server.say(3, "And more."))
    expect(chat.items).to_have_count(3)
    expect(chat.page.get_by_role("button", name="Talk to a person")).to_be_focused()


def test_two_tabs_show_the_same_conversation(new_chat: Any) -> None:
    one = new_chat().open()
    one.ask("Do you have Advil in Jaffa?")
    secret = one.page.evaluate("sessionStorage.getItem('pharmacy-chat')")
    other = new_chat()
    other.page.add_init_script(f"sessionStorage.setItem('pharmacy-chat', '{secret}')")
    other.open()
    expect(other.items).to_have_count(2)
    one.ask("Is amoxicillin in stock?")
    expect(other.answers).to_have_count(2, timeout=15_000)
    other.ask("What is Acamol?")
    expect(one.answers).to_have_count(3, timeout=15_000)
    expect(one.items).to_have_count(6)
    assert one.texts() == other.texts()


SPACING = """
const sheet = new CSSStyleSheet();
sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
  p { margin-block-end: 2em !important; }`);
document.adoptedStyleSheets = [sheet];
"""


@pytest.mark.parametrize("lang", ["en", "he"])
def test_large_text_and_wide_spacing_hide_nothing(new_chat: Any, make_server: Any, lang: str) -> None:
    # 200 % of a window of 1,280 pixels is one of 640, and the text alone at twice its size on a phone.
    chat = new_chat(390, 844)
    server = make_server(chat.page)
    chat.open(lang)
    server.send(**server.say(1, TEXTS[lang][1] * 4, lang=lang, suggestions=[TEXTS[lang][0]]))
    chat.page.evaluate("document.documentElement.classList.add('twice')")
    for script in ("document.documentElement.style.fontSize = '32px'", SPACING):
        chat.page.evaluate(script)
        assert chat.page.evaluate("document.documentElement.scrollWidth") <= 390
        cut = "[...document.querySelectorAll('.chat button, .chat h2')].filter((each) => each.checkVisibility() && each.scrollWidth > each.clientWidth + 2).map((each) => each.outerHTML)"
        assert chat.page.evaluate(cut) == []
        for name in (".chat-send", "#chat-input", ".chat-person"):
            chat.page.locator(name).scroll_into_view_if_needed()
            expect(chat.page.locator(name)).to_be_in_viewport(ratio=0.9)


@pytest.mark.parametrize("touch", [True, False])
def test_the_hint_on_arrow_keys_is_for_a_keyboard_only(new_chat: Any, make_server: Any, touch: bool) -> None:
    chat = new_chat(390, 844, has_touch=touch, is_mobile=touch)
    server = make_server(chat.page)
    chat.open()
    server.send(**server.say(1, "Choose.", suggestions=["This"]))
    hint = chat.page.locator(".chat-log-hint")
    chat.page.get_by_role("log").focus()
    clipped = hint.evaluate("(element) => getComputedStyle(element).clipPath")
    assert (clipped != "none") is touch
    chip = chat.page.get_by_role("button", name="This")
    chip.tap() if touch else chip.click()
    server.wait("message.send")
    assert chat.page.evaluate("document.activeElement.id") == ("chat-title" if touch else "chat-input")

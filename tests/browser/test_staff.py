"""A customer and a pharmacist in one conversation, on the served site in Chromium: who says what, in which state it is."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser.looking import check_page, in_each_look
from desk import Desk
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
WORDS = {
    "en": {
        "open": "A person will help you", "taken": "A person is helping you", "closed": "This request is closed",
        "queued": "A person from the pharmacy will take over", "human": "You're chatting with the pharmacy team",
        "role": "Dana Levi · Pharmacist", "spoken": "Dana Levi, Pharmacist: ", "automatic": "Automatic answer",
        "email": "This is not an email address", "hello": "Hello? Is anybody there?", "told": "Our staff will read this",
        "question": "Do you have Advil?", "danger": "I can't breathe, my throat is swelling",
        "reply": "Good morning, how can I help?", "end": "has not answered what you wrote last",
    },
    "he": {
        "open": "נציג יעזור לכם", "taken": "נציג מטפל בפנייה", "closed": "הפנייה נסגרה",
        "queued": "ימשיך את השיחה", "human": "אתם משוחחים עם צוות", "role": "Dana Levi · רוקח/ת",
        "spoken": "Dana Levi, רוקח/ת: ", "automatic": "תשובה אוטומטית", "email": "זו אינה כתובת",
        "hello": "שלום? יש שם מישהו?", "told": "הצוות שלנו יקרא את זה", "question": "יש לכם אקמול?",
        "danger": "אני לא מצליחה לנשום", "reply": "בוקר טוב, איך אפשר לעזור?", "end": "לא נענה",
    },
}  # fmt: skip


@pytest.fixture
def desk(chat_server: Any) -> Iterator[Desk]:
    desk = Desk(chat_server)
    yield desk
    desk.end()


@in_each_look
def test_a_person_takes_the_conversation_over_and_ends_it(
    new_chat: Any, desk: Desk, lang: str, width: int
) -> None:
    said = WORDS[lang]
    chat = new_chat(width, 844).open(lang)
    page = chat.page

    page.locator(".chat-tools button").first.click()
    card = page.locator(".chat-card-handoff")
    expect(card.locator(".chat-card-title")).to_have_text(said["open"])
    number = card.locator("dd").first.inner_text()
    banner = page.locator(".chat-banner")
    expect(banner).to_contain_text(said["queued"])
    field = page.locator(".chat-contact input")
    field.fill("nobody")
    field.press("Enter")
    expect(page.locator(".chat-contact .chat-code-error")).to_contain_text(said["email"])
    check_page(page, "open")
    field.fill("dina@example.com")
    field.press("Enter")
    expect(card).to_contain_text("d…\u2060@example.com")
    expect(field).to_have_count(0)

    assert said["told"] in chat.ask(said["hello"]).inner_text()
    answers = chat.answers.count()
    chat.input.fill({"en": "thanks", "he": "תודה"}[lang])
    chat.input.press("Enter")
    expect(page.locator(".chat-user .chat-state").last).to_be_visible()
    page.wait_for_timeout(1_500)
    expect(page.locator(".chat-progress")).to_have_count(0)
    assert chat.answers.count() == answers

    desk.do(number, "claim")
    expect(card.locator(".chat-card-title")).to_have_text(said["taken"], timeout=10_000)
    desk.do(number, "reply", said["reply"])
    staff = page.locator(".chat-staff")
    expect(staff.locator(".chat-text")).to_have_text(said["reply"], timeout=10_000)
    expect(staff.locator(".chat-author")).to_have_text(said["role"])
    expect(banner).to_contain_text(said["human"])
    for _ in range(50):  # the announcer says one thing after the other
        if any(line.startswith(said["spoken"]) for line in chat.spoken()):
            break
        page.wait_for_timeout(100)
    else:
        raise AssertionError(chat.spoken())
    chat.input.fill(said["question"])
    chat.input.press("Enter")
    page.wait_for_timeout(1_500)
    expect(page.locator(".chat-progress")).to_have_count(0)
    assert chat.answers.count() == answers
    assert said["automatic"] in chat.ask(said["danger"]).inner_text()
    check_page(page, "human")

    desk.do(number, "close", "answered")
    expect(card.locator(".chat-card-title")).to_have_text(said["closed"], timeout=10_000)
    expect(card).to_contain_text(said["end"])
    expect(banner).to_be_hidden()
    check_page(page, "closed")
    # A page that is loaded again shows the same.
    page.reload()
    chat.online()
    expect(staff.locator(".chat-author")).to_have_text(said["role"])
    expect(banner).to_be_hidden()


def test_the_link_of_an_e_mail_opens_the_conversation_in_another_window(
    new_chat: Any, desk: Desk, chat_server: Any
) -> None:
    chat = new_chat(390, 844).open("he")
    page = chat.page
    page.locator(".chat-tools button").first.click()
    number = page.locator(".chat-card-handoff dd").first.inner_text()
    page.locator(".chat-contact input").fill("dina@example.com")
    page.locator(".chat-contact button").click()
    expect(page.locator(".chat-contact")).to_have_count(0)
    desk.do(number, "claim")
    desk.do(number, "reply", "בוקר טוב")
    expect(page.locator(".chat-staff")).to_be_visible(timeout=10_000)
    secret = page.evaluate("Object.values(sessionStorage).find((value) => value.length > 30)")
    inbox = f"{chat_server.url}/demo/inbox/?conversation={secret}"
    [mail] = [each for each in page.request.get(inbox).json()["messages"] if number in each["text"]]
    assert mail["to"] == "dina@example.com" and "בוקר" not in mail["text"]
    [path] = re.findall(r"/reply/\S+", mail["text"])

    other = new_chat(390, 844)
    other.page.goto(f"{chat_server.url}{path}")
    other.online()
    assert other.page.url.endswith("/reply/?lang=he")
    expect(other.page.locator(".chat-staff .chat-text")).to_have_text("בוקר טוב")
    check_page(other.page, "link")
    # It goes on there: the first page no longer has it.
    expect(page.locator(".chat-system .chat-text").last).to_have_text("השיחה ממשיכה בחלון שפתחתם.")
    desk.do(number, "close", "answered")


def test_a_message_that_was_hidden_is_shown_once_its_patient_is_identified(
    chat: Any, make_server: Any
) -> None:
    server = make_server(chat.page)
    hidden = server.say(
        1, "Hidden for your privacy.", "staff", author="", author_role="pharmacist", veiled=True
    )
    server.log.append(hidden)
    chat.open()
    expect(chat.page.locator(".chat-staff .chat-text")).to_have_text("Hidden for your privacy.")
    verified = {"v": 1, "type": "identity.verified", "seq": 2, "until": "2030-01-01T00:00:00+00:00"}
    shown = server.say(1, "Your refill is ready", "staff", author="Dana Levi", author_role="pharmacist")
    server.log[:] = [shown, verified]
    server.send("identity.verified", seq=2, until="2030-01-01T00:00:00+00:00")
    expect(chat.page.locator(".chat-staff .chat-text")).to_have_text("Your refill is ready")
    expect(chat.page.locator(".chat-staff")).to_have_count(1)
    assert server.wait("hello", 2)[-1]["last_seq"] == 0

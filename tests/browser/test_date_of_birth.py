"""The field for a date of birth in Chromium: its words, its errors, axe, narrow and wide; and the whole way on a served site."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from browser.looking import check_page, in_each_look
from playwright.sync_api import expect
from served_site import Site, demo_site

from evaluation.chat import Answer, Chat

LATER = "2999-01-01T00:00:00+00:00"
WORDS = {
    "en": ("Date of birth", "2 tries are left", "Please write day"),
    "he": ("תאריך לידה", "נותרו שני ניסיונות", "נא לכתוב יום"),
}


@pytest.fixture(scope="module")
def birth_site(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Site]:
    """A site whose customers are asked for their date of birth."""
    limits = {
        "IDENTITY_CODES_PER_DAY": "1000",
        "IDENTITY_GUESSES_PER_DAY": "1000",
        "IDENTITY_CODES_PER_CONTACT_HOUR": "1000",
    }
    folder = tmp_path_factory.mktemp("birth")
    with demo_site("birth", folder, django_db_blocker, CHAT_IDENTITY="dob", **limits) as site:
        yield site


@in_each_look
def test_the_field_for_a_date_of_birth_says_what_is_wrong_and_passes_axe(
    new_chat: Any, make_server: Any, lang: str, width: int
) -> None:
    label, tries, unread = WORDS[lang]
    chat = new_chat(width, 844)
    server = make_server(chat.page)
    chat.open(lang)
    server.send("identity.requested", seq=1, expires_at=LATER, asks="date_of_birth")
    field = chat.page.get_by_label(label)
    expect(field).to_be_visible()
    expect(field).to_have_attribute("autocomplete", "bday")
    expect(field).to_have_attribute("inputmode", "text")

    error = {"code": "code_wrong", "message": "x", "retryable": True}
    server.answers["identity.code"] = lambda frame: server.send("error", **error)
    field.fill("31 בדצמבר 1985")
    field.press("Enter")
    assert server.wait("identity.code")[0]["code"] == "31 בדצמבר 1985"
    expect(chat.page.locator("#chat-code-error")).to_contain_text(unread)
    server.answers["identity.code"] = lambda frame: server.send("error", tries_left=2, **error)
    field.press("Enter")
    expect(chat.page.locator("#chat-code-error")).to_contain_text(tries)
    check_page(chat.page, "birth")

    server.answers["identity.code"] = lambda frame: server.send("error", **{**error, "code": "locked"})
    field.press("Enter")
    expect(field).to_be_hidden()
    expect(chat.page.get_by_role("log")).not_to_contain_text({"en": "codes", "he": "קודים"}[lang])


def test_a_code_is_asked_for_as_before_after_a_date(chat: Any, server: Any) -> None:
    chat.open()
    server.send("identity.requested", seq=1, expires_at=LATER, asks="date_of_birth")
    server.send("identity.requested", seq=2, expires_at=LATER, asks="code")
    field = chat.page.get_by_label("Code from your message")
    expect(field).to_have_attribute("autocomplete", "one-time-code")
    expect(field).to_have_attribute("inputmode", "numeric")


def test_prescriptions_are_shown_after_the_date_of_birth(new_chat: Any, birth_site: Site) -> None:
    chat = new_chat(base=birth_site.url).open()
    chat.ask("What prescriptions do I have?")
    chat.ask("10000101")
    field = chat.page.get_by_label("Date of birth")
    field.fill("11.6.1979")
    field.press("Enter")
    expect(chat.page.locator("#chat-code-error")).to_contain_text("2 tries")
    expect(chat.page.get_by_role("log")).not_to_contain_text("In this demo the code arrives")
    field.fill("June 11, 1978")
    chat.page.get_by_role("button", name="Confirm").click()
    expect(field).to_be_hidden()
    expect(chat.page.get_by_role("log")).to_contain_text("Metformin", timeout=15_000)


@pytest.mark.parametrize(
    ("lang", "asks", "born", "found"),
    [
        ("en", "What prescriptions do I have?", "11 June 1978", "Metformin"),
        ("he", "אילו מרשמים יש לי?", "11 ביוני 1978", "מטפורמין"),
    ],
)
def test_over_the_socket_a_date_is_taken_from_a_frame_or_a_message(
    birth_site: Site, lang: str, asks: str, born: str, found: str
) -> None:
    def message(text: str) -> dict[str, Any]:
        return {"type": "message.send", "client_msg_id": str(uuid4()), "text": text}

    async def run(given: dict[str, Any]) -> Answer:
        async with Chat(birth_site.ws_url, birth_site.url, lang) as chat:
            await chat.ask(message(asks))
            await chat.ask(message("david.cohen@example.com"))
            return await chat.ask(given)

    # In a thread: Playwright's own event loop is at work in this one.
    with ThreadPoolExecutor(1) as pool:
        for given in (message(born), {"type": "identity.code", "code": born}):
            assert found in pool.submit(asyncio.run, run(given)).result().text

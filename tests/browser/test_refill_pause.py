"""A refill that nobody goes on with, on a served site in Chromium: asked whether somebody is there, paused, reloaded, resumed."""

from collections.abc import Iterator
from typing import Any

import pytest
from browser.looking import check_page, in_each_look
from playwright.sync_api import Locator, expect
from served_people import copied
from served_pharmacy import Pharmacy, pharmacy_served
from served_sites import sites_of

pytestmark = pytest.mark.browser
DAVID, METFORMIN = "10000101", 2
SAID = {
    "en": {
        "wish": "refill my metformin, 15 tablets", "where": "Where would you like to pick it up?", "soon": "pauses in a minute",
        "here": "I'm still here", "paused": "is paused", "resume": "Resume", "resumed": "Resume my refill",
        "place": "the online store", "card": "Metformin", "units": "15 units", "confirm": "Yes, request it", "done": "sent for preparation",
    },
    "he": {
        "wish": "ניפוק למטפורמין שלי, 15 טבליות", "where": "איפה", "soon": "תושהה בעוד דקה",
        "here": "אני עדיין כאן", "paused": "הושהתה", "resume": "להמשיך", "resumed": "להמשיך את הניפוק",
        "place": "החנות המקוונת", "card": "מטפורמין", "units": "15", "confirm": "כן, לבקש", "done": "נשלח להכנה",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def pharmacy(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Pharmacy]:
    with (
        sites_of("pause", tmp_path_factory.mktemp("pause"), django_db_blocker) as sites,
        pharmacy_served(sites, tmp_path_factory.mktemp("clock")) as served,
    ):
        yield served


@in_each_look
def test_a_customer_is_asked_before_a_refill_pauses_and_goes_on_after_a_reload(
    new_chat: Any, pharmacy: Pharmacy, lang: str, width: int
) -> None:
    words, number = SAID[lang], 34_000_000 + width * 10 + (lang == "he")
    email = copied(pharmacy, number, DAVID, METFORMIN)
    chat = new_chat(width, 844, base=pharmacy.site.url)
    page = chat.page
    page.clock.install()
    ahead = float(pharmacy.clock.read_text())
    page.clock.fast_forward(int(ahead * 1000) + 1)
    chat.open(lang)

    def pass_by(seconds: int) -> None:
        """Let time pass on both sides; timers of the page that are due run once."""
        pharmacy.move(seconds)
        page.clock.fast_forward(seconds * 1000)

    def button(name: str) -> Locator:
        found: Locator = page.get_by_role("log").get_by_role("button", name=words[name], exact=True)
        return found

    log = page.get_by_role("log")
    chat.ask(words["wish"])
    chat.ask(email)
    code = page.locator("#inbox .code")
    expect(code).to_be_attached(timeout=15_000)
    page.locator("#chat-code").fill(code.inner_text())
    page.locator("#chat-code").press("Enter")
    expect(log).to_contain_text(words["where"], timeout=15_000)

    pass_by(235)
    expect(button("here")).to_have_count(0)
    pass_by(10)
    expect(log).to_contain_text(words["soon"])
    check_page(page, "soon")
    answered = chat.answers.count()
    button("here").click()
    expect(log).not_to_contain_text(words["soon"])  # that is over
    expect(chat.answers).to_have_count(answered + 1, timeout=15_000)
    expect(chat.answers.last).to_contain_text(words["where"])
    # From here on five minutes again: so the page asks again, and nobody answers.
    pass_by(235)
    expect(button("here")).to_have_count(0)
    pass_by(10)
    expect(button("here")).to_have_count(1)
    assert not pharmacy.request(number)["is_paused"]
    pass_by(61)
    expect(log).to_contain_text(words["paused"], timeout=15_000)
    expect(button("here")).to_have_count(0)
    expect(log).not_to_contain_text(words["soon"])
    check_page(page, "paused")
    assert pharmacy.request(number)["is_paused"]

    page.reload()
    chat.online()
    expect(log).to_contain_text(words["paused"])
    expect(button("here")).to_have_count(0)
    check_page(page, "reloaded")
    answered = chat.answers.count()
    button("resume").click()
    expect(log).to_contain_text(words["resumed"])
    expect(chat.answers).to_have_count(answered + 1, timeout=15_000)
    expect(chat.answers.last).to_contain_text(words["where"])
    request = pharmacy.request(number)
    assert (request["is_paused"], request["quantity"]) == (False, 15)
    chat.ask(words["place"])
    card = page.locator(".chat-card").last
    expect(card).to_contain_text(words["units"])
    page.get_by_role("button", name=words["confirm"]).last.click()
    expect(log).to_contain_text(words["done"], timeout=15_000)
    check_page(page, "done")
    # What was paused is told and over, also for somebody who comes back.
    page.reload()
    chat.online()
    expect(log).to_contain_text(words["done"])
    expect(log).to_contain_text(words["paused"])
    expect(button("resume")).to_have_count(0)
    assert pharmacy.request(number)["outcome"] == "dispensed"

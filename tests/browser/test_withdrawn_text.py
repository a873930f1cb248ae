"""An answer is taken back, by the model or because staff write meanwhile: a person at the page does not see it any more."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from desk import Desk
from playwright.sync_api import expect
from scripted_model import ScriptedModel, by, calls, chooses, stalls
from scripted_replies import Reply
from served_site import Site, demo_site

pytestmark = pytest.mark.browser
STOCK = {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None}
# Shown while it is made; what the rest of this answer says is dropped, so that no answer is left.
FIRST = "Thanks for asking."
BAD = f"{FIRST} You should take it tonight."
SECOND = "[hello] {stock|Florentin, Tel Aviv} {prescription|Ibuprofen}"
SEEN = """() => {
  window.texts = [];
  new MutationObserver(() => {
    const text = [...document.querySelectorAll(".chat-assistant .chat-text:not([hidden])")].at(-1)?.innerText ?? "";
    if (texts.at(-1) !== text) texts.push(text);
  }).observe(document.querySelector(".chat-list"), {childList: true, subtree: true, attributes: true});
}"""


@pytest.fixture(scope="module")
def model_site(
    scripted_server: ScriptedModel,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: Any,
) -> Iterator[Site]:
    """A site whose language model is the scripted one."""
    folder = tmp_path_factory.mktemp("withdrawn")
    with demo_site("withdrawn", folder, django_db_blocker, **scripted_server.env) as site:
        yield site


def _slowly(reply: Any, seconds: float) -> Any:
    """The same, after a silence."""

    def answer(request: dict[str, Any]) -> Reply:
        made: Reply = reply.function(request)
        return stalls(seconds, of=made)

    return by(answer)


@pytest.mark.parametrize("reload", [False, True])
def test_a_withdrawn_answer_disappears_before_the_next_one_comes(
    new_chat: Any, model_site: Site, scripted_model: ScriptedModel, reload: bool
) -> None:
    looked_up = calls(("get_medication_by_name", {"medication_name": "Advil"}), ("check_stock", STOCK))
    scripted_model.script(looked_up, chooses(BAD), _slowly(chooses(SECOND, chunks=30), 3))
    chat = new_chat(base=model_site.url)
    chat.open()
    chat.page.evaluate(SEEN)
    chat.input.fill("do you have Advil in Florentin?")
    chat.input.press("Enter")
    chat.page.wait_for_function("first => texts.includes(first)", arg=FIRST)
    text = chat.page.locator(".chat-assistant .chat-text")
    expect(text).to_be_hidden(timeout=2_500)
    if reload:
        chat.page.reload()
        chat.online()
        chat.page.evaluate(SEEN)
    answer = chat.answers.last
    expect(answer).to_contain_text("Hello!", timeout=15_000)
    seen: list[str] = chat.page.evaluate("texts")
    if not reload:
        begun = seen.index(FIRST)
        assert seen[begun + 1] == ""
        seen = seen[begun + 1 :]
    assert any(seen) and all(seen[-1].startswith(each) for each in seen), seen
    assert "Thanks" not in answer.inner_text()


def test_an_answer_into_which_staff_write_disappears_and_none_comes_after(
    new_chat: Any, model_site: Site, scripted_model: ScriptedModel
) -> None:
    answer = chooses("[hello] {stock|Florentin, Tel Aviv} [anything_else]", 12)
    slow = by(lambda request: replace(answer.function(request), pause=0.4))
    scripted_model.script(calls(("check_stock", STOCK)), slow)
    chat = new_chat(base=model_site.url)
    chat.open()
    page, desk = chat.page, Desk(model_site)
    try:
        page.locator(".chat-tools button").first.click()
        number = page.locator(".chat-card-handoff dd").first.inner_text()
        desk.do(number, "claim")
        answers = chat.answers.count()
        page.evaluate(SEEN)
        chat.input.fill("do you have Advil in Florentin?")
        chat.input.press("Enter")
        page.wait_for_function("() => texts.at(-1)?.startsWith('Hello!')")
        desk.do(number, "reply", "It is Dana here")
        expect(page.locator(".chat-staff .chat-text")).to_have_text("It is Dana here", timeout=10_000)
        page.wait_for_timeout(4_000)  # longer than the rest of the answer would have taken
        expect(page.locator(".chat-progress")).to_have_count(0)
        assert chat.answers.count() == answers and "Hello!" not in page.get_by_role("log").inner_text()
    finally:
        desk.end()

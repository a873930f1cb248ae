"""A language model's first answer is taken back: a person at the page does not see it any more, nor mixed with the next."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from scripted_model import ScriptedModel, by, calls, chooses, stalls
from scripted_replies import Reply
from served_site import Site, demo_database, free_port, served

pytestmark = pytest.mark.browser
STOCK = {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None}
# Shown while it is made; what the rest of this answer says is dropped, so that no answer is left.
FIRST = "Happy to check!"
BAD = f"{FIRST} You should take it tonight."
SECOND = "Sure! {stock|Florentin, Tel Aviv} {prescription|Ibuprofen}"
SEEN = """() => {
  window.texts = [];
  new MutationObserver(() => {
    const text = [...document.querySelectorAll(".chat-assistant .chat-text:not([hidden])")].at(-1)?.innerText ?? "";
    if (texts.at(-1) !== text) texts.push(text);
  }).observe(document.querySelector(".chat-list"), {childList: true, subtree: true, attributes: true});
}"""


@pytest.fixture
def model_site(
    scripted_model: ScriptedModel, tmp_path: Path, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Site]:
    """A site whose language model is the scripted one."""
    with django_db_blocker.unblock():
        database = demo_database(f"pharmacy_withdrawn_{os.getpid()}", tmp_path)
    env = {
        **os.environ,
        "DATABASE_URL": database,
        "DEBUG": "1",
        "EMAIL_URL": "dummy://",
        **scripted_model.env,
    }
    with served(env, free_port(), tmp_path / "server.log") as site:
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
    expect(answer).to_contain_text("Sure!", timeout=15_000)
    seen: list[str] = chat.page.evaluate("texts")
    if not reload:
        begun = seen.index(FIRST)
        assert seen[begun + 1] == ""
        seen = seen[begun + 1 :]
    assert any(seen) and all(seen[-1].startswith(each) for each in seen), seen
    assert "Happy" not in answer.inner_text()

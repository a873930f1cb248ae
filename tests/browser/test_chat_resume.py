"""Coming back in the middle of an answer, and the codes with which a server closes, against a scripted server."""

from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
Frame = dict[str, Any]


def _begins(server: Any, attempt: int = 1) -> None:
    server.send("run.started", run_id="r1", attempt=attempt)


def _says(server: Any, offset: int, text: str) -> None:
    server.send("message.delta", run_id="r1", offset=offset, text=text)


def _cut(chat: Any, server: Any, code: int = 1001) -> Frame:
    """Closes the line and returns the hello of the next one."""
    chat.lost_line = True
    before = len(server.sent("hello"))
    server.socket.close(code=code)
    hello: Frame = server.wait("hello", before + 1)[-1]
    return hello


def _at_work(server: Any) -> Any:
    def welcome(frame: Frame) -> None:
        head = len(server.log)
        missed = [event for event in server.log if event["seq"] > frame.get("last_seq", 0)]
        fields = {"mode": "bot", "events": missed, "active_run": {"run_id": "r1"}}
        server.send("hello.ok", conversation="secret-1", last_seq=head, **fields)

    return welcome


def test_after_a_reconnection_an_answer_continues_where_it_stopped(chat: Any, server: Any) -> None:
    chat.open()
    assert "active_run" not in server.frames[0]
    _begins(server)
    server.send("tool.started", run_id="r1", call_id="c1", name="check_stock", label="Stock", arguments={})
    _says(server, 0, "One 🙂 two.")
    text = chat.page.locator(".chat-assistant .chat-text")
    expect(text).to_have_text("One 🙂 two.")
    server.answers["hello"] = _at_work(server)
    hello = _cut(chat, server)
    assert hello["active_run"] == {
        "run_id": "r1",
        "attempt": 1,
        "offset": 10,
    }  # characters, not halves of them
    _begins(server)
    server.send("tool.started", run_id="r1", call_id="c1", name="check_stock", label="Stock", arguments={})
    server.send("tool.finished", run_id="r1", call_id="c1", name="check_stock", ok=True, duration_ms=3)
    expect(text).to_have_text("One 🙂 two.")
    _says(server, 10, " Three.")
    expect(text).to_have_text("One 🙂 two. Three.")
    expect(chat.page.locator(".chat-steps li")).to_have_count(1)
    server.send(**server.say(1, "One 🙂 two. Three. Four.", run_id="r1"))
    _says(server, 0, "late")  # nothing of a finished run is shown again
    _begins(server)
    expect(chat.items).to_have_count(1)
    assert chat.texts() == ["One 🙂 two. Three. Four."]
    chat.page.wait_for_function("() => seen.spoken.at(-1)?.textContent.startsWith('Assistant')")
    told = [said for said in chat.spoken() if said != "Connected again."]  # that, only after a longer absence
    assert told == ["Assistant: One 🙂 two. Three. Four."]


def test_a_new_attempt_at_a_run_discards_its_earlier_text(chat: Any, server: Any) -> None:
    chat.open()
    _begins(server)
    _says(server, 0, "The old beginning")
    text = chat.page.locator(".chat-assistant .chat-text")
    expect(text).to_have_text("The old beginning")
    _begins(server, 2)
    expect(text).to_be_hidden()
    _says(server, 0, "Anew")
    expect(text).to_have_text("Anew")
    # It begins anew once more while the line is down.
    server.answers["hello"] = _at_work(server)
    assert _cut(chat, server)["active_run"] == {"run_id": "r1", "attempt": 2, "offset": 4}
    _begins(server, 3)
    expect(text).to_be_hidden()
    _says(server, 0, "For the third time")
    expect(text).to_have_text("For the third time")


def test_text_that_is_taken_back_disappears_and_a_hello_counts_how_often(chat: Any, server: Any) -> None:
    chat.open()
    _begins(server)
    _says(server, 0, "Warfarin costs 46.80. Sure, ")
    text = chat.page.locator(".chat-assistant .chat-text")
    expect(text).to_be_visible()
    expect(chat.page.locator(".chat-progress")).to_contain_text("Writing")
    server.send("message.delta", run_id="r1", offset=0, text="", restarts=1)
    expect(text).to_be_hidden()
    expect(chat.page.locator(".chat-progress")).to_contain_text("Looking it up")
    server.answers["hello"] = _at_work(server)
    nothing_left = {"run_id": "r1", "attempt": 1, "restarts": 1, "offset": 0}
    assert _cut(chat, server)["active_run"] == nothing_left
    _begins(server)
    server.send("message.delta", run_id="r1", offset=0, text="I can't judge that.", restarts=1)
    expect(text).to_have_text("I can't judge that.")
    server.send(
        "message.delta", run_id="r1", offset=0, text="Ask us.", restarts=2
    )  # news in between was lost
    expect(text).to_have_text("Ask us.")
    assert _cut(chat, server)["active_run"] == {"run_id": "r1", "attempt": 1, "restarts": 2, "offset": 7}
    _begins(server, 2)
    _says(server, 0, "Anew")
    expect(text).to_have_text("Anew")
    assert _cut(chat, server)["active_run"] == {"run_id": "r1", "attempt": 2, "offset": 4}


def test_a_reload_during_an_answer_shows_the_text_so_far(chat: Any, server: Any) -> None:
    chat.open()
    server.log = [server.say(1, "my question", "user", client_msg_id="11111111-1111-4111-8111-111111111111")]
    server.send(**server.log[0])
    _begins(server)
    _says(server, 0, "So far.")
    server.answers["hello"] = _at_work(server)
    chat.page.reload()
    chat.online()
    assert "active_run" not in server.sent("hello")[-1]
    expect(chat.page.locator(".chat-progress")).to_contain_text("Looking it up")
    _begins(server)
    _says(server, 0, "So far.")
    _says(server, 7, " And on.")
    expect(chat.page.locator(".chat-assistant .chat-text")).to_have_text("So far. And on.")
    assert chat.texts() == ["my question", "So far. And on."]


def test_a_run_that_ended_during_a_disconnection_leaves_no_progress(chat: Any, server: Any) -> None:
    chat.open()
    for run in ("r1", "r2"):
        server.send("run.started", run_id=run)
    expect(chat.page.locator(".chat-progress")).to_have_count(2)
    server.log = [server.say(1, "Answer one.", run_id="r1"), server.say(2, "Answer two.", run_id="r2")]
    _cut(chat, server)
    expect(chat.page.locator(".chat-progress")).to_have_count(0)
    assert chat.texts() == ["Answer one.", "Answer two."]
    expect(chat.page.get_by_role("button", name="Stop")).to_be_hidden()


def test_a_client_reconnects_at_once_to_a_restarted_server(chat: Any, server: Any) -> None:
    chat.open()
    chat.page.evaluate("window.began = performance.now()")
    assert _cut(chat, server, 1012)["conversation"] == "secret-1"
    assert chat.page.evaluate("performance.now() - began") < 1_500
    assert _cut(chat, server, 4408)["conversation"] == "secret-1"
    chat.online()


def test_a_client_that_is_told_to_wait_reads_it_and_comes_back_then(chat: Any, server: Any) -> None:
    chat.open()
    told = {"code": "rate_limited", "message": "Please connect again in 2 seconds.", "retryable": True}
    server.send("error", **told, retry_after=2)
    expect(chat.page.get_by_role("log")).to_contain_text("in 2 seconds")
    chat.page.evaluate("window.began = performance.now()")
    assert _cut(chat, server, 4429)["conversation"] == "secret-1"
    assert chat.page.evaluate("performance.now() - began") > 1_900
    chat.online()


@pytest.mark.parametrize(("code", "words"), [(4410, "was deleted"), (4403, "not available on this page")])
def test_a_client_that_was_closed_for_good_does_not_reconnect(
    chat: Any, server: Any, code: int, words: str
) -> None:
    chat.open()
    chat.lost_line = True
    server.socket.close(code=code)
    expect(chat.page.get_by_role("log")).to_contain_text(words)
    chat.page.wait_for_timeout(1_200)
    assert len(server.sent("hello")) == 1
    expect(chat.page.locator("#chat[data-status=stopped]")).to_be_attached()

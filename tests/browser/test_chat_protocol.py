"""The page's side of the protocol against a scripted server: order, gaps, errors, streaming, idle chats."""

from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
Frame = dict[str, Any]


def test_hello_contains_the_language_and_after_a_reload_the_conversation(chat: Any, server: Any) -> None:
    chat.open("he")
    assert server.frames[0] == {"v": 1, "type": "hello", "lang": "he"}
    chat.page.reload()
    chat.online()
    assert server.wait("hello", 2)[1] == {
        "v": 1,
        "type": "hello",
        "lang": "he",
        "conversation": "secret-1",
        "last_seq": 0,
    }


def test_a_repeated_event_is_shown_once(chat: Any, server: Any) -> None:
    chat.open()
    for event in [
        server.say(1, "first"),
        server.say(1, "first"),
        server.say(2, "second"),
        server.say(1, "first"),
    ]:
        server.send(**event)
    expect(chat.items).to_have_count(2)
    assert chat.texts() == ["first", "second"]


def test_a_gap_in_events_is_closed_by_a_new_hello(chat: Any, server: Any) -> None:
    chat.open()
    server.log = [server.say(seq, f"message {seq}") for seq in (1, 2, 3)]
    server.send(**server.log[0])
    server.send(**server.log[2])
    expect(chat.items).to_have_count(3)
    assert server.wait("hello", 2)[1]["last_seq"] == 1
    assert chat.texts() == ["message 1", "message 2", "message 3"]


def test_a_gap_that_the_server_cannot_close_causes_no_loop(chat: Any, server: Any) -> None:
    chat.open()
    server.log = [server.say(1, "message 1"), server.say(3, "message 3")]
    server.send(**server.log[0])
    server.send(**server.log[1])
    expect(chat.items).to_have_count(2)
    chat.page.wait_for_timeout(1_500)
    assert len(server.sent("hello")) == 2


def test_the_number_of_an_unknown_event_counts_as_seen(chat: Any, server: Any) -> None:
    chat.open()
    server.send("something.new", seq=1)
    server.send(**server.say(2, "after it"))
    expect(chat.items).to_have_count(1)
    assert len(server.sent("hello")) == 1


def test_a_message_is_sent_again_until_it_is_accepted(chat: Any, server: Any) -> None:
    chat.lost_line = True
    chat.open()
    server.answers["message.send"] = lambda frame: server.socket.close() if server.socket else None
    chat.input.fill("hello?")
    chat.input.press("Enter")
    server.wait("message.send")
    expect(chat.page.locator(".chat-state")).to_have_text("Waiting for the connection")
    server.answers["message.send"] = server.accept
    first, second = server.wait("message.send", 2)
    assert first == second
    expect(chat.page.locator(".chat-state")).to_have_text("Sent")
    expect(chat.items).to_have_count(1)


def test_a_refused_message_can_be_sent_again(chat: Any, server: Any) -> None:
    chat.open()
    server.answers["message.send"] = lambda frame: server.send(
        "error", code="rate_limited", message="x", retryable=True, client_msg_id=frame["client_msg_id"]
    )
    chat.input.fill("too fast")
    chat.input.press("Enter")
    expect(chat.page.locator(".chat-failed")).to_contain_text("wait a minute")
    server.answers["message.send"] = server.accept
    chat.page.get_by_role("button", name="Try again").click()
    first, second = server.wait("message.send", 2)
    assert first == second
    expect(chat.page.locator(".chat-failed")).to_have_count(0)


def test_several_refused_messages_have_one_reason_and_one_button(chat: Any, server: Any) -> None:
    chat.open()
    server.answers["message.send"] = lambda frame: server.send(
        "error", code="rate_limited", message="x", retryable=True, client_msg_id=frame["client_msg_id"]
    )
    for text in ("one", "two", "three"):
        chat.input.fill(text)
        chat.input.press("Enter")
    expect(chat.page.locator(".chat-failed")).to_have_count(3)
    expect(chat.page.locator(".chat-failed", has_text="wait a minute")).to_have_count(1)
    again = chat.page.get_by_role("button", name="Try again")
    expect(again).to_have_count(1)
    server.answers["message.send"] = server.accept
    again.click()
    sent = server.wait("message.send", 6)
    assert [frame["text"] for frame in sent] == ["one", "two", "three"] * 2
    expect(chat.page.locator(".chat-failed")).to_have_count(0)
    for _time in range(3):
        server.send("error", code="rate_limited", message="x", retryable=True)
    server.send(**server.say(4, "after it"))
    expect(chat.answers).to_have_count(1)
    expect(chat.page.locator(".chat-system")).to_have_count(1)


HANGING = """() => {
window.Real = window.WebSocket;
window.WebSocket = class extends EventTarget {
  static CONNECTING = 0;
  static OPEN = 1;
  constructor() { super(); this.readyState = 0; window.dialled = (window.dialled ?? 0) + 1; }
  close() {}
};
}"""


def test_the_network_is_back_and_a_hanging_socket_is_dropped(chat: Any, server: Any) -> None:
    chat.lost_line = True
    chat.open()
    chat.page.evaluate(HANGING)
    server.socket.close()
    chat.page.wait_for_function("() => window.dialled === 1")
    chat.page.evaluate("() => { window.WebSocket = Real; dispatchEvent(new Event('online')); }")
    expect(chat.page.locator("#chat[data-status=online]")).to_be_attached(timeout=2_000)


def test_a_message_that_was_too_large_is_not_sent_again(chat: Any, server: Any) -> None:
    chat.open()
    server.answers["message.send"] = lambda frame: server.send(
        "error", code="too_large", message="x", retryable=False
    )
    chat.input.fill("\x01" * 4_000)
    chat.input.press("Enter")
    expect(chat.page.locator(".chat-failed")).to_contain_text("too long")
    expect(chat.page.get_by_role("button", name="Try again")).to_have_count(0)
    chat.lost_line = True
    assert server.socket
    server.socket.close()
    server.wait("hello", 2)
    chat.page.wait_for_timeout(300)
    assert len(server.sent("message.send")) == 1


def test_an_unknown_conversation_is_replaced_by_a_new_one(chat: Any, server: Any) -> None:
    chat.open()

    def refuse(frame: Frame) -> None:
        if frame.get("conversation"):
            server.send("error", code="unknown_conversation", message="x", retryable=False)
        else:
            server.welcome(frame)

    server.answers["hello"] = refuse
    chat.page.reload()
    chat.online()
    expect(chat.page.get_by_role("log")).to_contain_text("a new one has begun")
    assert "conversation" not in server.frames[-1]


def test_the_finished_message_replaces_the_streamed_text(chat: Any, server: Any) -> None:
    chat.open()
    server.send("run.started", run_id="r1")
    expect(chat.page.locator(".chat-progress")).to_contain_text("Looking it up")
    server.send(
        "tool.started",
        run_id="r1",
        call_id="c1",
        name="check_stock",
        label="Checking stock",
        arguments={"a": 1},
    )
    expect(chat.page.locator(".chat-progress")).to_contain_text("Checking stock")
    server.send("message.delta", run_id="r1", offset=0, text="One 🙂 two. ")
    server.send(
        "message.delta", run_id="r1", offset=6, text="TWO. Three."
    )  # counted in characters, not in halves
    expect(chat.page.locator(".chat-assistant .chat-text")).to_have_text("One 🙂 TWO. Three.")
    expect(chat.page.get_by_role("log")).to_have_attribute("aria-busy", "true")
    server.send("message.delta", run_id="r1", offset=500, text="lost its beginning")
    assert chat.spoken() == []
    server.send("tool.finished", run_id="r1", call_id="c1", name="check_stock", ok=True, duration_ms=7)
    server.send(**server.say(1, "The whole answer.", run_id="r1"))
    server.send("run.completed", run_id="r1")
    expect(chat.items).to_have_count(1)
    expect(chat.page.locator(".chat-assistant .chat-text")).to_have_text("The whole answer.")
    expect(chat.page.get_by_role("log")).to_have_attribute("aria-busy", "false")
    expect(chat.page.locator(".chat-progress")).to_have_count(0)
    expect(chat.page.locator(".chat-steps summary")).to_contain_text("1 look-up")
    assert chat.spoken() == ["Assistant: The whole answer."]


def test_an_answer_stays_between_its_question_and_the_next_one(chat: Any, server: Any) -> None:
    chat.open()
    server.answers["message.send"] = lambda frame: None
    for text in ("question one", "question two"):
        chat.input.fill(text)
        chat.input.press("Enter")
    one, two = (frame["client_msg_id"] for frame in server.wait("message.send", 2))
    server.send("message.accepted", client_msg_id=one, seq=1, duplicate=False)
    server.send("run.started", run_id="r1")
    expect(chat.items.nth(1)).to_contain_text("Looking it up")
    server.send(**server.say(1, "question one", "user", client_msg_id=one))
    server.send(**server.say(2, "answer one", run_id="r1"))
    server.send(**server.say(3, "question two", "user", client_msg_id=two))
    expect(chat.page.locator(".chat-state")).to_have_text(["Sent", "Sent"])
    assert chat.texts() == ["question one", "answer one", "question two"]


def test_cards_of_every_known_kind_are_shown_and_others_are_not(chat: Any, server: Any) -> None:
    chat.open()
    medication = {
        "title": "Ibuprofen",
        "tag": "No prescription",
        "rows": [["Form", "tablet"]],
        "source": "leaflet",
    }
    stock = {
        "title": "Stock",
        "columns": ["Branch", "Packs"],
        "rows": [["Florentin", 3], ["Jaffa", None]],
        "note": "n",
    }
    plain = [
        {"kind": kind, "data": {"title": kind}}
        for kind in ("equivalents", "interactions", "prescriptions", "sources")
    ]
    odd = [
        {"kind": "hologram", "data": {"title": "never"}},
        {"kind": "stock"},
        {"kind": "stock", "data": {"rows": 7}},
    ]
    cards = [{"kind": "medication", "data": medication}, {"kind": "stock", "data": stock}, *plain, *odd]
    server.send(**server.say(1, "Here.", cards=cards))
    expect(chat.page.locator(".chat-card")).to_have_count(6)
    expect(chat.page.locator(".chat-card-medication dd")).to_have_text("tablet")
    expect(chat.page.locator(".chat-card-medication .chat-source")).to_have_text("leaflet")
    expect(chat.page.locator(".chat-card-medication .chat-tag")).to_have_text("No prescription")
    table = chat.page.get_by_role("table", name="Stock")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table.get_by_role("row", name="Jaffa")).to_contain_text("–")
    expect(chat.page.get_by_role("log")).not_to_contain_text("never")


def test_names_and_hours_stay_together_in_hebrew(chat: Any, server: Any) -> None:
    chat.open("he")
    server.send(**server.say(1, "1. Ibuprofen 200 mg פתוח 08:00–17:00, טלפון 03-5550103.", lang="he"))
    isolated = chat.page.locator(".chat-assistant .chat-text bdi[dir=ltr]")
    expect(isolated).to_have_text(["1", "Ibuprofen 200 mg", "08:00–17:00", "03-5550103"])
    server.send(**server.say(2, "פתוח \u206608:00–17:00\u2069", lang="he"))
    expect(chat.page.locator(".chat-text").nth(1)).to_have_text("פתוח \u206608:00–17:00\u2069")
    expect(chat.page.locator(".chat-text").nth(1).locator("bdi")).to_have_count(0)


def test_the_question_of_a_failed_run_can_be_sent_again(chat: Any, server: Any) -> None:
    chat.open()
    chat.input.fill("my question")
    chat.input.press("Enter")
    server.wait("message.send")
    server.send("run.started", run_id="r1")
    server.send("run.failed", seq=2, run_id="r1", code="internal", retryable=True)
    expect(chat.page.locator(".chat-progress")).to_have_count(0)
    chat.page.get_by_role("button", name="Try again").click()
    first, second = server.wait("message.send", 2)
    assert second["text"] == first["text"]
    assert second["client_msg_id"] != first["client_msg_id"]


@pytest.mark.parametrize(("code", "words"), [("code_expired", "expired"), ("locked", "Too many wrong codes")])
def test_the_code_field_disappears_when_the_challenge_has_ended(
    chat: Any, server: Any, code: str, words: str
) -> None:
    chat.open()
    server.answers["identity.code"] = lambda frame: server.send(
        "error", code=code, message="x", retryable=False
    )
    server.send("identity.requested", seq=1, expires_at="2999-01-01T00:00:00+00:00")
    chat.page.locator("#chat-code").fill("123456")
    chat.page.locator("#chat-code").press("Enter")
    assert server.wait("identity.code")[0]["code"] == "123456"
    expect(chat.page.locator("#chat-code")).to_be_hidden()
    expect(chat.page.get_by_role("log")).to_contain_text(words)


def test_the_code_field_does_not_return_after_the_code_has_expired(chat: Any, server: Any) -> None:
    server.log = [{"type": "identity.requested", "seq": 1, "expires_at": "2001-01-01T00:00:00+00:00"}]
    chat.open()
    expect(chat.page.locator("#chat-code")).to_be_hidden()


def test_a_changed_mode_is_shown(chat: Any, server: Any) -> None:
    chat.open()
    server.send("mode.changed", seq=1, mode="degraded")
    expect(chat.page.locator(".chat-banner")).to_contain_text("assistant is busy")
    server.send("mode.changed", seq=2, mode="queued")
    expect(chat.page.locator(".chat-banner")).to_contain_text("will take over")
    server.send("mode.changed", seq=3, mode="human")
    expect(chat.page.locator(".chat-banner")).to_contain_text("with the pharmacy team")
    server.send(**server.say(4, "Dana here.", "staff"))
    expect(chat.page.locator(".chat-staff h3")).to_contain_text("Pharmacy team")
    server.send("mode.changed", seq=5, mode="bot")
    expect(chat.page.locator(".chat-banner")).to_be_hidden()


def test_a_chat_with_personal_data_is_cleared_when_it_is_idle(chat: Any, server: Any) -> None:
    chat.page.clock.install()
    chat.open()
    server.send("identity.requested", seq=1, expires_at="2999-01-01T00:00:00+00:00")
    server.send("identity.verified", seq=2, until="2999-01-01T00:00:00+00:00")
    server.send(**server.say(3, "You take Metformin."))
    log = chat.page.get_by_role("log")
    expect(log).to_contain_text("Metformin")
    chat.page.clock.run_for("14:30")
    expect(log).to_contain_text("Metformin")
    expect(log).to_contain_text("cleared in one minute")
    chat.page.get_by_role("button", name="still here").click()
    chat.page.clock.run_for("10:00")
    expect(log).to_contain_text("Metformin")
    chat.page.clock.run_for("05:10")
    expect(log).not_to_contain_text("Metformin")
    assert len(server.sent("hello")) > 1
    assert "conversation" not in server.frames[-1]


def test_a_reader_who_scrolled_up_stays_there(new_chat: Any, make_server: Any) -> None:
    chat = new_chat(390, 700)
    server = make_server(chat.page)
    chat.open()
    for seq in range(1, 30):
        server.send(**server.say(seq, f"message {seq}"))
    expect(chat.items.last).to_be_in_viewport()
    log = chat.page.get_by_role("log")
    log.evaluate("element => { element.scrollTop = 0 }")
    chat.page.wait_for_timeout(100)
    server.send(**server.say(30, "the newest"))
    button = chat.page.get_by_role("button", name="New messages")
    expect(button).to_be_visible()
    assert log.evaluate("element => element.scrollTop") == 0
    button.click()
    expect(chat.items.last).to_be_in_viewport()
    expect(button).to_be_hidden()

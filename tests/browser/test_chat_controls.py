"""What people press besides "send", against a scripted server: stop, confirm, rate, menu, location, the way out."""

import re
from pathlib import Path
from typing import Any

import pytest
from browser.card_samples import handoff
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
Frame = dict[str, Any]
LATER = "2999-01-01T10:00:00+00:00"
REFILL = {
    "title": "Ask for this refill?",
    "rows": [["Medicine", "Metformin 850 mg"], ["Refills left", 2]],
    "yes": "Yes, ask for it",
    "no": "No",
}


def _asks(server: Any, seq: int = 1, expires_at: str = LATER, **fields: Any) -> Frame:
    body = {"confirm_id": "k1", "action": "refill", "summary": REFILL, "expires_at": expires_at}
    return {"type": "confirm.requested", "seq": seq, **body, **fields}


def _menu(chat: Any, entry: str) -> None:
    chat.page.get_by_role("button", name="Menu").click()
    chat.page.get_by_role("button", name=entry).click()


def test_an_unfinished_answer_can_be_stopped(chat: Any, server: Any) -> None:
    chat.open()
    stop = chat.page.get_by_role("button", name=re.compile("^Stop"))
    expect(stop).to_be_hidden()
    server.send("run.started", run_id="r1")
    server.send("message.delta", run_id="r1", offset=0, text="A long ans")
    stop.focus()
    stop.press("Enter")
    stop.press("Enter")
    assert server.wait("run.cancel") == [{"v": 1, "type": "run.cancel"}]
    expect(stop).to_have_text("Stopping…")
    server.send("run.cancelled", seq=1, run_id="r1")
    expect(stop).to_be_hidden()
    expect(chat.input).to_be_focused()
    assert chat.texts() == ["The answer was stopped."]
    server.send("run.started", run_id="r2")
    expect(stop).to_have_text("Stop")


def test_a_confirmation_is_sent_once_and_its_card_becomes_inactive(chat: Any, server: Any) -> None:
    chat.open()
    server.send(**_asks(server))
    card = chat.page.get_by_role("group", name="Ask for this refill?")
    expect(card.locator("dt")).to_have_text(["Medicine", "Refills left"])
    expect(card.locator("dd")).to_have_text(["Metformin 850 mg", "2"])
    assert chat.page.evaluate("document.activeElement === document.body")
    # By keyboard: into the transcript, to the message, into its buttons.
    chat.page.get_by_role("log").focus()
    for key in ("End", "Enter"):
        chat.page.keyboard.press(key)
    yes = card.get_by_role("button", name="Yes, ask for it")
    expect(yes).to_be_focused()
    chat.page.keyboard.press("Enter")
    chat.page.keyboard.press("Enter")
    server.send("run.started", run_id="r1")
    answer = server.wait("confirm.answer")[0]
    assert (answer["confirm_id"], answer["decision"]) == ("k1", "yes")
    server.send(**server.say(2, "It is on its way.", run_id="r1", confirm_id="k1"))
    expect(card).to_contain_text("Your answer: Yes, ask for it")
    expect(card.get_by_role("button")).to_have_count(0)
    expect(chat.items.first).to_be_focused()
    chat.page.wait_for_function("() => seen.spoken.length == 2")
    told = "Ask for this refill?. Medicine: Metformin 850 mg. Refills left: 2. Yes, ask for it / No"
    assert chat.spoken() == [told, "Assistant: It is on its way."]


def test_a_confirmation_card_is_below_the_answer_that_explains_it(chat: Any, server: Any) -> None:
    chat.open()
    server.send("run.started", run_id="r1")
    server.send("message.delta", run_id="r1", offset=0, text="Confirm below.")
    server.log = [_asks(server), server.say(2, "Confirm below.", run_id="r1")]
    server.send(**server.log[0])
    expect(chat.page.locator(".chat-confirm")).to_be_visible()
    assert chat.items.last.locator(".chat-confirm").count() == 1
    server.send(**server.log[1])
    expect(chat.page.locator(".chat-progress")).to_have_count(0)
    assert chat.items.last.locator(".chat-confirm").count() == 1
    chat.page.wait_for_function("() => seen.spoken.length == 2")
    assert [told.split(".")[0] for told in chat.spoken()] == [
        "Assistant: Confirm below",
        "Ask for this refill?",
    ]
    chat.page.reload()
    chat.online()
    expect(chat.items).to_have_count(2)
    assert chat.items.last.locator(".chat-confirm").count() == 1


def test_an_answered_or_expired_confirmation_card_is_inactive(chat: Any, server: Any) -> None:
    other = _asks(server, 3, confirm_id="k2", expires_at="2001-01-01T00:00:00+00:00")
    server.log = [
        _asks(server),
        server.say(2, "Done.", confirm_id="k1"),
        other,
        _asks(server, 4, confirm_id="k3"),
    ]
    chat.open()
    cards = chat.page.get_by_role("group", name="Ask for this refill?")
    expect(cards.locator(".chat-confirm-state")).to_have_text(
        ["Answered.", "This has expired. Please ask again.", re.compile("You can answer until")]
    )
    expect(cards.get_by_role("button")).to_have_count(2)  # those of the last
    server.answers["confirm.answer"] = lambda frame: server.send(
        "error", code="expired", message="x", retryable=False
    )
    cards.last.get_by_role("button", name="No").click()
    expect(cards.last).to_contain_text("This has expired")
    expect(cards.get_by_role("button")).to_have_count(0)
    expect(chat.items).to_have_count(4)  # the card tells of it, no notice besides


def test_a_card_that_was_called_off_has_no_buttons(chat: Any, server: Any) -> None:
    server.log = [_asks(server)]
    chat.open()
    card = chat.page.get_by_role("group", name="Ask for this refill?")
    expect(card.get_by_role("button")).to_have_count(2)
    server.log.append({"type": "confirm.closed", "seq": 2, "confirm_id": "k1", "reason": "called_off"})
    server.send(**server.log[-1])
    for _ in range(2):
        expect(card).to_contain_text("This was called off.")
        expect(card.get_by_role("button")).to_have_count(0)
        chat.page.reload()
        chat.online()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [("called_off", "This was called off."), ("superseded", "There is a newer card below.")],
)
def test_a_press_that_came_too_late_is_told_why(chat: Any, server: Any, code: str, sentence: str) -> None:
    server.log = [_asks(server)]
    chat.open()
    card = chat.page.get_by_role("group", name="Ask for this refill?")
    server.answers["confirm.answer"] = lambda frame: server.send(
        "error", code=code, message="x", retryable=False
    )
    card.get_by_role("button", name="Yes, ask for it").click()
    expect(card).to_contain_text(sentence)
    expect(card.get_by_role("button")).to_have_count(0)


def test_of_two_cards_only_the_newer_has_buttons(chat: Any, server: Any) -> None:
    server.log = [_asks(server)]
    chat.open()
    server.log.append(_asks(server, 2, confirm_id="k2"))
    server.send(**server.log[-1])
    cards = chat.page.get_by_role("group", name="Ask for this refill?")
    for _ in range(2):
        expect(cards.locator(".chat-confirm-state")).to_have_text(
            ["There is a newer card below.", re.compile("You can answer until")]
        )
        expect(cards.first.get_by_role("button")).to_have_count(0)
        expect(cards.last.get_by_role("button")).to_have_count(2)
        chat.page.reload()
        chat.online()


def test_a_confirmation_card_counts_down_to_its_expiry(chat: Any, server: Any) -> None:
    chat.page.clock.install(time="2030-01-01T10:00:00Z")
    chat.open()
    server.send(**_asks(server, expires_at="2030-01-01T10:05:00Z"))
    card = chat.page.get_by_role("group", name="Ask for this refill?")
    expect(card).to_contain_text("You can answer until")
    chat.page.clock.run_for("04:05")
    expect(card).to_contain_text("60 seconds left")
    chat.page.clock.run_for("00:50")
    expect(card).to_contain_text("20 seconds left")
    chat.page.clock.run_for("00:20")
    expect(card).to_contain_text("This has expired")
    expect(card.get_by_role("button")).to_have_count(0)


def test_a_confirmation_that_was_lost_can_be_given_again(chat: Any, server: Any) -> None:
    chat.lost_line = True
    chat.open()
    server.log = [_asks(server)]
    server.send(**server.log[0])
    server.answers["confirm.answer"] = lambda frame: server.socket.close(code=1001)
    yes = chat.page.get_by_role("button", name="Yes, ask for it")
    yes.click()
    server.wait("hello", 2)
    expect(chat.page.locator(".chat-confirm-state")).to_contain_text("Please press again")
    del server.answers["confirm.answer"]
    yes.click()
    server.wait("confirm.answer", 2)


def test_answers_are_rated_and_a_comment_is_optional(chat: Any, server: Any) -> None:
    server.log = [server.say(1, "From before."), server.say(2, "Dana here.", "staff")]
    chat.open()
    server.send(**server.say(3, "Fresh."))
    groups = chat.page.get_by_role("group", name="Was this helpful?")
    expect(groups).to_have_count(2)  # of the assistant's answers, replayed or fresh; not of a person's
    up = groups.first.get_by_role("button", name="Helpful", exact=True)
    up.click()
    assert server.wait("feedback") == [{"v": 1, "type": "feedback", "seq": 1, "rating": 1}]
    server.send("feedback.saved", seq=1, rating=1)
    expect(up).to_have_attribute("aria-pressed", "true")
    expect(groups.first).to_contain_text("Thank you")

    down = groups.last.get_by_role("button", name="Not helpful")
    down.click()
    server.send("feedback.saved", seq=3, rating=-1)
    why = groups.last.get_by_label("What was wrong?")
    why.fill("It was the wrong branch")
    groups.last.get_by_role("button", name="Send").click()
    sent = server.wait("feedback", 3)[1:]
    assert [(frame["rating"], frame.get("comment")) for frame in sent] == [
        (-1, None),
        (-1, "It was the wrong branch"),
    ]
    server.send("feedback.saved", seq=3, rating=-1)
    expect(why).to_have_count(0)
    expect(down).to_have_attribute("aria-pressed", "true")

    server.answers["feedback"] = lambda frame: server.send("error", code="busy", message="x", retryable=True)
    groups.last.get_by_role("button", name="Helpful", exact=True).click()
    expect(groups.last).to_contain_text("could not be saved")
    expect(down).to_have_attribute("aria-pressed", "true")


def test_the_menu_works_by_keyboard(chat: Any, server: Any) -> None:
    chat.open()
    button, keys = chat.page.get_by_role("button", name="Menu"), chat.page.keyboard
    first = chat.page.get_by_role("button", name="Download the conversation")
    button.focus()
    keys.press("ArrowDown")
    expect(first).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "true")
    keys.press("End")
    expect(chat.page.get_by_role("button", name="150%")).to_be_focused()
    keys.press("Enter")
    expect(chat.page.get_by_role("button", name="150%")).to_have_attribute("aria-pressed", "true")
    keys.press("Escape")
    expect(first).to_be_hidden()
    expect(button).to_be_focused()
    assert chat.page.evaluate("getComputedStyle(document.querySelector('.chat-intro')).zoom") == "1.5"
    assert "150" not in chat.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    keys.press("Enter")
    chat.page.get_by_role("heading").first.click()  # a click elsewhere closes it
    expect(first).to_be_hidden()


def test_a_conversation_is_downloaded_as_text(chat: Any, server: Any, tmp_path: Path) -> None:
    rows = [["Jaffa", 12], ["Florentin", None]]
    stock = {"kind": "stock", "data": {"title": "Advil", "columns": ["Branch", "Packs"], "rows": rows}}
    server.log = [
        server.say(1, "יש לכם אדוויל?", "user", lang="he"),
        server.say(2, "כן.", lang="he", cards=[stock]),
    ]
    chat.open()
    server.send(**_asks(server, 3))
    server.send(**server.say(4, "Here is Dana.", "staff"))
    with chat.page.expect_download() as download:
        _menu(chat, "Download the conversation")
    assert re.fullmatch(r"pharmacy-chat-\d{4}-\d\d-\d\d\.txt", download.value.suggested_filename)
    download.value.save_as(tmp_path / "chat.txt")
    head, *parts = (tmp_path / "chat.txt").read_text("utf-8-sig").strip().split("\n\n")
    assert re.search(r"saved on \d\d\.\d\d\.\d{4} \d\d:\d\d", head)
    assert parts[:2] == [
        "אתם:\nיש לכם אדוויל?",
        "העוזר:\nכן.\n  Advil\n  Branch – Packs\n  Jaffa – 12\n  Florentin – –",
    ]
    assert "  Ask for this refill?\n  Medicine – Metformin 850 mg\n  Refills left – 2" in parts[2]
    assert re.fullmatch(r"Pharmacy team, \d\d\.\d\d\.\d{4} \d\d:\d\d:\nHere is Dana\.", parts[3])


def test_a_conversation_is_deleted_only_after_a_second_question(chat: Any, server: Any) -> None:
    chat.open()
    server.send(**server.say(1, "You take Metformin."))
    _menu(chat, "Delete the conversation")
    asked = chat.page.get_by_role("alertdialog", name="Delete the conversation")
    expect(asked.get_by_role("button", name="Keep it")).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(asked).to_have_count(0)
    expect(chat.page.get_by_role("button", name="Menu")).to_be_focused()
    assert server.sent("conversation.delete") == []

    _menu(chat, "Delete the conversation")
    asked.get_by_role("button", name="Delete it").click()
    server.wait("conversation.delete")
    server.send("conversation.deleted")
    log = chat.page.get_by_role("log")
    expect(log).to_contain_text("The conversation was deleted")
    expect(log).not_to_contain_text("Metformin")
    assert chat.page.evaluate("sessionStorage.getItem('pharmacy-chat')") is None
    chat.page.wait_for_timeout(700)
    assert len(server.sent("hello")) == 1  # it stays away until somebody writes
    chat.page.get_by_role("button", name="Begin a new chat").click()
    assert "conversation" not in server.wait("hello", 2)[1]
    chat.online()
    expect(log).not_to_contain_text("deleted")


def test_the_privacy_notice_names_the_retention_time(chat: Any, server: Any) -> None:
    fields = {"mode": "bot", "events": [], "retention_days": 30}
    server.answers["hello"] = lambda frame: server.send("hello.ok", conversation="s", last_seq=0, **fields)
    chat.open()
    expect(chat.page.get_by_role("log")).to_contain_text("keep the conversation for 30 days")
    _menu(chat, "Privacy")
    notice = chat.page.get_by_role("dialog", name="Privacy")
    expect(notice).to_contain_text("30 days")
    behind = "document.querySelector('.chat-composer').inert"
    assert chat.page.evaluate(behind)
    notice.get_by_role("button", name="Got it").click()
    assert not chat.page.evaluate(behind)


def _listed(chat: Any, server: Any, lang: str = "en") -> Any:
    """An answer that lists branches; returns its button for the location."""
    server.log.append(server.say(len(server.log) + 1, "Our branches:", lang=lang, locate=True))
    server.send(**server.log[-1])
    name = {"en": "Use my location", "he": "שימוש במיקום שלי"}[lang]
    return chat.page.get_by_role("button", name=name)


def test_messages_contain_the_location_only_while_it_is_shared(new_chat: Any, make_server: Any) -> None:
    chat = new_chat(geolocation={"latitude": 32.05432, "longitude": 34.75219}, permissions=["geolocation"])
    server = make_server(chat.page)
    chat.open()
    expect(chat.page.locator(".chat-tools").get_by_role("button")).to_have_text(
        ["Talk to a person", "New chat"]
    )

    def send(text: str) -> Any:
        before = len(server.sent("message.send"))
        chat.input.fill(text)
        chat.input.press("Enter")
        return server.wait("message.send", before + 1)[-1]

    assert "location" not in send("before")
    button = _listed(chat, server)
    # By keyboard: into the transcript, to the answer, to its button.
    chat.page.get_by_role("log").focus()
    for key in ("End", "Enter"):
        chat.page.keyboard.press(key)
    expect(button).to_be_focused()
    chat.page.keyboard.press("Enter")
    asked = server.wait("message.send", 2)[-1]
    assert asked["text"] == "Which branch is nearest to me?"
    assert asked["location"] == {"lat": 32.054, "lng": 34.752}
    expect(chat.page.get_by_role("log")).to_contain_text("Your location goes with your messages")
    expect(button).to_be_hidden()
    expect(chat.input).to_be_focused()
    stored = chat.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert "32.05" not in stored
    _menu(chat, "Stop using my location")
    expect(button).to_be_visible()
    assert send("after")["location"] is None  # taken back on the server too
    chat.page.get_by_role("button", name="Menu").click()
    expect(chat.page.get_by_role("button", name="Stop using my location")).to_be_hidden()


def test_a_location_that_was_shared_before_a_reload_can_be_taken_back(chat: Any, server: Any) -> None:
    fields = {"mode": "bot", "events": [], "located": True}
    server.answers["hello"] = lambda frame: server.send("hello.ok", conversation="s", last_seq=0, **fields)
    chat.open()
    expect(_listed(chat, server)).to_be_hidden()
    _menu(chat, "Stop using my location")
    chat.input.fill("hello")
    chat.input.press("Enter")
    assert server.wait("message.send")[0]["location"] is None


def test_the_chat_works_when_the_location_is_refused(chat: Any, server: Any) -> None:
    chat.open()
    button = _listed(chat, server, "he")
    button.click()
    expect(chat.page.get_by_role("log")).to_contain_text("write a city or a street instead")
    expect(button).to_be_visible()
    chat.input.fill("hello")
    chat.input.press("Enter")
    assert not server.wait("message.send")[0].get("location")


def test_a_new_chat_is_begun_after_a_question(chat: Any, server: Any) -> None:
    chat.open()
    begin = chat.page.locator(".chat-tools").get_by_role("button", name="New chat")
    begin.click()  # nothing was said: there is nothing to lose
    expect(chat.input).to_be_focused()
    server.send(**server.say(1, "Here."))
    begin.click()
    chat.page.get_by_role("button", name="Stay here").click()
    expect(chat.items).to_have_count(1)
    begin.click()
    chat.page.get_by_role("alertdialog").get_by_role("button", name="Begin").click()
    expect(chat.items).to_have_count(0)
    assert "conversation" not in server.wait("hello", 2)[1]


def test_a_hand_off_has_one_card_with_its_newest_state(chat: Any, server: Any) -> None:
    chat.open()
    for seq, state in enumerate(("open", "claimed"), 1):
        server.send("handoff.updated", seq=seq, number="R-1001", state=state, message="Dana will answer.")
    server.send("handoff.updated", seq=3, number="R-1002", state="open", message="A pharmacist will answer.")
    cards = chat.page.locator(".chat-card-handoff")
    expect(cards).to_have_count(2)
    expect(cards.first).to_contain_text("With a person")
    titles = cards.locator("h4")
    expect(titles).to_have_text(["A person is helping you", "A person will help you"])
    server.send("handoff.updated", seq=4, number="R-1001", state="closed", message="Done.")
    expect(titles).to_have_text(["A person will help you", "This request is closed"])
    expect(chat.page.get_by_role("button", name="Talk to a person")).to_be_enabled()


@pytest.mark.parametrize("live", [True, False])
def test_a_hand_off_card_is_below_the_sentence_that_tells_of_it(chat: Any, server: Any, live: bool) -> None:
    chat.open()
    if live:
        server.send("run.started", run_id="r1")
    server.send("handoff.updated", seq=1, number="H-1001", state="open", message="From 08:00.")
    server.send(**server.say(2, "I've passed your request on: H-1001.", run_id="r1"))
    expect(chat.items).to_have_count(2)
    assert chat.items.first.locator(".chat-card").count() == 0
    assert chat.items.last.locator(".chat-card-handoff").count() == 1


def test_a_hand_off_card_that_arrives_is_in_view_to_its_end(new_chat: Any, make_server: Any) -> None:
    chat = new_chat(390, 844)
    server = make_server(chat.page)
    chat.open("he")
    for seq in (1, 2, 3):
        server.send(**server.say(seq, "תשובה ארוכה. " * 20, lang="he"))
    server.send("run.started", run_id="r1")
    server.send("handoff.updated", seq=4, **handoff("he"))
    chat.page.wait_for_timeout(100)  # the scroll event of the card's first place
    server.send(**server.say(5, "העברתי את הפנייה.", run_id="r1", lang="he"))
    expect(chat.page.locator(".chat-card-handoff .chat-note")).to_be_in_viewport(ratio=1)
    expect(chat.page.locator(".chat-jump")).to_be_hidden()


@pytest.mark.parametrize(("page", "lang"), [("he", "en"), ("en", "he")])
def test_a_hand_off_card_is_in_the_language_of_its_conversation(
    chat: Any, server: Any, page: str, lang: str
) -> None:
    chat.open(page)
    card = chat.page.locator(".chat-card-handoff")

    def languages() -> set[bool]:
        """Whether the card's title, labels, values and note hold Hebrew; numbers and names do not count."""
        texts = card.locator("h4, dt, dd, p").all_text_contents()
        return {bool(re.search("[א-ת]", text)) for text in texts if text != "H-1006"}

    server.send("handoff.updated", seq=1, **handoff(lang))
    expect(card).to_have_attribute("lang", lang)
    expect(card.locator("dt")).to_have_count(7)
    assert languages() == {lang == "he"}
    before = card.inner_text()
    place = {"en": "Waiting, you are next", "he": "ממתינה, הבאה בתור"}[lang]
    server.send("handoff.queue", number="H-1006", queue=place)
    expect(card).to_contain_text(place)
    assert [line for line in card.inner_text().splitlines() if line not in before] == [place]
    assert languages() == {lang == "he"}
    chat.page.wait_for_function("(place) => seen.spoken.at(-1)?.textContent.endsWith(place)", arg=place)
    message = {"en": "Our staff have dealt with this.", "he": "הצוות שלנו טיפל בפנייה."}[lang]
    server.send("handoff.updated", seq=2, number="H-1006", state="closed", lang=lang, message=message)
    expect(card).to_contain_text(message)
    assert languages() == {lang == "he"}


def test_a_hand_offs_place_in_the_queue_is_that_of_the_last_hello(chat: Any, server: Any) -> None:
    told = {"v": 1, "type": "handoff.updated", "seq": 1, **handoff("en")}
    fields = {
        "mode": "bot",
        "events": [told],
        "queue": [{"number": "H-1006", "queue": "Waiting, 1 before you"}],
    }
    server.answers["hello"] = lambda frame: server.send("hello.ok", conversation="s", last_seq=1, **fields)
    chat.open()
    expect(chat.page.locator(".chat-card-handoff dd").nth(1)).to_have_text("Waiting, 1 before you")


@pytest.mark.parametrize(("page", "lang", "way"), [("he", "en", "ltr"), ("en", "he", "rtl")])
def test_the_card_of_the_way_out_is_in_the_language_of_its_message(
    chat: Any, server: Any, page: str, lang: str, way: str
) -> None:
    chat.open(page)
    title = {"en": "Continue on our own site", "he": "המשך באתר של בית המרקחת"}[lang]
    card = {"kind": "identity", "data": {"title": title, "action": "continue"}}
    server.send(**server.say(1, title, lang=lang, cards=[card]))
    made = chat.page.locator(".chat-handover")
    expect(made).to_have_attribute("lang", lang)
    expect(made).to_have_attribute("dir", way)
    hebrew = made.evaluate(
        "(e) => [...e.querySelectorAll('p, button')].map((each) => /[א-ת]/.test(each.textContent))"
    )
    assert {*hebrew[:3]} == {lang == "he"}


@pytest.mark.parametrize(
    "url", ["/continue/?lang=en#t1", "https://evil.example/", "//evil.example", "/\\evil.example"]
)
def test_the_link_out_of_a_frame_opens_only_the_sites_own_pages(chat: Any, server: Any, url: str) -> None:
    chat.page.add_init_script(
        "window.opened = []; window.open = (...all) => { opened.push(all); return null; }"
    )
    chat.open()
    card = {"kind": "identity", "data": {"title": "Continue on our own site", "action": "continue"}}
    server.send(**server.say(1, "Personal details need our own site.", cards=[card]))
    server.answers["handover.request"] = lambda frame: server.send("handover.ready", url=url)
    chat.page.get_by_role("button", name="Continue securely in a new window").click()
    server.wait("handover.request")
    chat.page.wait_for_timeout(100)
    own = url.startswith("/continue/")
    assert chat.page.evaluate("opened") == ([[url, "_blank", "noopener"]] if own else [])
    expect(chat.page.get_by_role("link", name="Nothing opened?")).to_have_count(int(own))


FRAMED = """
window.done = {closed: 0, unread: [], tickets: 0};
import("/static/chat/widget.js").then(({Chat}) => {
  const root = document.createElement("main");
  document.body.replaceChildren(root);
  root.id = "chat";
  window.framed = new Chat(root, {
    lang: "en", frame: true, site: "pub_1",
    ticket: async () => `ticket-${done.tickets += 1}`,
    onclose: () => done.closed += 1,
    onunread: (count) => done.unread.push(count),
  });
});
"""


def test_a_chat_in_a_frame_connects_counts_unread_messages_and_closes(chat: Any, server: Any) -> None:
    chat.open()
    chat.page.evaluate(FRAMED)
    hello = server.wait("hello", 2)[1]
    assert (hello["site"], hello["ticket"]) == ("pub_1", "ticket-1")
    assert "conversation" not in hello  # that of our own page is none of the frame's
    chat.online()
    chat.lost_line = True
    server.socket.close(code=1012)
    assert server.wait("hello", 3)[2]["ticket"] == "ticket-2"  # each is good for one connection
    chat.online()
    expect(chat.page.get_by_role("heading", level=1)).to_have_text("Ask the pharmacy")
    server.send(**server.say(1, "one"))
    server.send(**server.say(2, "two", "staff"))
    expect(chat.items).to_have_count(2)
    chat.page.evaluate("framed.focus()")
    expect(chat.input).to_be_focused()
    assert chat.page.evaluate("done.unread") == [1, 2, 0]
    chat.page.get_by_role("button", name="Close the chat").click()
    assert chat.page.evaluate("done.closed") == 1
    # Escape closes what is open inside first, then the chat.
    chat.page.get_by_role("button", name="Menu").click()
    chat.page.keyboard.press("Escape")
    assert chat.page.evaluate("done.closed") == 1
    chat.page.keyboard.press("Escape")
    assert chat.page.evaluate("done.closed") == 2


def test_a_windows_ticket_is_used_for_one_hello(chat: Any, server: Any) -> None:
    chat.open()
    script = FRAMED.replace('site: "pub_1",', 'handoverTicket: "once",').replace(
        "ticket: async", "other: async"
    )
    chat.page.evaluate(script)
    assert server.wait("hello", 2)[1] == {"v": 1, "type": "hello", "lang": "en", "ticket": "once"}
    chat.online()
    chat.lost_line = True
    server.socket.close(code=1012)
    hello = server.wait("hello", 3)[2]
    assert (hello["conversation"], "ticket" in hello) == ("secret-1", False)


# -- Danger ---------------------------------------------------------------------------------------------------
RED = """(element) => {
  const [red, green, blue] = getComputedStyle(element).borderTopColor.match(/\\d+/g).map(Number);
  return red > 140 && red > 1.2 * green && red > 1.2 * blue;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_number_to_call_is_a_wide_red_button_without_thumbs(
    new_chat: Any, make_server: Any, scheme: str
) -> None:
    chat = new_chat(390, 844, color_scheme=scheme)
    server = make_server(chat.page)
    chat.open("he")
    server.send(
        **server.say(
            1, "התקשרו עכשיו למד״א: 101.", lang="he", phones=["101", "04-7771900"], suggestions=["לדבר"]
        )
    )
    server.send(**server.say(2, "איבופרופן במלאי.", lang="he"))
    alarm, fact = chat.answers.nth(0), chat.answers.nth(1)
    expect(alarm.get_by_role("link")).to_have_text(["חיוג 101", "חיוג 04-7771900"])
    bubble = alarm.locator(".chat-bubble")
    widths = [
        bubble.bounding_box()["width"],
        *(each.bounding_box()["width"] for each in alarm.locator("a").all()),
    ]
    assert min(widths[1:]) > 0.85 * widths[0]
    assert bubble.evaluate(RED)
    assert not fact.locator(".chat-bubble").evaluate(RED)
    expect(alarm.locator(".chat-thumb")).to_have_count(0)
    expect(fact.locator(".chat-thumb")).to_have_count(2)
    assert alarm.locator("a").first.evaluate("(e) => getComputedStyle(e).color") == "rgb(255, 255, 255)"

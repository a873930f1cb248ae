"""What an answer takes back leaves the page at once: in open sockets, in other tabs, after a reload or a lost line."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from string import ascii_lowercase
from typing import Any
from uuid import UUID, uuid4

import pytest

from agent.chat import chat_socket, hub
from agent.chat.chat_socket import ChatSocket
from agent.chat.progress import RunProgress
from agent.chat.protocol import ActiveRun
from agent.conversation.records import Progress

WITHDRAWN = ["Warfarin costs 46.80. ", "Sure, "]
SAID = ["I can't judge that. ", "The leaflet says: do not take with Nurofen."]
Frame = dict[str, Any]


class Page:
    """A page behind a real socket: it shows what the widget would (`static/chat/answers.js`)."""

    def __init__(self, cards: bool = True) -> None:
        self.socket = ChatSocket()
        self.socket.ready, self.socket.key, self.socket.shows_cards = True, "k", cards
        self.socket.push = self._take  # type: ignore[method-assign, assignment]
        self.frames: list[Frame] = []
        self.run, self.attempt, self.restarts, self.text = "", 0, 0, ""
        self.seen: list[str] = []

    def _take(self, frame: Frame) -> None:
        self.frames.append(frame)
        assert "brief" not in frame
        if frame["type"] == "run.started":
            if (self.run, self.attempt) != (frame["run_id"], frame["attempt"]):
                self.text, self.restarts = "", 0
            self.run, self.attempt = frame["run_id"], frame["attempt"]
        elif frame["type"] == "message.delta":
            assert frame["offset"] <= len(self.text), "a hole"
            self.text = self.text[: frame["offset"]] + frame["text"]
            self.restarts = frame.get("restarts", 0)
            self.seen.append(self.text)

    def comes_back(self, stored: Progress | None) -> None:
        """The line was cut: say hello with what is on the page, on a new socket."""
        self.socket.stop()
        socket = ChatSocket()
        socket.ready, socket.key, socket.shows_cards = True, "k", self.socket.shows_cards
        socket.push = self._take  # type: ignore[method-assign, assignment]
        self.socket = socket
        fields = {"run_id": self.run, "attempt": self.attempt, "offset": len(self.text)}
        if self.restarts:
            fields["restarts"] = self.restarts
        socket.replay(stored, ActiveRun.model_validate(fields))


class Conversation:
    """A run at work, and the pages that are open."""

    def __init__(self) -> None:
        self.hub = hub.Hub()
        self.progress = RunProgress(self.hub, "k", uuid4(), 1)

    async def open(self, cards: bool = True) -> Page:
        page = Page(cards)
        await self.hub.join(page.socket)
        return page

    async def back(self, page: Page, stored: Progress | None = None) -> None:
        page.comes_back(stored or self.progress.snapshot())
        await self.hub.join(page.socket)

    def say(self, pieces: list[str], start: int = 0) -> None:
        for piece in pieces[start:]:
            self.progress.say(piece)


@pytest.fixture
async def talk(settings: Any) -> AsyncIterator[Conversation]:
    settings.REDIS_URL = ""
    talk = Conversation()
    yield talk
    talk.hub.close()


@pytest.mark.parametrize("cards", [True, False])
async def test_withdrawn_text_leaves_open_pages_at_once(talk: Conversation, cards: bool) -> None:
    page = await talk.open(cards)
    talk.progress.begin()
    talk.say(WITHDRAWN)
    late = await talk.open(cards)
    late.socket.replay(talk.progress.snapshot(), None)
    assert page.text == late.text == "".join(WITHDRAWN)
    talk.progress.unsay()
    assert page.text == late.text == ""
    talk.say(SAID)
    # Each piece is shown as it is, and nothing besides.
    assert page.seen[2:] == late.seen[1:] == ["", SAID[0], "".join(SAID)]


@pytest.mark.parametrize("cards", [True, False])
async def test_each_form_of_the_answer_begins_anew(talk: Conversation, cards: bool) -> None:
    """The text beside cards has other lengths than the whole one, and may be empty where that is not."""
    page = await talk.open(cards)
    talk.progress.begin()
    talk.progress.say("Warfarin costs 46.80 at three branches. ", "Warfarin costs 46.80. ")
    talk.progress.unsay()
    talk.progress.say("The first branch. ", "")
    talk.progress.say("The second.")
    talk.progress.unsay()
    talk.progress.say("A list. ", "")
    talk.progress.say("Its end.", "Its end.")
    assert page.text == ("Its end." if cards else "A list. Its end.")
    assert page.seen.count("") == 2
    again = await talk.open(cards)
    again.socket.replay(talk.progress.snapshot(), None)
    assert again.text == page.text


@pytest.mark.parametrize("said", [0, 1, 2])
async def test_a_page_that_comes_back_has_lost_what_was_withdrawn_meanwhile(
    talk: Conversation, said: int
) -> None:
    page = await talk.open()
    talk.progress.begin()
    talk.say(WITHDRAWN)
    await talk.hub.leave(page.socket)
    talk.progress.unsay()
    talk.say(SAID[:said])
    await talk.back(page)
    assert page.text == "".join(SAID[:said])
    talk.say(SAID, said)
    assert page.text == "".join(SAID)
    await talk.hub.leave(page.socket)
    before = len(page.frames)
    await talk.back(page)  # it has everything
    assert [frame["type"] for frame in page.frames[before:]] == ["run.started"]


async def test_a_page_gets_only_the_rest_behind_the_last_restart(talk: Conversation) -> None:
    page = await talk.open()
    talk.progress.begin()
    talk.say(WITHDRAWN)
    talk.progress.unsay()
    talk.say(SAID[:1])
    await talk.hub.leave(page.socket)
    talk.say(SAID, 1)
    await talk.back(page)
    assert (page.frames[-1]["offset"], page.frames[-1]["text"]) == (len(SAID[0]), SAID[1])
    assert page.text == "".join(SAID)


async def test_progress_stored_before_a_restart_is_not_mixed_with_what_the_page_has(
    talk: Conversation,
) -> None:
    """The page comes back to another process, which reads what was stored a second ago."""
    page = await talk.open()
    talk.progress.begin()
    talk.say(WITHDRAWN)
    stored = talk.progress.snapshot()
    talk.progress.unsay()
    talk.say(SAID[:1])
    await talk.hub.leave(page.socket)
    await talk.back(page, stored)
    assert page.text == SAID[0]
    talk.say(SAID, 1)
    assert page.text == "".join(SAID)
    # A page that was loaded again sees the old text until the next news, and not mixed.
    fresh = await talk.open()
    fresh.socket.replay(stored, None)
    talk.progress.unsay()
    talk.say(SAID)
    assert fresh.seen == ["".join(WITHDRAWN), "", SAID[0], "".join(SAID)]


def _reads(monkeypatch: pytest.MonkeyPatch, stored: Callable[[], Progress | None]) -> None:
    """Let sockets read this progress from the database."""

    def run_urgent(function: Any) -> Any:
        async def read(run_id: str) -> Progress | None:
            assert UUID(run_id)
            return stored()

        return read

    monkeypatch.setattr(chat_socket, "run_urgent", run_urgent)


async def _filled(*pages: Page) -> None:
    for filling in [page.socket._filling for page in pages]:
        assert filling
        await filling


async def test_lost_news_of_a_restart_takes_the_text_back_with_the_next_piece(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """News of other processes may be lost while the channel layer is."""
    replaced, filled, unknown = [await talk.open() for _ in range(3)]
    talk.progress.begin()
    talk.say(WITHDRAWN)
    for page in (replaced, filled, unknown):
        await talk.hub.leave(page.socket)
    await talk.back(unknown)
    unknown.socket._shown = chat_socket._Shown("")  # its process had nothing stored when it came back
    await talk.hub.leave(unknown.socket)
    old = talk.progress.snapshot()
    talk.progress.unsay()
    await talk.hub.join(replaced.socket)
    talk.say(SAID[:1])
    assert replaced.text == SAID[0]
    await talk.hub.join(filled.socket)
    await talk.hub.join(unknown.socket)
    _reads(monkeypatch, lambda: old)
    talk.say(SAID, 1)
    assert filled.text == unknown.text == ""
    await _filled(filled, unknown)
    assert filled.text == unknown.text == "", "what was stored before the restart is not shown again"
    _reads(monkeypatch, talk.progress.snapshot)
    talk.say([" Ask a pharmacist."])
    await _filled(filled, unknown)
    assert filled.text == unknown.text == replaced.text == "".join(SAID) + " Ask a pharmacist."


async def test_a_restart_while_hello_is_answered_is_not_missed(talk: Conversation) -> None:
    talk.progress.begin()
    talk.say(WITHDRAWN)
    stored = talk.progress.snapshot()
    page = await talk.open()
    page.socket.ready = False
    talk.progress.unsay()
    page.socket.replay(stored, None)
    page.socket.ready = True
    assert page.text == ""
    talk.say(SAID)
    assert page.text == "".join(SAID)


async def test_late_pieces_of_withdrawn_text_are_not_shown(talk: Conversation) -> None:
    page = await talk.open()
    talk.progress.begin()
    talk.say(WITHDRAWN)
    talk.progress.unsay()
    talk.say(SAID)
    for offset, text in ((0, WITHDRAWN[0]), (len("".join(SAID)), "Sure, ")):
        late: Any = {
            "type": "message.delta",
            "run_id": str(talk.progress.run_id),
            "offset": offset,
            "text": text,
        }
        page.socket.send_ephemeral(late)
    assert page.text == "".join(SAID)


async def test_a_second_attempt_begins_with_no_restarts(talk: Conversation) -> None:
    page = await talk.open()
    talk.progress.begin()
    talk.say(WITHDRAWN)
    talk.progress.unsay()
    talk.say(SAID[:1])
    second = RunProgress(talk.hub, "k", talk.progress.run_id, 2)
    second.begin()
    second.say("Anew.")
    assert page.text == "Anew."
    page.attempt, page.restarts, page.text = 1, 1, SAID[0]
    await talk.hub.leave(page.socket)
    page.comes_back(second.snapshot())
    assert page.text == "Anew."


class Network:
    """Three pages and what may happen to them and to the answer; each beginning is made of a letter of its own."""

    def __init__(self, talk: Conversation, pages: list[Page], seed: int) -> None:
        self.talk, self.pages = talk, pages
        self.chance = random.Random(seed)
        self.stored = talk.progress.snapshot()

    def say(self, page: Page) -> None:
        letter = ascii_lowercase[self.talk.progress.restarts]
        self.talk.progress.say(*(letter * self.chance.randint(0, 3) for _form in range(2)))

    def unsay(self, page: Page) -> None:
        if self.talk.progress.restarts + 1 < len(ascii_lowercase):
            self.talk.progress.unsay()

    def store(self, page: Page) -> None:
        self.stored = self.talk.progress.snapshot()

    async def lose(self, page: Page) -> None:
        await self.talk.hub.leave(page.socket)

    async def hear(self, page: Page) -> None:
        await self.talk.hub.join(page.socket)

    async def back(self, page: Page) -> None:
        await self.talk.hub.leave(page.socket)
        await self.talk.back(page, self.stored)

    async def read(self, page: Page) -> None:
        await asyncio.sleep(0)

    async def anything(self) -> None:
        kinds = [self.say, self.say, self.unsay, self.store, self.lose, self.hear, self.back, self.read]
        happened = self.chance.choice(kinds)(self.chance.choice(self.pages))
        if happened:
            await happened

    async def calm(self) -> None:
        """Everybody listens again; the next pieces make up for whatever was lost."""
        for page in self.pages:
            await self.talk.hub.join(page.socket)
        for end in ("!", "?"):
            self.talk.progress.say(end)
            self.stored = self.talk.progress.snapshot()
            await asyncio.sleep(0)
            await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(100))
async def test_no_order_of_news_mixes_two_beginnings(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """News is lost, lines are cut, and what is stored is old."""
    pages = [await talk.open(cards) for cards in (True, True, False)]
    network = Network(talk, pages, seed)
    _reads(monkeypatch, lambda: network.stored)
    talk.progress.begin()
    for _ in range(40):
        await network.anything()
        assert [len(set(page.text)) <= 1 for page in pages] == [True] * 3
    await network.calm()
    whole, brief = talk.progress.text, talk.progress.brief
    assert [page.text for page in pages] == [brief, brief, whole]

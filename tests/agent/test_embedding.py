"""The chat on other sites: whose pages may frame it, what a ticket opens, and that nobody is identified there."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone
from pytest_django import Settings
from random_text import without_random
from talking import Talk

from agent.chat import protocol
from agent.chat.protocol import BadMessage
from agent.checks import plain_http_sites
from agent.conversation import embedding, events
from agent.conversation.embedding import OriginRefused, TicketRefused, TicketsLimited, origin_clean
from agent.models import ChatSite, Conversation, Event, Run, Ticket
from prescriptions.models import Challenge, Notification, Patient

HERE, THERE = "192.0.2.1", "192.0.2.2"
CONTACTS = ["david.cohen@example.com", "050-1234567"]


@pytest.fixture(autouse=True)
def _counts() -> None:
    cache.clear()


@pytest.fixture
def shop(db: None) -> ChatSite:
    return ChatSite.objects.create(name="A shop", origins=["https://shop.example"])


@pytest.fixture
def embedded(shop: ChatSite) -> tuple[Conversation, str]:
    """A conversation that was begun in the shop's frame, and its secret."""
    return events.conversation_begin(language="en", site=shop)


def way_out(conversation: Conversation) -> str:
    """The ticket by which a conversation leaves its frame."""
    return embedding.handover_issue(conversation.pk, conversation.secret_hash, HERE).partition("#")[2]


# -- Origins ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://shop.example", "https://shop.example"),
        ("  HTTPS://Shop.Example/  ", "https://shop.example"),
        ("https://shop.example:443", "https://shop.example"),
        ("https://shop.example:8443", "https://shop.example:8443"),
        ("https://a-b.shop.co.il", "https://a-b.shop.co.il"),
        ("https://חנות.co.il", "https://xn--9dbd1a4b.co.il"),
        ("https://xn--9dbd1a4b.co.il", "https://xn--9dbd1a4b.co.il"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("https://localhost", "https://localhost"),
    ],
)
def test_an_origin_is_kept_as_browsers_write_it(typed: str, kept: str) -> None:
    assert origin_clean(typed) == kept
    assert origin_clean(kept) == kept


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "form"),
        ("*", "form"),
        ("shop.example", "form"),
        ("//shop.example", "form"),
        ("https://", "form"),
        ("https:///shop.example", "form"),
        ("https://shop.example/path", "form"),
        ("https://shop.example?x=1", "form"),
        ("https://shop.example#x", "form"),
        ("https://user@shop.example", "form"),
        ("https://user:word@shop.example", "form"),
        ("https://shop.example:", "form"),
        ("https://shop.example:x", "form"),
        ("https://shop.example:123456", "form"),
        ("https://shop.example\\@evil.example", "form"),
        ("https://[::1]", "form"),
        ("ftp://shop.example", "form"),
        ("javascript:alert(1)", "form"),
        ("data:text/html,x", "form"),
        ("null", "form"),
        ("https://shop.example https://evil.example", "form"),
        ("https://shop.example\nhttps://evil.example", "form"),
        ("https://shop.example:0", "port"),
        ("https://shop.example:65536", "port"),
        ("http://shop.example", "scheme"),
        ("http://localhost.evil.example", "scheme"),
        ("https://*.shop.example", "host"),
        ("https://shop.example; script-src *", "host"),
        ("https://shop.example,https", "host"),
        ("https://'self'", "host"),
        ("https://shop..example", "host"),
        ("https://.shop.example", "host"),
        ("https://shop.example.", "host"),
        ("https://-shop.example", "host"),
        ("https://shop", "host"),
        ("https://192.0.2.7", "host"),
        ("https://127.1", "host"),
        ("https://2130706433", "host"),
        ("https://0x7f.0x1", "host"),
        ("https://shop.example%2eevil", "host"),
        ("https://shöp\u200d.example", "host"),
        ("https://faß.example", "host"),
        ("https://ｓhop.example", "host"),
        ("https://shop\u3002example", "host"),
        ("https://" + "a" * 64 + ".example", "host"),
        ("https://" + ".".join(["a" * 60] * 5), "host"),
    ],
)
def test_an_invalid_origin_is_refused(typed: str, reason: str) -> None:
    with pytest.raises(OriginRefused) as refused:
        origin_clean(typed)
    assert refused.value.reason == reason


def test_frame_ancestors_are_clean_origins_only() -> None:
    site = ChatSite(origins=["https://shop.example", "https://x.example; script-src *", "*", 7, None])
    assert embedding.frame_ancestors(site) == ["https://shop.example"]
    assert embedding.frame_ancestors(ChatSite(origins=["*"])) == ["'none'"]


def test_a_site_over_plain_http_causes_a_warning(shop: ChatSite) -> None:
    assert plain_http_sites() == []
    local = ChatSite.objects.create(name="Here", origins=["http://localhost:8000"])
    assert [warning.id for warning in plain_http_sites()] == ["agent.W001"]
    ChatSite.objects.filter(pk=local.pk).update(is_active=False)
    assert plain_http_sites() == []


# -- Into a frame -------------------------------------------------------------------------------------------
def test_a_ticket_opens_its_site_once_and_is_stored_as_a_hash(shop: ChatSite) -> None:
    ticket = embedding.ticket_issue(shop, HERE)
    row = Ticket.objects.get()
    assert ticket not in (row.ticket_hash, row.address_key) and HERE not in row.address_key
    assert embedding.site_admit(shop.public_id, ticket, HERE) == shop
    with pytest.raises(TicketRefused):
        embedding.site_admit(shop.public_id, ticket, HERE)
    assert not Ticket.objects.exists()


def test_a_ticket_expires_after_half_a_minute(shop: ChatSite) -> None:
    ticket = embedding.ticket_issue(shop, HERE)
    left = Ticket.objects.get().expires_at - timezone.now()
    assert timedelta(seconds=28) < left <= timedelta(seconds=30)
    Ticket.objects.update(expires_at=timezone.now())
    with pytest.raises(TicketRefused):
        embedding.site_admit(shop.public_id, ticket, HERE)
    assert embedding.tickets_purge() == 1


@pytest.mark.parametrize("case", ["address", "site", "unknown site", "inactive", "wrong", "empty"])
def test_a_ticket_of_another_kind_is_refused_and_stays_unused(shop: ChatSite, case: str) -> None:
    other = ChatSite.objects.create(name="Another", origins=["https://other.example"])
    ticket = embedding.ticket_issue(shop, HERE)
    offered = {
        "address": (shop.public_id, ticket, THERE),
        "site": (other.public_id, ticket, HERE),
        "unknown site": ("pub_nobody", ticket, HERE),
        "inactive": (shop.public_id, ticket, HERE),
        "wrong": (shop.public_id, ticket[:-1], HERE),
        "empty": (shop.public_id, "", HERE),
    }[case]
    if case == "inactive":
        ChatSite.objects.filter(pk=shop.pk).update(is_active=False)
    with pytest.raises(TicketRefused):
        embedding.site_admit(*offered)
    ChatSite.objects.filter(pk=shop.pk).update(is_active=True)
    assert embedding.site_admit(shop.public_id, ticket, HERE) == shop


def test_tickets_are_limited_per_address_and_minute(shop: ChatSite, settings: Settings) -> None:
    settings.CHAT_SOCKETS_PER_MINUTE = 3
    for _ in range(3):
        embedding.ticket_issue(shop, HERE)
    with pytest.raises(TicketsLimited):
        embedding.ticket_issue(shop, HERE)
    embedding.ticket_issue(shop, THERE)


def test_a_conversation_continues_only_where_it_began(
    embedded: tuple[Conversation, str], shop: ChatSite
) -> None:
    framed, _ = embedded
    own, _ = events.conversation_begin(language="en")
    other = ChatSite.objects.create(name="Another", origins=["https://other.example"])
    assert embedding.may_resume(framed, shop) and embedding.may_resume(own, None)
    assert not embedding.may_resume(framed, None)
    assert not embedding.may_resume(framed, other)
    assert not embedding.may_resume(own, shop)


# -- The door -----------------------------------------------------------------------------------------------
def enter(**hello: Any) -> embedding.Entrance:
    message = protocol.parse({"type": "hello", **hello})
    assert isinstance(message, protocol.Hello)
    return embedding.entrance(
        address=HERE,
        language="he",
        site=message.site,
        ticket=message.ticket,
        secret=message.conversation,
    )


def test_a_hello_on_the_sites_own_page_begins_or_continues_a_conversation(db: None) -> None:
    begun = enter()
    assert begun.conversation.site is None and begun.conversation.language == "he"
    assert not begun.identity_elsewhere
    assert enter(conversation=begun.secret) == begun


@pytest.mark.parametrize("own", [False, True])
def test_a_hello_in_a_frame_begins_or_continues_a_conversation(shop: ChatSite, own: bool) -> None:
    ChatSite.objects.update(first_party=own)
    begun = enter(site=shop.public_id, ticket=embedding.ticket_issue(shop, HERE))
    assert begun.conversation.site == shop and begun.identity_elsewhere is not own
    again = enter(site=shop.public_id, ticket=embedding.ticket_issue(shop, HERE), conversation=begun.secret)
    assert again == begun


def test_a_hello_with_the_secret_of_another_site_is_refused(
    embedded: tuple[Conversation, str], shop: ChatSite
) -> None:
    _, framed_secret = embedded
    with pytest.raises(TicketRefused):
        enter(conversation=framed_secret)
    with pytest.raises(TicketRefused):
        enter(site=shop.public_id, ticket=embedding.ticket_issue(shop, HERE), conversation=enter().secret)
    with pytest.raises(events.ConversationGone):
        enter(conversation="unknown")


def test_a_hello_with_a_handover_ticket_moves_the_conversation(
    embedded: tuple[Conversation, str],
) -> None:
    conversation, old = embedded
    entered = enter(ticket=way_out(conversation), conversation="whatever is left in this window")
    assert entered.conversation == conversation and not entered.identity_elsewhere
    assert entered.secret != old and events.conversation_find(entered.secret) == conversation


@pytest.mark.parametrize(
    ("hello", "refusal"),
    [
        ({"site": "pub_demo"}, TicketRefused),
        ({"site": "pub_demo", "ticket": None}, TicketRefused),
        ({"site": "pub_demo", "ticket": "x" * 200}, TicketRefused),
        ({"ticket": "x"}, TicketRefused),
        ({"ticket": 7}, BadMessage),
        ({"site": 7, "ticket": "x"}, BadMessage),
        ({"site": ["pub_demo"], "ticket": {}}, BadMessage),
        ({"site": "pub_demo", "ticket": "x" * 10_000}, BadMessage),
        ({"site": "\ud800", "ticket": "x"}, BadMessage),
        ({"ticket": "\ud800"}, BadMessage),
        ({"ticket": ""}, BadMessage),
    ],
)
def test_an_incomplete_hello_is_refused(db: None, hello: dict[str, Any], refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        enter(**hello)
    assert not Conversation.objects.exists()


def test_a_ticket_of_one_kind_does_not_replace_the_other(
    embedded: tuple[Conversation, str], shop: ChatSite
) -> None:
    conversation, _ = embedded
    inward = embedding.ticket_issue(shop, HERE)
    outward = way_out(conversation)
    with pytest.raises(TicketRefused):
        embedding.handover_take(inward, HERE)
    with pytest.raises(TicketRefused):
        embedding.site_admit(shop.public_id, outward, HERE)


# -- Out of a frame -----------------------------------------------------------------------------------------
def test_a_handover_moves_the_conversation(embedded: tuple[Conversation, str]) -> None:
    conversation, old = embedded
    address = embedding.handover_issue(conversation.pk, events.secret_hash(old), HERE)
    path, _, ticket = address.partition("#")
    assert path == "/continue/?lang=en"
    entrance = embedding.handover_take(ticket, HERE)
    moved, secret = entrance.conversation, entrance.secret
    assert moved == conversation and moved.site is None and not moved.identity_elsewhere
    assert events.conversation_find(old) is None
    assert events.conversation_find(secret) == conversation
    with pytest.raises(TicketRefused):
        embedding.handover_take(ticket, HERE)
    with pytest.raises(events.ConversationGone):  # the frame's secret asks for nothing any more
        embedding.handover_issue(conversation.pk, events.secret_hash(old), HERE)
    with pytest.raises(TicketRefused):  # and there is no frame to leave
        embedding.handover_issue(conversation.pk, events.secret_hash(secret), HERE)


def test_a_refused_handover_changes_nothing(embedded: tuple[Conversation, str]) -> None:
    conversation, secret = embedded
    replaced = way_out(conversation)
    ticket = way_out(conversation)
    for offered, address in ((replaced, HERE), (ticket, THERE), ("", HERE)):
        with pytest.raises(TicketRefused):
            embedding.handover_take(offered, address)
    Ticket.objects.update(expires_at=timezone.now())
    with pytest.raises(TicketRefused):
        embedding.handover_take(ticket, HERE)
    found = events.conversation_find(secret)
    assert found == conversation and found.site is not None


# -- Nobody is identified on a site that is not ours --------------------------------------------------------
def framed(**site: Any) -> Conversation:
    shop = ChatSite.objects.create(name="A shop", origins=["https://shop.example"], **site)
    return events.conversation_begin(language="en", site=shop)[0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["What prescriptions do I have?", *CONTACTS, "send me the code again", "123456"], "own site"),
        (["Can I get a refill of my Metformin?", "my son's prescriptions please"], "own site"),
        (["אילו מרשמים יש לי?", "david.cohen@example.com", "המרשמים של אמא שלי"], "באתר של בית המרקחת"),
    ],
)
def test_on_another_site_prescriptions_are_never_shown(
    demo_committed: None, texts: list[str], words: str
) -> None:
    talk = Talk(conversation=framed())
    said = [talk.ask(text) for text in texts]
    assert words in said[0]["text"]
    [card] = said[0]["cards"]
    assert card["kind"] == "identity" and card["data"]["action"] == "continue" and card["data"]["title"]
    assert said[0]["suggestions"]
    for answer in said[1:]:
        assert "sent a code" not in answer["text"] and "שלחנו קוד" not in answer["text"]
        assert not [tool for tool in answer["tools"] if tool["name"].startswith("prescription")]
    assert not Challenge.objects.exists() and not Notification.objects.exists()
    assert not Event.objects.filter(conversation=talk.conversation, type__startswith="identity").exists()


@pytest.mark.django_db(transaction=True)
def test_the_open_question_is_answered_after_the_handover(demo_committed: None) -> None:
    conversation = framed()
    talk = Talk(conversation=conversation)
    talk.say("What prescriptions do I have?")
    ticket = way_out(conversation)
    embedding.handover_take(ticket, HERE)
    assert Run.objects.filter(conversation=conversation, kind=Run.Kind.RESUME, state="pending").count() == 1
    talk.answer()
    assert "email" in talk.payload["text"]
    assert "sent a code" in talk.say(CONTACTS[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("language", "born"), [("en", "June 11, 1978"), ("he", "11 ביוני 1978")])
def test_on_another_site_a_date_of_birth_is_neither_asked_nor_compared_and_stays_masked(
    demo_committed: None, settings: Settings, language: str, born: str
) -> None:
    settings.CHAT_IDENTITY = "dob"
    talk = Talk(language, conversation=framed())
    talk.say({"en": "What prescriptions do I have?", "he": "אילו מרשמים יש לי?"}[language])
    for text in (CONTACTS[0], born):
        answer = talk.ask(text)
        assert not {"Metformin", "מטפורמין"} & set(answer["text"].split())
        assert "your date of birth:" not in answer["text"] and "נא לכתוב את תאריך הלידה" not in answer["text"]
    stored = list(Event.objects.filter(conversation=talk.conversation).values_list("payload", flat=True))
    assert "1978" not in without_random(str(stored))
    assert not Challenge.objects.exists() and talk.conversation.patient is None


@pytest.mark.django_db(transaction=True)
def test_on_a_first_party_site_a_date_of_birth_proves_who_asks(
    demo_committed: None, settings: Settings
) -> None:
    settings.CHAT_IDENTITY = "dob"
    talk = Talk(conversation=framed(first_party=True))
    talk.say("What prescriptions do I have?")
    assert "date of birth" in talk.say(CONTACTS[0])
    assert "Metformin" in talk.say("June 11, 1978")


@pytest.mark.django_db(transaction=True)
def test_on_a_first_party_site_identity_can_be_proven(demo_committed: None) -> None:
    talk = Talk(conversation=framed(first_party=True))
    talk.say("What prescriptions do I have?")
    assert "sent a code" in talk.say(CONTACTS[0])
    assert Challenge.objects.exists()


@pytest.mark.parametrize("policy", ["otp", "dob", "identifier"])
def test_on_another_site_a_models_request_for_a_code_is_refused(
    demo: None, settings: Settings, policy: str
) -> None:
    from agent.inference.base import Step
    from agent.turn.actions import identity_code

    settings.CHAT_IDENTITY = policy
    conversation = framed()
    run = Run.objects.create(conversation=conversation, input_seq=0)
    asked = Step("identity.code", {"identifier": CONTACTS[0]})
    assert identity_code(run, asked, "").result == {"verified": False, "elsewhere": True}
    assert not Challenge.objects.exists()


def test_a_verified_patient_does_not_count_on_another_site(demo: None) -> None:
    conversation = framed()
    conversation.patient, conversation.verified_at = Patient.objects.first(), timezone.now()
    assert conversation.proven_patient is None
    conversation.site = None
    assert conversation.proven_patient is not None

"""What staff write to customers, who sees it, and who answers afterwards."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils import timezone
from talking import Talk

from agent.answers.render import say
from agent.conversation import accept, embedding, events, retention
from agent.conversation.handoff import hand_over, identity_announce, queue_places
from agent.conversation.handoff_contact import ContactRefused, contact_save
from agent.conversation.patient_handoffs import handoffs_bring
from agent.models import Conversation
from prescriptions import identity
from prescriptions.audit import Access
from prescriptions.errors import HandoffRefused, HandoffTaken, UnseenMessages
from prescriptions.handoffs import services
from prescriptions.handoffs.failed_identity import handoff_open_for_contact
from prescriptions.handoffs.sweep import deadlines_take
from prescriptions.models import AuditEvent, Handoff, Notification, Patient
from prescriptions.transcripts import give_back, reply_write, transcript_of, transcript_of_handoff

DESK = Access("user:1", "admin")


@pytest.fixture
def dana(db: None) -> User:
    return pharmacist("dana", "Dana Levi")


def pharmacist(name: str, full: str) -> User:
    first, last = full.split()
    user = User.objects.create_user(name, first_name=first, last_name=last, is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    return user


def waiting(language: str = "en", patient: Patient | None = None) -> tuple[Conversation, Handoff, str]:
    """Begin a conversation that waits for a person, with the secret that opens it."""
    conversation, secret = events.conversation_begin(language=language)
    if patient:
        Conversation.objects.filter(pk=conversation.pk).update(patient=patient, verified_at=timezone.now())
        conversation.refresh_from_db()
    handoff = hand_over(conversation, reason="customer_asked", run_key=str(uuid4()), patient=patient)
    return conversation, handoff, secret


def write(conversation: Conversation, text: str) -> int:
    sent = accept.message_accept(
        conversation_id=conversation.pk, client_msg_id=uuid4(), text=text, address="192.0.2.1"
    )
    return sent.seq


def reply(handoff: Handoff, user: User, text: str, seen: int = 2**31 - 1, seen_in: UUID | None = None) -> int:
    return reply_write(handoff, user, text, seen_seq=seen, access=DESK, seen_in=seen_in)


def page(secret: str) -> list[Any]:
    """What a page gets that opens the conversation now."""
    found = events.conversation_find(secret)
    assert found is not None
    return events.events_shown(found, 0)


def mode_of(conversation: Conversation) -> str:
    conversation.refresh_from_db()
    return str(conversation.mode)


def test_a_reply_is_in_the_conversation_with_its_writer(dana: User) -> None:
    conversation, handoff, secret = waiting("he")
    assert mode_of(conversation) == "queued"
    services.handoff_claim(handoff, dana, access=DESK)
    seq = reply(handoff, dana, "\u202eשלום, כן,   יש במלאי. ")
    said = page(secret)[-1]
    assert (said["seq"], said["role"], said["text"]) == (seq, "staff", "שלום, כן, יש במלאי.")
    assert (said["author"], said["author_role"], said["lang"]) == ("Dana Levi", "pharmacist", "he")
    assert [event["mode"] for event in page(secret) if event["type"] == "mode.changed"] == ["queued", "human"]
    assert mode_of(conversation) == "human"
    handoff.refresh_from_db()
    assert handoff.first_reply_at
    assert AuditEvent.objects.filter(what="handoff_replied").count() == 1
    [read] = transcript_of(conversation.pk, None)
    assert (read.role, read.author, read.seq) == ("staff", "Dana Levi", seq)


def test_only_who_has_claimed_it_writes_and_only_something(dana: User) -> None:
    conversation, handoff, _secret = waiting()
    with pytest.raises(HandoffTaken):
        reply(handoff, dana, "hello")
    services.handoff_claim(handoff, pharmacist("omer", "Omer Gal"), access=DESK)
    with pytest.raises(HandoffTaken) as taken:
        reply(handoff, dana, "hello")
    assert taken.value.holder == "Omer Gal"
    omer = User.objects.get(username="omer")
    for text in ("", " \u200b ", "x" * 4_001):
        with pytest.raises(HandoffRefused):
            reply(handoff, omer, text)
    retention.conversation_delete(conversation.pk, conversation.secret_hash)
    with pytest.raises(HandoffRefused) as refused:
        reply(handoff, omer, "hello")
    assert refused.value.code == "no_conversation"


def test_a_message_that_was_not_read_stops_the_reply(dana: User) -> None:
    conversation, handoff, secret = waiting()
    seen = write(conversation, "When can I come?")
    services.handoff_claim(handoff, dana, access=DESK)
    last = write(conversation, "And I am allergic to penicillin")
    with pytest.raises(UnseenMessages) as unseen:
        reply(handoff, dana, "Now", seen)
    assert unseen.value.last_seq == last
    assert mode_of(conversation) == "queued"
    assert "staff" not in {event.get("role") for event in page(secret)}
    assert not Notification.objects.filter(kind="staff_replied").exists()
    reply(handoff, dana, "Now", last)


def test_a_reply_to_a_patient_is_shown_to_them_only(demo: None) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    david = Patient.objects.get(email="david.cohen@example.com")
    conversation, handoff, secret = waiting(patient=david)
    services.handoff_claim(handoff, dana, access=DESK)
    seq = reply(handoff, dana, "Your Warfarin waits for you")

    def shown() -> tuple[str, str]:
        [live] = events.events_after(conversation.secret_hash, seq - 1)
        return live["text"], next(event["text"] for event in page(secret) if event["seq"] == seq)

    assert shown() == ("Your Warfarin waits for you",) * 2
    Conversation.objects.filter(pk=conversation.pk).update(patient=None, verified_at=None)
    assert not any("Warfarin" in text for text in shown())


def test_the_customer_gets_one_mail_without_content_until_they_write_again(demo: None) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    david = Patient.objects.get(email="david.cohen@example.com")
    conversation, handoff, _secret = waiting(patient=david)
    services.handoff_claim(handoff, dana, access=DESK)
    for text in ("Your Warfarin", "waits for you"):
        reply(handoff, dana, text)
    [mail] = Notification.objects.filter(kind="staff_replied")
    assert mail.recipient == david.email and mail.due_at > timezone.now()
    assert set(mail.context) == {"number", "link"}
    # Who writes at once has the page open.
    write(conversation, "Thank you, when?")
    mail.refresh_from_db()
    assert mail.state == "discarded"
    reply(handoff, dana, "Today")
    assert Notification.objects.filter(kind="staff_replied", state="pending").count() == 1


def test_the_link_of_a_mail_opens_that_conversation_without_its_patient(demo: None) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    david = Patient.objects.get(email="david.cohen@example.com")
    conversation, handoff, secret = waiting(patient=david)
    services.handoff_claim(handoff, dana, access=DESK)
    reply(handoff, dana, "Your Warfarin waits for you")
    link = Notification.objects.get(kind="staff_replied").context["link"]
    token = link.partition("#")[2]
    opened = embedding.entrance(address="192.0.2.7", language="en", ticket=token)
    assert opened.conversation.pk == conversation.pk and opened.secret != secret
    assert opened.revoked_key == conversation.secret_hash
    assert "Warfarin" not in str(events.events_shown(opened.conversation, 0))
    for bad in (token[:-1] + ("a" if token[-1] != "a" else "b"), "a:b:c"):
        with pytest.raises(embedding.TicketExpired):
            embedding.entrance(address="192.0.2.7", language="en", ticket=bad)
    with (
        time_machine.travel(timezone.now() + timedelta(days=8), tick=False),
        pytest.raises(embedding.TicketExpired),
    ):
        embedding.entrance(address="192.0.2.7", language="en", ticket=token)


def test_given_back_released_and_closed_conversations_are_the_assistants_again(dana: User) -> None:
    conversation, handoff, _secret = waiting()
    services.handoff_claim(handoff, dana, access=DESK)
    reply(handoff, dana, "hello")
    owned = Conversation.objects.get(pk=conversation.pk).ownership
    give_back(handoff, dana, DESK)
    assert mode_of(conversation) == "bot" and conversation.ownership == owned + 1
    reply(handoff, dana, "once more")
    services.handoff_release(handoff, dana, access=DESK)
    assert mode_of(conversation) == "queued"
    services.handoff_close(handoff=handoff, access=DESK, outcome="answered")
    assert mode_of(conversation) == "bot" and conversation.ownership > owned + 2


# -- The patient in another conversation ------------------------------------------------------------------------
def sign_in(patient: Patient) -> tuple[Conversation, str]:
    """Begin another conversation, in which this patient has just been identified by a code."""
    conversation, secret = events.conversation_begin(language="en")
    identity.challenge_start(
        conversation_id=conversation.pk,
        identifier=patient.email,
        address="192.0.2.9",
        run_key=str(uuid4()),
        language="en",
    )
    mail = Notification.objects.filter(conversation_id=conversation.pk, kind="identity_code").latest("pk")
    result = accept.code_submit(
        conversation_id=conversation.pk, code=mail.context["code"], address="192.0.2.9"
    )
    assert result.outcome == "ok"
    return conversation, secret


@pytest.fixture
def codes_kept(settings: Any) -> None:
    """Keep what was mailed, codes included, for the demo inbox."""
    settings.DEBUG = True


def test_who_signs_in_again_finds_the_hand_off_and_what_staff_wrote(
    demo_committed: None, codes_kept: None
) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    david = Patient.objects.get(email="david.cohen@example.com")
    first, handoff, _secret = waiting(patient=david)
    write(first, "Is my Warfarin ready?")
    services.handoff_claim(handoff, dana, access=DESK)
    reply(handoff, dana, "Your Warfarin waits for you")
    second, secret = sign_in(david)
    [brought] = [event for event in page(secret) if event.get("role") == "staff"]
    assert (brought["text"], brought["author"]) == ("Your Warfarin waits for you", "Dana Levi")
    card = [event for event in page(secret) if event["type"] == "handoff.updated"][-1]
    assert (card["number"], card["state"]) == (handoff.number, "claimed")
    assert (mode_of(first), mode_of(second)) == ("bot", "human")
    # What is written later comes here, and staff still read what was asked there.
    handoff.refresh_from_db()
    seen = write(second, "Is it ready?")
    # A number of another conversation, or of none, counts for nothing after a move.
    for elsewhere in (first.pk, None):
        with pytest.raises(UnseenMessages) as unseen:
            reply(handoff, dana, "Nobody has read this", seen_in=elsewhere)
        assert (unseen.value.last_seq, unseen.value.conversation) == (seen, second.pk)
    with pytest.raises(UnseenMessages):
        reply(handoff, dana, "Nobody has read this", seen - 1, seen_in=second.pk)
    reply(handoff, dana, "It is ready now", seen, seen_in=second.pk)
    assert page(secret)[-1]["text"] == "It is ready now"
    read = [said.text for said in transcript_of_handoff(handoff)]
    assert read[0] == "Is my Warfarin ready?" and read[-1] == "It is ready now"
    services.handoff_close(handoff=handoff, access=DESK, outcome="answered")
    _third, secret = sign_in(david)
    told = [event for event in page(secret) if event["type"] == "handoff.updated"]
    assert [event["outcome"] for event in told] == ["answered"]
    assert [event["text"] for event in page(secret) if event.get("role") == "staff"] == [
        "Your Warfarin waits for you",
        "It is ready now",
    ]


def test_who_goes_back_and_forth_finds_what_staff_wrote_once(demo_committed: None, codes_kept: None) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    david = Patient.objects.get(email="david.cohen@example.com")
    first, handoff, first_secret = waiting(patient=david)
    services.handoff_claim(handoff, dana, access=DESK)
    reply(handoff, dana, "one")
    second, second_secret = sign_in(david)
    reply(handoff, dana, "two")
    for where in (first, second, first, second):
        handoffs_bring(where.pk, david)
    for secret in (first_secret, second_secret):
        said = [event for event in page(secret) if event.get("role") == "staff"]
        assert [event["text"] for event in sorted(said, key=lambda event: event["at"])] == ["one", "two"]


def test_another_patient_finds_nothing_of_it(demo_committed: None, codes_kept: None) -> None:
    david = Patient.objects.get(email="david.cohen@example.com")
    other = Patient.objects.exclude(pk=david.pk).exclude(email="").order_by("pk")[0]
    waiting(patient=david)
    _conversation, secret = sign_in(other)
    assert not any(event["type"] == "handoff.updated" for event in page(secret))


# -- Somebody unknown leaves an address ----------------------------------------------------------------------------
def leave(conversation: Conversation, number: str, email: str) -> None:
    contact_save(
        conversation_id=conversation.pk,
        key=conversation.secret_hash,
        number=number,
        email=email,
        address=str(uuid4()),
    )


def test_an_address_that_was_left_hears_of_the_reply(demo: None) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    conversation, handoff, secret = waiting("he")
    assert [event for event in page(secret) if event["type"] == "handoff.updated"][-1]["asks_email"]
    for bad in ("nobody", "a@b", "two@example.com, three@example.com"):
        with pytest.raises(ContactRefused):
            leave(conversation, handoff.number, bad)
    leave(conversation, handoff.number, " Dina@Example.com")
    assert "d…\u2060@example.com" in page(secret)[-1]["contact"][1]
    handoff.refresh_from_db()
    services.handoff_claim(handoff, dana, access=DESK)
    reply(handoff, dana, "כן")
    [mail] = Notification.objects.filter(kind="staff_replied")
    assert (mail.recipient, mail.language) == ("dina@example.com", "he")


def test_an_address_is_left_only_on_an_open_hand_off_of_ones_own(demo: None) -> None:
    conversation, handoff, _secret = waiting()
    _other, theirs, _secret = waiting()
    known, own, _secret = waiting(patient=Patient.objects.get(email="david.cohen@example.com"))
    for where, number in ((conversation, theirs.number), (known, own.number)):
        with pytest.raises(ContactRefused):
            leave(where, number, "dina@example.com")
    services.handoff_close(handoff=handoff, access=DESK, outcome="by_phone")
    with pytest.raises(ContactRefused):
        leave(conversation, handoff.number, "dina@example.com")


def test_who_shares_a_hand_off_learns_nothing_of_who_left_an_address(dana: User) -> None:
    """Failed verifications of one contact are one hand-off; staff answer in the conversation of the first."""
    conversations = [events.conversation_begin(language=language) for language in ("en", "en", "he")]
    for conversation, _secret in conversations:
        with transaction.atomic():
            handoff = handoff_open_for_contact(
                contact_key="k", conversation_id=conversation.pk, language=str(conversation.language)
            )
            identity_announce(conversation, handoff)
    (first, first_secret), *others = conversations
    leave(first, handoff.number, "dina@example.com")
    services.handoff_claim(handoff, dana, access=DESK)
    assert "@example.com" in page(first_secret)[-1]["contact"][1]
    assert "is reading your conversation" in page(first_secret)[-1]["message"]
    for (_conversation, secret), said in zip(
        others, ("Ask for a person here, or call", "אפשר לבקש כאן נציג, או להתקשר"), strict=True
    ):
        cards = [event for event in page(secret) if event["type"] == "handoff.updated"]
        assert [card["state"] for card in cards] == ["open", "claimed"]
        assert all(said in card["message"] and not card["asks_email"] for card in cards)
        assert "@" not in str(cards) and not any("contact" in card for card in cards)
        assert not any(say("handoff_reading", card["lang"]) in str(card["rows"]) for card in cards)
    reply(Handoff.objects.get(), dana, "Hello")
    services.handoff_close(handoff=handoff, access=DESK, outcome="answered")
    assert "has answered you here" in page(first_secret)[-1]["message"]
    assert "nobody has answered you" in page(others[0][1])[-1]["message"]
    mails = Notification.objects.filter(recipient="dina@example.com")
    assert set(mails.values_list("conversation_id", flat=True)) == {first.pk}


# -- How it ends -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("outcome", "answered", "english", "hebrew"),
    [
        ("approved", True, "pharmacist has approved", "הבקשה אושרה"),
        ("denied", True, "has not approved your request. Please speak to your doctor", "לא אושרה"),
        ("answered", True, "has answered you here", "קיבלתם כאן תשובה"),
        ("answered", False, "nobody has answered you", "לא קיבלתם תשובה"),
        ("unanswered", False, "nobody has answered you", "לא קיבלתם תשובה"),
        ("by_phone", False, "by phone", "בטלפון"),
        ("in_branch", False, "in the branch", "בסניף"),
        ("no_reply", False, "nobody has answered you", "לא קיבלתם תשובה"),
        ("no_reply", True, "did not hear from you", "לא קיבלנו מכם תשובה"),
        ("cancelled", False, "no longer needed", "אין בה עוד צורך"),
        ("duplicate", False, "another one of yours", "פנייה אחרת"),
    ],
)
def test_the_end_of_a_hand_off_is_said_as_it_was(
    demo: None, outcome: str, answered: bool, english: str, hebrew: str
) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    for language, words in (("en", english), ("he", hebrew)):
        _conversation, handoff, secret = waiting(language)
        services.handoff_claim(handoff, dana, access=DESK)
        if answered:
            reply(handoff, dana, "Hello")
        services.handoff_close(handoff=handoff, access=DESK, outcome=outcome)
        [told] = [event for event in page(secret) if event.get("outcome")]
        assert words in told["message"], told["message"]
        assert "dealt with" not in told["message"]


def test_who_waits_too_long_is_told_with_a_phone(demo: None) -> None:
    _conversation, handoff, secret = waiting()
    with time_machine.travel(timezone.now() + timedelta(days=7), tick=False):
        deadlines_take()
    told = page(secret)[-1]
    assert told["number"] == handoff.number and "longer" in told["message"] and "03-555" in told["message"]


def test_many_conversations_of_one_address_do_not_make_as_many_hand_offs(
    demo_committed: None, settings: Any
) -> None:
    settings.HANDOFFS_PER_ADDRESS = 3
    for language, words in (("en", "Please call"), ("he", "נא להתקשר")):
        Handoff.objects.all().delete()
        said = [
            Talk(language).say({"en": "I want a human", "he": "אני רוצה לדבר עם נציג"}[language])
            for _ in range(6)
        ]
        assert Handoff.objects.count() == 3
        assert all(words in text and "03-555" in text for text in said[3:])


@pytest.mark.parametrize(
    ("before", "asks", "reason", "contact"),
    [
        ("hello", "I want to talk to a person", "customer_asked", "pharmacist"),
        ("Do you have Advil in Jaffa?", "I want to talk to a person", "stock", "technician"),
        ("Do you have Advil in Jaffa?", "I want to talk to a pharmacist", "customer_asked", "pharmacist"),
        ("hello", "talk to a person about my delivery", "pickup", "technician"),
        ("this is outrageous, I want to complain", "yes", "complaint", "technician"),
        ("אני רוצה להתלונן", "כן", "complaint", "technician"),
    ],
)
def test_the_reason_decides_who_takes_it(
    demo_committed: None, before: str, asks: str, reason: str, contact: str
) -> None:
    talk = Talk("he" if before > "א" else "en")
    assert "outrageous" not in talk.say(before)
    talk.say(asks)
    handoff = Handoff.objects.get()
    assert (handoff.reason, handoff.contact) == (reason, contact)
    assert handoff.package["verified"] == {"how": "none", "at": None}
    assert len(handoff.package["asked"]) == 2
    if "Advil" in before:
        assert handoff.medication and handoff.branch and handoff.branch.name_en.startswith("Jaffa")


def test_the_place_in_the_queue_counts_what_the_same_role_has_not_taken(demo: None) -> None:
    dana = pharmacist("dana2", "Dana Levi")
    conversations = [events.conversation_begin(language="en")[0] for _ in range(3)]
    for conversation, reason in zip(
        conversations, ("stock", "customer_asked", "customer_asked"), strict=True
    ):
        hand_over(conversation, reason=reason, run_key=str(uuid4()))

    def places() -> list[str]:
        return [place["queue"] for each in conversations for place in queue_places(each.pk)]

    assert places() == ["Waiting, you are next", "Waiting, you are next", "Waiting, 1 before you"]
    first = Handoff.objects.get(conversation_id=conversations[1].pk)
    services.handoff_claim(first, dana, access=DESK)
    assert places() == ["Waiting, you are next", "Waiting, you are next"]
    services.handoff_release(first, dana, access=DESK)
    assert places()[1:] == ["Waiting, you are next", "Waiting, 1 before you"]

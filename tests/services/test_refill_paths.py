"""Every path of a refill over the chat's WebSocket, in both languages, and the breaker of an identity that is not proven."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from served_people import copied
from served_pharmacy import Customer, Pharmacy, Staff, pharmacy_served, reads
from served_sites import Sites

from prescriptions.refill.states import State

DAVID, LEAH = "10000101", "10000124"
METFORMIN, WARFARIN, IBUPROFEN = 2, 16, 17
COLLECT, SAFETY, BACKEND, APPROVAL, HANDOFF, DISPENSED, COMPLETE = map(str, State)
STRAIGHT = [COLLECT, SAFETY, BACKEND, DISPENSED]
ESCALATED = [COLLECT, SAFETY, APPROVAL, HANDOFF, COMPLETE]
WISH = {"en": "refill my metformin", "he": "ניפוק למטפורמין שלי"}
ONLINE = {"en": "the online store", "he": "החנות המקוונת"}
STOPPED = {"en": "refill my ibuprofen", "he": "ניפוק לאיבופרופן שלי"}
FLORENTIN = {"en": "Florentin", "he": "פלורנטין"}
CANCEL = {"en": "cancel my refill", "he": "לבטל את הניפוק"}
RESUME = {"en": "resume my refill", "he": "להמשיך את הניפוק"}
OTHER = {"en": "what is acamol for?", "he": "בשביל מה אקמול?"}
FOR_A_PERSON = {"en": "I want to talk to a person", "he": "אני רוצה לדבר עם נציג"}
pytestmark = [pytest.mark.django_db(databases=[]), pytest.mark.parametrize("language", ["en", "he"])]
_numbers = iter(range(32_000_000, 33_000_000))


async def asked(chat: Customer, email: str, wish: dict[str, str], place: dict[str, str]) -> None:
    """Ask for a refill up to its card."""
    await chat.say(wish[chat.language])
    await chat.prove(email)
    await chat.say(place[chat.language])


def shown_in(language: str, news: dict[str, Any], state: str) -> None:
    """What the customer's page was sent last says this in their language, on the card of the request."""
    assert (news["state"], news["lang"]) == (state, language)
    assert reads(language, news["message"]) and news["card"]["kind"] == "refill"


def test_a_refill_is_dispensed(pharmacy: Pharmacy, language: str) -> None:
    number = next(_numbers)
    email = copied(pharmacy, number, DAVID, METFORMIN)

    async def run() -> dict[str, Any]:
        async with Customer(pharmacy, language) as chat:
            await asked(chat, email, WISH, ONLINE)
            assert reads(language, await chat.press())
            return await chat.told("preparing")

    shown_in(language, asyncio.run(run()), DISPENSED)
    request = pharmacy.request(number)
    assert (request["path"], request["outcome"], request["reason"]) == (STRAIGHT, "dispensed", "")
    assert request["handoff_id"] is None and request["language"] == language
    orders = pharmacy.sql(
        f"SELECT state FROM prescriptions_simulatedorder WHERE key = '{request['order_key']}'"
    )
    assert orders == [("accepted",)]
    left = f"SELECT refills_left FROM prescriptions_prescription WHERE id = {number * 10}"
    assert pharmacy.sql(left) == [(4,)]


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_an_escalated_refill_is_decided_while_the_customer_watches(
    pharmacy: Pharmacy, language: str, decision: str
) -> None:
    number = next(_numbers)
    email = copied(pharmacy, number, LEAH, IBUPROFEN, WARFARIN)

    async def run(staff: Staff) -> dict[str, Any]:
        async with Customer(pharmacy, language) as chat:
            await asked(chat, email, STOPPED, FLORENTIN)
            await chat.press()
            await chat.told("with_person")
            request = await asyncio.to_thread(pharmacy.request, number)
            assert (request["path"], request["reason"]) == (ESCALATED, "major_interaction")
            await asyncio.to_thread(staff.decide, request, decision)
            return await chat.told("preparing" if decision == "approve" else "denied")

    with pharmacy.staff() as staff:
        news = asyncio.run(run(staff))
    request = pharmacy.request(number)
    if decision == "approve":
        shown_in(language, news, DISPENSED)
        assert (request["path"], request["outcome"]) == ([*ESCALATED, BACKEND, DISPENSED], "dispensed")
        assert (request["walk"], request["reason"]) == (2, "")
    else:
        shown_in(language, news, COMPLETE)
        assert (request["path"], request["outcome"]) == (ESCALATED, "denied")
    assert pharmacy.handoff(f"id = {request['handoff_id']}")["state"] == "decided"


def test_a_refill_is_cancelled_before_it_is_prepared(pharmacy: Pharmacy, language: str) -> None:
    number = next(_numbers)
    email = copied(pharmacy, number, DAVID, METFORMIN)

    async def run() -> dict[str, Any]:
        async with Customer(pharmacy, language) as chat:
            await asked(chat, email, WISH, ONLINE)
            await chat.press()
            await chat.say(CANCEL[language])
            await chat.press()
            return await chat.told("cancelled")

    shown_in(language, asyncio.run(run()), DISPENSED)
    request = pharmacy.request(number)
    assert (request["path"], request["outcome"]) == (STRAIGHT, "cancelled")
    left = f"SELECT refills_left FROM prescriptions_prescription WHERE id = {number * 10}"
    assert pharmacy.sql(left) == [(5,)]


def test_a_refill_with_a_person_is_cancelled(pharmacy: Pharmacy, language: str) -> None:
    number = next(_numbers)
    email = copied(pharmacy, number, LEAH, IBUPROFEN, WARFARIN)

    async def run() -> dict[str, Any]:
        async with Customer(pharmacy, language) as chat:
            await asked(chat, email, STOPPED, FLORENTIN)
            await chat.press()
            await chat.say(CANCEL[language])
            await chat.press()
            return await chat.told("cancelled")

    shown_in(language, asyncio.run(run()), COMPLETE)
    request = pharmacy.request(number)
    assert (request["path"], request["outcome"]) == (ESCALATED, "cancelled")
    assert pharmacy.handoff(f"id = {request['handoff_id']}")["state"] == "closed"


def test_a_declined_card_requests_nothing(pharmacy: Pharmacy, language: str) -> None:
    number = next(_numbers)
    email = copied(pharmacy, number, DAVID, METFORMIN)

    async def run() -> str:
        async with Customer(pharmacy, language) as chat:
            await asked(chat, email, WISH, ONLINE)
            return await chat.press("no")

    assert reads(language, asyncio.run(run()))
    request = pharmacy.request(number)
    assert request["path"] == [COLLECT] and not request["is_confirmed"]


def test_a_request_pauses_five_minutes_after_the_last_message_and_goes_on_from_there(
    pharmacy: Pharmacy, language: str
) -> None:
    number = next(_numbers)
    email = copied(pharmacy, number, DAVID, METFORMIN)

    async def run() -> None:
        async with Customer(pharmacy, language) as chat:
            await chat.say(
                {"en": "refill my metformin, 15 tablets", "he": "ניפוק למטפורמין שלי, 15 טבליות"}[language]
            )
            await chat.prove(email)
            assert chat.news()[-1]["expires_at"] > chat.news()[-1]["at"]
            pharmacy.move(240)
            await chat.say(OTHER[language])
            pharmacy.move(
                290
            )  # longer ago than five minutes since it was begun, and not since the last message
            await asyncio.sleep(1.5)  # three sweeps
            assert not await paused()
            pharmacy.move(20)
            news = await chat.told("paused")
            assert (news["state"], news["lang"]) == (COLLECT, language) and reads(language, news["message"])
            assert await paused()
            seen = len(chat.news())
            await chat.say(OTHER[language])  # the chat goes on meanwhile, and that alone resumes nothing
            assert await paused()
            await chat.say(RESUME[language])
            await chat.told("collecting", after=seen)
            assert not await paused()
            await chat.say(ONLINE[language])
            await chat.press()
            shown_in(language, await chat.told("preparing"), DISPENSED)

    async def paused() -> bool:
        return bool((await asyncio.to_thread(pharmacy.request, number))["is_paused"])

    asyncio.run(run())
    request = pharmacy.request(number)
    assert (request["path"], request["outcome"], request["quantity"]) == (STRAIGHT, "dispensed", 15)


# -- Who they are cannot be proven -------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def by_birth(shared_site: Sites, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pharmacy]:
    """A site that asks for the date of birth."""
    with pharmacy_served(shared_site, tmp_path_factory.mktemp("birth"), CHAT_IDENTITY="dob") as served:
        yield served


@pytest.mark.parametrize("typed", [False, True], ids=["field", "message"])
@pytest.mark.parametrize("policy", ["otp", "dob"])
def test_three_wrong_answers_are_one_hand_off_and_no_request(
    request: pytest.FixtureRequest, language: str, policy: str, typed: bool
) -> None:
    pharmacy: Pharmacy = request.getfixturevalue("by_birth" if policy == "dob" else "pharmacy")
    number = next(_numbers)
    email = copied(pharmacy, number, DAVID, METFORMIN)
    wrong = (
        ["1.2.1970", "3/4/1981", "5.6.1992", "7.8.1993"]
        if policy == "dob"
        else [f"00000{n}" for n in range(4)]
    )
    told: list[dict[str, Any]] = []

    async def run() -> None:
        async with Customer(pharmacy, language) as chat:
            await chat.say(WISH[language])
            await chat.say(email)
            for place, secret in enumerate(wrong):
                if typed:
                    assert reads(language, await chat.say(secret))
                else:
                    answer = await chat.ask({"type": "identity.code", "code": secret})
                    assert answer.error == ("code_wrong" if place < 2 else "locked")
                    error = chat.news("error")[-1]
                    assert reads(language, error["message"]) and error.get("tries_left", 0) == max(
                        2 - place, 0
                    )
                if place < 2:
                    assert not chat.news("handoff.updated")
            told.append(await chat.handed_over())
            # A person of their own is theirs all the same.
            assert told[0]["number"] in await chat.say(FOR_A_PERSON[language])
            told.extend(chat.news("handoff.updated")[1:])

    asyncio.run(run())
    assert len(told) == 1 and told[0]["state"] == "open" and told[0]["lang"] == language
    assert reads(language, told[0]["message"])
    patient = f"(SELECT id FROM prescriptions_patient WHERE mrn = '{number}')"
    [(conversation,)] = pharmacy.sql(
        f"SELECT conversation_id FROM prescriptions_challenge WHERE patient_id = {patient}"
    )
    handoff = pharmacy.handoff(f"conversation_id = '{conversation}'")
    assert (handoff["number"], handoff["reason"]) == (told[0]["number"], "identity_failed")
    assert (handoff["contact"], handoff["contact_why"]) == ("pharmacist", "identity_failed")
    package = handoff["package"]
    # Nothing of the account: only what was typed, which is in the conversation.
    assert package.keys() == {"request", "contact", "conversations", "note"}
    assert [one.replace("-", "") for one in package["conversations"]] == [str(conversation).replace("-", "")]
    for each in ("en", "he"):
        assert reads(each, package["note"][each])
    assert handoff["summary"] == package["note"][language]
    assert pharmacy.sql(f"SELECT count(*) FROM prescriptions_refillrequest WHERE patient_id = {patient}") == [
        (0,)
    ]

"""Every breaker of a refill over the chat's WebSocket, in both languages.

A row says what the customer says, before and after they proved who they are. What is looked at are the stored request with
its path, the hand-off with package, contact and note, and what the customer's page was sent.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from served_people import copied
from served_pharmacy import Customer, Pharmacy, failing, reads

from prescriptions.refill.states import BREAKERS, Reason, State

DAVID, JOHN, LEAH = "10000101", "10000123", "10000124"
METFORMIN, SULFA, CODEINE, WARFARIN, IBUPROFEN = 2, 12, 13, 16, 17
COLLECT, SAFETY, BACKEND, APPROVAL, HANDOFF, _DISPENSED, COMPLETE = map(str, State)
ESCALATED = [COLLECT, SAFETY, APPROVAL, HANDOFF, COMPLETE]
LANGUAGES = ["en", "he"]
pytestmark = pytest.mark.django_db(databases=[])


@dataclass(frozen=True)
class Stopped:
    """What stops a refill: who asks, what they say in both languages, and what becomes of it."""

    reason: Reason
    patient: str
    prescriptions: tuple[int, ...]
    en: tuple[str, ...]
    he: tuple[str, ...]
    path: list[str]
    contact: str = "pharmacist"
    fault: str = ""
    """A system that is down meanwhile."""
    has_card: bool = True
    """Whether the customer confirms it on a card before."""

    def says(self, language: str) -> tuple[str, ...]:
        return self.he if language == "he" else self.en


STOPPED = [
    Stopped(
        Reason.MAJOR_INTERACTION, LEAH, (IBUPROFEN, WARFARIN),
        ("refill my ibuprofen", "Florentin"), ("ניפוק לאיבופרופן שלי", "פלורנטין"), ESCALATED,
    ),
    Stopped(
        Reason.DIRECT_ALLERGY, JOHN, (SULFA,),
        ("refill sulfamethoxazole", "Florentin"), ("לנפק סולפמתוקסזול", "פלורנטין"), ESCALATED,
    ),
    Stopped(
        Reason.CONTROLLED_SUBSTANCE, JOHN, (CODEINE,),
        ("refill my codeine", "Ramat Aviv"), ("ניפוק לקודאין שלי", "רמת אביב"), ESCALATED, "physician",
    ),
    Stopped(
        Reason.BACKEND_UNAVAILABLE, DAVID, (METFORMIN,),
        ("refill my metformin", "the online store"), ("ניפוק למטפורמין שלי", "החנות המקוונת"), ESCALATED,
        fault="ehr",
    ),
    Stopped(
        Reason.BACKEND_UNAVAILABLE, DAVID, (METFORMIN,),
        ("refill my metformin", "the online store"), ("ניפוק למטפורמין שלי", "החנות המקוונת"),
        [COLLECT, SAFETY, BACKEND, APPROVAL, HANDOFF, COMPLETE], fault="dispenser",
    ),
    Stopped(
        Reason.MAX_ATTEMPTS, DAVID, (METFORMIN,),
        ("refill my metformin", "blah", "xyzzy qwe", "sdf sdf"), ("ניפוק למטפורמין שלי", "בלה", "קשקוש בלבוש", "שלום לך"),
        ESCALATED, has_card=False,
    ),
    Stopped(
        Reason.LOW_CONFIDENCE, DAVID, (METFORMIN,),
        ("What prescriptions do I have?", "refill blorp the snark gleeb metformin wuzz"),
        ("אילו מרשמים יש לי?", "לנפק שרגבוט בלומפוז מטפורמין גרנדשוק פליפטון"), ESCALATED, has_card=False,
    ),
]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "place", range(len(STOPPED)), ids=[f"{one.reason}{one.fault and '-' + one.fault}" for one in STOPPED]
)
def test_a_breaker_hands_the_refill_to_a_person_who_knows_all(
    pharmacy: Pharmacy, place: int, language: str
) -> None:
    row, number = STOPPED[place], 31_000_000 + 10 * place + LANGUAGES.index(language)
    email = copied(pharmacy, number, row.patient, *row.prescriptions)

    async def run() -> tuple[str, list[dict[str, Any]]]:
        async with Customer(pharmacy, language) as chat:
            wish, *rest = row.says(language)
            await chat.say(wish)
            await chat.prove(email)
            answer = ""
            for text in rest:
                answer = await chat.say(text)
            if row.has_card:
                answer = await chat.press()
            return answer, chat.news()

    with failing(pharmacy, row.fault):
        answer, news = asyncio.run(run())
    request = pharmacy.request(number)
    assert (request["reason"], request["path"], request["outcome"]) == (str(row.reason), row.path, None)
    handoff = pharmacy.handoff(f"id = {request['handoff_id']}")
    assert (handoff["state"], handoff["reason"]) == ("open", "refill")
    assert (handoff["contact"], handoff["contact_why"]) == (row.contact, str(row.reason))
    package = handoff["package"]
    assert package["request"]["number"] == request["number"] and package["request"]["reason"] == str(
        row.reason
    )
    assert package["path"] == row.path and package["routing"]
    assert package["prescription"]["id"] == number * 10 and package["stock"]["packs_needed"]
    assert any(found["reason"] == str(row.reason) for found in package["findings"])
    assert {"allergies", "history", "days_left", "other_pairs"} <= package.keys()
    assert package["verification"]["how"] == "otp" and package["verification"]["at"]
    for each in LANGUAGES:
        assert reads(each, package["note"][each]) and request["number"] in package["note"][each]
    assert handoff["summary"] == package["note"][language]
    assert request["number"] in answer and reads(language, answer)
    last = news[-1]
    assert (last["number"], last["state"], last["lang"]) == (request["number"], COMPLETE, language)
    assert reads(language, last["message"]) and last["card"]["kind"] == "refill"
    steps = last["card"]["data"]["steps"]
    assert [step["state"] for step in steps][:3] == ["done", "done", "now"]
    assert all(reads(language, step["label"]) for step in steps)


def test_each_breaker_has_a_row() -> None:
    """A failed identity has no request whose path could be looked at: `test_refill_paths.py` has it."""
    assert {one.reason for one in STOPPED} == {*BREAKERS} - {Reason.IDENTITY_FAILED}

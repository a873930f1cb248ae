"""Who takes the hand-off of a customer who asks for a person: a technician only where every word is about their matters."""

import pytest
from talking import Talk

from prescriptions.models import Handoff

pytestmark = pytest.mark.usefixtures("demo_committed")


def reason(language: str, *texts: str) -> tuple[str, str]:
    talk = Talk(language)
    for text in texts:
        talk.say(text)
    handoff = Handoff.objects.get(conversation_id=talk.conversation.pk)
    return handoff.reason, handoff.contact


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "talk to a person: I got a rash after I picked up my order"),
        ("en", "I want a person, my parcel had the wrong tablets"),
        ("en", "I want to talk to a person, the delivery had somebody else's medicine in it"),
        ("en", "connect me to a person, is it safe to take what you had in stock with warfarin"),
        ("en", "talk to a person about a delivery, my son feels sick"),
        ("en", "I want to talk to a person about a complaint, I was given a medicine that is not mine"),
        ("he", "אני רוצה לדבר עם נציג, במשלוח היו כדורים של מישהו אחר"),
        ("he", "תעבירו אותי לנציג, יש לי פריחה אחרי המשלוח"),
        ("he", "אני רוצה לדבר עם נציג, החבילה שלי עם תרופה לא נכונה"),
    ],
)
def test_a_pharmacist_takes_what_was_not_read_as_a_matter_for_others(language: str, text: str) -> None:
    assert reason(language, text) == ("customer_asked", "pharmacist")


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "I want to talk to a person about my parcel", "pickup"),
        ("en", "Can I speak to someone about a delivery please?", "pickup"),
        ("en", "connect me to a person about the stock", "stock"),
        ("he", "אני רוצה לדבר עם נציג על המלאי", "stock"),
        ("he", "אני רוצה לדבר עם נציג לגבי המשלוח שלי", "pickup"),
    ],
)
def test_a_technician_takes_what_is_only_about_their_matters(language: str, text: str, expected: str) -> None:
    assert reason(language, text) == (expected, "technician")


def test_a_remark_beside_the_wish_after_a_question_about_stock_goes_to_a_pharmacist() -> None:
    assert reason("en", "is Advil in stock in Florentin?", "I want to talk to a person")[1] == "technician"
    said = "I want to talk to a person, the last pack was opened"
    assert reason("en", "is Advil in stock in Florentin?", said)[1] == "pharmacist"

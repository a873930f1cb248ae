"""Wishes for a refill, for its state and for its end, in the words that customers use for them; in both languages."""

import pytest
from talking import Talk

from prescriptions.models import RefillRequest

pytestmark = pytest.mark.usefixtures("demo_committed")
DAVID = "10000101"


def talk_in(text: str, patient: str | None = DAVID) -> Talk:
    return Talk("he" if any("א" <= letter <= "ת" for letter in text) else "en", patient)


@pytest.mark.parametrize(
    "text",
    [
        "אני צריך שוב מטפורמין",
        "אני צריכה שוב מטפורמין",
        "אנחנו צריכים שוב מטפורמין בבקשה",
        "I need metformin again",
        "I want some metformin again",
    ],
)
def test_a_prescription_medicine_that_is_needed_again_is_refilled(text: str) -> None:
    answer = talk_in(text).say(text)
    assert "ניתן לנפק" in answer or "eligible for a refill" in answer
    assert RefillRequest.objects.get().prescription.medication.name_en == "Metformin"


@pytest.mark.parametrize("text", ["אני צריך שוב אקמול", "I need Advil again", "יש לכם שוב מטפורמין במלאי?"])
def test_what_needs_no_prescription_or_is_only_looked_for_is_no_refill(text: str) -> None:
    answer = talk_in(text).say(text)
    assert "במלאי" in answer or "in stock" in answer
    assert not RefillRequest.objects.exists()


def test_a_medicine_that_is_not_prescribed_is_said_to_be_so() -> None:
    assert "אין ברשומות שלכם מרשם לאדלימומאב" in talk_in("אני").say("אני צריך שוב אדלימומאב")
    assert not RefillRequest.objects.exists()


@pytest.mark.parametrize(
    ("text", "refill"),
    [
        ("תחדשו לי את המטפורמין", "ניפוק נוסף"),
        ("תחדשי לי מטפורמין", "ניפוק נוסף"),
        ("תחדש בבקשה את המטפורמין שלי", "ניפוק נוסף"),
        ("חדשו לי את המטפורמין", "ניפוק נוסף"),
        ("renew my metformin", "Another refill"),
    ],
)
def test_who_asks_to_renew_is_asked_what_they_mean_and_the_refill_is_of_that_medicine(
    text: str, refill: str
) -> None:
    talk = talk_in(text)
    assert talk.say(text).startswith(("Do you mean another refill", "האם הכוונה לניפוק נוסף"))
    answer = talk.say(refill)
    assert "מטפורמין" in answer or "Metformin" in answer


@pytest.mark.parametrize(
    ("text", "refill"), [("תחדשו לי מטפורמן", "ניפוק נוסף"), ("renew my metformn", "Another refill")]
)
def test_a_misspelt_name_is_kept_over_that_question(text: str, refill: str) -> None:
    talk = talk_in(text)
    talk.say(text)
    answer = talk.say(refill)
    assert "מטפורמין" in answer or "Metformin" in answer


@pytest.mark.parametrize(
    "text",
    [
        "יש לכם משהו חדש?",
        "יש לכם תרופה חדשה לכאב ראש?",
        "מה חדש?",
        "האם נפתח סניף חדש?",
        "I want to ask again",
    ],
)
def test_what_is_new_is_no_renewal(text: str) -> None:
    answer = talk_in(text).say(text)
    assert "ניפוק נוסף" not in answer and "another refill" not in answer


@pytest.mark.parametrize(
    ("wish", "status", "cancel"),
    [
        ("refill my metformin", "do I still have a request open?", "cancel my request"),
        ("refill my metformin", "where is my renewal?", "I want to withdraw my request"),
        ("refill my metformin", "where is my order?", "cancel the request"),
        ("לנפק לי מטפורמין", "איפה החידוש שלי?", "תבטלו את הבקשה"),
        ("לנפק לי מטפורמין", "מה המצב של ההזמנה שלי", "תבטלו את החידוש"),
        ("לנפק לי מטפורמין", "יש לי עדיין בקשה פתוחה?", "אני רוצה לבטל את הבקשה"),
    ],
)
def test_the_state_of_a_refill_is_told_and_it_is_cancelled(wish: str, status: str, cancel: str) -> None:
    talk = talk_in(wish)
    talk.say(wish)
    number = RefillRequest.objects.get().number
    assert number in talk.say(status)
    assert number in talk.say(cancel)
    assert RefillRequest.objects.get().outcome == "cancelled"

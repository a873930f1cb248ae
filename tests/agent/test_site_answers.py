"""Questions that the data cannot answer get what staff wrote; both models answer with the same text."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from talking import Talk

from agent.llm.offline.reading.talk_intents import SITE_TOPICS
from prescriptions.models import Handoff
from stores.models import SiteAnswer
from stores.site_answers import on_post_migrate

pytestmark = pytest.mark.usefixtures("demo_committed")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("do you deliver?", "delivery"),
        ("Is home delivery possible on Fridays?", "delivery"),
        ("where is my order", "orders"),
        ("can I pay by credit card?", "payment"),
        ("is there parking?", "parking"),
        ("what is your return policy?", "returns"),
        ("I want to make a complaint", "complaint"),
        ("I'd like to speak to the manager", "manager"),
        ("do you accept electronic prescriptions?", "digital_prescription"),
        ("does my insurance cover it?", "insurance"),
        ("could you keep a pack aside", "hold"),
        ("יש לכם משלוחים?", "delivery"),
        ("אפשר לשלם בכרטיס אשראי?", "payment"),
        ("יש חניה?", "parking"),
        ("אני רוצה להגיש תלונה", "complaint"),
        ("אפשר לדבר עם מנהל?", "manager"),
        ("אתם מקבלים מרשמים דיגיטליים?", "digital_prescription"),
    ],
)
def test_a_service_question_gets_the_text_that_staff_wrote(question: str, topic: str) -> None:
    language = "en" if question.isascii() else "he"
    written = f"Our text on {topic}." if language == "en" else "הטקסט שהצוות כתב על הנושא."
    SiteAnswer.objects.filter(topic=topic).update(**{f"text_{language}": written})
    assert written in Talk(language).say(question)
    assert not Handoff.objects.exists()


def test_each_subject_of_the_table_is_recognised() -> None:
    """One that no cue names would never be answered; insurance has its own intent."""
    assert {*SITE_TOPICS, "insurance"} == {*SiteAnswer.Topic.values}


def test_the_phone_is_that_of_the_branch_asked_about() -> None:
    text = Talk().say("is there parking at the Jaffa branch?")
    assert text.endswith("Jaffa, Tel Aviv: 03-555-0104.")


def test_a_complaint_reaches_a_person_only_after_a_yes() -> None:
    talk = Talk()
    assert "Shall I pass you on?" in talk.say("I have a complaint")
    assert not Handoff.objects.exists()
    talk.say("yes")
    assert Handoff.objects.count() == 1


def test_a_medicine_that_is_named_is_still_answered() -> None:
    assert "in stock" in Talk().say("do you have acamol, and do you deliver it?")


@pytest.mark.parametrize(
    "question", ["are you a pharmacist?", "are you a doctor", "hi are u a doctor", "אתה רוקח?", "את רוקחת?"]
)
def test_the_assistant_says_honestly_what_it_is(question: str) -> None:
    language = "en" if question.isascii() else "he"
    text = Talk(language).say(question)
    assert ("not a pharmacist, not a doctor" if language == "en" else "לא רוקח, לא רופא") in text
    assert not Handoff.objects.exists()


def test_the_standard_texts_return_but_never_replace_what_staff_wrote() -> None:
    SiteAnswer.objects.filter(topic="parking").update(text_en="Behind the house.")
    SiteAnswer.objects.filter(topic="orders").delete()
    on_post_migrate(sender=None, using="default")  # type: ignore[arg-type]
    assert {row.topic for row in SiteAnswer.objects.all()} == {*SiteAnswer.Topic.values}
    assert SiteAnswer.objects.get(topic="parking").text_en == "Behind the house."
    assert all(row.text_en and row.text_he for row in SiteAnswer.objects.all())


@pytest.mark.parametrize(
    ("role", "may"), [("pharmacist", True), ("administrator", True), ("technician", False)]
)
def test_staff_edit_the_text_in_both_languages(client: Client, role: str, may: bool) -> None:
    user = get_user_model().objects.create_user("s", password="x", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client.force_login(user)
    row = SiteAnswer.objects.get(topic="parking")
    page = f"/admin/stores/siteanswer/{row.pk}/change/"
    sent: dict[str, Any] = {
        "text_en": "Free, behind the house.",
        "text_he": "חינם, מאחורי הבית.",
        "offer": "nothing",
    }
    assert client.post(page, sent).status_code == (302 if may else 403)
    assert ("Free, behind" in Talk().say("is there parking?")) is may
    assert client.post(page, {**sent, "text_he": ""}).status_code == (
        200 if may else 403
    )  # refused: customers read either
    assert client.get("/admin/stores/siteanswer/add/").status_code == 403

"""The page on which staff ask: who may ask in which role, what it shows, and what it leaves behind."""

import html
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.test import Client
from knowledge_entries import entry, published

from agent.knowledge.roles import ASKED_BY
from agent.models import UnansweredQuestion
from prescriptions.models import AuditEvent
from prescriptions.roles import ROLES

pytestmark = pytest.mark.django_db

PAGE = "/admin/agent/knowledgequestion/"
SUTURE = "Which suture closes a gingival flap?"


@pytest.fixture(autouse=True)
def _entries() -> None:
    published("D1", SUTURE, role="doctor_dental", answer="A <5-0> suture.", source="A textbook")
    published("D2", "Which suture closes an extraction socket?", role="doctor_dental", answer="Resorbable.")
    published("D1", "Khâu vạt nướu bằng chỉ gì?", role="doctor_dental", language="vi", answer="Chỉ 5-0.")
    published("E1", "Which insulin peaks first?", role="doctor_endocrine", answer="Lispro.")
    published("C1", "Where do I keep insulin?", answer="In the fridge.")
    entry("D9", "A draft about sutures", role="doctor_dental")


def staff(*groups: str, name: str = "d", **fields: Any) -> Client:
    user = get_user_model().objects.create_user(name, password="x", is_staff=True, **fields)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


def asked_lines() -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(what="knowledge_asked")


def collections(client: Client) -> list[str]:
    return re.findall(r'<option value="([^"]+)"', client.get(PAGE).content.decode())


def ask(client: Client, question: str, collection: str = "doctor_dental:en") -> str:
    answer = client.post(PAGE, {"collection": collection, "question": question})
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


@pytest.mark.parametrize(
    ("groups", "offered"),
    [
        (["dentist"], ["doctor_dental:en", "doctor_dental:vi"]),
        (["endocrinologist"], ["doctor_endocrine:en"]),
        (["dentist", "endocrinologist"], ["doctor_dental:en", "doctor_dental:vi", "doctor_endocrine:en"]),
        (["pharmacist"], ["customer:en"]),
        (["physician"], ["doctor_endocrine:en", "doctor_dental:en", "doctor_dental:vi", "customer:en"]),
    ],
)
def test_each_group_is_offered_the_published_collections_of_its_roles(
    groups: list[str], offered: list[str]
) -> None:
    assert collections(staff(*groups)) == offered


@pytest.mark.parametrize("group", ["technician", "auditor", "administrator"])
def test_other_groups_do_not_see_the_page(group: str) -> None:
    client = staff(group)
    assert client.get(PAGE).status_code == 403
    assert client.post(PAGE, {"collection": "doctor_dental:en", "question": SUTURE}).status_code == 403
    assert PAGE not in client.get("/admin/").content.decode()


def test_every_group_that_may_ask_has_the_permission() -> None:
    may = {group for group, names in ROLES.items() if "agent.view_knowledgequestion" in names}
    assert may == set(ASKED_BY)


def test_a_stranger_has_to_log_in() -> None:
    assert Client().get(PAGE).status_code == 302


def test_the_page_is_listed_for_who_may_ask_and_shows_no_entries() -> None:
    client = staff("dentist")
    assert PAGE in client.get("/admin/").content.decode()
    for address in (f"{PAGE}1/change/", f"{PAGE}add/", "/admin/agent/knowledgeentry/"):
        assert client.get(address).status_code in (302, 403, 404)
    assert "suture" not in client.get(PAGE).content.decode()


def test_a_question_is_answered_by_quotes_with_source_suggestions_and_path() -> None:
    page = ask(staff("dentist"), "which suture closes gingival flaps")
    assert "<blockquote>A <5-0> suture.</blockquote>" in page and "A textbook" in page
    assert "IngestQuery" in page and "ComposeAnswer" in page and "version 1" in page
    assert "A draft" not in page and "Lispro" not in page and "fridge" not in page
    assert 'name="question" value="Which suture closes an extraction socket?"' in page


def test_answers_are_escaped() -> None:
    answer = staff("dentist").post(PAGE, {"collection": "doctor_dental:en", "question": SUTURE})
    assert "A &lt;5-0&gt; suture." in answer.content.decode()


def test_a_suggestion_is_asked_by_a_press() -> None:
    client = staff("dentist")
    page = ask(client, SUTURE)
    suggestion = re.search(r'name="question" value="([^"]+)"', page)
    hidden = re.search(r'type="hidden" name="collection" value="([^"]+)"', page)
    assert suggestion and hidden
    assert "Resorbable." in ask(client, suggestion[1], hidden[1])


def test_vietnamese_is_asked_in_vietnamese() -> None:
    page = ask(staff("dentist"), "khau vat nuou bang chi gi", "doctor_dental:vi")
    assert "Chỉ 5-0." in page and 'lang="vi"' in page and "A <5-0>" not in page


@pytest.mark.parametrize("collection", ["doctor_endocrine:en", "customer:en", "doctor_dental:he", "", "x"])
def test_a_collection_that_was_not_offered_is_refused(collection: str) -> None:
    page = ask(staff("dentist"), "Which insulin peaks first?", collection)
    assert "Lispro" not in page and not asked_lines().exists()


@pytest.mark.parametrize("question", ["", " ", "x" * 501])
def test_a_question_without_text_or_too_long_is_refused(question: str) -> None:
    ask(staff("dentist"), question)
    assert not asked_lines().exists()


def test_each_question_leaves_a_line_without_its_text_and_one_without_an_answer_is_noted() -> None:
    client = staff("dentist")
    ask(client, "which suture closes gingival flaps")
    ask(client, "How is amber polished?")
    answered, nothing = asked_lines().order_by("number")
    user = get_user_model().objects.get(username="d")
    assert (answered.who, answered.what, answered.where) == (f"user:{user.pk}", "knowledge_asked", "admin")
    assert answered.detail == {"role": "doctor_dental", "language": "en", "status": "answered"}
    assert nothing.detail["status"] == "nothing"
    row = UnansweredQuestion.objects.get()
    assert (row.question, row.role, row.language) == ("How is amber polished?", "doctor_dental", "en")


def test_a_clinician_is_not_refused_and_reads_the_number_in_an_emergency() -> None:
    client = staff("dentist")
    published("D3", "Should I stop anticoagulants before an extraction?", role="doctor_dental", answer="No.")
    assert "<blockquote>No.</blockquote>" in ask(
        client, "Should I stop the anticoagulant before an extraction?"
    )
    urgent = ask(client, "The patient can't breathe, his throat is swelling: what suture?")
    assert 'role="alert"' in urgent and "101" in urgent
    client.cookies["django_language"] = "he"
    urgent = ask(client, "The patient can't breathe, his throat is swelling: what suture?")
    assert re.search(r'role="alert"[^>]*>[^<]*[א-ת][^<]*101', urgent) and "ambulance" not in urgent


def test_a_pharmacist_who_asks_as_a_customer_reads_what_a_customer_reads() -> None:
    page = ask(staff("pharmacist"), "Should I take insulin for my headache?", "customer:en")
    assert "asks for advice about a person" in page and "fridge" not in page


def test_without_published_entries_the_page_says_so() -> None:
    client = staff("endocrinologist")
    from agent.models import KnowledgeEntry

    KnowledgeEntry.objects.filter(role="doctor_endocrine").update(live=None)
    assert "No collection that your group may ask" in client.get(PAGE).content.decode()


def test_the_page_is_in_hebrew_for_who_reads_hebrew() -> None:
    client = staff("dentist")
    client.cookies["django_language"] = "he"
    page = ask(client, SUTURE)
    assert 'dir="rtl"' in page and "מקור" in page and "רפואת שיניים" in page

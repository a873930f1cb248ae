"""Staff edit drafts, try what the chat finds, publish and go back; others only read."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from knowledge_entries import entry, published
from served_site import free_port

from agent.knowledge.retrieval import retrieve_from_qdrant
from agent.knowledge.services import UNANSWERED, unanswered_note
from agent.models import KnowledgeEntry, UnansweredQuestion
from pharmacy_site.lib.retention import kind_apply
from prescriptions.models import AuditEvent

ENTRIES = "/admin/agent/knowledgeentry/"


def staff(role: str) -> Client:
    user = get_user_model().objects.create_user(f"k-{role}", password="x", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def pharmacist(db: None) -> Client:
    return staff("pharmacist")


def form(**fields: Any) -> dict[str, Any]:
    return {
        "role": "customer",
        "language": "en",
        "entry_id": "A1",
        "demuc": "Storage",
        "chu_de_con": "",
        "question": "Where do I keep insulin?",
        "answer": "In the fridge.",
        "explanation": "",
        "source": "A leaflet",
        **fields,
    }


def found(text: str) -> list[str]:
    return [c["CAUHOI"] for c in retrieve_from_qdrant(text, "", "", "customer", language="en")]


def act(client: Client, row: KnowledgeEntry, name: str) -> Any:
    row.refresh_from_db()
    url = f"{ENTRIES}{row.pk}/publish/"
    return client.post(url, {"act": name, "seen": row.changed_at.isoformat()}, follow=True)


def test_a_draft_is_written_published_changed_and_rolled_back(pharmacist: Client) -> None:
    assert pharmacist.post(f"{ENTRIES}add/", form()).status_code == 302
    row = KnowledgeEntry.objects.get()
    assert (row.state, row.live, row.changed_by) == ("draft", None, f"user:{_user(pharmacist)}")
    assert found("insulin") == []
    assert "Published." in act(pharmacist, row, "publish").content.decode()
    assert found("insulin") == ["Where do I keep insulin?"]

    changed = {**form(question="Where do I keep my pens?")}
    assert pharmacist.post(f"{ENTRIES}{row.pk}/change/", changed).status_code == 302
    row.refresh_from_db()
    assert row.state == "draft" and found("insulin") == ["Where do I keep insulin?"]
    act(pharmacist, row, "publish")
    assert found("pens") == ["Where do I keep my pens?"]
    assert "The older version is published again." in act(pharmacist, row, "1").content.decode()
    row.refresh_from_db()
    assert (row.version, row.state, found("insulin")) == (3, "published", ["Where do I keep insulin?"])
    act(pharmacist, row, "withdraw")
    assert found("insulin") == []
    lines = AuditEvent.objects.filter(what__startswith="knowledge_").order_by("number")
    assert list(lines.values_list("what", flat=True)) == [
        "knowledge_published",
        "knowledge_published",
        "knowledge_rolled_back",
        "knowledge_withdrawn",
    ]


def _user(client: Client) -> str:
    return str(client.session["_auth_user_id"])


def test_an_edit_back_to_the_published_text_is_no_draft(pharmacist: Client) -> None:
    row = published("A1", "Where do I keep insulin?", answer="In the fridge.")
    pharmacist.post(f"{ENTRIES}{row.pk}/change/", form(answer="In a box."))
    row.refresh_from_db()
    assert row.state == "draft"
    pharmacist.post(f"{ENTRIES}{row.pk}/change/", form())
    row.refresh_from_db()
    assert row.state == "published"


def tried(client: Client, row: KnowledgeEntry, question: str = "") -> str:
    page = client.get(f"{ENTRIES}{row.pk}/publish/", {"question": question}).content.decode()
    return page.split("Try a question")[1].split("Published versions")[0]


def test_the_page_shows_what_the_chat_answers(pharmacist: Client) -> None:
    row = published("A1", "Where do I keep insulin?", answer="In the <fridge>.")
    published("B1", "Insulin for doctors", role="doctor")
    entry("D1", "A draft about insulin")
    results = tried(pharmacist, row, "wher do I keep insulin")
    assert "In the &lt;fridge&gt;." in results and "A leaflet" in results and "% of the question" in results
    assert "Insulin for doctors" not in results and "A draft about insulin" not in results
    assert "Draft:" not in results


def test_the_page_tells_the_draft_from_what_is_published(pharmacist: Client) -> None:
    row = published("A1", "Where do I keep insulin?", answer="In the fridge.")
    KnowledgeEntry.objects.update(answer="In a box.", state="draft")
    results = tried(pharmacist, row)
    now, draft = results.split("Draft: what is not published yet")
    assert "In the fridge." in now and "In a box." not in results and "version 1" in now
    assert "not the draft" in draft and "The draft covers 100 % of the question." in draft
    other = entry("D1", "How are inhalers cleaned?")
    results = tried(pharmacist, other)
    assert "Nothing in this collection covers the question" in results
    assert "The chat does not know the draft." in results and "covers 100 %" in results


def test_a_preview_is_refused_as_the_chat_refuses_and_notes_nothing(pharmacist: Client) -> None:
    row = published("A1", "Where do I keep insulin?")
    assert "asks for advice" in tried(pharmacist, row, "Should I take insulin for my headache?")
    assert "101" in tried(pharmacist, row, "I can't breathe, my throat is swelling")
    assert "Nothing in this collection" in tried(pharmacist, row, "Who won the football match?")
    assert not UnansweredQuestion.objects.exists()


def test_the_page_says_when_the_index_cannot_be_reached(pharmacist: Client, settings: Any) -> None:
    settings.QDRANT_URL = f"http://127.0.0.1:{free_port()}"
    row = published("A1", "Where do I keep insulin?")
    page = pharmacist.get(f"{ENTRIES}{row.pk}/publish/")
    assert page.status_code == 200 and "The index cannot be reached." in page.content.decode()


def test_the_page_is_in_hebrew_for_who_reads_hebrew(pharmacist: Client) -> None:
    row = published("A1", "Where do I keep insulin?")
    pharmacist.cookies["django_language"] = "he"
    page = pharmacist.get(f"{ENTRIES}{row.pk}/publish/").content.decode()
    assert "מה הצ'אט עונה" in page.replace("&#x27;", "'")


def test_nothing_is_published_without_a_source(pharmacist: Client) -> None:
    row = entry("A1", "Where do I keep insulin?", source="")
    page = act(pharmacist, row, "publish").content.decode()
    assert "Not published: an entry has an empty field (source)." in page
    selected = {"action": "publish", "_selected_action": [row.pk]}
    assert "empty field (source)" in pharmacist.post(ENTRIES, selected, follow=True).content.decode()
    assert found("insulin") == []


def test_a_text_that_changed_meanwhile_is_not_published(pharmacist: Client) -> None:
    row = entry("A1", "Where do I keep insulin?")
    answer = pharmacist.post(
        f"{ENTRIES}{row.pk}/publish/", {"act": "publish", "seen": "2020-01-01T00:00:00+00:00"}, follow=True
    )
    assert "Somebody changed the text meanwhile." in answer.content.decode()
    assert found("insulin") == []


def test_several_are_published_and_withdrawn_at_once(pharmacist: Client) -> None:
    rows = [entry(f"A{number}", f"Where do I keep insulin number {number}?") for number in range(3)]
    selected = [row.pk for row in rows]
    pharmacist.post(ENTRIES, {"action": "publish", "_selected_action": selected})
    assert len(found("insulin")) == 3
    pharmacist.post(ENTRIES, {"action": "withdraw", "_selected_action": selected[:2]})
    assert len(found("insulin")) == 1


@pytest.mark.parametrize("value", ["99", "-1", "", "drop"])
def test_a_version_that_is_not_there_changes_nothing(pharmacist: Client, value: str) -> None:
    row = published("A1", "Where do I keep insulin?")
    assert "There is no such version." in act(pharmacist, row, value).content.decode()
    row.refresh_from_db()
    assert row.version == 1


@pytest.mark.parametrize(("field", "value"), [("role", "Not a role"), ("language", "english")])
def test_a_role_or_language_that_can_be_none_is_refused(pharmacist: Client, field: str, value: str) -> None:
    assert pharmacist.post(f"{ENTRIES}add/", form(**{field: value})).status_code == 200
    assert not KnowledgeEntry.objects.exists()


def test_what_was_published_is_not_deleted_and_a_draft_is(pharmacist: Client) -> None:
    draft, live = entry("D1", "A draft"), published("A1", "Where do I keep insulin?")
    assert pharmacist.post(f"{ENTRIES}{live.pk}/delete/", {"post": "yes"}).status_code == 403
    assert pharmacist.post(f"{ENTRIES}{draft.pk}/delete/", {"post": "yes"}).status_code == 302
    assert list(KnowledgeEntry.objects.values_list("entry_id", flat=True)) == ["A1"]


@pytest.mark.parametrize("role", ["physician", "auditor"])
def test_others_read_and_change_nothing(db: None, role: str) -> None:
    client, row = staff(role), published("A1", "Where do I keep insulin?")
    page = client.get(f"{ENTRIES}{row.pk}/publish/")
    assert page.status_code == 200 and "Publish again" not in page.content.decode()
    assert client.post(f"{ENTRIES}{row.pk}/publish/", {"act": "withdraw"}).status_code == 403
    assert client.post(f"{ENTRIES}{row.pk}/change/", form(answer="x")).status_code == 403
    assert client.post(f"{ENTRIES}add/", form()).status_code == 403
    assert found("insulin") == ["Where do I keep insulin?"]


@pytest.mark.parametrize("role", ["technician", "administrator"])
def test_who_has_nothing_to_do_with_it_does_not_see_it(db: None, role: str) -> None:
    client, row = staff(role), published("A1", "Where do I keep insulin?")
    for url in (ENTRIES, f"{ENTRIES}{row.pk}/publish/", "/admin/agent/unansweredquestion/"):
        assert client.get(url).status_code == 403


def test_questions_without_an_answer_are_counted_without_personal_data(pharmacist: Client) -> None:
    for text in (
        "Why is my tongue blue?",
        "why is my tongue BLUE",
        "I am at dana@example.com, 052-1234567: why?",
    ):
        unanswered_note(question=text, role="customer", language="en")
    unanswered_note(question=" ?! ", role="customer", language="en")
    rows = list(UnansweredQuestion.objects.order_by("-times"))
    assert [row.times for row in rows] == [2, 1]
    assert "example" not in rows[1].question and "1234567" not in rows[1].question
    page = pharmacist.get("/admin/agent/unansweredquestion/").content.decode()
    assert "Why is my tongue blue?" in page and "knowledgeentry/add/?role=customer" in page
    done = pharmacist.post(f"/admin/agent/unansweredquestion/{rows[0].pk}/change/", {"done": "on"})
    rows[0].refresh_from_db()
    assert done.status_code == 302 and rows[0].done


def test_questions_without_an_answer_end_with_the_retention_period(db: None, settings: Any) -> None:
    unanswered_note(question="Why is my tongue blue?", role="customer", language="en")
    assert kind_apply(UNANSWERED, timezone.now()).count == 0
    settings.CHAT_RETENTION_DAYS = -1
    assert kind_apply(UNANSWERED, timezone.now()).count == 1

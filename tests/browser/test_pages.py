"""The pages without a browser: language, headers, the demo inbox and who may not see it, the error pages."""

import re
import uuid
from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation

from agent.conversation.events import conversation_begin
from prescriptions import notifications
from prescriptions.models import Notification


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    with translation.override("en"):
        yield


def test_the_language_in_the_address_is_remembered(client: Client) -> None:
    page = client.get("/", {"lang": "he"})
    assert page.headers["Content-Language"] == "he"
    assert 'lang="he" dir="rtl"' in page.content.decode()
    assert 'dir="rtl"' in client.get("/").content.decode()
    assert 'dir="ltr"' in client.get("/", {"lang": "en"}).content.decode()


@pytest.mark.parametrize("lang", ["xx", "", "he\r\nX: 1", "<script>"])
def test_an_unknown_language_changes_nothing(client: Client, lang: str) -> None:
    page = client.get("/", {"lang": lang})
    assert 'lang="en" dir="ltr"' in page.content.decode()
    assert not page.cookies


def test_a_page_has_no_inline_script_or_style(client: Client) -> None:
    page = client.get("/")
    policy = page.headers["Content-Security-Policy"]
    assert {"script-src 'self'", "style-src 'self'"} <= set(policy.split("; "))
    assert "unsafe" not in policy
    html = page.content.decode()
    assert html.count("<script") == html.count('<script type="module" src=') == 1
    assert not re.search(r"<style| style=| on[a-z]+=", html)


def _code_sent(conversation_id: uuid.UUID, code: str, recipient: str = "david.cohen@example.com") -> None:
    notifications.notification_enqueue(
        key=f"test:{conversation_id}:{code}",
        kind=Notification.Kind.IDENTITY_CODE,
        recipient=recipient,
        language="en",
        context={"code": code},
        conversation_id=conversation_id,
    )


@pytest.mark.django_db
def test_the_inbox_shows_only_the_messages_of_this_conversation(
    client: Client, settings: LazySettings
) -> None:
    settings.DEBUG = True
    mine, secret = conversation_begin(language="en")
    other, _ = conversation_begin(language="en")
    _code_sent(mine.pk, "111222")
    _code_sent(other.pk, "999888")
    _code_sent(mine.pk, "333444")
    _code_sent(mine.pk, "555666", recipient="")  # nobody's: sent to no one, shown to no one
    answer = client.get("/demo/inbox/", {"conversation": secret})
    assert answer.headers["Cache-Control"] == "no-store"
    messages = answer.json()["messages"]
    assert [message["code"] for message in messages] == ["111222", "333444"]
    assert set(messages[0]) == {"to", "text", "code"}
    assert messages[0]["to"] == "david.cohen@example.com"
    assert "111222" in messages[0]["text"]


@pytest.mark.django_db
@pytest.mark.parametrize("secret", ["", "wrong", str(uuid.uuid4())], ids=["empty", "wrong", "unknown"])
def test_the_inbox_without_the_secret_is_empty(client: Client, settings: LazySettings, secret: str) -> None:
    settings.DEBUG = True
    conversation, _ = conversation_begin(language="en")
    _code_sent(conversation.pk, "111222")
    assert client.get("/demo/inbox/", {"conversation": secret}).json() == {"messages": []}
    by_id = client.get("/demo/inbox/", {"conversation": str(conversation.pk)})
    assert by_id.json() == {"messages": []}


@pytest.mark.django_db
def test_the_inbox_does_not_exist_outside_development(client: Client, settings: LazySettings) -> None:
    settings.DEBUG = False
    conversation, secret = conversation_begin(language="en")
    _code_sent(conversation.pk, "111222")
    answer = client.get("/demo/inbox/", {"conversation": secret})
    assert answer.status_code == 404
    assert "111222" not in answer.content.decode()
    assert "Demo inbox" not in client.get("/").content.decode()


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.parametrize("policy", ["otp", "dob", "identifier"])
def test_the_demo_speaks_of_codes_only_where_codes_are_sent(
    client: Client, settings: LazySettings, policy: str, language: str
) -> None:
    settings.DEBUG = True
    settings.CHAT_IDENTITY = policy
    sent = {"en": "Codes go to the e-mail address", "he": "הקודים נשלחים לכתובת"}[language]
    other = {
        "en": {"dob": "born on June 11, 1978", "identifier": "alone as proof"},
        "he": {"dob": "נולד ב-11 ביוני 1978", "identifier": "לבדם משמשים כהוכחה"},
    }[language]
    for page in (f"/?lang={language}", f"/continue/?lang={language}"):
        shown = client.get(page).content.decode()
        assert (sent in shown) is (policy == "otp")
        assert [name for name, words in other.items() if words in shown] == (
            [policy] if policy in other else []
        )


def test_error_pages_are_in_both_languages(client: Client) -> None:
    missing = client.get("/no/such/page/")
    assert missing.status_code == 404
    assert "This page does not exist" in missing.content.decode()
    assert "הדף אינו קיים" in missing.content.decode()
    broken = render_to_string("500.html")  # Django renders it without any context
    assert "Something went wrong" in broken
    assert "אירעה תקלה" in broken

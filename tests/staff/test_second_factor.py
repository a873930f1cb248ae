"""The second factor over HTTP: nothing is reached without it, set up once, recovery codes, what is recorded."""

import re
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django_otp.oath import totp
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django import Settings
from staff_people import PASSWORD, Person

from prescriptions.models import AuditEvent

Hire = Callable[..., User]
GIVE, SETUP, OWN = "/admin/second-factor/", "/admin/second-factor/setup/", "/admin/second-factor/own/"
CODE = re.compile(r"\b[a-z2-7]{4}-[a-z2-7]{4}\b")


@pytest.fixture(autouse=True)
def production(settings: Settings) -> None:
    settings.SECOND_FACTOR_REQUIRED = True


def app_code(user: User, ahead: int = 0, *, confirmed: bool = True) -> str:
    """What the app on this person's phone shows, so many half-minutes ahead."""
    key = TOTPDevice.objects.get(user=user, confirmed=confirmed).bin_key
    return f"{totp(key, t0=-30 * ahead):06d}"


def enrolled(user: User, person: Person) -> list[str]:
    """Sign in and set the second factor up; return the recovery codes."""
    person.sign_in(user.username)
    person.get(SETUP)
    return CODE.findall(person.post(SETUP, code=app_code(user, confirmed=False)))


def what() -> list[str]:
    return list(AuditEvent.objects.order_by("number").values_list("what", flat=True))


@pytest.mark.parametrize("role", ["technician", "pharmacist", "physician", "auditor", "administrator"])
def test_with_the_password_alone_only_the_set_up_page_is_reached(hire: Hire, role: str) -> None:
    hire("dana", role)
    person = Person()
    text = person.sign_in("dana")
    assert "Set up the second factor" in text
    for path in admin_pages():
        response = person.client.get(path)
        assert response.status_code == 302, path
        assert urlsplit(response["Location"]).path == GIVE, path
        assert person.client.post(path).status_code in (302, 401), path
        script = person.client.get(path, HTTP_ACCEPT="application/json")
        assert script.status_code == 401, path


def admin_pages() -> list[str]:
    """Every address of the admin without a variable part, except those of signing in."""
    found: list[str] = []

    def walk(patterns: list[URLPattern | URLResolver], prefix: str) -> None:
        for one in patterns:
            path = prefix + str(one.pattern).replace("\\Z", "").strip("^$")
            if isinstance(one, URLResolver):
                walk(one.url_patterns, path)
            elif path.startswith("admin/") and "<" not in path and "(" not in path:
                found.append(f"/{path}")

    walk(get_resolver().url_patterns, "")
    inside = set(found) - {GIVE, SETUP, "/admin/login/", "/admin/logout/", "/admin/jsi18n/"}
    assert len(inside) > 60
    return sorted(inside)


@pytest.mark.parametrize(("language", "title"), [("en", "Recovery codes"), ("he", "קודי שחזור")])
def test_setting_up_shows_the_codes_once_and_lets_in(hire: Hire, language: str, title: str) -> None:
    dana = hire("dana", "pharmacist")
    person = Person(language=language)
    person.sign_in("dana")
    page = person.client.get(SETUP).content.decode()
    assert 'src="data:image/svg+xml;base64,' in page
    person.post(SETUP, code="000000")
    assert not person.is_inside
    text = person.post(SETUP, code=app_code(dana, confirmed=False))
    assert title in text
    codes = CODE.findall(text)
    assert len(set(codes)) == 10
    assert person.is_inside
    assert not CODE.search(person.get(OWN))
    stored = set(StaticToken.objects.values_list("token", flat=True))
    assert not stored & {code.replace("-", "") for code in codes}
    assert what() == ["sign_in", "second_factor_failed", "second_factor_set"]


def test_a_code_of_the_app_lets_in_once(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    enrolled(dana, Person())
    code = app_code(dana, 1)
    person = Person()
    assert "Enter the code" in person.sign_in("dana")
    assert not person.is_inside
    person.post(GIVE, code=code)
    assert person.is_inside
    replay = Person()
    replay.sign_in("dana")
    assert "does not fit" in replay.post(GIVE, code=code)
    assert not replay.is_inside


def test_a_recovery_code_lets_in_once_and_that_is_recorded(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    first, second, *_ = enrolled(dana, Person())
    person = Person()
    person.sign_in("dana")
    person.post(GIVE, code=first.upper())
    assert person.is_inside
    assert "9 recovery codes are left" in person.get(OWN)
    again = Person()
    again.sign_in("dana")
    assert "does not fit" in again.post(GIVE, code=first)
    again.post(GIVE, code=second.replace("-", " "))
    assert again.is_inside
    used = AuditEvent.objects.filter(what="recovery_code_used").order_by("number")
    assert [(line.who, line.detail) for line in used] == [
        (f"user:{dana.pk}", {"left": 9}),
        (f"user:{dana.pk}", {"left": 8}),
    ]


def test_codes_are_not_guessed(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    enrolled(dana, Person())
    thief = Person("198.51.100.1")
    thief.sign_in("dana")
    told = [thief.post(GIVE, code=f"{number:06d}") for number in range(7)]
    assert ["does not fit" in text for text in told] == [True] * 5 + [False] * 2
    assert "Too many tries" in told[-1]
    # Also with the right one, and not by signing in again.
    thief.sign_in("dana")
    assert "Too many tries" in thief.post(GIVE, code=app_code(dana, 1))
    assert not thief.is_inside


def test_one_cannot_set_up_an_app_of_ones_own_for_an_account_that_has_one(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    enrolled(dana, Person())
    thief = Person()
    thief.sign_in("dana")
    for path in (SETUP, OWN):
        assert "Enter the code" in thief.get(path)
        thief.post(path, code="123456", password=PASSWORD, act="app")
    assert not TOTPDevice.objects.filter(user=dana, confirmed=False).exists()
    assert not thief.is_inside


def test_another_phone_and_new_codes_need_the_password_again(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    person = Person()
    old = enrolled(dana, person)
    assert "Make new recovery codes" in person.get(SETUP)
    assert "password is wrong" in person.post(OWN, password="wrong", act="codes")
    new = CODE.findall(person.post(OWN, password=PASSWORD, act="codes"))
    assert len(new) == 10 and not set(new) & set(old)
    before = TOTPDevice.objects.get(user=dana).key
    assert "Set up the second factor" in person.post(OWN, password=PASSWORD, act="app")
    person.post(SETUP, code=app_code(dana, confirmed=False))
    assert TOTPDevice.objects.get(user=dana).key != before
    assert person.is_inside


def test_a_session_is_shut_when_its_second_factor_is_taken_away(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    person = Person()
    enrolled(dana, person)
    TOTPDevice.objects.all().delete()
    assert not person.is_inside


def test_where_it_is_not_required_it_is_possible_and_then_asked_for(hire: Hire, settings: Settings) -> None:
    settings.SECOND_FACTOR_REQUIRED = False
    dana = hire("dana", "pharmacist")
    person = Person()
    person.sign_in("dana")
    assert person.is_inside
    person.get(SETUP)
    person.post(SETUP, code=app_code(dana, confirmed=False))
    assert person.is_inside
    next_day = Person()
    next_day.sign_in("dana")
    assert not next_day.is_inside


def test_the_page_that_was_wanted_comes_after_it_but_no_other_site(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    first, second, *_ = enrolled(dana, Person())
    person = Person()
    person.client.post(
        "/admin/login/?next=/admin/inventory/medication/", {"username": "dana", "password": PASSWORD}
    )
    wanted = person.client.get("/admin/inventory/medication/?q=a")["Location"]
    response = person.client.post(wanted, {"code": first})
    assert response["Location"] == "/admin/inventory/medication/?q=a"
    other = Person()
    other.sign_in("dana")
    response = other.client.post(
        f"{GIVE}?next=https://evil.example/", {"code": second, "next": "//evil.example/"}
    )
    assert response["Location"] == "/admin/"


# -- The end of a session ---------------------------------------------------------------------------------------
QUEUE, ROWS = "/admin/prescriptions/handoff/", "/admin/prescriptions/handoff/rows/"


@pytest.fixture
def optional(settings: Settings) -> None:
    settings.SECOND_FACTOR_REQUIRED = False


def test_a_session_ends_after_fifteen_minutes_and_polling_does_not_keep_it(
    hire: Hire, optional: None
) -> None:
    hire("dana", "pharmacist")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        person = Person()
        person.sign_in("dana")
        for _ in range(3):
            clock.shift(timedelta(minutes=14))
            assert person.client.get(QUEUE).status_code == 200
        for _ in range(14):
            clock.shift(timedelta(minutes=1))
            assert polled(person.client).status_code == 200
        clock.shift(timedelta(minutes=2))
        assert polled(person.client).status_code == 401
        assert "_auth_user_id" not in person.client.session
        assert person.client.get(QUEUE)["Location"].startswith("/admin/login/")
    [line] = AuditEvent.objects.filter(what="signed_out")
    assert line.why == "idle"


def polled(client: Client) -> object:
    return client.get(ROWS, HTTP_ACCEPT="application/json")


@pytest.mark.parametrize(("language", "told"), [("en", "You were signed out"), ("he", "נותקת")])
def test_whoever_returns_to_a_session_that_is_over_reads_why(
    hire: Hire, optional: None, language: str, told: str
) -> None:
    hire("dana", "pharmacist")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        person = Person(language=language)
        person.sign_in("dana")
        clock.shift(timedelta(minutes=16))
        assert told in person.get(QUEUE)


def test_a_session_that_is_used_all_day_ends_after_twelve_hours(hire: Hire, optional: None) -> None:
    hire("dana", "pharmacist")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        person = Person()
        person.sign_in("dana")
        for _ in range(51):
            clock.shift(timedelta(minutes=14))
            # A page that costs little: it goes on to the first page.
            assert person.client.get(GIVE)["Location"] == "/admin/"
        clock.shift(timedelta(minutes=14))
        assert not person.is_inside
    [line] = AuditEvent.objects.filter(what="signed_out")
    assert line.why == "age"


def test_a_copied_cookie_of_before_is_over(hire: Hire, optional: None) -> None:
    """A session that has no times, such as one from before an upgrade."""
    hire("dana", "pharmacist")
    person = Person()
    person.sign_in("dana")
    session = person.client.session
    del session["staff_seen_at"]
    session.save()
    assert not person.is_inside

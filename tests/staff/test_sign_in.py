"""Signing in: limits per account and address, lock-outs and the ways out, what is recorded, which passwords are refused."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
import time_machine
from django.conf import global_settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection, connections
from django.utils import timezone
from staff_people import PASSWORD, Person

from pharmacy_site import settings as deployed
from pharmacy_site.staff.limits import LIMITS, Kind
from pharmacy_site.staff.models import SignInCount
from prescriptions.audit import audit_verify
from prescriptions.models import AuditEvent

Hire = Callable[..., User]
WRONG = "wrong again"
REFUSED = {"en": "do not fit together", "he": "אינם תואמים"}
LOCKED = {"en": "Too many tries", "he": "יותר מדי ניסיונות"}


def lines(what: str) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(what=what).order_by("number"))


@pytest.mark.parametrize("language", ["en", "he"])
def test_five_wrong_passwords_lock_the_account_out_also_with_the_right_one(hire: Hire, language: str) -> None:
    hire("dana", "pharmacist")
    person = Person(language=language)
    for _ in range(5):
        assert REFUSED[language] in person.sign_in("dana", WRONG)
    assert LOCKED[language] in person.sign_in("dana")
    assert not person.is_inside
    # From elsewhere it is locked, too.
    elsewhere = Person("198.51.100.7", language)
    assert LOCKED[language] in elsewhere.sign_in("dana")


def test_a_password_is_hashed_as_deployed_sites_hash_it(hire: Hire, settings: Any) -> None:
    # All other tests use a faster hash.
    settings.PASSWORD_HASHERS = getattr(deployed, "PASSWORD_HASHERS", global_settings.PASSWORD_HASHERS)
    assert not hire("dana", "pharmacist").password.startswith("md5$")
    person = Person()
    assert REFUSED["en"] in person.sign_in("dana", WRONG)
    person.sign_in("dana")
    assert person.is_inside


def test_an_account_that_does_not_exist_reads_the_same(hire: Hire) -> None:
    hire("dana", "pharmacist")
    told = {}
    for number, name in enumerate(("dana", "nobody")):
        person = Person(f"203.0.113.{number + 1}")
        told[name] = [person.sign_in(name, WRONG).replace(name, "") for _ in range(7)]
    assert told["dana"] == told["nobody"]


def test_a_lock_out_ends_by_time_and_the_next_one_takes_twice_as_long(hire: Hire) -> None:
    hire("dana", "pharmacist")
    person, start = Person(), timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        for _ in range(5):
            person.sign_in("dana", WRONG)
        assert "in 15 minutes" in person.sign_in("dana")
        clock.shift(timedelta(minutes=14))
        assert "in 1 minute," in person.sign_in("dana")
        clock.shift(timedelta(minutes=2))
        for _ in range(5):
            person.sign_in("dana", WRONG)
        assert "in 30 minutes" in person.sign_in("dana")
        clock.shift(timedelta(minutes=31))
        person.sign_in("dana")
        assert person.is_inside
    assert not SignInCount.objects.filter(kind=Kind.ACCOUNT).exists()


def test_an_administrator_ends_a_lock_out_but_not_their_own(hire: Hire) -> None:
    hire("dana", "pharmacist")
    boss = Person("198.51.100.1")
    hire("boss", "administrator")
    boss.sign_in("boss")
    for name, address in (("dana", "203.0.113.1"), ("boss", "203.0.113.2")):
        for _ in range(6):
            Person(address).sign_in(name, WRONG)
    page = boss.get("/admin/staff/signincount/")
    assert "dana" in page
    rows = SignInCount.objects.filter(kind=Kind.ACCOUNT)
    boss.post("/admin/staff/signincount/", action="unlock", _selected_action=[row.pk for row in rows])
    dana, own = Person("203.0.113.9"), Person("203.0.113.8")
    dana.sign_in("dana")
    assert dana.is_inside
    assert "Too many tries" in own.sign_in("boss")
    [line] = lines("sign_in_unlocked")
    assert line.who == f"user:{User.objects.get(username='boss').pk}"
    assert line.detail == {"user": User.objects.get(username="dana").pk}


@pytest.mark.parametrize("role", ["technician", "pharmacist", "physician", "auditor"])
def test_others_end_no_lock_out(hire: Hire, role: str) -> None:
    hire("dana", "pharmacist")
    for _ in range(6):
        Person().sign_in("dana", WRONG)
    hire("other", role)
    other = Person("198.51.100.1")
    other.sign_in("other")
    row = SignInCount.objects.get(kind=Kind.ACCOUNT)
    other.post("/admin/staff/signincount/", action="unlock", _selected_action=[row.pk])
    assert SignInCount.objects.filter(pk=row.pk).exists()


def test_one_address_has_twenty_tries_and_the_right_ones_do_not_count(hire: Hire) -> None:
    hire("person0", "technician")
    branch = "203.0.113.50"
    for _ in range(3):
        colleague = Person(branch)
        colleague.sign_in("person0")
        assert colleague.is_inside
    for number in range(20):
        assert "do not fit together" in Person(branch).sign_in(f"person{number}", WRONG)
    assert "Too many tries" in Person(branch).sign_in("person0")
    elsewhere = Person("198.51.100.1")
    elsewhere.sign_in("person0")
    assert elsewhere.is_inside


def test_each_try_is_recorded_by_codes_alone(hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    person = Person()
    person.sign_in("secret-typed-as-name", WRONG)
    person.sign_in("dana", WRONG)
    person.sign_in("dana")
    for _ in range(9):
        person.sign_in("dana", WRONG)
    unknown, *failed = lines("sign_in_failed")
    assert unknown.who == "unknown"
    assert [line.who for line in failed] == [f"user:{dana.pk}"] * 6
    assert [line.who for line in lines("sign_in")] == [f"user:{dana.pk}"]
    [locked] = lines("sign_in_locked")
    assert locked.detail == {"user": dana.pk, "minutes": 15, "locks": 1}
    # Refused tries are counted; a flood of them does not fill the log.
    assert [line.detail["refused"] for line in lines("sign_in_refused")] == [1, 2, 4]
    written = "".join(f"{line.who}{line.detail}" for line in AuditEvent.objects.all())
    assert not {"dana", "203.0.113", WRONG, PASSWORD, "secret-typed"} & {
        word for word in ("dana", "203.0.113", WRONG, PASSWORD, "secret-typed") if word in written
    }
    assert audit_verify() is None


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": False}])
def test_an_account_that_may_not_sign_in_reads_as_a_wrong_password(
    hire: Hire, change: dict[str, bool]
) -> None:
    User.objects.filter(pk=hire("dana", "pharmacist").pk).update(**change)
    assert "do not fit together" in Person().sign_in("dana")


@pytest.mark.django_db(transaction=True)
def test_guesses_at_the_same_moment_are_no_more_than_the_limit() -> None:
    user = User.objects.create_user("dana", password=PASSWORD, is_staff=True)
    at_once = 12
    together = Barrier(at_once)

    def guess(number: int) -> str:
        try:
            person = Person(f"203.0.113.{number}")
            together.wait()
            return person.sign_in("dana", WRONG)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(at_once) as pool:
        told = list(pool.map(guess, range(at_once)))
    evaluated = [text for text in told if "do not fit together" in text]
    assert len(evaluated) == LIMITS[Kind.ACCOUNT] == 5
    assert len(told) - 5 == len([text for text in told if "Too many tries" in text])
    assert AuditEvent.objects.filter(what="sign_in_failed", who=f"user:{user.pk}").count() == 5


def test_when_tries_cannot_be_counted_nobody_signs_in(hire: Hire) -> None:
    hire("dana", "pharmacist")

    def broken(execute: Callable[..., object], sql: str, *rest: object) -> object:
        if "staff_signincount" in sql:
            raise DatabaseError("no counter")
        return execute(sql, *rest)

    person = Person()
    with connection.execute_wrapper(broken), pytest.raises(DatabaseError):
        person.sign_in("dana")
    assert not person.is_inside


@pytest.mark.parametrize(
    ("password", "is_taken"),
    [
        ("aaaaaaaaaaaaaa", False),
        ("123456789012", False),
        ("abababababab", False),
        ("password1234", False),
        ("qwertyuiopas", False),
        ("danadanalevi", False),
        ("pharmacistdana", False),
        ("Summer2026!!", False),
        ("short-7#x", False),
        ("mulberry kettle orbit fresco", True),
    ],
)
def test_passwords_that_are_guessed_soon_are_refused(hire: Hire, password: str, is_taken: bool) -> None:
    dana = hire("dana", "pharmacist")
    User.objects.filter(pk=dana.pk).update(last_name="Levi")
    person = Person()
    person.sign_in("dana")
    person.post(
        "/admin/password_change/", old_password=PASSWORD, new_password1=password, new_password2=password
    )
    dana.refresh_from_db()
    assert dana.check_password(password) == is_taken
    assert dana.check_password(PASSWORD) != is_taken
    assert len(lines("password_set")) == is_taken


def test_a_password_that_a_command_sets_is_recorded(hire: Hire, monkeypatch: pytest.MonkeyPatch) -> None:
    dana = hire("dana")
    monkeypatch.setattr("getpass.getpass", lambda prompt: "mulberry kettle orbit fresco")
    call_command("changepassword", "dana", verbosity=0)
    [line] = lines("password_set")
    assert line.detail == {"user": dana.pk}

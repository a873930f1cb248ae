"""One administrator alone reaches no patient: groups, passwords and second factors wait for a second one."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice
from staff_people import PASSWORD, Person

from pharmacy_site.staff.models import AccountRequest
from prescriptions.models import AuditEvent

Hire = Callable[..., User]
NEW = "mulberry kettle orbit fresco"


@pytest.fixture
def two(hire: Hire) -> tuple[Person, Person]:
    """Two administrators who are signed in."""
    people = []
    for number, name in enumerate(("asks", "consents")):
        hire(name, "administrator")
        people.append(Person(f"203.0.113.{number + 1}"))
        people[-1].sign_in(name)
    return people[0], people[1]


def edit(person: Person, account: User, *groups: str, **more: object) -> str:
    """Save the account's page with these groups."""
    return person.post(
        reverse("admin:auth_user_change", args=[account.pk]),
        username=account.username,
        is_active="on",
        is_staff="on",
        date_joined_0="2026-01-01",
        date_joined_1="00:00",
        groups=list(Group.objects.filter(name__in=groups).values_list("pk", flat=True)),
        **more,
    )


def page_of(request: AccountRequest) -> str:
    return reverse("admin:staff_accountrequest_change", args=[request.pk])


def consent(person: Person, request: AccountRequest, act: str = "approve") -> str:
    return person.post(page_of(request), act=act, password=PASSWORD)


def groups_of(account: User) -> set[str]:
    return set(account.groups.values_list("name", flat=True))


def renew(person: Person, account: User, *what: str) -> str:
    path = reverse("admin:auth_user_password_change", args=[account.pk])
    return person.post(path, **dict.fromkeys(what, "on"))


def number_in(text: str) -> str:
    [number] = re.findall(r"\b\d{8}\b", text)
    return str(number)


def link_in(text: str) -> str:
    [link] = re.findall(r"/admin/new-password/\d+/[\w-]+/", text)
    return str(link)


def test_a_new_account_sees_patients_only_with_two_administrators_and_its_owner(
    two: tuple[Person, Person],
) -> None:
    asks, consents = two
    asks.post(reverse("admin:auth_user_add"), username="newcomer", password1=NEW, password2=NEW)
    newcomer = User.objects.get(username="newcomer")
    assert not newcomer.has_usable_password()
    number = number_in(edit(asks, newcomer, "pharmacist"))
    assert groups_of(newcomer) == set()
    request = AccountRequest.objects.get()
    assert "another administrator has to consent" in consent(asks, request)
    assert groups_of(newcomer) == set()
    link = link_in(consent(consents, request))
    assert groups_of(newcomer) == {"pharmacist"}
    # Neither what the one has nor what the other has is enough.
    owner = Person("198.51.100.9")
    assert "does not fit" in owner.post(link, number="00000000", new_password1=NEW, new_password2=NEW)
    assert "password is set" in owner.post(link, number=number, new_password1=NEW, new_password2=NEW)
    owner.sign_in("newcomer", NEW)
    assert owner.is_inside
    assert owner.client.get(link).status_code == 404
    written = list(
        AuditEvent.objects.filter(what__startswith="access_").order_by("number").values_list("what", "who")
    )
    who = {name: f"user:{User.objects.get(username=name).pk}" for name in ("asks", "consents")}
    assert written == [
        ("access_requested", who["asks"]),
        ("access_approved", who["consents"]),
        ("access_number_failed", "unknown"),
    ]


def test_an_administrator_who_is_made_by_one_alone_cannot_consent(
    two: tuple[Person, Person], hire: Hire
) -> None:
    asks, _ = two
    accomplice = hire("accomplice")
    edit(asks, accomplice, "administrator")
    person = Person()
    person.sign_in("accomplice")
    consent(person, AccountRequest.objects.get())
    assert groups_of(accomplice) == set()


def test_nobody_consents_to_their_own_account(two: tuple[Person, Person]) -> None:
    asks, consents = two
    subject = User.objects.get(username="consents")
    edit(asks, subject, "administrator", "pharmacist")
    assert "for your own account" in consent(consents, AccountRequest.objects.get())
    assert groups_of(subject) == {"administrator"}
    own = User.objects.get(username="asks")
    edit(asks, own, "administrator", "pharmacist")
    assert groups_of(own) == {"administrator"}


def test_the_database_itself_wants_two_people(two: tuple[Person, Person], hire: Hire) -> None:
    asks, _ = two
    dana = hire("dana", "pharmacist")
    renew(asks, dana, "gives_link")
    row = AccountRequest.objects.get()
    for pk in (row.requested_by_id, dana.pk, None):
        with pytest.raises(IntegrityError), transaction.atomic():
            AccountRequest.objects.update(state="approved", decided_by=pk)


def test_a_password_is_renewed_by_two_and_the_old_one_ends_at_once(
    two: tuple[Person, Person], hire: Hire
) -> None:
    asks, consents = two
    dana = hire("dana", "pharmacist")
    person = Person()
    person.sign_in("dana")
    path = reverse("admin:auth_user_password_change", args=[dana.pk])
    asks.post(path, password1=NEW, password2=NEW, usable_password="true")
    dana.refresh_from_db()
    assert dana.check_password(PASSWORD)
    number = number_in(renew(asks, dana, "gives_link"))
    assert person.is_inside
    link = link_in(consent(consents, AccountRequest.objects.get()))
    assert not person.is_inside
    assert "guessed too soon" in person.post(
        link, number=number, new_password1="aaaaaaaaaaaaaa", new_password2="aaaaaaaaaaaaaa"
    )
    person.post(link, number=number, new_password1=NEW, new_password2=NEW)
    person.sign_in("dana", NEW)
    assert person.is_inside


def test_five_wrong_numbers_shut_the_link(two: tuple[Person, Person], hire: Hire) -> None:
    asks, consents = two
    dana = hire("dana", "pharmacist")
    number = number_in(renew(asks, dana, "gives_link"))
    link = link_in(consent(consents, AccountRequest.objects.get()))
    thief = Person()
    for _ in range(5):
        thief.post(link, number="00000000", new_password1=NEW, new_password2=NEW)
    assert thief.client.get(link).status_code == 404
    thief.post(link, number=number, new_password1=NEW, new_password2=NEW)
    dana.refresh_from_db()
    assert not dana.has_usable_password()


def test_a_second_factor_is_taken_away_by_two(two: tuple[Person, Person], hire: Hire) -> None:
    asks, consents = two
    dana = hire("dana", "pharmacist")
    TOTPDevice.objects.create(user=dana, name="app")
    renew(asks, dana, "drops_factor")
    assert TOTPDevice.objects.filter(user=dana).exists()
    consent(consents, AccountRequest.objects.get())
    assert not TOTPDevice.objects.filter(user=dana).exists()


def test_consent_needs_the_password_again(two: tuple[Person, Person], hire: Hire) -> None:
    asks, consents = two
    dana = hire("dana")
    edit(asks, dana, "pharmacist")
    request = AccountRequest.objects.get()
    assert "password is wrong" in consents.post(page_of(request), act="approve", password="wrong")
    consents.post(page_of(request), act="approve")
    assert groups_of(dana) == set()


def test_a_request_ends_after_three_days_and_is_decided_once(two: tuple[Person, Person], hire: Hire) -> None:
    asks, consents = two
    dana, noa = hire("dana"), hire("noa")
    edit(asks, dana, "pharmacist")
    late = AccountRequest.objects.get()
    edit(asks, noa, "pharmacist")
    refused = AccountRequest.objects.get(subject=noa)
    consent(consents, refused, "refuse")
    assert "decided already" in consent(consents, refused)
    with time_machine.travel(timezone.now() + timedelta(days=4), tick=False):
        consents.sign_in("consents")
        assert "its time is over" in consent(consents, late)
    assert groups_of(dana) == groups_of(noa) == set()
    assert set(AccountRequest.objects.values_list("state", flat=True)) == {"refused", "expired"}


def test_a_request_that_waits_is_withdrawn_before_another_is_made(
    two: tuple[Person, Person], hire: Hire
) -> None:
    asks, _ = two
    dana = hire("dana", "pharmacist")
    renew(asks, dana, "gives_link")
    assert "waits already" in renew(asks, dana, "drops_factor")
    consent(asks, AccountRequest.objects.get(), "refuse")
    assert AccountRequest.objects.get().state == "withdrawn"
    renew(asks, dana, "drops_factor")
    assert AccountRequest.objects.filter(state="open").count() == 1


def test_leaving_a_group_and_switching_off_need_nobody_else(two: tuple[Person, Person], hire: Hire) -> None:
    asks, _ = two
    dana = hire("dana", "pharmacist", "technician")
    edit(asks, dana, "technician")
    assert groups_of(dana) == {"technician"}
    assert not AccountRequest.objects.exists()


@pytest.mark.parametrize("role", ["technician", "pharmacist", "physician", "auditor"])
def test_others_consent_to_nothing(two: tuple[Person, Person], hire: Hire, role: str) -> None:
    asks, _ = two
    dana = hire("dana")
    edit(asks, dana, "pharmacist")
    hire("other", role)
    other = Person("198.51.100.3")
    other.sign_in("other")
    assert (
        other.client.post(
            page_of(AccountRequest.objects.get()), {"act": "approve", "password": PASSWORD}
        ).status_code
        == 403
    )
    assert groups_of(dana) == set()


def test_a_superuser_asks_for_consent_as_others_do(hire: Hire) -> None:
    hire("root", superuser=True)
    dana = hire("dana")
    root = Person()
    root.sign_in("root")
    edit(root, dana, "pharmacist", is_superuser="on")
    consent(root, AccountRequest.objects.get())
    dana.refresh_from_db()
    assert groups_of(dana) == set() and not dana.is_superuser


@pytest.mark.parametrize(("language", "told"), [("en", "Ask for consent"), ("he", "בקשת אישור")])
def test_the_pages_are_in_both_languages(hire: Hire, language: str, told: str) -> None:
    hire("asks", "administrator")
    dana = hire("dana", "pharmacist")
    person = Person(language=language)
    person.sign_in("asks")
    assert told in person.get(reverse("admin:auth_user_password_change", args=[dana.pk]))
    renew(person, dana, "gives_link")
    assert {"en": "What is asked for", "he": "מה התבקש"}[language] in person.get(
        page_of(AccountRequest.objects.get())
    )
    over = {"en": "This link is over", "he": "הקישור אינו תקף"}[language]
    assert over in Person(language=language).get("/admin/new-password/1/x/")


def test_the_first_administrator_is_made_on_the_server_and_that_is_recorded(
    db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("staff_account", "first", group=["administrator"])
    password = capsys.readouterr().out.split("Password: ")[1].split()[0]
    first = User.objects.get(username="first")
    assert groups_of(first) == {"administrator"} and not first.is_superuser
    person = Person()
    person.sign_in("first", password)
    assert person.is_inside
    [line] = AuditEvent.objects.filter(what="access_by_command")
    assert line.who == "system"
    assert line.detail["user"] == first.pk and line.detail["groups"] == ["administrator"]
    for _ in range(6):
        Person().sign_in("first", "wrong")
    TOTPDevice.objects.create(user=first, name="app")
    call_command("staff_account", "first", new_factor=True, unlock=True)
    assert not TOTPDevice.objects.exists()
    person = Person("198.51.100.4")
    person.sign_in("first", password)
    assert person.is_inside

"""The page for one's own new password: tries at the old one are those of signing in."""

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse
from staff_people import PASSWORD, Person

from prescriptions.models import AuditEvent

PAGE, NEW = reverse("admin:password_change"), "mulberry kettle orbit fresco"
LOCKED = {
    "en": "Too many tries. Try again in 15 minutes",
    "he": "יותר מדי ניסיונות. אפשר לנסות שוב בעוד 15 דקות",
}


@pytest.fixture
def dana(db: None) -> User:
    user = User.objects.create_user("dana", password=PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    return user


def change(person: Person, old: str) -> str:
    return person.post(PAGE, old_password=old, new_password1=NEW, new_password2=NEW)


@pytest.mark.parametrize("language", ["en", "he"])
def test_five_wrong_old_passwords_lock_the_account_out(dana: User, language: str) -> None:
    """Whoever finds a session open may not guess its password there."""
    person = Person(language=language)
    person.sign_in("dana")
    for _ in range(5):
        assert LOCKED[language] not in change(person, "wrong again")
    # Also with the right one, here and at the entrance.
    assert LOCKED[language] in change(person, PASSWORD)
    elsewhere = Person("198.51.100.7", language)
    assert LOCKED[language] in elsewhere.sign_in("dana")
    dana.refresh_from_db()
    assert dana.check_password(PASSWORD)
    assert AuditEvent.objects.filter(what="sign_in_locked", detail__user=dana.pk).count() == 1
    assert AuditEvent.objects.filter(what="password_again_failed", who=f"user:{dana.pk}").count() == 5


def test_tries_here_and_at_the_entrance_are_counted_together(dana: User) -> None:
    person, elsewhere = Person(), Person("198.51.100.7")
    person.sign_in("dana")
    for _ in range(3):
        elsewhere.sign_in("dana", "wrong again")
    for _ in range(2):
        change(person, "wrong again")
    assert LOCKED["en"] in change(person, PASSWORD)


def test_the_right_old_password_changes_it_and_the_session_goes_on(dana: User) -> None:
    person, other = Person(), Person("198.51.100.7")
    person.sign_in("dana")
    other.sign_in("dana")
    change(person, "wrong again")
    change(person, PASSWORD)
    dana.refresh_from_db()
    assert dana.check_password(NEW)
    assert person.is_inside
    assert not other.is_inside
    assert AuditEvent.objects.filter(what="password_set", detail__user=dana.pk).count() == 1


def test_only_staff_who_are_signed_in_see_the_page(dana: User) -> None:
    person = Person()
    assert "Old password" not in person.get(PAGE)
    assert PAGE in person.last.redirect_chain[-1][0]  # type: ignore[attr-defined]
    person.sign_in("dana")
    assert "Old password" in person.get(PAGE)

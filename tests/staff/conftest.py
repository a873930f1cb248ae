"""Accounts of staff, for all tests of signing in."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from staff_people import PASSWORD

Hire = Callable[..., User]


@pytest.fixture
def hire(db: None) -> Hire:
    """Makes an account of staff with a password, in groups."""

    def make(name: str, *groups: str, superuser: bool = False) -> User:
        user = User.objects.create_user(name, password=PASSWORD, is_staff=True, is_superuser=superuser)
        user.groups.set(Group.objects.get(name=group) for group in groups)
        return user

    return make

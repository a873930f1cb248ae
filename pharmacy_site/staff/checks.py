"""System checks of staff accounts: `manage.py check --deploy` refuses those that should not be there in production."""

from typing import Any

from django.core.checks import Error, Tags, register
from django.db import DatabaseError


@register(Tags.security, deploy=True)
def staff_accounts(**kwargs: Any) -> list[Error]:
    """Return an error for active superusers, and for active accounts with a password and no second factor."""
    from django.contrib.auth.models import User
    from django_otp.plugins.otp_totp.models import TOTPDevice

    try:
        active = User.objects.filter(is_active=True)
        superusers = list(active.filter(is_superuser=True).order_by("pk").values_list("pk", flat=True))
        with_factor = TOTPDevice.objects.filter(confirmed=True).values("user")
        without = [
            user.pk
            for user in active.filter(is_staff=True).exclude(pk__in=with_factor).order_by("pk")
            # Whoever has not chosen a password yet cannot sign in.
            if user.has_usable_password()
        ]
    except DatabaseError as error:
        return [
            Error(
                f"The staff accounts cannot be read: {type(error).__name__}.",
                hint="Run `manage.py migrate` first, with the site's DATABASE_URL.",
                id="staff.E003",
            )
        ]
    found = []
    if superusers:
        found.append(
            Error(
                f"Active superusers pass every permission check: {_numbers(superusers)}.",
                hint="Use accounts in groups, and `manage.py staff_account NAME --deactivate`.",
                id="staff.E001",
            )
        )
    if without:
        found.append(
            Error(
                f"Active accounts of staff without a second factor: {_numbers(without)}.",
                hint="Let them sign in and set it up, or switch them off.",
                id="staff.E002",
            )
        )
    return found


def _numbers(numbers: list[int]) -> str:
    return ", ".join(f"user:{number}" for number in numbers)

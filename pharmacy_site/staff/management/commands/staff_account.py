"""Give an account access from the server, where no second administrator consents; recorded in the audit log."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.crypto import get_random_string

from pharmacy_site.staff.factor import factor_drop
from pharmacy_site.staff.models import SignInCount
from prescriptions.audit import audit_record
from prescriptions.roles import ROLES


class Command(BaseCommand):
    """Makes an account or changes it: for the first administrator, and for a site that has only one."""

    help = "Make a staff account, let it join a group, or renew its password or second factor; it is recorded in the audit log."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--group", action="append", default=[], choices=sorted(ROLES))
        parser.add_argument("--new-password", action="store_true", help="print a password to be changed soon")
        parser.add_argument("--new-factor", action="store_true", help="take the second factor away")
        parser.add_argument("--unlock", action="store_true", help="end the lock-outs of the account")
        parser.add_argument("--deactivate", action="store_true", help="switch the account off")

    def handle(self, *args: Any, username: str, group: list[str], **options: Any) -> None:
        with transaction.atomic():
            user, is_new = User.objects.get_or_create(username=username, defaults={"is_staff": True})
            if is_new and not group:
                raise CommandError(f"There is no account {username}; name a --group to make it.")
            password = ""
            if is_new or options["new_password"]:
                password = get_random_string(20)
                user.set_password(password)
            user.is_staff = True
            user.is_active = not options["deactivate"]
            user.save()
            user.groups.add(*Group.objects.filter(name__in=group))
            if options["new_factor"]:
                factor_drop(user)
            if options["unlock"]:
                SignInCount.objects.filter(user=user).delete()
            done = {name: bool(options[name]) for name in ("new_factor", "unlock", "deactivate")}
            audit_record(
                who="system",
                what="access_by_command",
                where="command:staff_account",
                detail={"user": user.pk, "groups": group, "new_password": bool(password), **done},
            )
        self.stdout.write(f"{username}: {', '.join(group) or 'changed'}.")
        if password:
            self.stdout.write(f"Password: {password}\nChange it after signing in; it is not shown again.")

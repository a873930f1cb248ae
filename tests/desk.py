"""A member of staff at work in a process of its own: claims hand-offs, writes to customers, closes."""

import json
from typing import Any

from processes import InteractiveProgram

_WORK = """
import json, sys
from django.contrib.auth.models import Group, User
from prescriptions.audit import Access
from prescriptions.handoffs import services
from prescriptions.models import Handoff
from prescriptions.transcripts import give_back, reply_write
user = User.objects.create_user("dana.levi.desk", first_name="Dana", last_name="Levi", is_staff=True)
user.groups.add(Group.objects.get(name="pharmacist"))
access = Access(f"user:{user.pk}", "admin")
print("ready", flush=True)
for line in sys.stdin:
    number, verb, given = json.loads(line)
    handoff = Handoff.objects.get(number=number)
    if verb == "claim":
        services.handoff_claim(handoff, user, access=access)
    elif verb == "give_back":
        give_back(handoff, user, access)
    elif verb == "close":
        services.handoff_close(handoff=handoff, access=access, outcome=given)
    elif verb == "reply":
        reply_write(handoff, user, given, seen_seq=2**31 - 1, access=access)
    print("done", flush=True)
user.delete()
"""


class Desk:
    """The pharmacist Dana Levi, on a served site's database."""

    def __init__(self, site: Any) -> None:
        self._program = InteractiveProgram(["manage.py", "shell", "-v0", "-c", _WORK], site.env, site.log)
        assert self._program.read() == "ready"

    def do(self, number: str, verb: str, given: str = "") -> None:
        """Carry out one thing, and return when it is committed."""
        assert self._program.ask(json.dumps([number, verb, given])) == "done"

    def end(self) -> None:
        """Leave nobody behind."""
        assert self._program.end() == 0

"""Opens hand-offs and dies: a program that is run on a served site's database, and whose process sends nothing.

Its arguments are how many, and how many of them (the first) are reminded of and raised at once: those have three notices,
whose order counts.
"""

import os
import sys
import uuid

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.db import transaction  # noqa: E402

from prescriptions import notifications  # noqa: E402
from prescriptions.audit import Access  # noqa: E402
from prescriptions.handoffs.services import handoff_open, handoff_raise  # noqa: E402
from prescriptions.handoffs.staff_notices import staff_notify  # noqa: E402
from prescriptions.models import Notification  # noqa: E402


def main() -> None:
    # As if the process ended before its thread began: the rows are all that is left of it.
    notifications._woken.set()
    assert not settings.NOTIFICATIONS_INLINE
    for number in range(int(sys.argv[1])):
        with transaction.atomic():
            handoff = handoff_open(
                conversation_id=uuid.uuid4(),
                reason="complaint",
                run_key=f"opened:{uuid.uuid4()}",
                language="en",
            )
            if number < int(sys.argv[2]):
                staff_notify(handoff, Notification.Kind.HANDOFF_REMINDER, again="claim")
                handoff_raise(handoff, access=Access("system", "sweep"), phase="claim", again="late")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()

"""Remember for half a minute who has a case open, so that two people do not write to one customer.

Kept in the cache only: what is lost there comes back with the next look, a few seconds later.
"""

import time
from typing import Final

from django.contrib.auth.models import User
from django.core.cache import cache

from prescriptions.cases.queue import person_name

_SECONDS: Final = 30


def viewers_touch(handoff_pk: int, user: User) -> list[str]:
    """Note that this person looks at the case now, and return the names of the others who do."""
    now = time.time()
    key = f"case-viewers:{handoff_pk}"
    seen: dict[int, tuple[str, float]] = cache.get(key) or {}
    live = {pk: look for pk, look in seen.items() if now - look[1] < _SECONDS}
    live[user.pk] = (person_name(user), now)
    cache.set(key, live, _SECONDS)
    return [name for pk, (name, _at) in live.items() if pk != user.pk]

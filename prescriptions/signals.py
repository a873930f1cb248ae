"""Announce changes to the apps above, which prescriptions does not import."""

from django.dispatch import Signal

handoff_changed = Signal()
"""Sent with `handoff` and `event` inside the transaction of each change; a receiver that raises undoes the change.

`moved` has the conversation before it as `moved_from`.

Events: opened, claimed, released, claim_expired, passed_on, raised, replied, given_back, urgent, moved, decided, closed.
"""

refill_changed = Signal()
"""Sent with `request` and `event` inside the transaction of each step of a refill request."""

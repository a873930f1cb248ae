"""Announce changes to the apps above, which prescriptions does not import."""

from django.dispatch import Signal

handoff_closed = Signal()
"""Sent with `handoff` inside the transaction that closes it; a receiver that raises undoes the closing."""

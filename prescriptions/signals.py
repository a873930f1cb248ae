"""News of people's affairs for the layers above; prescriptions itself imports none of them."""

from django.dispatch import Signal

handoff_closed = Signal()
"""Sent inside the transaction that closes it, with `handoff`; a receiver that raises undoes the closing."""

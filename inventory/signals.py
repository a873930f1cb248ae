"""Announce stock changes to the apps above, which inventory does not import."""

from django.dispatch import Signal

stock_changed = Signal()
"""Sent inside the transaction of the change, with `level` (StockLevel) and `move` (StockMove).

A receiver that raises undoes the change, so that no change lacks the record that a receiver writes.
"""

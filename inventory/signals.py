"""News from the stock room for the layers above; inventory itself imports none of them."""

from django.dispatch import Signal

stock_changed = Signal()
"""Sent inside the transaction of the change, with `level` (StockLevel) and `move` (StockMove).

A receiver that raises undoes the change: what must be on record is on record, or nothing happened.
"""

"""Register the inventory's admin pages: the catalogue, and stock by store."""

from inventory.admin import catalogue, stock

__all__ = ["catalogue", "stock"]

"""Define how many packs of a product a store has, and the append-only record of every change."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from inventory.models.catalogue import Medication
from pharmacy_site.lib.fields import CleanLine


class StockLevel(models.Model):
    """How many packs of a product one store has; 0 packs means that the store carries it and has none left."""

    store = models.ForeignKey(
        "stores.Store",
        on_delete=models.PROTECT,
        related_name="stock",
        verbose_name=_("store"),
        db_index=False,
    )
    medication = models.ForeignKey(
        Medication,
        on_delete=models.PROTECT,
        related_name="stock",
        verbose_name=_("medication"),
        db_index=False,
    )
    quantity = models.PositiveIntegerField(_("packs"), default=0)
    restock_on = models.DateField(_("restock expected on"), null=True, blank=True)
    low_threshold = models.PositiveIntegerField(
        _("low at"), default=10, help_text=_("This many packs or fewer are called “low”.")
    )
    version = models.PositiveIntegerField(_("version"), default=0, editable=False)
    updated_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("stock level")
        verbose_name_plural = _("stock levels")
        ordering = ["store", "medication"]
        constraints = [
            models.UniqueConstraint(fields=["store", "medication"], name="stock_level_once"),
            models.CheckConstraint(condition=Q(quantity__gte=0), name="stock_level_not_negative"),
        ]
        # "Is it in stock anywhere" and "which stores have it" read only this index.
        indexes = [models.Index(fields=["medication", "quantity"], name="stock_level_of_medication")]

    def __str__(self) -> str:
        return f"{self.medication}: {self.quantity}"


class StockMove(models.Model):
    """One change of a stock level, by whom and why; triggers in the database refuse to change or delete it."""

    class Reason(models.TextChoices):
        COUNT = "count", _("counted")
        DELIVERY = "delivery", _("delivery")
        SALE = "sale", _("sale")
        DISPENSED = "dispensed", _("dispensed")
        RETURN = "return", _("returned")
        TRANSFER = "transfer", _("transfer")
        EXPIRED = "expired", _("expired or damaged")
        IMPORT = "import", _("import")
        DEMO = "demo", _("demo data")
        CORRECTION = "correction", _("correction")
        RESERVED = "reserved", _("reserved for a refill")
        RELEASED = "released", _("no longer reserved")

    store = models.ForeignKey(
        "stores.Store", on_delete=models.PROTECT, related_name="stock_moves", verbose_name=_("store")
    )
    medication = models.ForeignKey(
        Medication, on_delete=models.PROTECT, related_name="stock_moves", verbose_name=_("medication")
    )
    delta = models.IntegerField(_("change"))
    quantity_after = models.PositiveIntegerField(_("packs afterwards"))
    reason = models.CharField(_("reason"), max_length=20, choices=Reason.choices)
    actor = models.CharField(_("by"), max_length=150, help_text=_("A user's name, or “system:import”."))
    note = CleanLine(_("note"), max_length=300, blank=True)
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        verbose_name = _("stock movement")
        verbose_name_plural = _("stock movements")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.delta:+d}"

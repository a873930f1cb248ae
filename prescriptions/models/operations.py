"""Define what operators see and set while the site runs: the switches, and what the checks of the audit log found."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.fields import CleanText


class SiteSwitches(models.Model):
    """What is switched off; `prescriptions.switches` reads it. There is one row, with the key 1."""

    closed_text_en: str | None
    closed_text_he: str | None

    model_off = models.BooleanField(
        _("language model off"),
        default=False,
        help_text=_("The offline model answers every question; nothing is sent to the language model."),
    )
    dispensing_off = models.BooleanField(
        _("dispensing off"),
        default=False,
        help_text=_(
            "No order is sent to the dispenser; refill requests wait and go on when this is unticked."
        ),
    )
    chat_closed = models.BooleanField(
        _("chat closed"),
        default=False,
        help_text=_(
            "Every message is answered with the text below; emergencies and staff's own conversations go on."
        ),
    )
    closed_text = CleanText(
        _("text while the chat is closed"),
        max_length=500,
        blank=True,
        help_text=_("Empty in both languages: the standard sentence."),
    )

    class Meta:
        verbose_name = _("switches")
        verbose_name_plural = _("switches")
        permissions = [("switch_site", "Can switch the language model and the chat off")]
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="site_switches_one_row")]

    def __str__(self) -> str:
        return str(_("switches"))


class AuditCheck(models.Model):
    """What the last check of the audit log found, for the alert; the proof is the check itself. One row, with the key 1."""

    checked_at = models.DateTimeField(null=True)
    # Kind and line of `AuditBreak`; empty while the log is as it was written.
    broken = models.CharField(max_length=12, default="")
    line = models.PositiveBigIntegerField(default=0)
    # Since when no anchor could be written; None while that works.
    unanchored_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="audit_check_one_row")]

    def __str__(self) -> str:
        return self.broken or "whole"

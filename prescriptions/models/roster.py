"""Define the on-call roster: which member of staff decides refills, where, when and for which reasons."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from stores.models import Store, Weekday


class OnCall(models.Model):
    """One line of the roster; whatever is left empty does not limit it.

    Times are the pharmacy's. `ends` before `starts` is the next morning, and belongs to the day on which it began.
    """

    class Role(models.TextChoices):
        """Who decides; a physician assistant and a supervising physician are both "physician"."""

        PHARMACIST = "pharmacist", _("pharmacist")
        PHYSICIAN = "physician", _("physician")

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", verbose_name=_("person")
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    branch = models.ForeignKey(
        Store,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("branch"),
        help_text=_("Empty: all branches."),
    )
    # Numbers of weekdays, Monday is 0.
    days = models.JSONField(_("days"), default=list, blank=True, help_text=_("Empty: every day."))
    starts = models.TimeField(_("from (time)"), null=True, blank=True)
    ends = models.TimeField(_("until (time)"), null=True, blank=True)
    first_day = models.DateField(_("first day"), null=True, blank=True)
    last_day = models.DateField(_("last day"), null=True, blank=True)
    # Codes of `prescriptions.refill.states.Reason`.
    reasons = models.JSONField(_("reasons"), default=list, blank=True, help_text=_("Empty: all reasons."))
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("on-call line")
        verbose_name_plural = _("on-call roster")
        ordering = ["role", "branch", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(starts__isnull=True, ends__isnull=True)
                | Q(starts__isnull=False, ends__isnull=False),
                name="on_call_both_times",
            )
        ]

    def __str__(self) -> str:
        return f"{self.person} ({self.get_role_display()})"

    def clean(self) -> None:
        """Refuse half a time, days in the wrong order, a weekday that does not exist, and a person of another group."""
        if (self.starts is None) != (self.ends is None):
            raise ValidationError({"ends": _("Give both times or none.")})
        if self.first_day and self.last_day and self.last_day < self.first_day:
            raise ValidationError({"last_day": _("The last day is before the first.")})
        if not set(self.days) <= set(Weekday.values):
            raise ValidationError({"days": _("There is no such day.")})
        if self.person_id and self.role and not self.person.groups.filter(name=self.role).exists():
            raise ValidationError({"person": _("This person is not in the group of that role.")})

"""Rows of staff access: tries to sign in, and requests that a second administrator consents to."""

from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext_lazy as _


class SignInCount(models.Model):
    """Tries to sign in under one account name, from one network address, or at one second factor.

    Names and addresses are stored as keyed hashes (`pharmacy_site.staff.limits.key_of`), since people also type passwords into the field of
    the name.
    """

    class Kind(models.TextChoices):
        ACCOUNT = "account", _("Account")
        ADDRESS = "address", _("Network address")
        FACTOR = "factor", _("Second factor")

    kind = models.CharField(_("what is counted"), max_length=10, choices=Kind.choices)
    key = models.CharField(max_length=64)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+", verbose_name=_("account"))
    tries = models.PositiveIntegerField(_("tries"), default=0)
    since = models.DateTimeField(_("since"))
    locks = models.PositiveSmallIntegerField(_("lock-outs in a row"), default=0)
    locked_until = models.DateTimeField(_("locked until"), null=True, db_index=True)
    refused = models.PositiveIntegerField(_("refused since"), default=0)

    class Meta:
        verbose_name = _("lock-out")
        verbose_name_plural = _("lock-outs")
        ordering = ["-locked_until"]
        default_permissions = ("view",)
        permissions = [("unlock_signincount", "Can end lock-outs")]
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="sign_in_count_one")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.user or self.key[:8]}"


class AccountRequest(models.Model):
    """What one administrator asks for an account, and another one consents to: groups, a new password, a new second factor."""

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        APPROVED = "approved", _("Approved")
        REFUSED = "refused", _("Refused")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        EXPIRED = "expired", _("Expired")

    subject = models.ForeignKey(User, models.CASCADE, related_name="+", verbose_name=_("account"))
    groups = models.JSONField(_("groups to join"), default=list)
    gives_link = models.BooleanField(_("new password"), default=False)
    drops_factor = models.BooleanField(_("new second factor"), default=False)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.OPEN)
    requested_by = models.ForeignKey(User, models.CASCADE, related_name="+", verbose_name=_("asked by"))
    requested_at = models.DateTimeField(_("asked at"), auto_now_add=True)
    expires_at = models.DateTimeField(_("ends at"))
    decided_by = models.ForeignKey(
        User, models.CASCADE, null=True, related_name="+", verbose_name=_("decided by")
    )
    decided_at = models.DateTimeField(_("decided at"), null=True)
    # Hash of the number that whoever asked passes on, and how often a number was tried with the link.
    number_hash = models.CharField(max_length=200, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    link_used_at = models.DateTimeField(_("password set at"), null=True)

    class Meta:
        verbose_name = _("request for an account")
        verbose_name_plural = _("requests for accounts")
        ordering = ["-pk"]
        default_permissions = ("view",)
        permissions = [("decide_accountrequest", "Can consent to requests for accounts")]
        constraints = [
            models.UniqueConstraint(
                fields=["subject"], condition=models.Q(state="open"), name="account_request_one_open"
            ),
            # Whatever the code does: nobody approves what they asked for, or what is for themselves.
            models.CheckConstraint(
                condition=~models.Q(state="approved")
                | (
                    models.Q(decided_by__isnull=False)
                    & ~models.Q(decided_by=models.F("requested_by"))
                    & ~models.Q(decided_by=models.F("subject"))
                ),
                name="account_request_two_people",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.subject}"

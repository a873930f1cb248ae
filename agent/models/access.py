"""Define the tables of embedding sites, of API keys, and of the calls made with a key."""

import secrets

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from agent.models.knowledge import ROLE_LENGTH
from pharmacy_site.lib.fields import CleanLine


def public_id_make() -> str:
    """Return a new public name for an embedding site; it is no secret."""
    return f"pub_{secrets.token_hex(8)}"


class ChatSite(models.Model):
    """A website that may show the chat in a frame; its pages' origins become the frame's `frame-ancestors`."""

    public_id = models.CharField(_("public id"), max_length=40, unique=True, default=public_id_make)
    name = models.CharField(_("name"), max_length=120)
    origins = models.JSONField(
        _("origins"), default=list, help_text=_("Whole origins, for example https://www.example.com")
    )
    # On other people's sites nobody proves who they are: the chat goes on in a window of our own first.
    first_party = models.BooleanField(
        _("our own site"),
        default=False,
        help_text=_("Customers may identify themselves inside the frame. Only for the pharmacy's own sites."),
    )
    knowledge_role = CleanLine[str, str](
        _("knowledge role"),
        max_length=ROLE_LENGTH,
        blank=True,
        help_text=_("Whose answers its customers get to health questions. Empty: those of the setting."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("added"), auto_now_add=True)

    class Meta:
        verbose_name = _("embedding site")
        verbose_name_plural = _("embedding sites")

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A system's key to the HTTP tools; the key is shown once, and only its hash is stored."""

    name = models.CharField(_("name"), max_length=80)
    prefix = models.CharField(_("begins with"), max_length=12)
    key_hash = models.CharField(_("key (hash)"), max_length=64, unique=True, editable=False)
    scopes = models.JSONField(_("scopes"), default=list)
    # Collections of the knowledge base that it may ask besides the customers'.
    roles = models.JSONField(_("knowledge roles"), default=list)
    # On whose behalf it acts, of a key for hand-offs: what that person may do is checked at each call.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("on behalf of"),
    )
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("issued"), auto_now_add=True)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")

    def __str__(self) -> str:
        return self.name


class IdempotentCall(models.Model):
    """A POST that a system made under its own key, and the response that every repetition gets."""

    api_key = models.ForeignKey(ApiKey, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    # Of address and body.
    fingerprint = models.CharField(max_length=64)
    # None: it is being worked on.
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["api_key", "key"], name="idempotent_call_once")]

    def __str__(self) -> str:
        return str(self.pk)

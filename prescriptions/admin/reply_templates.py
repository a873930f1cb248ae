"""Let pharmacists edit the texts that staff begin a reply with."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from modeltranslation.admin import TabbedTranslationAdmin

from pharmacy_site.lib.admin import Recorded
from prescriptions.models import ReplyTemplate


@admin.register(ReplyTemplate)
class ReplyTemplateAdmin(Recorded, TabbedTranslationAdmin[ReplyTemplate]):
    """Reply templates, in both languages; one that is not wanted is switched off."""

    list_display = ["title_shown", "is_active", "text_en", "text_he"]
    fields = ["title", "text", "is_active"]

    @admin.display(description=_("title"))
    def title_shown(self, template: ReplyTemplate) -> str:
        """Return the title in the reader's language."""
        return str(template)

    def has_delete_permission(self, request: HttpRequest, obj: Model | Any | None = None) -> bool:
        """Return False: a standard one would be made again."""
        return False

"""Let administrators switch off the language model, dispensing or the chat, and pharmacists dispensing."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext
from modeltranslation.admin import TabbedTranslationAdmin

from pharmacy_site.lib.admin import Recorded
from prescriptions.models import SiteSwitches


class SwitchesForm(forms.ModelForm):  # type: ignore[type-arg]
    """The switches; the text of a closed chat is there in both languages or in none."""

    def clean(self) -> dict[str, Any]:
        """Refuse a text that half of the customers could not read."""
        given: dict[str, Any] = super().clean() or {}
        texts = {name: given[name] for name in ("closed_text_en", "closed_text_he") if name in given}
        if any(texts.values()) and not all(texts.values()):
            # At both: each language has a tab, and only one tab is seen.
            for name in texts:
                self.add_error(name, gettext("Write the text in both languages, or in none."))
        return given


@admin.register(SiteSwitches)
class SiteSwitchesAdmin(Recorded, TabbedTranslationAdmin[SiteSwitches]):
    """The one row of switches; every change is a line of the audit log."""

    form = SwitchesForm
    list_display = ["__str__", "model_off", "dispensing_off", "chat_closed"]
    fields = ["dispensing_off", "model_off", "chat_closed", "closed_text"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Leave a pharmacist only the switch of dispensing."""
        if request.user.has_perm("prescriptions.switch_site"):
            return []
        return ["model_off", "chat_closed", "closed_text_en", "closed_text_he"]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Write only the fields that were changed: somebody else may have changed another one meanwhile."""
        obj.save(update_fields=form.changed_data)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: the row is there."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: without the row everything counts as switched off."""
        return False

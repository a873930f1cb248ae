"""Validate tables of names in the admin: names are shown as typed and compared in folded form."""

from django.forms.models import BaseInlineFormSet
from django.utils.translation import gettext as _

from pharmacy_site.lib.text import compact


class NamesFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """Formset for the names of one object: none may fold to nothing, and no two to the same."""

    def clean(self) -> None:
        """Add an error to every name that is empty when folded, or a duplicate."""
        super().clean()
        derived: set[str] = set()
        if self.instance.pk and any(field.name == "derived" for field in self.model._meta.get_fields()):
            rows = self.model._default_manager.filter(**{self.fk.name: self.instance, "derived": True})
            derived = set(rows.values_list("folded", flat=True))
        seen: set[str] = set()
        for form in self.forms:
            name = form.cleaned_data.get("text") if hasattr(form, "cleaned_data") else None
            if not name or form in self.deleted_forms:
                continue
            folded = compact(name)
            if not folded:
                form.add_error("text", _("A name needs letters or digits."))
            elif folded in seen | derived:
                form.add_error("text", _("This name is there already, perhaps in another spelling."))
            seen.add(folded)

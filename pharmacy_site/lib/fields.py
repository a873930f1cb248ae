"""Model fields that clean the text they store, whether it comes from a form, an import or a fixture.

Invisible characters are removed, because customers and language models read these texts. A text that is too long is
refused and never cut: half a warning is worse than none. Migrations see Django's own fields.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from pharmacy_site.lib.text import clean

_Given = TypeVar("_Given", contravariant=True)
_Read = TypeVar("_Read", covariant=True)
if not TYPE_CHECKING:
    # Columns are generic to the type checker alone; this lets the classes below say so.
    models.Field.__class_getitem__ = classmethod(lambda column, types: column)

LONGEST_NAME = 120
LONGEST_TEXT = 2_000


_clean_remembered = lru_cache(maxsize=4096)(clean)  # the same names are read again and again


class _CleanInput(forms.CharField):
    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return clean(text) if isinstance(text, str) and text else text


class _Clean(models.Field[_Given, _Read]):
    """Clean a text before it is stored; `longest` is how many characters are accepted, by default the column's length."""

    _column: ClassVar[str]  # Django's own class

    def __init__(self, *args: Any, longest: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.longest = longest or self.max_length

    def deconstruct(self) -> Any:
        """Return Django's own field for migrations: the table is the same."""
        name, _path, args, kwargs = super().deconstruct()
        return name, f"django.db.models.{self._column}", args, kwargs

    def formfield(self, *args: Any, **kwargs: Any) -> Any:
        """Return a form's field that cleans before it counts the characters."""
        return super().formfield(*args, **{"max_length": self.longest, "form_class": _CleanInput, **kwargs})

    def to_python(self, value: Any) -> Any:
        """Return the text cleaned, as forms and fixtures take it."""
        return self._cleaned(super().to_python(value))

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        super().validate(value, model_instance)
        self._check(value)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the text as it is stored, and leave it so in the instance; ValidationError when it is too long."""
        given = super().pre_save(model_instance, add)
        value = self._cleaned(given)
        self._check(value)
        if value != given:
            # Not setattr: a translated field's would write it into the active language as well.
            model_instance.__dict__[self.attname] = value
        return value

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        """Return the text cleaned: a row may have been written past this code."""
        if value is None or (value.isascii() and value.isprintable()):
            return value
        return _clean_remembered(value)

    def get_prep_value(self, value: Any) -> Any:
        return self._cleaned(super().get_prep_value(value))

    def _cleaned(self, value: Any) -> Any:
        return clean(value) if isinstance(value, str) else value

    def _check(self, value: Any) -> None:
        if isinstance(value, str) and self.longest is not None and len(value) > self.longest:
            raise ValidationError(
                _("%(name)s is longer than %(most)d characters."),
                code="max_length",
                params={"name": self.verbose_name, "most": self.longest},
            )


class CleanLine(_Clean[_Given, _Read], models.CharField[_Given, _Read]):
    """Store one line of clean text."""

    _column = "CharField"
    _pyi_private_set_type: str | Combinable  # for the type checker, as Django's own columns say it
    _pyi_private_get_type: str
    _pyi_lookup_exact_type: str

    def _cleaned(self, value: Any) -> Any:
        return clean(value).replace("\n", " ") if isinstance(value, str) else value


class CleanText(_Clean[_Given, _Read], models.TextField[_Given, _Read]):
    """Store clean text of several lines."""

    _column = "TextField"
    _pyi_private_set_type: str | Combinable  # for the type checker, as Django's own columns say it
    _pyi_private_get_type: str
    _pyi_lookup_exact_type: str

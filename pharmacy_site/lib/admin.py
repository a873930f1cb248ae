"""Share what the admin pages of several apps need: read-only tables, recorded changes, and the name of the acting user."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Final

from django.db.models import BooleanField, DateField, DateTimeField, Field, ForeignKey, IntegerField, Model
from django.dispatch import Signal
from django.http import HttpRequest
from unfold.admin import ModelAdmin

row_changed: Final = Signal()
"""Sent in the transaction of a change by staff, before a row is deleted or after it was written.

With `actor` ("user:3"), `row` (the model's instance), `verb` ("added", "changed" or "deleted") and `fields`: the names of
changed fields, each with its values (of a change: [old, new]), or with None where the field may hold what a person wrote.
A receiver that raises undoes the change.
"""

Coded = bool | int | str | None
_CHANGED: Final = "_fields_changed"


class ReadOnly(ModelAdmin):
    """Admin of a table that only code writes: nobody adds, changes or deletes its rows by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Recorded(ModelAdmin):
    """Admin of a table that staff change: each row added, changed or deleted is announced by `row_changed`."""

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Return the message of the admin's history, and remember which fields were changed."""
        setattr(request, _CHANGED, _changes(form, formsets or [], self.model))
        return super().construct_change_message(request, form, formsets, add)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._announce(request, [obj], "added")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._announce(request, [obj], "changed", getattr(request, _CHANGED, {}))
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        self._announce(request, queryset, "deleted")
        return super().log_deletions(request, queryset)

    def _announce(
        self, request: HttpRequest, rows: Iterable[Model], verb: str, fields: Mapping[str, Any] | None = None
    ) -> None:
        for row in rows:
            found = _coded_values(row) if fields is None else fields
            row_changed.send(sender=type(row), actor=actor_of(request), row=row, verb=verb, fields=found)


def actor_of(request: HttpRequest) -> str:
    """Return the acting user as stock movements and the audit log store it: by number, never by name."""
    return f"user:{request.user.pk}"


def _is_coded(field: "Field[Any, Any]") -> bool:
    """Return whether a field holds a code, a number or a day, and never what a person wrote."""
    kinds = (BooleanField, IntegerField, ForeignKey, DateField, DateTimeField)
    return isinstance(field, kinds) or bool(field.choices)


def _code(value: Any) -> Coded:
    if isinstance(value, Model):
        return value.pk if isinstance(value.pk, int) else str(value.pk)
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int) else str(value)


def _coded_values(row: Model) -> dict[str, Coded]:
    return {
        field.name: _code(field.value_from_object(row))
        for field in row._meta.concrete_fields
        if _is_coded(field) and not field.primary_key
    }


def _changes(form: Any, formsets: Iterable[Any], model: type[Model]) -> dict[str, Any]:
    """Return the fields that a form changed, with old and new values of coded ones, and the rows of its formsets."""
    coded = {field.name for field in model._meta.concrete_fields if _is_coded(field)}
    found: dict[str, Any] = {}
    for name in form.changed_data:
        if name in coded:
            found[name] = [_code(form.initial.get(name)), _code(form.cleaned_data.get(name))]
        else:
            found[name] = None
    for formset in formsets:
        counts = [
            len(getattr(formset, kind, ())) for kind in ("new_objects", "changed_objects", "deleted_objects")
        ]
        if any(counts):
            found[formset.model._meta.model_name or ""] = counts
    return found

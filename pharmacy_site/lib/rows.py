"""Statements that every turn makes, written out: the ORM takes several times longer for one row than its database.

What a column holds is still said by the model's fields alone, so the same statement serves both databases. Nothing here
sends a model's signals.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import AutoField, Field, Model

M = TypeVar("M", bound=Model)


class Columns(Generic[M]):
    """A model's columns (all, or those named) of a table in a SELECT, and what the rows that come back mean.

    `sql` is the list for the statement, `table` its name or alias there.
    """

    def __init__(self, model: type[M], table: str, *names: str) -> None:
        meta = model._meta
        self._model, self._table = model, table
        self._fields: list[Any] = [meta.get_field(name) for name in names] or list(meta.concrete_fields)
        self._names = [field.attname for field in self._fields]
        self.sql = ", ".join(f'{table}."{field.column}"' for field in self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    @cached_property
    def _conversions(self) -> list[tuple[int, Any, Any]]:
        """Which values are not yet what the model holds: by place, the column, and what makes them so."""
        columns = enumerate(field.get_col(self._table) for field in self._fields)
        return [
            (place, column, convert)
            for place, column in columns
            for convert in (
                *connection.ops.get_db_converters(column),
                *column.get_db_converters(connection),
            )
        ]

    def values(self, row: Sequence[Any]) -> list[Any]:
        """The values as the model has them."""
        values = list(row)
        for place, column, convert in self._conversions:
            values[place] = convert(values[place], column, connection)
        return values

    def instance(self, row: Sequence[Any]) -> M:
        """The instance of these columns, which must be all."""
        return self._model.from_db(connection.alias, self._names, self.values(row))


def stored(model: type[Model], /, **values: Any) -> dict[str, Any]:
    """Values by their fields' names, as parameters of a statement."""
    field: Callable[[str], Any] = model._meta.get_field
    return {name: field(name).get_db_prep_save(value, connection) for name, value in values.items()}


def rows_insert(rows: Sequence[Model]) -> None:
    """Inserts new rows of one model in one statement. They are not told the keys that the database gives them."""
    if not rows:
        return
    meta = rows[0]._meta
    fields: list[Field[Any, Any]] = [
        field for field in meta.concrete_fields if not isinstance(field, AutoField)
    ]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    line = f"({', '.join(['%s'] * len(fields))})"
    values = [
        field.get_db_prep_save(field.pre_save(row, add=True), connection) for row in rows for field in fields
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {meta.db_table} ({columns}) VALUES {', '.join([line] * len(rows))}", values
        )

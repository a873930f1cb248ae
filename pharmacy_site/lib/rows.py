"""Statements that every turn makes, written out: the ORM takes several times longer for one row than its database.

What a column holds is still said by the model's fields alone, so the same statement serves both databases; PostgreSQL
takes several in one exchange. Nothing here sends a model's signals.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import AutoField, Field, Model

from pharmacy_site.lib.savepoint import savepoint

M = TypeVar("M", bound=Model)
V = TypeVar("V")


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


@dataclass(frozen=True)
class Question(Generic[V]):
    """A statement, and what the rows mean that it gives: `read` gets them all."""

    statement: str
    parameters: Mapping[str, Any]
    read: Callable[[list[tuple[Any, ...]]], V]


def asked(question: Question[V]) -> V:
    """Return the answer."""
    with connection.cursor() as cursor:
        cursor.execute(question.statement, question.parameters)
        return question.read(_rows(cursor))


def changed_together(*questions: Question[Any]) -> list[Any]:
    """Return the answers, in their order. All changes are made, or none; each sees what those before it changed.

    PostgreSQL takes all statements in one exchange: each is a wait.
    """
    # It makes one transaction of an exchange; to begin and to end one would be two exchanges more.
    with savepoint() if connection.vendor == "postgresql" else transaction.atomic():
        found = _exchanged(questions)
        return [question.read(rows) for question, rows in zip(questions, found, strict=True)]


def _exchanged(questions: Sequence[Question[Any]]) -> list[list[tuple[Any, ...]]]:
    found = []
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("; ".join(cursor.mogrify(one.statement, one.parameters) for one in questions))
            found.append(_rows(cursor))
            while cursor.nextset():
                found.append(_rows(cursor))
        else:
            for question in questions:
                cursor.execute(question.statement, question.parameters)
                found.append(_rows(cursor))
    return found


def _rows(cursor: CursorWrapper) -> list[tuple[Any, ...]]:
    return cursor.fetchall() if cursor.description else []


def insertion(row: Model, source: str, given: Mapping[str, Any], **computed: str) -> Question[None]:
    """The INSERT of a new row for each row of `source` (a FROM and on, with the parameters `given`).

    The fields in `computed` are expressions of the source, all others are the row's own. It is not told any of them.
    """
    fields = _written(row)
    expressions = [computed.get(field.name, f"%(new_{field.name})s") for field in fields]
    values = {f"new_{field.name}": value for field, value in zip(fields, _values(row, fields), strict=True)}
    statement = f"INSERT INTO {_into(row, fields)} SELECT {', '.join(expressions)} {source}"
    return Question(statement, values | dict(given), lambda rows: None)


def rows_insert(rows: Sequence[Model]) -> None:
    """Inserts new rows of one model in one statement. They are not told the keys that the database gives them."""
    if not rows:
        return
    fields = _written(rows[0])
    line = f"({', '.join(['%s'] * len(fields))})"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_into(rows[0], fields)} VALUES {', '.join([line] * len(rows))}",
            [value for row in rows for value in _values(row, fields)],
        )


def _written(row: Model) -> list[Field[Any, Any]]:
    """The columns that a new row brings; a counted key is the database's."""
    return [field for field in row._meta.concrete_fields if not isinstance(field, AutoField)]


def _values(row: Model, fields: Sequence[Field[Any, Any]]) -> list[Any]:
    return [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields]


def _into(row: Model, fields: Sequence[Field[Any, Any]]) -> str:
    columns = ", ".join(f'"{field.column}"' for field in fields)
    return f"{row._meta.db_table} ({columns})"

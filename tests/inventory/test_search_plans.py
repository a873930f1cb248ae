"""No look-up reads the catalogue from end to end: what the databases say about their own plans."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest
from django.db import connection

from inventory.catalog import (
    medication_resolve,
    medications_search,
    medications_suggest,
    mentions_in,
)
from inventory.errors import MedicationAmbiguous, MedicationNotFound
from inventory.index import index_rebuild
from inventory.models import Medication, StockLevel
from stores.models import Store

pytestmark = pytest.mark.django_db
TABLES = (
    "inventory_medication",
    "inventory_medicationterm",
    "inventory_searchterm",
    "inventory_searchword",
    "inventory_worddeletion",
    "inventory_stocklevel",
)
ROWS = 5_000
LETTERS = "bcdfghjklmnprstvwz"


def made_up_name(number: int) -> str:
    """Names that share few trigrams, as real ones do."""
    syllables = []
    for _ in range(4):
        number, digit = divmod(number * 7 + 3, 90)
        syllables.append(LETTERS[digit % 18] + "aeiou"[digit // 18])
    return "".join(syllables).capitalize() + f" {number % 7}x"


@pytest.fixture
def catalogue(db: None) -> None:
    """5,000 products with names of their own, and one store that carries every tenth."""
    Store.objects.create(pk=1, name_en="Online store", kind=Store.Kind.ONLINE)
    Medication.objects.bulk_create(
        Medication(pk=pk, name_en=f"{made_up_name(pk)} {pk}", form="tablet", strength="5 mg")
        for pk in range(1, ROWS + 1)
    )
    Medication.objects.filter(pk=77).update(name_en="Ibuprofen Forte", name_he="איבופרופן")
    StockLevel.objects.bulk_create(
        StockLevel(store_id=1, medication_id=pk, quantity=pk % 3) for pk in range(1, ROWS + 1, 10)
    )
    index_rebuild(None)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # As of a solid-state disk. With the default, so small a table is now and then cheaper to read whole.
            cursor.execute("SET LOCAL random_page_cost = 1.1")


@contextmanager
def plans() -> Iterator[list[str]]:
    """Collects the plan of every SELECT that runs inside."""
    found: list[str] = []
    explain = "EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN "

    def wrapper(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        if sql.startswith("SELECT") and not many:
            with connection.cursor() as cursor:
                cursor.cursor.execute(explain + sql, params)
                found.append("\n".join(str(row[-1]) for row in cursor.cursor.fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield found


def scans(plan: str) -> list[str]:
    """The lines of a plan that read a whole table of the catalogue (a stored table, not a result in memory)."""
    if connection.vendor == "postgresql":
        return [
            line
            for line in plan.splitlines()
            if "Seq Scan on" in line and any(f" {name} " in line for name in TABLES)
        ]
    return [
        line for line in plan.splitlines() if line.strip().startswith("SCAN ") and line.split()[1] in TABLES
    ]


RESOLVED = [
    "Ibuprofen Forte",
    "לאיבופרופן",
    "profen",
    "buprof",
    "ib",
    "i",
    "zzzzzz",
    "no such thing",
    "100%",
    "Ibuprofen (x)",
]
SEARCHED = ["ibuprofen forte 5 mg tablets", "profen", "a pain reliever"]
MISTYPED = ["ibuprofin", "ibuprofne forte", "איבורפופן"]
MESSAGES = ["Do you have Ibuprofen Forte in Jaffa today?", "כמה עולה לאיבופרופן ואם אין אז מה יש"]


def resolve(query: str) -> None:
    """Resolve a name that may be nobody's or many products'."""
    with suppress(MedicationNotFound, MedicationAmbiguous):
        medication_resolve(query, ingredients=True)


def test_no_look_up_scans_a_table(catalogue: None) -> None:
    with plans() as found:
        list(Medication.objects.filter(name_en__icontains="profen"))
    assert scans(found[0]), "the test would not see a scan"
    assert [item.pk for item in medications_suggest("ibuprofne forte")] == [77]
    assert [mention.medications[0].pk for mention in mentions_in(MESSAGES[0])] == [77]
    scanning: dict[str, str] = {}
    look_ups: list[tuple[Callable[[str], object], list[str]]] = [
        (resolve, RESOLVED),
        (medications_search, SEARCHED),
        (medications_suggest, MISTYPED),
        (partial(mentions_in, brands=True), MESSAGES),
    ]
    for look_up, queries in look_ups:
        for query in queries:
            with plans() as found:
                look_up(query)
            assert found
            scanning |= {f"{look_up} {query!r}": plan for plan in found if scans(plan)}
    assert scanning == {}, "\n\n".join(f"{name}\n{plan}" for name, plan in scanning.items())

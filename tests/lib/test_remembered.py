"""The memo of a turn: values are computed once in a turn and anew in the next; rows are always read again."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.catalog import medication_resolve, mentions_in
from inventory.models import LeafletSection, Medication
from pharmacy_site.lib.remembered import remembered, remembering


class Reader:
    """Knows the lengths of words, but not of "nothing", and records the keys of each call."""

    def __init__(self) -> None:
        self.asked: list[set[str]] = []

    def __call__(self, words: set[str]) -> Mapping[str, int]:
        self.asked.append(words)
        return {word: len(word) for word in words if word != "nothing"}


def test_each_key_is_read_once_per_turn() -> None:
    read = Reader()
    with remembering():
        assert remembered("lengths", ["a", "nothing"], read) == {"a": 1}
        assert remembered("lengths", ["bb", "nothing", "a"], read) == {"bb": 2, "a": 1}
        assert remembered("lengths", ["nothing"], read) == {}
        assert remembered("others", ["a"], read) == {"a": 1}
    assert read.asked == [{"a", "nothing"}, {"bb"}, {"a"}]
    with remembering():
        remembered("lengths", ["a"], read)
    remembered("lengths", ["a"], read)
    remembered("lengths", ["a"], read)
    assert read.asked[3:] == [{"a"}, {"a"}, {"a"}]


def test_simultaneous_turns_share_nothing() -> None:
    read = Reader()

    async def turn() -> Any:
        with remembering():
            await asyncio.sleep(0)
            return await asyncio.to_thread(remembered, "lengths", ["a"], read)

    async def both() -> None:
        await asyncio.gather(turn(), turn())

    asyncio.run(both())
    assert read.asked == [{"a"}, {"a"}]


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_a_name_found_in_the_message_is_not_looked_up_again() -> None:
    def queries_of_a_name() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert medication_resolve("Advil").medication == expected
        return len(queries)

    with remembering():
        (mention,) = mentions_in("Do you have Advil?")
        (expected,) = mention.medications
        assert queries_of_a_name() == 0
    assert queries_of_a_name() == 3


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_a_product_that_changes_is_read_again_in_the_next_turn() -> None:
    with remembering():
        product = medication_resolve("Advil").medication
        Medication.objects.filter(pk=product.pk).update(price=Decimal("11.10"))
        assert medication_resolve("Advil").medication is product
    with remembering():
        assert medication_resolve("Advil").medication.price == Decimal("11.10")
    assert medication_resolve("Advil").medication.price == Decimal("11.10")


@pytest.mark.django_db
@pytest.mark.usefixtures("demo")
def test_a_leaflet_that_changes_is_read_as_it_is_now() -> None:
    product = medication_resolve("Advil").medication
    section = product.leaflet.first()
    assert section is not None
    with remembering():
        mentions_in("Do you have Advil?")
        LeafletSection.objects.filter(pk=section.pk).update(text_en="Two a day.")
        found = medication_resolve("Advil").medication
        assert "Two a day." in [row.text_en for row in found.leaflet.all()]

"""What a turn has read is not read again in it, and is read again in the next."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.catalog import medication_resolve, mentions_in
from pharmacy_site.lib.remembered import remembered, remembering


class Reader:
    """Knows the lengths of words, but not of "nothing", and writes down what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[set[str]] = []

    def __call__(self, words: set[str]) -> Mapping[str, int]:
        self.asked.append(words)
        return {word: len(word) for word in words if word != "nothing"}


def test_each_key_is_asked_for_once_while_it_lasts_and_anew_afterwards() -> None:
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


def test_turns_at_the_same_time_know_nothing_of_each_other() -> None:
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
def test_a_name_that_the_message_held_is_resolved_without_a_query() -> None:
    with remembering():
        (mention,) = mentions_in("Do you have Advil?")
        with CaptureQueriesContext(connection) as queries:
            assert medication_resolve("Advil").medication == mention.medications[0]
        assert not queries.captured_queries
    with CaptureQueriesContext(connection) as queries:
        medication_resolve("Advil")
    assert queries.captured_queries

"""Refills that many ask for at once, over HTTP, of two web processes (B1, B2, B3, T16), and Redis gone or flushed (B7).

The rows of safety.md in small; what threads of one process show is in tests/prescriptions/test_refill_races.py.
"""

import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Barrier
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from lines import Line
from served_people import people
from served_site import missing

REDIS = os.environ["TEST_REDIS_URL"]
DAVID = {"patient_id": "10000101", "prescription_id": 2, "pickup": 1}
JOHN = {"patient_id": "10000123", "pickup": 1}
pytestmark = pytest.mark.django_db(databases=[])


@dataclass(frozen=True)
class Answer:
    """What a request got, and after how many seconds."""

    status: int
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Ask = Callable[[int, dict[str, Any], str], Answer]


@pytest.fixture(scope="module")
def two(shared_site: Any) -> Iterator[Ask]:
    """Two web processes on one database; asks the n-th of them."""
    if connection.vendor != "postgresql":
        pytest.skip("several web processes need PostgreSQL; this run is on SQLite")
    needs_redis()
    env = {
        "REDIS_URL": REDIS,
        "API_RATE": "1000000/min",
        "EMAIL_URL": "dummy://",
        # On a slow machine twenty requests for one row wait longer for each other than the default allows.
        "DATABASE_LOCK_TIMEOUT": "60",
    }
    with shared_site(**env) as first, shared_site(**env) as second:
        yield asking([first, second])


def needs_redis() -> None:
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", 6379)):
            missing("Redis")


def asking(sites: Sequence[Any]) -> Ask:
    """A way to ask these sites with a new key, each in turn."""
    secret = sites[0].manage("issue_api_key", "ward", "--scope", "patients").split()[-1]

    def ask(number: int, body: dict[str, Any], key: str) -> Answer:
        headers = {
            "Authorization": f"Bearer {secret}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        address = f"{sites[number % len(sites)].url}/api/v1/refills/"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, answer.read(), time.monotonic() - began)
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read(), time.monotonic() - began)

    return ask


def at_once(count: int, work: Callable[[int], Answer]) -> list[Answer]:
    """What each of so many got, who began together."""
    barrier = Barrier(count)

    def run(number: int) -> Answer:
        barrier.wait(timeout=30)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def requests_of(site: Any, asked: list[dict[str, Any]]) -> list[Any]:
    """The outcome of each request of these people, with its number and whether the dispenser has its order."""
    first, last = asked[0]["prescription_id"], asked[-1]["prescription_id"]
    return list(
        site.sql(
            "SELECT outcome, number, exists(SELECT 1 FROM prescriptions_simulatedorder WHERE key = order_key)"
            f" FROM prescriptions_refillrequest WHERE prescription_id BETWEEN {first} AND {last}"
        )
    )


def test_of_fifty_requests_of_one_refill_one_is_dispensed(shared_site: Any, two: Ask) -> None:
    asked = people(shared_site, 40_000_000)
    answers = at_once(50, lambda number: two(number, asked[0], f"storm-{number}"))
    assert Counter(answer.status for answer in answers) == {201: 1, 409: 49}
    number = next(answer.json["number"] for answer in answers if answer.status == 201)
    assert {answer.json["number"] for answer in answers} == {number}
    assert requests_of(shared_site, asked) == [("dispensed", number, True)]
    left = "SELECT refills_left, status FROM prescriptions_prescription WHERE id = 40000000"
    assert shared_site.sql(left) == [(0, "active")]
    # What comes later is no repetition, and there is no refill left.
    shared_site.sql("UPDATE prescriptions_refillrequest SET updated_at = updated_at - interval '16 minutes'")
    assert two(0, asked[0], "storm-later").json["reason"] == "not_refillable"


def test_one_key_has_one_effect_and_other_bodies_under_it_are_refused(shared_site: Any, two: Ask) -> None:
    asked = people(shared_site, 41_000_000)
    first = two(0, asked[0], "one")
    others = [{**asked[0], "quantity": number} for number in range(1, 51)]
    answers = at_once(100, lambda number: two(number, [*asked * 50, *others][number], "one"))
    assert {(answer.status, answer.body) for answer in answers[:50]} == {(201, first.body)}
    assert Counter(answer.status for answer in answers[50:]) == {422: 50}
    assert requests_of(shared_site, asked) == [("dispensed", first.json["number"], True)]


def test_identical_requests_that_begin_together_get_one_answer(shared_site: Any, two: Ask) -> None:
    asked = people(shared_site, 42_000_000)
    answers = at_once(50, lambda number: two(number, asked[0], "together"))
    assert len({(answer.status, answer.body) for answer in answers}) == 1 and answers[0].status == 201
    assert requests_of(shared_site, asked) == [("dispensed", answers[0].json["number"], True)]


def test_the_last_pack_that_twenty_patients_want_is_given_to_one(shared_site: Any, two: Ask) -> None:
    asked = people(shared_site, 43_000_000, 20)
    shelf = "store_id = 1 AND medication_id = 4"
    shared_site.sql(f"UPDATE inventory_stocklevel SET quantity = 1 WHERE {shelf}")
    answers = at_once(20, lambda number: two(number, asked[number], f"last-{number}"))
    assert {answer.status for answer in answers} == {201}
    got = Counter((answer.json["outcome"], answer.json["reason"]) for answer in answers)
    assert got == {("dispensed", None): 1, (None, "out_of_stock"): 19}
    assert shared_site.sql(f"SELECT quantity FROM inventory_stocklevel WHERE {shelf}") == [(0,)]
    assert all(answer.json["handoff"] for answer in answers if answer.json["outcome"] is None)
    assert sum(has_order for _, _, has_order in requests_of(shared_site, asked)) == 1


def test_no_quantity_and_no_haste_gets_a_controlled_medicine_without_a_person(
    shared_site: Any, two: Ask
) -> None:
    shared_site.sql("UPDATE prescriptions_prescription SET refills_left = 5 WHERE id IN (13, 15)")

    def ask(number: int) -> Answer:
        more = [{}, {"quantity": 1}, {"quantity": 5, "days_supply": 1}, {"days_supply": 365}][number // 2 % 4]
        return two(number, {**JOHN, "prescription_id": (13, 15)[number % 2], **more}, f"controlled-{number}")

    answers = at_once(24, ask)
    assert Counter(answer.status for answer in answers) == {201: 2, 409: 22}
    assert {answer.json["reason"] for answer in answers if answer.status == 201} == {"controlled_substance"}
    asked = [{"prescription_id": 13}, {"prescription_id": 15}]
    assert [(outcome, order) for outcome, _, order in requests_of(shared_site, asked)] == [(None, False)] * 2


@contextmanager
def one_with_redis(site: Any, url: str) -> Iterator[tuple[Any, Ask]]:
    with site(REDIS_URL=url, API_RATE="1000000/min", EMAIL_URL="dummy://") as running:
        yield running, asking([running])


def test_refills_go_on_while_redis_is_flushed_lost_and_restored(site: Any) -> None:
    import redis

    needs_redis()
    line = Line(6379)
    leah = {"patient_id": "10000124", "prescription_id": 17, "pickup": 1}
    try:
        with one_with_redis(site, line.url.replace("http://", "redis://") + urlsplit(REDIS).path) as (_, ask):
            first = ask(0, leah, "leah")
            assert (first.status, first.json["state"]) == (201, "Escalation_Complete")
            redis.Redis.from_url(REDIS).flushdb()
            assert ask(0, leah, "leah").body == first.body
            assert ask(0, leah, "other").status == 409
            line.cut()
            david = ask(0, DAVID, "david")
            assert (david.status, david.json["outcome"]) == (201, "dispensed") and david.seconds < 12
            assert ask(0, leah, "leah").body == first.body
            line.mend()
            assert ask(0, DAVID, "david").body == david.body
    finally:
        line.close()
    assert site.sql("SELECT count(*) FROM prescriptions_refillrequest") == [(2,)]

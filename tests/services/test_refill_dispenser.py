"""A dispenser whose answers get lost, and the sweep that finds them out, in real Celery workers with their beat (B4, small)."""

import json
import os
import time
import urllib.request
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from celery_processes import celery, listening
from django.db import connection
from served_people import people
from served_site import IN_CI, missing

REDIS = os.environ["TEST_REDIS_URL"]
RABBIT = os.environ.get("TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672//")
FIRST = 45_000_000
pytestmark = pytest.mark.django_db(databases=[])


@pytest.mark.parametrize(
    ("name", "broker"), [("redis", REDIS), ("rabbitmq", RABBIT)], ids=["redis", "rabbitmq"]
)
def test_after_lost_late_wrong_and_double_answers_our_record_is_the_dispensers(
    site: Any, tmp_path: Path, name: str, broker: str
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a web process and workers need PostgreSQL; this run is on SQLite")
    if name == "rabbitmq" and not IN_CI:
        pytest.skip("as with Redis; runs in CI")
    if not listening(broker):
        missing(name)
    count = 40 if IN_CI and name == "redis" else 20
    env = {
        "DJANGO_SETTINGS_MODULE": "faulty_settings",
        "TEST_QUEUE": f"faulty-{name}-{os.getpid()}",
        "CELERY_BROKER_URL": broker,
        "REDIS_URL": REDIS,
        "API_RATE": "1000000/min",
        "EMAIL_URL": "dummy://",
    }
    site.sql("UPDATE inventory_stocklevel SET quantity = 100 WHERE store_id = 1 AND medication_id = 4")
    asked = [{**one, "quantity": 51 + number % 10} for number, one in enumerate(people(site, FIRST, count))]
    with site(**env) as running, celery({**site.env, **env}, tmp_path):
        secret = running.manage("issue_api_key", "ward", "--scope", "patients").split()[-1]

        def ask(body: dict[str, Any]) -> str:
            headers = {
                "Authorization": f"Bearer {secret}",
                "Content-Type": "application/json",
                "Idempotency-Key": uuid.uuid4().hex,
            }
            request = urllib.request.Request(
                f"{running.url}/api/v1/refills/", json.dumps(body).encode(), headers
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                return str(json.loads(answer.read())["state"])

        with ThreadPoolExecutor(8) as pool:
            answers = Counter(pool.map(ask, asked))
        # Those that arrived twice had an answer, and the others none.
        assert answers == {"Refill_Dispensed": count // 5, "Backend_Check": count - count // 5}
        until = time.monotonic() + 60
        while open_requests(site):
            assert time.monotonic() < until, f"{open_requests(site)} after a minute of sweeps"
            # As if half a minute had passed, after which a request is in nobody's hands.
            site.sql(
                "UPDATE prescriptions_refillrequest SET updated_at = updated_at - interval '31 seconds', order_at = order_at"
                f" - interval '11 seconds' WHERE outcome IS NULL AND prescription_id >= {FIRST}"
            )
            time.sleep(0.5)
        time.sleep(1.5)  # one more sweep, which must find no difference
    ours = site.sql(
        "SELECT order_key, prescription_id, order_state, outcome FROM prescriptions_refillrequest"
    )
    theirs = site.sql("SELECT key, state FROM prescriptions_simulatedorder")
    assert len(ours) == count and {row[2:] for row in ours} == {("accepted", "dispensed")}
    assert sorted(theirs) == sorted((row[0], "accepted") for row in ours)
    assert len({row[1] for row in ours}) == count
    assert site.sql("SELECT count(*) FROM prescriptions_handoff") == [(0,)]
    assert site.sql(f"SELECT DISTINCT refills_left FROM prescriptions_prescription WHERE id >= {FIRST}") == [
        (0,)
    ]
    shelf = "SELECT quantity FROM inventory_stocklevel WHERE store_id = 1 AND medication_id = 4"
    assert site.sql(shelf) == [(100 - count,)]


def open_requests(site: Any) -> list[Any]:
    """The requests whose order is not known yet, by state."""
    rows = "SELECT state, order_state, count(*) FROM prescriptions_refillrequest WHERE outcome IS NULL GROUP BY 1, 2"
    return list(site.sql(rows))

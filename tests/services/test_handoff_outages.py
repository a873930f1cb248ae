"""Hand-offs while the broker, the workers, the mail server or the webhook fail (C1, C3, C5 in small; full with CI=1)."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery_processes import celery, listening, port_of, wait_until
from django.db import connection
from lines import Line
from served_site import FULL, IN_CI, missing
from sinks import MailSink, WebSink

from evaluation.chat import Chat

TESTS = Path(__file__).resolve().parents[1]
REDIS = os.environ["TEST_REDIS_URL"]
RABBIT = os.environ.get("TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672//")
BROKERS = {"redis": REDIS, "rabbitmq": RABBIT}
pytestmark = pytest.mark.django_db(databases=[])


@pytest.fixture
def web() -> Iterator[WebSink]:
    with WebSink() as sink:
        yield sink


@pytest.fixture
def mail() -> Iterator[MailSink]:
    with MailSink() as sink:
        yield sink


def environment(site: Any, name: str, web: WebSink, mail: MailSink, **more: str) -> dict[str, str]:
    """What the processes of one test run with."""
    if connection.vendor != "postgresql":
        pytest.skip("a web process and workers need PostgreSQL; this run is on SQLite")
    if not listening(BROKERS[name]):
        missing(name)
    env = {
        **site.env,
        "DJANGO_SETTINGS_MODULE": "delivery_settings",
        "TEST_QUEUE": f"delivery-{name}-{os.getpid()}",
        "CELERY_BROKER_URL": BROKERS[name],
        "REDIS_URL": REDIS,
        "EMAIL_URL": f"smtp://127.0.0.1:{mail.port}",
        "HANDOFF_WEBHOOK": web.url,
        "HANDOFF_WEBHOOK_KEY": "secret",
        "HANDOFFS_PER_ADDRESS": "100000",
        "DATABASE_POOL": "6",  # several processes, beside those of other tests
        **more,
    }
    site.sql(
        "UPDATE auth_user SET email = ''",
        "UPDATE auth_user SET email = username || '@example.com' WHERE is_staff",
    )
    return env


def program(env: dict[str, str], name: str, *arguments: object) -> None:
    """Run one of the tests' programs on the site's database."""
    command = [sys.executable, str(TESTS / name), *map(str, arguments)]
    path = f"{TESTS.parent}:{TESTS}"
    done = subprocess.run(
        command, env={**env, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3_000:]


def states(site: Any, channel: str) -> Counter[str]:
    """How many rows of a channel are in each state."""
    rows = site.sql(
        f"SELECT state, count(*) FROM prescriptions_notification WHERE channel = '{channel}' GROUP BY 1"
    )
    return Counter(dict(rows))


async def turns(running: Any, count: int, every: float = 0) -> list[float]:
    """How many seconds each of so many customers waited who asked for a person."""
    busy = asyncio.Semaphore(4)

    async def one(number: int) -> float:
        await asyncio.sleep(number * every)
        async with busy, Chat(running.ws_url, running.url, "en") as chat:
            began = time.monotonic()
            await chat.send({"type": "handoff.request"})
            await chat.receive("run.completed")
            return time.monotonic() - began

    return list(await asyncio.gather(*map(one, range(count))))


@pytest.mark.parametrize("name", BROKERS)
def test_what_waits_while_the_broker_is_down_arrives_once_although_workers_are_killed(
    site: Any, tmp_path: Path, name: str, web: WebSink, mail: MailSink
) -> None:
    """C1: nothing is lost or doubled at a receiver that knows keys, and customers do not notice the outage."""
    if name == "rabbitmq" and not IN_CI:
        pytest.skip("as with Redis; runs in CI")
    outage, chats, opened = (60, 60, 240) if FULL else (4, 8, 36)
    line = Line(port_of(BROKERS[name]))
    broker = BROKERS[name].replace(str(port_of(BROKERS[name])), str(line.port))
    env = environment(
        site, name, web, mail, CELERY_BROKER_URL=broker, **({} if FULL else {"TEST_LEASE": "6"})
    )
    # So long that a kill meets some calls that are under way.
    web.seconds = lambda call: 0.15 if line.is_whole else 0.0
    try:
        with celery(env, tmp_path) as programs:
            line.cut()
            began = time.monotonic()
            with site(**env) as running:
                waited = sorted(asyncio.run(turns(running, chats, every=outage / 2 / chats)))
                # Beside the other workers of a run a turn takes longer; `make test-faults` has the machine for itself.
                assert waited[int(len(waited) * 0.95)] <= (2 if FULL else 6), waited
                # What the web process wrote, it sends, and once.
                wait_until(
                    lambda: states(site, "webhook") == {"sent": chats}, 30, lambda: states(site, "webhook")
                )
            assert len(web.calls) == chats
            # Of what these wrote before they died nothing is sent while the broker is down.
            program(env, "opening_handoffs.py", opened, opened // 3)
            time.sleep(max(0, outage - (time.monotonic() - began)))
            expected = {
                key
                for (key,) in site.sql("SELECT key FROM prescriptions_notification WHERE channel = 'webhook'")
            }
            assert len(expected) == chats + opened + 2 * (opened // 3) and len(web.effects) == chats
            line.mend()
            mended = time.monotonic()
            for share in (0.2, 0.5):
                more = chats + share * (len(expected) - chats)
                wait_until(lambda more=more: len(web.effects) >= more, 60, lambda: states(site, "webhook"))
                programs.kill("worker")
                programs.start("worker")
            wait_until(lambda: set(web.effects) == expected, 60, lambda: states(site, "webhook"))
            assert time.monotonic() - mended <= 60
            wait_until(
                lambda: states(site, "webhook") == {"sent": len(expected)},
                30,
                lambda: states(site, "webhook"),
            )
            wait_until(
                lambda: states(site, "email").keys() <= {"sent", "discarded"},
                60,
                lambda: states(site, "email"),
            )
    finally:
        line.close()
    in_order(web)
    # A worker that is killed while it calls leaves the call to another, under the same key.
    assert len(web.calls) > len(web.effects)
    marked = {one.message_id for one in mail.mails if one.subject.startswith("Sent again: ")}
    assert {key for key, count in mail.counts().items() if count > 1} <= marked
    assert max(mail.counts().values()) <= 2


def in_order(web: WebSink) -> None:
    """The notices of one hand-off arrived in the order in which they were written."""
    found = defaultdict(list)
    for call in sorted(web.effects.values(), key=lambda call: call.at):
        found[call.json["number"]].append(call.json["kind"])
    kinds = ["handoff_opened", "handoff_reminder", "handoff_raised"]
    assert all(seen == kinds[: len(seen)] for seen in found.values())
    assert any(len(seen) == 3 for seen in found.values())


def test_what_cannot_be_sent_stops_nothing_and_is_reported(
    site: Any, tmp_path: Path, web: WebSink, mail: MailSink
) -> None:
    """C3: twenty of a thousand can never be sent."""
    count, poison = (1_000, 20) if FULL else (100, 6)
    env = environment(site, "redis", web, mail, TEST_BACK_OFF="0.3")
    mail.refuses = lambda recipient: recipient.startswith("poison")
    site.sql(
        "INSERT INTO prescriptions_notification (key, channel, lane, recipient, kind, language, context, state, attempts,"
        " last_error, unknown, due_at, created_at) SELECT 'm' || n, 'email', '', CASE WHEN n % 100 = 1 THEN 'poison' ELSE"
        " 'mail' END || n || '@example.com', CASE WHEN n % 100 = 2 THEN 'no_such_kind' ELSE 'identity_warning' END, 'en',"
        f" '{{}}', 'pending', 0, '', 0, now(), now() FROM generate_series(1, {count}) n"
    )
    site.sql(
        "UPDATE prescriptions_notification SET kind = 'no_such_kind' WHERE id IN (SELECT id FROM prescriptions_notification"
        f" WHERE kind <> 'no_such_kind' AND recipient LIKE 'mail%' ORDER BY id LIMIT {poison - count // 50})"
    )
    with celery(env, tmp_path) as programs:
        began = time.monotonic()
        wait_until(lambda: states(site, "email")["sent"] == count - poison, 60, lambda: states(site, "email"))
        wait_until(lambda: states(site, "email")["failed"] == poison, 90, lambda: states(site, "email"))
        assert time.monotonic() - began < 120
        said = programs.log.read_text()
        assert len(re.findall(r"ERROR.*notification \d+ was given up after 5 attempts", said)) == poison
        assert "example.com" not in said
    assert len(mail.mails) == count - poison and max(mail.counts().values()) == 1


@pytest.mark.parametrize("missing_part", ["nothing", "worker", "beat"])
def test_deadlines_are_kept_by_any_process_that_is_left_and_each_once(
    site: Any, tmp_path: Path, web: WebSink, mail: MailSink, missing_part: str
) -> None:
    """C5: reminders and supervisors within a minute, although a worker, or beat, is not there."""
    if missing_part != "worker" and not FULL:
        pytest.skip("as without a worker; runs in `make test-faults`")
    count, seconds = (30, 15) if FULL else (10, 3)
    env = environment(site, "redis", web, mail, **({} if FULL else {"TEST_BESIDE_BEAT": "3"}))
    program(env, "opening_handoffs.py", count, 0)
    # Their clock is moved: all fall into the next seconds, as after days on which nobody came.
    site.sql(
        f"UPDATE prescriptions_handoffdeadline SET due_at = now() + interval '1 second' * (2 + id % {seconds})",
    )
    waiting = "SELECT count(*) FROM prescriptions_handoffdeadline WHERE done_at IS NULL"
    parts = [part for part in ("worker", "beat") if part != missing_part]
    with celery(env, tmp_path, *parts), site(**env), site(**env):
        wait_until(lambda: site.sql(waiting) == [(0,)], 80, lambda: site.sql(waiting))
        wait_until(lambda: states(site, "webhook").keys() <= {"sent"}, 60, lambda: states(site, "webhook"))
    late = site.sql(
        "SELECT max(extract(epoch FROM done_at - due_at))::float, min(extract(epoch FROM done_at - due_at))::float FROM prescriptions_handoffdeadline"
    )
    assert late[0][1] >= 0 and late[0][0] <= 60
    assert site.sql("SELECT count(*) FROM prescriptions_handoff WHERE raised_at IS NULL") == [(0,)]
    kinds = Counter(call.json["kind"] for call in web.effects.values())
    assert kinds == {
        "handoff_opened": count,
        "handoff_reminder": 2 * count,
        "handoff_raised": 2 * count,
    }
    assert len(web.calls) == len(web.effects)
    audited = site.sql("SELECT count(*) FROM prescriptions_auditevent WHERE what = 'handoff_raised'")
    assert audited == [(2 * count,)]

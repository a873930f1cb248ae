"""Senders that are killed between sending and storing it (C2): nothing is lost, and what comes twice says so."""

import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from served_site import FULL
from sinks import Mail, MailSink

PROGRAM = Path(__file__).resolve().parents[1] / "killed_senders.py"
MARK = "Sent again: "
pytestmark = pytest.mark.django_db(databases=[])
KILLS, MAILS = (50, 2_000) if FULL else (8, 320)


def play(
    site: Any, mail: MailSink, when: str, kills: int = KILLS, mails: int = MAILS
) -> dict[str, list[Mail]]:
    """What arrived, by message, after so many senders were killed; every message must have arrived and be recorded."""
    if connection.vendor != "postgresql":
        pytest.skip("several senders need PostgreSQL; this run is on SQLite")
    env = {
        **site.env,
        "DJANGO_SETTINGS_MODULE": "delivery_settings",
        "TEST_QUEUE": "none",
        "TEST_LEASE": "4",
        "EMAIL_URL": f"smtp://127.0.0.1:{mail.port}",
        "PYTHONPATH": f"{PROGRAM.parents[1]}:{PROGRAM.parent}",
    }
    site.sql(
        "INSERT INTO prescriptions_notification (key, channel, lane, recipient, kind, language, context, state, attempts,"
        " last_error, unknown, due_at, created_at) SELECT 'm' || n, 'email', '', 'mail' || n || '@example.com',"
        f" 'identity_warning', 'en', '{{}}', 'pending', 0, '', 0, now(), now() FROM generate_series(1, {mails}) n"
    )
    victim: list[int] = []

    def strike(one: Mail) -> None:
        # Whoever has sent a first copy, now and then, dies before it is answered.
        if victim and victim[0] and not one.subject.startswith(MARK) and len(mail.mails) % 3 == 0:
            os.kill(victim.pop(), signal.SIGKILL)

    mail.on_mail = strike
    command = [sys.executable, str(PROGRAM), when, str(kills)]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout and running.stderr
        for line in running.stdout:
            victim[:] = [int(line)]
        said = running.stderr.read()
        assert running.wait(300) == 0, said[-3_000:]
    by_id = defaultdict(list)
    for one in mail.mails:
        by_id[one.message_id].append(one)
    # What two senders died at is not sent a third time: it is a dead letter, and no message is silently lost.
    dead = site.sql("SELECT recipient FROM prescriptions_notification WHERE state = 'failed'")
    assert site.sql("SELECT count(*) FROM prescriptions_notification WHERE state = 'sent'") == [
        (mails - len(dead),)
    ]
    lost = {f"mail{n}@example.com" for n in range(1, mails + 1)} - {one.to for one in mail.mails}
    assert lost <= {recipient for (recipient,) in dead} and len(dead) <= mails // 100
    for copies in by_id.values():
        assert len(copies) <= 2
        assert all(one.subject.startswith(MARK) for one in copies[1:])
    # Each sender has four threads.
    assert doubled(by_id) <= kills * 4
    return by_id


def doubled(by_id: dict[str, list[Mail]]) -> int:
    return sum(len(copies) > 1 for copies in by_id.values())


@pytest.mark.parametrize("when", ["by chance", "before the record", "after the record"])
def test_killed_senders_lose_nothing_and_double_next_to_nothing(site: Any, when: str) -> None:
    """One of a hundred at most, of few messages one for each kill: without the receipts on the disk each of a killed sender's
    threads would double one.
    """
    if when == "after the record" and not FULL:
        pytest.skip("as before it; runs in `make test-faults`")
    with MailSink() as mail:
        assert doubled(play(site, mail, when)) <= (MAILS // 100 if FULL else KILLS)


def test_what_nobody_can_know_to_have_arrived_is_sent_once_more(site: Any) -> None:
    """Killed before the server's answer."""
    kills = 10 if FULL else 3
    with MailSink() as mail:
        assert doubled(play(site, mail, "unanswered", kills, mails=100)) >= kills

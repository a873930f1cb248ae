"""Serve the real site on a database of its own and play trials against it, in one process of an evaluation.

`python -m evaluation.worker template FILE` makes the database that trials begin with. `… play TEMPLATE DATABASE MODEL
CUSTOMER` reads one job per line from standard input and writes one outcome per line, both as JSON.
"""

import asyncio
import gc
import json
import os
import socket
import sys
from pathlib import Path
from typing import Final

import django

from pharmacy_site.lib.query_log import query_log_off

MODELS: Final = {
    "offline": "agent.llm.offline.session.OfflineModel",
    "openai": "agent.llm.chosen.configured",
    "oracle": "evaluation.players.oracle",
    "nothing": "evaluation.players.nothing",
    "handoff": "evaluation.players.handoff",
}


def main(arguments: list[str]) -> None:
    """Make the template, or play trials."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
    gc.disable()  # as in manage.py: what is loaded here stays
    django.setup()
    query_log_off()  # DEBUG is on, for the demo inbox
    gc.freeze()
    gc.enable()
    if arguments[0] == "template":
        _template(Path(arguments[1]))
    else:
        template, database, model, customer = arguments[1:]
        asyncio.run(_play(Path(template), Path(database), model, customer))


def _template(path: Path) -> None:
    """Migrate the database of this process and load the demo data at the evaluation's date."""
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    from evaluation.clock import Clock

    # Nobody signs in to a database that is thrown away; hashing five passwords well takes a second.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    Clock()
    call_command("migrate", verbosity=0)
    call_command("load_demo", verbosity=0, stdout=open(os.devnull, "w"))  # noqa: SIM115
    with connection.cursor() as cursor:
        # Move everything from the write-ahead log into the file, and take larger pages than SQLite does: each trial copies all of them.
        for statement in ("PRAGMA journal_mode=DELETE", "PRAGMA page_size=16384", "VACUUM"):
            cursor.execute(statement)
    connection.close()
    assert path.exists()


async def _play(template: Path, database: Path, model: str, customer: str) -> None:
    """Serve the site and play a trial for every job on standard input."""
    import uvicorn
    from django.conf import settings

    from evaluation import faults
    from evaluation.clock import Clock
    from evaluation.trial import ServedSite, trial_play

    settings.CHAT_MODEL = MODELS[model]
    if model != "openai":
        # Else the model that plays the customer would also be asked who decides a refill.
        settings.REFILL_REASONER = ""
    # No notification may be under way after a trial, and no sweep may run between two.
    settings.NOTIFICATIONS_INLINE = True
    settings.CHAT_SWEEP = 3_600
    # The database is thrown away: nothing waits until it is on the disk.
    settings.DATABASES["default"]["OPTIONS"]["init_command"] += " PRAGMA synchronous=OFF;"
    faults.install()
    clock = Clock()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    site = ServedSite(
        template, database, f"http://127.0.0.1:{port}", f"ws://127.0.0.1:{port}/ws/chat/", clock
    )
    site.reset()
    config = uvicorn.Config("pharmacy_site.asgi:application", lifespan="on", log_level="warning", workers=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.02)
        if serving.done():
            raise RuntimeError("the site did not start")
    _write({"ready": True})
    while line := await asyncio.to_thread(sys.stdin.readline):
        job = json.loads(line)
        outcome = await trial_play(site, job["scenario"], job["trial"], customer)
        _write(outcome.as_row())
    server.should_exit = True
    await serving


def _write(value: object) -> None:
    """Write one line of JSON to standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

"""`manage.py start`, which `make run` calls: from an empty database to a served site, in one process."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from served_site import ROOT, demo_database, free_port, wait_until_served


def started(env: dict[str, str], log: Path, *addresses: str) -> tuple[str, list[str]]:
    """Start the site, read the addresses, end it; return what it printed and what was read."""
    port = free_port()
    command = [sys.executable, "manage.py", "start", "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until_served(f"http://127.0.0.1:{port}", process, seconds=120)
        pages = [
            urlopen(f"http://127.0.0.1:{port}{address}", timeout=10).read().decode() for address in addresses
        ]
    finally:
        process.terminate()
        process.wait(20)
    printed = log.read_text()
    assert f"http://127.0.0.1:{port}/admin/" in printed
    return printed, pages


def test_start_prepares_an_empty_database_and_serves(tmp_path: Path) -> None:
    env = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/new.sqlite3", "DEBUG": "1"}
    first, [page, ready] = started(env, tmp_path / "first", "/", "/readyz")
    assert re.search(r"pharmacist \(pharmacist\)  \S{8,}", first)
    assert '"database": "ok"' in ready
    assert 'src="/static/site/demo.js"' in page

    second, _ = started(env, tmp_path / "second")
    assert "pharmacist (pharmacist)\n" in second  # its password is shown once


def test_start_without_debug_collects_the_static_files(tmp_path: Path, django_db_blocker: Any) -> None:
    with demo_database("start", tmp_path, django_db_blocker) as database:
        env = {"DATABASE_URL": database, "STATIC_ROOT": f"{tmp_path}/static", "DEBUG": "0"}
        _, [page] = started(os.environ | env, tmp_path / "log", "/")
    [script] = re.findall(r'src="/static/(site/demo\.[0-9a-f]+\.js)"', page)
    assert (tmp_path / "static" / script).is_file()

"""`manage.py start`, which `make run` calls: from an empty database to a served site, in one process."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from served_site import IN_CI, ROOT, demo_database, free_port, fresh_tree, wait_until_served

from pharmacy_site.lib.private_files import open_to_others


@contextmanager
def started(env: dict[str, str], log: Path, tree: Path = ROOT) -> Iterator[str]:
    """Start the site, give its address, end it; `log` gets what it prints."""
    port = free_port()
    command = [sys.executable, "manage.py", "start", "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=tree, env=env, umask=0o022, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        wait_until_served(f"http://127.0.0.1:{port}", process, seconds=120)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)
    assert f"http://127.0.0.1:{port}/admin/" in log.read_text()


def read(url: str) -> str:
    return str(urlopen(url, timeout=10).read().decode())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_start_prepares_an_empty_installation_for_its_owner_only_and_serves(tmp_path: Path) -> None:
    tree = fresh_tree(tmp_path / "tree")
    anchors = tree / "anchors.jsonl"
    env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    env |= {"DEBUG": "1", "EMAIL_URL": "dummy://", "AUDIT_ANCHOR": str(anchors)}
    var, first, second = tree / "var", tmp_path / "first", tmp_path / "second"
    with started(env, first, tree) as url:
        # Before another command could put it right.
        assert list(open_to_others([var], besides=var / "static")) == []
        made = {path.name for path in var.iterdir()}
        assert {"pharmacy.sqlite3", "pharmacy.sqlite3-wal", "secret_key", "audit_key"} <= made
        assert 'src="/static/site/demo.js"' in read(f"{url}/")
        assert '"database": "ok"' in read(f"{url}/readyz")
    assert re.search(r"pharmacist \(pharmacist\)  \S{8,}", first.read_text())

    with started(env, second, tree):
        pass
    assert "pharmacist (pharmacist)\n" in second.read_text()  # its password is shown once

    subprocess.run(
        [sys.executable, "manage.py", "anchor_audit"], cwd=tree, env=env, check=True, capture_output=True, umask=0o022
    )  # fmt: skip
    assert list(open_to_others([var, anchors], besides=var / "static")) == []
    assert (mode(var), mode(var / "pharmacy.sqlite3"), mode(anchors)) == (0o700, 0o600, 0o600)


@pytest.mark.skipif(not IN_CI, reason="joins all files of the pages, for ten seconds; runs in CI")
def test_start_without_debug_collects_the_static_files(tmp_path: Path, django_db_blocker: Any) -> None:
    with demo_database("start", tmp_path, django_db_blocker) as database:
        env = {"DATABASE_URL": database, "STATIC_ROOT": f"{tmp_path}/static", "DEBUG": "0"}
        with started(os.environ | env, tmp_path / "log") as url:
            page = read(f"{url}/")
    [script] = re.findall(r'src="/static/(site/demo\.[0-9a-f]+\.js)"', page)
    assert (tmp_path / "static" / script).is_file()

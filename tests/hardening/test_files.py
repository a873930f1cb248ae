"""The files of a site belong to their owner only: an older installation is tightened; test_start_command.py looks at a fresh start."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from served_site import fresh_tree

from pharmacy_site import checks
from pharmacy_site.lib.private_files import keep_private, open_to_others


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_command_puts_an_older_installation_right(tmp_path: Path) -> None:
    tree = fresh_tree(tmp_path)
    var = tree / "var"
    (var / "sent").mkdir(parents=True)
    (var / "sent" / "note").touch()
    for path, old in ((var, 0o755), (var / "sent", 0o755), (var / "sent" / "note", 0o644)):
        path.chmod(old)
    env = {**os.environ, "DEBUG": "1"}
    subprocess.run([sys.executable, "manage.py", "check"], cwd=tree, env=env, check=True, capture_output=True)
    assert list(open_to_others([var], besides=var / "static")) == []


def test_an_older_installation_is_tightened_and_another_users_link_is_not_followed(tmp_path: Path) -> None:
    var, outside = tmp_path / "var", tmp_path / "outside"
    (var / "sent").mkdir(parents=True)
    (var / "pharmacy.sqlite3").touch(0o644)
    outside.touch(0o644)
    outside.chmod(0o644)
    (var / "link").symlink_to(outside)
    keep_private(var, besides=var / "static")
    assert [mode(var), mode(var / "sent"), mode(var / "pharmacy.sqlite3")] == [0o700, 0o700, 0o600]
    assert mode(outside) == 0o644


def test_the_check_names_what_others_may_use(tmp_path: Path, settings: Any) -> None:
    settings.VAR_DIR = tmp_path / "var"
    settings.STATIC_ROOT = settings.VAR_DIR / "static"
    settings.STATIC_ROOT.mkdir(parents=True)
    (settings.STATIC_ROOT / "page.css").touch()
    settings.DATABASE = {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "elsewhere.sqlite3"}
    settings.AUDIT_ANCHOR = str(tmp_path / "anchors.jsonl")
    keep_private(settings.VAR_DIR, besides=settings.STATIC_ROOT)
    assert checks.files_private() == []
    for path in (tmp_path / "elsewhere.sqlite3", tmp_path / "anchors.jsonl", settings.VAR_DIR / "copy"):
        path.touch()
        path.chmod(0o640)
        [error] = checks.files_private()
        assert error.id == "pharmacy.E012" and str(path) in error.msg
        path.chmod(0o600)
    assert checks.files_private() == []

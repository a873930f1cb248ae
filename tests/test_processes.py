"""Programs that tests start are forked, and yet begin as if Python had just been started with their environment."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from processes import FORKS, ROOT, InteractiveProgram, Program
from served_site import free_port, served, site_env

TELL = """
import gc, json, os, sys
from django.conf import settings
print(json.dumps({
    "argv": sys.argv, "environment": dict(os.environ), "folder": os.getcwd(), "path": sys.path[:2], "collects": gc.isenabled(),
    "settings": settings.configured, "models": "prescriptions.models" in sys.modules, "loaded": "preloaded" in sys.modules,
}))
sys.exit(7)
"""
ECHO = """
import sys
for line in sys.stdin:
    print(line.strip().upper(), flush=True)
"""


def test_a_program_has_its_own_arguments_and_environment_and_has_read_no_settings(tmp_path: Path) -> None:
    file, log = tmp_path / "tell.py", tmp_path / "log"
    file.write_text(TELL)
    env = {"DATABASE_URL": "sqlite:///nowhere", "PYTHONPATH": str(tmp_path)}
    assert Program([str(file), "one", "two"], env, log).wait(60) == 7
    assert json.loads(log.read_text()) == {
        "argv": [str(file), "one", "two"],
        "environment": env,
        "folder": str(ROOT),
        "path": [str(ROOT), str(tmp_path)],
        "collects": True,
        "settings": False,
        "models": False,
        "loaded": FORKS,
    }


def test_lines_are_exchanged_with_a_program_until_its_input_ends(tmp_path: Path) -> None:
    file = tmp_path / "echo.py"
    file.write_text(ECHO)
    program = InteractiveProgram([str(file)], dict(os.environ), tmp_path / "log")
    assert [program.ask("one"), program.ask("two")] == ["ONE", "TWO"]
    assert program.end() == 0


def test_a_program_that_is_killed_says_by_which_signal_and_an_error_is_logged(tmp_path: Path) -> None:
    waits, fails, log = tmp_path / "waits.py", tmp_path / "fails.py", tmp_path / "log"
    waits.write_text("import time; time.sleep(60)")
    fails.write_text("raise ValueError('no such branch')")
    program = Program([str(waits)], dict(os.environ), log)
    assert program.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(0.1)
    program.kill()
    assert program.wait(10) == -signal.SIGKILL
    program.terminate()  # of one that ended already: nothing happens
    assert Program([str(fails)], dict(os.environ), log).wait(60) == 1
    assert "ValueError: no such branch" in log.read_text()


def test_a_site_that_cannot_start_is_reported_with_its_exit_code(tmp_path: Path) -> None:
    env, log = site_env("sqlite:///nowhere", API_RATE="lots"), tmp_path / "log"
    with pytest.raises(RuntimeError, match="the server ended with 1"), served(env, free_port(), log):
        pass
    assert "API_RATE" in log.read_text()

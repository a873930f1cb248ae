"""Daphne, which tells nobody that it starts: the chat's work begins with it all the same."""

import os
import subprocess
import sys
from pathlib import Path

from daphne.management.commands.runserver import Command
from django.core.management import get_commands, load_command_class

PROGRAM = """
import os, sys, threading, time
from daphne.cli import CommandLineInterface

def look():
    while not getattr(sys.modules.get("agent.chat.process"), "_processes", None):
        time.sleep(0.1)
    print("begun", flush=True)
    os._exit(0)

sys.argv = ["daphne", "-p", "0", "pharmacy_site.asgi:application"]
threading.Thread(target=look, daemon=True).start()
CommandLineInterface.entrypoint()
"""


def test_the_runner_starts_before_the_first_connection(tmp_path: Path) -> None:
    env = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3", "DEBUG": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1:] == ["begun"]


def test_runserver_is_the_command_of_daphne() -> None:
    assert isinstance(load_command_class(get_commands()["runserver"], "runserver"), Command)

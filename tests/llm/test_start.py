"""What a process loads: a server everything before its first customer, a command only what it needs."""

import subprocess
import sys

_SLOW = ("openai", "celery", "kombu", "redis", "twisted", "agent.turn.loop", "agent.llm.offline")


def _printed_by(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_openai_library_is_loaded_when_the_site_starts() -> None:
    assert _printed_by("import sys, pharmacy_site.asgi; print('openai' in sys.modules)") == ["True"]


def test_a_command_that_checks_the_site_loads_no_server_and_no_model() -> None:
    program = f"""
import sys
sys.argv = ["manage.py", "check"]
import manage
manage.main()
print([name for name in {_SLOW} if name in sys.modules])
"""
    assert _printed_by(program)[-1] == "[]"

"""What a process loads: a server everything before its first customer, a command only what it needs."""

import os
import subprocess
import sys

import pytest

_SLOW = ("openai", "celery", "kombu", "redis", "twisted", "agent.turn.loop", "agent.llm.offline")


def _printed_by(program: str, **env: str) -> list[str]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(("address", "loaded"), [("http://127.0.0.1:1/v1", "True"), ("", "False")])
def test_the_openai_library_is_loaded_when_a_site_with_a_language_model_starts(
    address: str, loaded: str
) -> None:
    program = "import sys, pharmacy_site.asgi; print('openai' in sys.modules)"
    assert _printed_by(program, OPENAI_API_KEY="", OPENAI_BASE_URL=address) == [loaded]


def test_httpx_is_loaded_whole_before_the_openai_library_is_used() -> None:
    """The SDK fails on an `httpx` that another thread is still loading, as LangGraph's warm-up does."""
    program = "import sys, agent.inference.openai; print(hasattr(sys.modules.get('httpx'), 'Timeout'))"
    assert _printed_by(program) == ["True"]


def test_a_command_that_checks_the_site_loads_no_server_and_no_model() -> None:
    program = f"""
import sys
sys.argv = ["manage.py", "check"]
import manage
manage.main()
print([name for name in {_SLOW} if name in sys.modules])
"""
    assert _printed_by(program)[-1] == "[]"

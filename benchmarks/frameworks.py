"""The frameworks that `model_turn` compares with, installed in an environment of their own when it is first measured."""

import subprocess
import sys
from pathlib import Path

from benchmarks.databases import ROOT

REQUIREMENTS = ROOT / "benchmarks" / "requirements.txt"
FOLDER = ROOT / "var" / "bench-frameworks"


def _pinned(package: str) -> str:
    """A package with the version that is pinned."""
    line = next(line for line in REQUIREMENTS.read_text().splitlines() if line.startswith(package))
    return line.replace("==", " ")


FRAMEWORKS = {name: _pinned(package) for name, package in
              {"agents": "openai-agents", "langgraph": "langgraph", "pydantic_ai": "pydantic-ai-slim"}.items()}  # fmt: skip
"""By the name of the loop that is made with it."""


def environment_made() -> tuple[Path, str]:
    """Return the environment's Python, and why there is none; an existing environment with these requirements is used again."""
    python, stamp = FOLDER / "bin" / "python", FOLDER / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return python, ""
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--retries",
        "1",
    ]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(FOLDER)],
        [*install, "-r", str(REQUIREMENTS)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            return python, f"not installed: {said[-1][:120]}"
    stamp.write_text(wanted)
    return python, ""

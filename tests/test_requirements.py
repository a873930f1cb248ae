"""The lock files: all that is pinned, each file with its hash, and all that the site imports."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from served_site import IN_CI

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pharmacy_site", "stores", "inventory", "prescriptions", "staff", "agent", "evaluation")
DEVELOPMENT = {"time-machine", "polib", "scikit-learn", "bm25s"}
"""What only playing an evaluation and checking translations import; both commands say so."""


def entries(lock: str) -> list[str]:
    """Each entry of a lock file, with its hashes, in one line."""
    text = re.sub(r"^ *#.*\n", "", (ROOT / lock).read_text(), flags=re.MULTILINE).replace("\\\n", "")
    return text.splitlines()


def versions(lines: list[str]) -> set[tuple[str, str]]:
    """The name and version that lines pin."""
    pins = [re.match(r"([\w.-]+)(?:\[.*\])?==([^\s;]+)", line) for line in lines]
    return {(re.sub(r"[-_.]+", "-", pin[1]).lower(), pin[2]) for pin in pins if pin}


@pytest.mark.parametrize("name", ["installer", "requirements", "tests/requirements"])
def test_lock_holds_what_is_pinned_with_hashes_and_no_place_to_get_it(name: str) -> None:
    locked = entries(f"{name}.lock")
    pinned = versions((ROOT / f"{name}.txt").read_text().splitlines())
    assert pinned and pinned <= versions(locked)
    for line in locked:
        assert re.fullmatch(r"[\w.-]+==\S+(?: ;[^\\]*?)?(?: +--hash=sha256:[0-9a-f]{64})+", line.rstrip()), (
            line
        )


def test_development_packages_do_not_change_what_runs_the_site() -> None:
    of_tests = versions(entries("tests/requirements.lock"))
    assert versions(entries("requirements.lock")) | versions(entries("installer.lock")) <= of_tests


def imports() -> Iterator[str]:
    """The top-level module of each import in the site's packages."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (name.name.split(".")[0] for name in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    yield node.module.split(".")[0]


def test_what_the_site_imports_is_locked() -> None:
    known = packages_distributions()
    foreign = set(imports()) - set(PACKAGES) - sys.stdlib_module_names
    assert foreign >= {"django", "openai"}
    locked = {name for name, _ in versions(entries("requirements.lock"))}
    needed = {re.sub(r"[-_.]+", "-", known[module][0]).lower() for module in foreign}
    assert needed - locked == DEVELOPMENT


@pytest.mark.skipif(not IN_CI, reason="lists all packages, for ten seconds; runs in CI")
def test_a_bill_of_materials_is_made_in_a_fresh_copy_and_is_whole(tmp_path: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not there")
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    command = ["make", "--old-file=.venv/test", "sbom", f"BIN={Path(sys.executable).parent}"]
    # Not as a part of a make that may run this test.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = tmp_path / "var" / "sbom.cdx.json"
    components = json.loads(made.read_text(encoding="utf-8"))["components"]
    listed = {(re.sub(r"[-_.]+", "-", one["name"]).lower(), one["version"]) for one in components}
    assert listed == versions(entries("requirements.lock"))
    assert (made.stat().st_mode & 0o777, made.parent.stat().st_mode & 0o777) == (0o600, 0o700)

"""Modules of the product stay short enough to be read at once."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("agent", "evaluation", "inventory", "pharmacy_site", "prescriptions", "stores")
LINES = 350
# Longer ones are tables: sentences in two languages, and settings with their defaults.
TABLES = {"agent/answers/sentences.py", "pharmacy_site/settings.py"}


def test_no_module_is_longer_than_350_lines_but_for_tables() -> None:
    modules = [
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts
    ]
    assert modules
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in modules
    }
    assert {name for name, length in lengths.items() if length > LINES} == TABLES

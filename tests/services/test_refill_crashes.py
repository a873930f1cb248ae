"""Refills whose process dies at each commit and each call of another system (B5), and Redis flushed then (B7, small)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from served_site import IN_CI

from prescriptions.refill.states import State

pytestmark = pytest.mark.django_db(databases=[])
PROGRAM = Path(__file__).resolve().parents[1] / "dying_refills.py"
PLACES = {
    "dispensed": 22, "escalated": 14, "approved": 14, "denied": 2, "answer_lost": 23,
    "swept": 6, "found_by_sweep": 8, "cancelled": 6, "returned": 2,
}  # fmt: skip
"""At least so many places are in each; a smaller number would say that they are no longer counted."""
FEW = ("dispensed", "found_by_sweep", "cancelled")
REDIS = os.environ["TEST_REDIS_URL"] if connection.vendor == "postgresql" else ""


def test_whatever_a_process_dies_in_the_sweep_brings_the_refill_to_its_end(site: Any) -> None:
    names = list(PLACES) if IN_CI else list(FEW)
    env = {
        **site.env,
        "REDIS_URL": REDIS,
        "EMAIL_URL": "dummy://",
        "PYTHONPATH": f"{PROGRAM.parents[1]}:{PROGRAM.parent}",
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *names], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    played = json.loads(done.stdout)
    assert {name: seen["wrong"] for name, seen in played.items() if seen["wrong"]} == {}
    assert {
        name: len(seen["places"]) for name, seen in played.items() if len(seen["places"]) < PLACES[name]
    } == {}
    if IN_CI:
        assert {state for seen in played.values() for state in seen["states"]} == set(map(str, State))

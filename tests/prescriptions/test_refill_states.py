"""The table of the refill workflow: S3's names and arrows, the database's own check, and the diagram."""

import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from prescriptions.management.commands import write_refill_diagram
from prescriptions.management.commands.write_refill_diagram import picture_file
from prescriptions.models import RefillRequest
from prescriptions.refill.graph import graph
from prescriptions.refill.picture import arrows, source, source_in
from prescriptions.refill.states import (
    BREAKERS,
    END_STATES,
    NEW_WALK,
    TABLE,
    Event,
    IllegalTransition,
    State,
    next_state,
)

ARROWS = {
    ("Collect_Refill_Request", "Rx_Safety_Check"),
    ("Rx_Safety_Check", "Backend_Check"),
    ("Rx_Safety_Check", "PA_Approval_Needed"),
    ("Backend_Check", "Refill_Dispensed"),
    ("Backend_Check", "PA_Approval_Needed"),
    ("PA_Approval_Needed", "Escalate_Handoff"),
    ("Escalate_Handoff", "Escalation_Complete"),
}


def test_the_arrows_are_those_of_the_specification() -> None:
    assert {(str(a), str(b)) for a, events in TABLE.items() for b in events.values()} == ARROWS
    assert {str(state) for state in END_STATES} == {"Refill_Dispensed", "Escalation_Complete"}


def test_the_database_knows_the_same_states() -> None:
    assert tuple(str(state) for state in State) == RefillRequest.STATES


def test_there_are_seven_breakers() -> None:
    assert len(set(BREAKERS)) == 7


@pytest.mark.parametrize(("state", "event"), list(product(State, Event)))
def test_every_other_event_is_illegal(state: State, event: Event) -> None:
    if (state, event) == NEW_WALK[:2]:
        assert next_state(state, event) == State.BACKEND
    elif event in TABLE[state]:
        assert (str(state), str(next_state(state, event))) in ARROWS
    else:
        with pytest.raises(IllegalTransition):
            next_state(state, event)


@pytest.mark.parametrize(
    "changes",
    [{"state": "Lost"}, {"outcome": "dispensed", "state": "Backend_Check"}],
)
def test_the_database_refuses_an_impossible_row(refill: RefillRequest, changes: dict[str, str]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        RefillRequest.objects.filter(pk=refill.pk).update(**changes)


def test_the_database_refuses_to_change_the_record_of_a_request(refill: RefillRequest) -> None:
    rows = refill.transitions.all()
    assert rows.exists()
    for change in (lambda: rows.update(event="x"), lambda: rows.delete()):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


def test_the_documented_diagram_is_the_tables() -> None:
    call_command("write_refill_diagram", "--check")


def test_the_picture_is_that_of_the_graph() -> None:
    png = picture_file().read_bytes()
    assert png.startswith(b"\x89PNG") and source_in(png) == source()
    assert {tuple(map(str, arrow)) for arrow in arrows()} == ARROWS
    said = set(re.findall(r"    (\w+) --> (\w+): (?!approved)", source_in(png)))
    assert said == ARROWS


def test_a_picture_of_another_table_is_out_of_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.png"
    other.write_bytes(picture_file().read_bytes().replace(b"safe", b"fine"))
    monkeypatch.setattr(write_refill_diagram, "picture_file", lambda: other)
    with pytest.raises(CommandError, match="out of date"):
        call_command("write_refill_diagram", "--check")


def test_the_picture_is_drawn_again_or_the_missing_tool_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = tmp_path / "diagrams" / "state_machine.png"
    monkeypatch.setattr(write_refill_diagram, "picture_file", lambda: drawing)
    if shutil.which("dot"):
        call_command("write_refill_diagram")
        assert source_in(drawing.read_bytes()) == source()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CommandError, match="apt-get install graphviz"):
        call_command("write_refill_diagram")


def test_a_graph_with_another_arrow_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, State.HANDOFF, {})  # type: ignore[misc]
    with pytest.raises(CommandError, match="not those of the table"):
        call_command("write_refill_diagram", "--check")


def test_the_graph_has_the_tables_states_and_arrows() -> None:
    drawn = graph().get_graph()
    assert set(drawn.nodes) == {*map(str, State), "__start__", "__end__"}
    ends = {"__start__", "__end__"}
    assert {
        (edge.source, edge.target) for edge in drawn.edges if not ends & {edge.source, edge.target}
    } == ARROWS


def test_a_command_does_not_load_langgraph() -> None:
    """It takes more than a second to import; only the first walk, or a server's start, needs it."""
    code = "import sys, django; django.setup(); print('langgraph' in sys.modules)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "pharmacy_site.settings", "DEBUG": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert run.stdout.split()[-1] == b"False"

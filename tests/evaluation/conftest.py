"""What the evaluation's tests share."""

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from processes import Program
from served_site import made_once

from evaluation.run import template_make


class ForkedWorker(Program):
    """A worker process of an evaluation, with the streams that `Popen` has with pipes."""

    def __init__(self, arguments: Sequence[str], env: dict[str, str], log: Path) -> None:
        ours, its_own = socket.socketpair()
        with ours, its_own:
            super().__init__(arguments, env | {"TMPDIR": str(log.parent)}, log, stdio=its_own)
            # The worker's input ends when both streams are closed: they share one socket.
            self.stdin = ours.makefile("w", encoding="utf-8")
            self.stdout = ours.makefile("r", encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def _forked_workers() -> Iterator[None]:
    """Fork the workers: to start Python for one takes three times as long. `manage.py evaluate` in a process of its own starts them as usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluation.run.process_start", ForkedWorker)
        yield


@pytest.fixture(scope="session")
def template() -> Path:
    """The database that trials begin with, made once for all workers."""
    return Path(made_once("evaluation", lambda folder: str(template_make(folder))))

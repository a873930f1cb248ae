"""What the evaluation's tests share."""

from pathlib import Path

import pytest
from served_site import made_once

from evaluation.run import template_make


@pytest.fixture(scope="session")
def template() -> Path:
    """The database that trials begin with, made once for all workers."""
    return Path(made_once("evaluation", lambda folder: str(template_make(folder))))

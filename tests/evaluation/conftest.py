"""What the evaluation's tests share."""

from pathlib import Path

import pytest

from evaluation.run import template_make


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database that trials begin with, made once."""
    return template_make(tmp_path_factory.mktemp("template"))

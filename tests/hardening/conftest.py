"""Served sites for the tests of floods, all on one database."""

from collections.abc import Iterator
from typing import Any

import pytest
from served_sites import Sites, sites_of


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Sites]:
    """Sites on one database with the demo data."""
    with sites_of("flood", tmp_path_factory.mktemp("flood"), django_db_blocker) as sites:
        yield sites

"""Served sites with real neighbours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served_pharmacy import Pharmacy, pharmacy_served
from served_sites import Sites, sites_of


@pytest.fixture
def site(tmp_path: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Sites]:
    """Sites on one fresh database."""
    with sites_of("parts", tmp_path, django_db_blocker) as sites:
        yield sites


@pytest.fixture(scope="module")
def shared_site(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Sites]:
    """Sites on one database for all tests of a module, each of which has patients of its own."""
    with sites_of("shared", tmp_path_factory.mktemp("shared"), django_db_blocker) as sites:
        yield sites


@pytest.fixture(scope="module")
def pharmacy(shared_site: Sites, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pharmacy]:
    """A site whose clock moves, with a pharmacist who decides; each test has patients of its own."""
    with pharmacy_served(shared_site, tmp_path_factory.mktemp("clock")) as served:
        yield served

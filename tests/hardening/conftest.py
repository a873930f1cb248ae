"""Served sites for the tests of floods, all on one database."""

import os
from typing import Any

import pytest
from served_sites import Sites, sites_of


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Sites:
    """Sites on one database with the demo data."""
    return sites_of(f"pharmacy_flood_{os.getpid()}", tmp_path_factory.mktemp("flood"), django_db_blocker)

"""The system check of the identity policy; values that do not exist are refused by tests/test_settings.py."""

import pytest
from django.core.checks import run_checks
from django.db import connection
from pytest_django import Settings

from prescriptions.checks import audit_role, audit_sealed


@pytest.mark.parametrize(
    ("policy", "found"),
    [("otp", set()), ("identifier", {"prescriptions.W001"}), ("dob", {"prescriptions.W002"})],
)
def test_a_weak_identity_policy_gives_a_warning(settings: Settings, policy: str, found: set[str]) -> None:
    settings.CHAT_IDENTITY = policy
    ids = {message.id for message in run_checks() if (message.id or "").startswith("prescriptions.")}
    assert ids == found


@pytest.mark.parametrize(
    ("is_set", "key", "anchor", "found"),
    [
        (True, "k" * 32, "/mnt/anchors.jsonl", set()),
        (True, "k" * 31, "/mnt/anchors.jsonl", {"prescriptions.E002"}),
        (False, "k" * 64, "", {"prescriptions.E002", "prescriptions.W003"}),
    ],
)
def test_a_deployment_needs_a_key_and_an_anchor_of_the_audit_log(
    settings: Settings, is_set: bool, key: str, anchor: str, found: set[str]
) -> None:
    settings.AUDIT_KEY_IS_SET, settings.AUDIT_KEY, settings.AUDIT_ANCHOR = is_set, key, anchor
    assert {message.id for message in audit_sealed()} == found


@pytest.mark.django_db
def test_a_database_role_that_owns_the_audit_log_is_named() -> None:
    found = {message.id for message in audit_role()}
    assert found == ({"prescriptions.W004"} if connection.vendor == "postgresql" else set())

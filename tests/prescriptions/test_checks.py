"""The system check of the identity policy; values that do not exist are refused by tests/test_settings.py."""

import pytest
from django.core.checks import run_checks
from pytest_django import Settings


@pytest.mark.parametrize(("policy", "found"), [("otp", set()), ("identifier", {"prescriptions.W001"})])
def test_a_weak_identity_policy_gives_a_warning(settings: Settings, policy: str, found: set[str]) -> None:
    settings.CHAT_IDENTITY = policy
    ids = {message.id for message in run_checks() if (message.id or "").startswith("prescriptions.")}
    assert ids == found

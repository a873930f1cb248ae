"""The system checks of the identity policy, and that it can be relied on to run."""

import pytest
from django.core.checks import run_checks
from pytest_django import Settings


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ("otp", set()),
        ("identifier", {"prescriptions.W001"}),
        ("dob", {"prescriptions.E001"}),
        ("none", {"prescriptions.E002"}),
        ("", {"prescriptions.E002"}),
    ],
)
def test_identity_policy(settings: Settings, policy: str, found: set[str]) -> None:
    settings.CHAT_IDENTITY = policy
    ids = {message.id for message in run_checks() if (message.id or "").startswith("prescriptions.")}
    assert ids == found

"""What `manage.py check --deploy` refuses, each by running it, and the headers of every kind of page."""

import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django import Settings
from staff_people import Person

Hire = Callable[..., User]
GOOD: Mapping[str, Any] = {
    "SECRET_KEY_IS_SET": True,
    "SECRET_KEY": "v8Jq2-m4Lr7_Xs1Pz9Wb3Nc6Kd0Tf5Hy8Gu2Ai7Eo4Rl1Vm9Qj6",
    "DEBUG": False,
    "ALLOWED_HOSTS": ["pharmacy.example.com"],
    "HTTPS": True,
    "CHAT_IDENTITY": "otp",
    "CHAT_TERMINAL": False,
    "AUDIT_KEY_IS_SET": True,
}


@pytest.fixture
def deployed(settings: Settings, db: None) -> Callable[..., set[str]]:
    """Checks a deployment with these settings and returns the ids of the errors."""

    def check(**changes: Any) -> set[str]:
        for name, value in {**GOOD, **changes}.items():
            setattr(settings, name, value)
        try:
            call_command("check", deploy=True, stdout=io.StringIO(), stderr=io.StringIO())
        except SystemCheckError as error:
            text = str(error).split("WARNINGS:")[0].split("ERRORS:")[-1]
            return {part.split(")")[0] for part in text.split("(")[1:] if ".E" in part.split(")")[0]}
        return set()

    return check


# What the database and the files of a test are not, wherever it runs.
HERE = {"pharmacy.E003", "pharmacy.E004", "pharmacy.E006", "pharmacy.E007"}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, set()),
        ({"SECRET_KEY": "a"}, {"pharmacy.E008"}),
        ({"SECRET_KEY": "ab" * 40}, {"pharmacy.E008"}),
        ({"SECRET_KEY": "password1234" * 5}, {"pharmacy.E008"}),
        ({"SECRET_KEY": "change-me-" * 6}, {"pharmacy.E008"}),
        ({"SECRET_KEY_IS_SET": False}, {"pharmacy.E001"}),
        ({"ALLOWED_HOSTS": ["*"]}, {"pharmacy.E009"}),
        ({"ALLOWED_HOSTS": ["pharmacy.example.com", ".example.com"]}, {"pharmacy.E009"}),
        ({"HTTPS": False}, {"pharmacy.E010"}),
        ({"CHAT_IDENTITY": "identifier"}, {"pharmacy.E011"}),
        ({"CHAT_IDENTITY": "identifier", "CHAT_TERMINAL": True}, set()),
    ],
)
def test_a_setting_that_is_unsafe_is_refused(
    deployed: Callable[..., set[str]], changes: dict[str, Any], found: set[str]
) -> None:
    assert deployed(**changes) - HERE == found


def test_an_active_superuser_is_refused(deployed: Callable[..., set[str]], hire: Hire) -> None:
    root = hire("root", superuser=True)
    TOTPDevice.objects.create(user=root, name="app")
    assert deployed() - HERE == {"staff.E001"}
    call_command("staff_account", "root", deactivate=True)
    assert deployed() - HERE == set()


def test_staff_without_a_second_factor_are_refused(deployed: Callable[..., set[str]], hire: Hire) -> None:
    dana = hire("dana", "pharmacist")
    assert deployed() - HERE == {"staff.E002"}
    TOTPDevice.objects.create(user=dana, name="app", confirmed=False)
    assert deployed() - HERE == {"staff.E002"}
    TOTPDevice.objects.update(confirmed=True)
    assert deployed() - HERE == set()
    # Whoever has no password yet cannot sign in.
    User.objects.create_user("newcomer", is_staff=True)
    assert deployed() - HERE == set()


@pytest.mark.parametrize("path", ["/", "/admin/login/", "/admin/", "/api/docs/", "/healthz", "/nothing/"])
def test_every_answer_has_the_headers(client: Client, db: None, path: str) -> None:
    headers = client.get(path).headers
    assert headers["Permissions-Policy"].startswith("geolocation=(self), ")
    assert "camera=()" in headers["Permissions-Policy"] and "microphone=()" in headers["Permissions-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    # The API page may open a window to sign in at another site.
    opener = "unsafe-none" if path == "/api/docs/" else "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == opener
    assert headers["X-Frame-Options"] == "DENY"
    policy = headers["Content-Security-Policy"]
    assert {"default-src 'none'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(
        policy.split("; ")
    )


def test_pages_of_staff_run_no_inline_script_and_their_style_has_a_nonce(hire: Hire) -> None:
    hire("dana", "pharmacist")
    person = Person()
    person.sign_in("dana")
    nonces = set()
    for path in ("/admin/", "/admin/prescriptions/handoff/", "/admin/inventory/medication/", "/admin/"):
        response = person.client.get(path)
        policy = dict(part.split(" ", 1) for part in response.headers["Content-Security-Policy"].split("; "))
        assert policy["script-src"] == "'self' 'unsafe-eval'"
        nonce = policy["style-src"].removeprefix("'self' 'nonce-").removesuffix("'")
        assert f'nonce="{nonce}"' in response.content.decode()
        nonces.add(nonce)
    assert len(nonces) == 4

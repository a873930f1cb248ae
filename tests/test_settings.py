"""Settings: a value that cannot be used stops the start and is named, and the stored key is whole and the same for all."""

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from environs import EnvValidationError

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "pharmacy_site" / "settings.py"
ANY_TEXT = {
    "SECRET_KEY",
    "AUDIT_KEY",
    "AUDIT_KEYS_OLD",
    "OPENAI_API_KEY",
    "OPENAI_EMBEDDING_MODEL",
    "OPENAI_FAST_MODEL",
    "HANDOFF_WEBHOOK_KEY",
}
NUMBERS = ["", "many", "-1", "0", "1.5"]
REFUSED: Mapping[str, list[str]] = {
    "DEBUG": ["maybe"],
    "HTTPS": ["2"],
    "ALLOWED_HOSTS": [
        "https://pharmacy.example.com",
        "a.example.com, b.example.com",
        "pharmacy.example.com:443",
    ],
    "TRUSTED_PROXIES": ["", "one", "-1"],
    "DATABASE_URL": [
        "",
        "nonsense",
        "mysql://localhost/pharmacy",
        "postgres://",
        "postgres://localhost:port/x",
    ],
    "DATABASE_LOCK_TIMEOUT": NUMBERS,
    "DATABASE_POOL": NUMBERS,
    "DATABASE_THREADS": NUMBERS,
    "STATIC_ROOT": [""],
    "REDIS_URL": ["localhost:6379", "http://localhost", "redis://"],
    "CELERY_BROKER_URL": ["localhost", "redsi://localhost/0"],
    "AUDIT_ANCHOR": ["ftp://example.com/anchors", "two words"],
    "QDRANT_URL": ["localhost:6333", "qdrant://localhost", "memory"],
    "KNOWLEDGE_ROLE": ["Customer", "patient diabetes", "_x", "x" * 41],
    "EMAIL_URL": ["", "nonsense", "post://mail.example.com", "smtp://mail.example.com:port"],
    "DEFAULT_FROM_EMAIL": ["", "pharmacy", "pharmacy@", "@example.com"],
    "TIME_ZONE": ["", "Jaffa", "../UTC"],
    "API_RATE": ["", "lots", "600", "0/min", "600/year", "-5/min"],
    "REFERENCE_BRANCH": NUMBERS,
    "DEFAULT_STORE": NUMBERS,
    "EMERGENCY_MEDICAL": ["", "ambulance"],
    "EMERGENCY_POISON": ["poison centre"],
    "EMERGENCY_CRISIS": ["", "somebody"],
    "CHAT_IDENTITY": ["", "nonsense", "DOB", "OTP"],
    "CHAT_TERMINAL": ["perhaps"],
    "IDENTITY_CODES_PER_DAY": NUMBERS,
    "IDENTITY_CODES_PER_CONTACT_HOUR": NUMBERS,
    "IDENTITY_CODES_PER_ADDRESS_HOUR": NUMBERS,
    "IDENTITY_GUESSES_PER_DAY": NUMBERS,
    "REFILL_EARLY_PERCENT": NUMBERS,
    "REFILL_EARLY_PERCENT_CONTROLLED": NUMBERS,
    "OPENAI_BASE_URL": ["localhost:11434", "ftp://localhost", "https://", "http:// x"],
    "OPENAI_MODEL": [""],
    "OPENAI_FIRST_TOKEN_TIMEOUT": ["", "soon", "0", "-1", "60", "nan", "inf"],
    "OPENAI_TIMEOUT": ["", "soon", "0", "-1", "60", "61.5", "nan", "inf"],
    "OPENAI_TOKENS_PER_CONVERSATION": NUMBERS,
    "OPENAI_TOKENS_PER_DAY": NUMBERS,
    "OPENAI_PRICE_IN": ["", "cheap", "-1", "NaN"],
    "OPENAI_PRICE_OUT": ["", "cheap", "-1", "NaN"],
    "OPENAI_COST_PER_DAY": ["", "cheap", "-1", "NaN"],
    "CHAT_ALLOWED_ORIGINS": ["shop.example.com", "https://shop.example.com/chat", "https://*.example.com"],
    "CHAT_HELLO_TIMEOUT": NUMBERS,
    "CHAT_MESSAGES_PER_MINUTE": NUMBERS,
    "CHAT_MESSAGES_PER_DAY": NUMBERS,
    "CHAT_FRAMES_PER_SECOND": NUMBERS,
    "CHAT_CONVERSATIONS_PER_HOUR": NUMBERS,
    "CHAT_SOCKETS_PER_MINUTE": NUMBERS,
    "CHAT_SOCKETS_OPEN": NUMBERS,
    "CHAT_SOCKETS_TOTAL": NUMBERS,
    "CHAT_IDLE_TIMEOUT": NUMBERS,
    "CHAT_RETENTION_DAYS": NUMBERS,
    "RETENTION_NOTIFICATIONS_DAYS": NUMBERS,
    "RETENTION_CHALLENGES_DAYS": NUMBERS,
    "RETENTION_HANDOFFS_DAYS": NUMBERS,
    "RETENTION_TOOL_CALLS_DAYS": NUMBERS,
    "RETENTION_SESSIONS_DAYS": NUMBERS,
    "RETENTION_AUDIT_DAYS": NUMBERS,
    "SITE_URL": ["example.com", "ftp://example.com"],
    "HANDOFF_WEBHOOK": ["example.com", "ftp://example.com"],
    "HANDOFFS_PER_CONVERSATION": NUMBERS,
    "HANDOFFS_PER_CONTACT": NUMBERS,
    "HANDOFFS_PER_ADDRESS": NUMBERS,
    "METRICS_KEY": ["short", "x" * 31, "two words " * 8],
    "LOG_LEVEL": ["", "loud", "info"],
}
ACCEPTED: Mapping[str, list[str]] = {
    "DEBUG": ["on", "off", "1"],
    "ALLOWED_HOSTS": ["*", ".example.com,[::1],127.0.0.1,my_host"],
    "DATABASE_URL": [
        "postgres://me:secret@db.example.com:5432/pharmacy",
        "postgresql:///pharmacy",
        "sqlite:///x.db",
    ],
    "REDIS_URL": ["", "redis://127.0.0.1:6379/7", "rediss://:secret@redis.example.com"],
    "CELERY_BROKER_URL": ["", "redis://localhost", "amqp://guest:guest@localhost//"],
    "AUDIT_ANCHOR": ["", "/mnt/audit/anchors.jsonl", "s3://bucket/folder"],
    "METRICS_KEY": ["", "Zk3-".ljust(32, "x")],
    "QDRANT_URL": ["", "http://localhost:6333", "https://qdrant.example.com/", ":memory:"],
    "KNOWLEDGE_ROLE": ["", "customer", "patient_diabetes"],
    "EMAIL_URL": ["console://", "submission://user:password@host", "file:///tmp/mail"],
    "DEFAULT_FROM_EMAIL": ["Pharmacy <pharmacy@example.com>"],
    "TIME_ZONE": ["UTC", "America/Argentina/Buenos_Aires"],
    "API_RATE": ["10/s", "600/minute", "100000000/min", "5/d"],
    "EMERGENCY_MEDICAL": ["*101", "+972 3-100 1000"],
    "EMERGENCY_POISON": ["", "04-7771900"],
    "CHAT_IDENTITY": ["otp", "dob", "identifier"],
    "OPENAI_BASE_URL": ["", "http://localhost:11434/v1"],
    "OPENAI_TIMEOUT": ["59.9", "0.5"],
    "OPENAI_COST_PER_DAY": ["0", "12.5"],
    "CHAT_ALLOWED_ORIGINS": ["", "https://shop.example.com,http://localhost:8080/"],
}


def variables() -> Iterator[str]:
    """Each environment variable that the settings read."""
    for node in ast.walk(ast.parse(SETTINGS.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) == "env"
        ):
            yield ast.literal_eval(node.args[0])


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_every_setting_refuses_something() -> None:
    assert set(REFUSED) == set(variables()) - ANY_TEXT


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_value_that_cannot_be_used_is_refused_and_named(
    environment: pytest.MonkeyPatch, name: str, value: str
) -> None:
    environment.setenv(name, value)
    with pytest.raises(EnvValidationError, match=rf'"{name}" invalid: .*(Write|Not a valid|not permitted)'):
        runpy.run_path(str(SETTINGS))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in ACCEPTED for value in ACCEPTED[name]])
def test_value_that_can_be_used_is_accepted(environment: pytest.MonkeyPatch, name: str, value: str) -> None:
    environment.setenv(name, value)
    runpy.run_path(str(SETTINGS))


@pytest.mark.parametrize(
    "server",
    [
        ["manage.py", "serve", "--port", "0"],
        ["-m", "uvicorn", "--port", "0", "pharmacy_site.asgi:application"],
        ["-m", "daphne", "-p", "0", "pharmacy_site.asgi:application"],
        ["manage.py", "check"],
    ],
    ids=["serve", "uvicorn", "daphne", "check"],
)
def test_no_server_starts_with_a_setting_that_cannot_be_used(server: list[str]) -> None:
    env = {**os.environ, "CHAT_IDENTITY": "nonsense"}
    done = subprocess.run(
        [sys.executable, *server], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert '"CHAT_IDENTITY" invalid: ' in done.stderr
    assert "Write one of: otp, dob, identifier." in done.stderr


# -- The key of an installation that sets none -----------------------------------------------------------------
KEYS = """
import os, time
import csp.constants, dj_database_url, dj_email_url, django.templatetags.static, django.urls
import pharmacy_site.validators
start = time.time() + 0.2
for _ in range(6):
    if not os.fork():
        time.sleep(max(0, start - time.time()))
        from pharmacy_site.settings import SECRET_KEY
        os.write(1, f"{SECRET_KEY}\\n".encode())
        os._exit(0)
assert [os.wait()[1] for _ in range(6)] == [0] * 6
"""


def test_processes_that_start_at_once_end_with_the_same_key(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "pharmacy_site", tmp_path / "pharmacy_site", ignore=shutil.ignore_patterns("__pycache__")
    )
    env = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}
    for _ in range(5):
        shutil.rmtree(tmp_path / "var", ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-c", KEYS], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        keys = done.stdout.splitlines()
        assert len(keys) == 6 and len(set(keys)) == 1
        assert re.fullmatch(r"[\w-]{60,}", keys[0])
        files = list((tmp_path / "var").glob("secret_key*"))
        assert [file.name for file in files] == ["secret_key"]
        assert files[0].stat().st_mode & 0o777 == 0o600

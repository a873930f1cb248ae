"""The cast: David and Rachel, three medications, and how prescriptions are put on file."""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from inventory.models import Medication
from prescriptions.audit import Access
from prescriptions.connectors.registry import connectors
from prescriptions.connectors.simulated import _Simulated
from prescriptions.models import Challenge, Notification, Patient, Prescription, RefillRequest
from prescriptions.refill.services import refill_submit
from stores.models import Store


@pytest.fixture(autouse=True)
def _sent_in_place(settings: Settings) -> None:
    """Notifications go out in the test's own thread, and the identity policy is the default one."""
    settings.NOTIFICATIONS_INLINE = True
    settings.CELERY_BROKER_URL = ""
    settings.CHAT_IDENTITY = "otp"


def _medication(name: str, rx_required: bool) -> Medication:
    return Medication.objects.create(
        name_en=name, name_he=f"{name} בעברית", generic_name_en=name, form="tablet", rx_required=rx_required
    )


@pytest.fixture
def amoxicillin(db: None) -> Medication:
    return _medication("Amoxicillin", True)


@pytest.fixture
def metformin(db: None) -> Medication:
    return _medication("Metformin", True)


@pytest.fixture
def ibuprofen(db: None) -> Medication:
    return _medication("Ibuprofen", False)


def _patient(mrn: str, name: str, name_he: str, email: str, phone: str, language: str) -> Patient:
    return Patient.objects.create(
        mrn=mrn,
        name_en=name,
        name_he=name_he,
        email=email,
        phone=phone,
        born=date(1978, 6, 11),
        language=language,
    )


@pytest.fixture
def david(db: None) -> Patient:
    return _patient("10000101", "David Cohen", "דוד כהן", "david.cohen@example.com", "+972501234567", "en")


@pytest.fixture
def rachel(db: None) -> Patient:
    return _patient("10000104", "Rachel Mizrachi", "רחל מזרחי", "rachel.m@example.com", "+972504567890", "he")


@pytest.fixture
def prescribe(db: None) -> Callable[..., Prescription]:
    """Put a prescription on file; by default it expires in ten days."""

    def put(
        patient: Patient, medication: Medication, status: str = "active", refills: int = 2, days: int = 10
    ) -> Prescription:
        today = timezone.localdate()
        return Prescription.objects.create(
            patient=patient,
            medication=medication,
            status=status,
            refills_left=refills,
            issued_on=today - timedelta(days=30),
            expires_on=today + timedelta(days=days),
        )

    return put


@pytest.fixture
def conversation() -> UUID:
    return uuid4()


@pytest.fixture
def code_of() -> Callable[[UUID], str]:
    """Read the code of a conversation's newest challenge, before it is sent, as its reader would after."""

    def read(conversation_id: UUID) -> str:
        newest = Challenge.objects.filter(conversation_id=conversation_id).latest("id")
        code = str(Notification.objects.get(key=f"identity_code:{newest.run_key}").context["code"])
        assert re.fullmatch(r"[0-9]{6}", code)
        return code

    return read


CLINICIAN = Access(who="key:1", where="tests")


@pytest.fixture(autouse=True)
def _fresh_connectors() -> Iterator[None]:
    """Each test has closed circuit breakers, and a simulator whose time-outs take no time."""
    connectors.cache_clear()
    yield
    connectors.cache_clear()


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note how long the simulator would have waited, instead of waiting."""
    waited: list[float] = []
    original = _Simulated.__init__

    def quick(self: Any, *, timeout: float, sleep: Any = None) -> None:
        original(self, timeout=timeout, sleep=waited.append)

    monkeypatch.setattr(_Simulated, "__init__", quick)
    return waited


@pytest.fixture
def submit() -> Callable[..., RefillRequest]:
    """Request a refill of one of the demo's prescriptions, as a clinician's system does."""

    def put(prescription_id: int, store: int | None = 1, **more: Any) -> RefillRequest:
        prescription = Prescription.objects.select_related("patient").get(pk=prescription_id)
        options = {"access": CLINICIAN, "language": prescription.patient.language, **more}
        return refill_submit(
            patient=prescription.patient,
            prescription_id=prescription_id,
            store=None if store is None else Store.objects.get(pk=store),
            **options,
        )

    return put


@pytest.fixture
def refill(demo: None, submit: Callable[..., RefillRequest]) -> RefillRequest:
    """David's request of metformin, which was dispensed."""
    return submit(2)


PASSWORD = "correct horse battery"


@pytest.fixture
def login(db: None) -> Callable[..., Client]:
    """A browser in which a member of this group is logged in."""

    def enter(role: str = "pharmacist", name: str = "") -> Client:
        user = User.objects.create_user(name or f"the-{role}", is_staff=True, password=PASSWORD)
        user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        client.user = user  # type: ignore[attr-defined]
        return client

    return enter

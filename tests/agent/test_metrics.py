"""The figures for Prometheus: who may read them, that they are right, and that they name nobody."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from talking import Talk

from pharmacy_site.lib.breaker import Breaker, breakers
from prescriptions.handoffs.services import handoff_open
from prescriptions.models import Handoff, Notification, Patient, Prescription, RefillRequest, SiteSwitches

KEY = "a-key-of-the-tests-that-is-long-enough"


@pytest.fixture
def key(settings: Any) -> str:
    settings.METRICS_KEY = KEY
    return KEY


def figures(client: Client) -> dict[tuple[str, str], float]:
    """Each figure by its name and the value of its label."""
    response = client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert response.status_code == 200 and response["Content-Type"].startswith("text/plain; version=")
    assert response["Cache-Control"] == "no-store"
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(response.content.decode())
        for sample in family.samples
    }


@pytest.mark.django_db
class TestAccess:
    def test_without_a_key_set_there_is_no_such_page(self, client: Client) -> None:
        assert client.get("/metrics").status_code == 404
        assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404

    @pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", KEY, f"Basic {KEY}", "Bearer é"])
    def test_without_the_key_nothing_is_told(self, key: str, client: Client, given: str) -> None:
        response = client.get("/metrics", headers={"Authorization": given})
        assert (response.status_code, response.content) == (401, b"")

    def test_it_is_only_read(self, key: str, client: Client) -> None:
        assert client.post("/metrics", headers={"Authorization": f"Bearer {KEY}"}).status_code == 405


@pytest.mark.usefixtures("key")
class TestFigures:
    def test_the_outbox(self, db: None, client: Client) -> None:
        now = timezone.now()
        for number, (state, ago) in enumerate([("pending", 300), ("pending", -60), ("sent", 9_000)]):
            Notification.objects.create(
                key=f"k{number}", kind="refill_ready", channel="email", recipient="x@example.com",
                language="en", state=state, due_at=now - timedelta(seconds=ago),
            )  # fmt: skip
        Notification.objects.create(
            key="k9", kind="refill_ready", channel="email", recipient="x@example.com", language="en",
            state="failed", due_at=now,
        )  # fmt: skip
        found = figures(client)
        assert found["pharmacy_outbox_messages", "pending"] == 2
        assert found["pharmacy_outbox_messages", "sending"] == 0
        assert 300 <= found["pharmacy_outbox_oldest_seconds", ""] < 320
        assert (found["pharmacy_outbox_stuck", ""], found["pharmacy_dead_letters", ""]) == (1, 1)

    def test_handoffs_by_how_they_stand(self, demo: None, client: Client) -> None:
        for number in range(3):
            handoff_open(conversation_id=uuid4(), reason="stock", run_key=f"r{number}", language="en")
        first = Handoff.objects.earliest("pk")
        Handoff.objects.filter(pk=first.pk).update(claim_due_at=timezone.now() - timedelta(minutes=1))
        found = figures(client)
        assert found["pharmacy_handoffs_open", "breaching"] == 1
        assert sum(found["pharmacy_handoffs_open", sla] for sla in ("pending", "imminent")) == 2

    def test_refills_and_switches(self, demo: None, client: Client) -> None:
        assert figures(client)["pharmacy_switched_off", "dispensing"] == 0
        row = SiteSwitches.objects.get()
        row.dispensing_off = True
        row.save()
        prescription = Prescription.objects.get(pk=2)
        RefillRequest.objects.create(
            number="R-1", patient=prescription.patient, prescription=prescription, quantity=1, days_supply=1,
            is_confirmed=True, state="Backend_Check", requested_by="key:1", language="en",
        )  # fmt: skip
        found = figures(client)
        assert found["pharmacy_refills_open", "Backend_Check"] == 1
        assert found["pharmacy_refills_open", "Rx_Safety_Check"] == 0
        assert (
            found["pharmacy_switched_off", "dispensing"] == 1 and found["pharmacy_switched_off", "chat"] == 0
        )

    def test_runs_and_no_word_of_who_or_what(self, demo_committed: None, client: Client) -> None:
        talk = Talk(patient="10000101")
        talk.say("what are my prescriptions?")
        talk.say("I want to talk to a person")
        assert figures(client)["pharmacy_runs_last_hour", "done"] == 2
        text = client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"}).content.decode().casefold()
        for patient in Patient.objects.all():
            for known in (patient.mrn, patient.email, patient.name_en, patient.name_he):
                assert known.casefold() not in text
        assert str(talk.conversation.pk) not in text and "metformin" not in text

    def test_breakers_of_this_process(self, db: None, client: Client) -> None:
        broken, sound = (Breaker(name, failures=1, seconds=9) for name in ("test broken", "test sound"))
        broken.failed()
        found = figures(client)
        assert found["pharmacy_breaker_open", "test broken"] == 1
        assert found["pharmacy_breaker_open", "test sound"] == 0
        del broken, sound
        assert not {"test broken", "test sound"} & set(breakers())

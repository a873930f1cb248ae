"""Hand-offs: a number per run, closed once, and on record."""

from uuid import UUID, uuid4

from prescriptions.audit import Access
from prescriptions.handoffs.selectors import handoffs_waiting, waiting_before
from prescriptions.handoffs.services import handoff_close, handoff_open
from prescriptions.models import AuditEvent, Handoff, Patient


def opened(conversation: UUID, run_key: str = "run-1", patient: Patient | None = None) -> Handoff:
    return handoff_open(
        conversation_id=conversation,
        reason="asked_for_person",
        run_key=run_key,
        language="he",
        patient=patient,
        summary="נציג בבקשה",
    )


def test_each_run_gets_one_handoff_with_a_readable_number(david: Patient, conversation: UUID) -> None:
    first, again, second = opened(conversation), opened(conversation), opened(conversation, "run-2", david)
    assert first == again
    assert first.number == again.number
    assert first.number != second.number
    assert first.number[:3] == "H-1"
    assert first.number[2:].isdigit()
    first.refresh_from_db()
    assert (first.state, first.language, first.summary) == ("open", "he", "נציג בבקשה")
    assert list(AuditEvent.objects.order_by("number").values_list("what", "why", "patient_id")) == [
        ("handoff_opened", "asked_for_person", None),
        ("handoff_opened", "asked_for_person", david.pk),
    ]


def test_closing_happens_once(db: None, conversation: UUID) -> None:
    handoff = opened(conversation)
    assert handoff_close(handoff=handoff, access=Access("user:3", "admin"))
    assert not handoff_close(handoff=handoff, access=Access("user:4", "admin"))
    handoff.refresh_from_db()
    assert (handoff.state, handoff.closed_by) == ("closed", "user:3")
    assert handoff.closed_at is not None
    assert AuditEvent.objects.filter(what="handoff_closed", who="user:3").count() == 1


def test_emergencies_wait_first_then_the_oldest(db: None, conversation: UUID) -> None:
    plain = [opened(uuid4(), key) for key in ("a", "b", "c")]
    Handoff.objects.filter(pk=plain[2].pk).update(is_urgent=True)
    assert handoff_close(handoff=opened(conversation, "d"), access=Access("user:3", "admin"))
    waiting = list(handoffs_waiting())
    assert [row.number for row in waiting] == [plain[2].number, plain[0].number, plain[1].number]
    assert [waiting_before(row) for row in waiting] == [0, 1, 2]

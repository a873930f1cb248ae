"""Who takes hand-offs, until when, and what happens when nobody does."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.db.models import F
from django.utils import timezone

from prescriptions.audit import Access
from prescriptions.errors import HandoffLimited, HandoffRefused, HandoffTaken
from prescriptions.handoffs import services
from prescriptions.handoffs.failed_identity import handoff_open_for_contact
from prescriptions.handoffs.selectors import handoffs_for
from prescriptions.handoffs.services import Contact
from prescriptions.handoffs.sla import Haste, SlaState, dues_of, sla_state
from prescriptions.handoffs.sweep import deadlines_take, handoffs_sweep
from prescriptions.models import AuditEvent, Handoff, HandoffDeadline, Notification, Patient
from stores.models import Store

DESK = Access("user:1", "admin")


@pytest.fixture
def staff(db: None) -> dict[str, User]:
    """One person of each group that takes hand-offs, and a second pharmacist."""
    people = {}
    for name, role in (
        ("tali", "technician"),
        ("dana", "pharmacist"),
        ("omer", "pharmacist"),
        ("noa", "physician"),
    ):
        user = User.objects.create_user(name, f"{name}@example.com", first_name=name.title(), is_staff=True)
        user.groups.add(Group.objects.get(name=role))
        people[name] = user
    return people


def opened(reason: str = "customer_asked", **more: Any) -> Handoff:
    given: dict[str, Any] = {"conversation_id": uuid4(), "run_key": str(uuid4()), "language": "en"} | more
    return services.handoff_open(reason=reason, **given)


def test_one_claims_and_the_other_learns_who(staff: dict[str, User]) -> None:
    handoff = opened()
    services.handoff_claim(handoff, staff["dana"], access=DESK)
    with pytest.raises(HandoffTaken) as taken:
        services.handoff_claim(handoff, staff["omer"], access=DESK)
    assert taken.value.holder == "Dana"
    services.handoff_claim(handoff, staff["dana"], access=DESK)
    assert AuditEvent.objects.filter(what="handoff_claimed").count() == 1
    with pytest.raises(HandoffTaken):
        services.handoff_release(handoff, staff["omer"], access=DESK)
    services.handoff_release(handoff, staff["dana"], access=DESK)
    services.handoff_claim(handoff, staff["omer"], access=DESK)


def test_hand_offs_of_one_conversation_share_their_owner(staff: dict[str, User]) -> None:
    here = uuid4()
    rows = [opened(reason, conversation_id=here) for reason in ("stock", "customer_asked", "unverifiable")]
    elsewhere = opened()
    services.handoff_claim(rows[1], staff["dana"], access=DESK)
    assert set(Handoff.objects.filter(claimed_by=staff["dana"])) == set(rows)
    elsewhere.refresh_from_db()
    assert elsewhere.state == "open"


def test_technicians_take_stock_pick_up_and_complaints_only(staff: dict[str, User]) -> None:
    for reason in ("stock", "pickup", "complaint"):
        services.handoff_claim(opened(reason), staff["tali"], access=DESK)
    with pytest.raises(HandoffRefused):
        services.handoff_claim(opened(), staff["tali"], access=DESK)
    assert {row.contact for row in handoffs_for(staff["tali"])} == {"technician"}
    assert handoffs_for(staff["noa"]).count() == 4
    nobody = User.objects.create_user("root", is_staff=True, is_superuser=True)
    with pytest.raises(HandoffRefused):
        services.handoff_claim(opened(), nobody, access=DESK)


def test_a_forgotten_claim_is_released(staff: dict[str, User]) -> None:
    handoff = services.handoff_claim(opened(), staff["dana"], access=DESK)
    assert services.claims_expire() == 0
    Handoff.objects.update(claim_until=timezone.now() - timedelta(seconds=1))
    services.handoff_extend(handoff, staff["dana"])
    assert services.claims_expire() == 0
    Handoff.objects.update(claim_until=timezone.now() - timedelta(seconds=1))
    assert services.claims_expire() == 1
    handoff.refresh_from_db()
    assert (handoff.state, handoff.claimed_by) == ("open", None)


def test_passing_on_leaves_a_note_and_notifies_the_other_role(staff: dict[str, User]) -> None:
    handoff = services.handoff_claim(opened(), staff["dana"], access=DESK)
    with pytest.raises(HandoffRefused):
        services.handoff_pass_on(handoff, staff["dana"], access=DESK, role="physician", person=staff["omer"])
    services.handoff_pass_on(handoff, staff["dana"], access=DESK, role="physician", note="dose?")
    handoff.refresh_from_db()
    assert (handoff.state, handoff.contact, handoff.package["notes"][0]["text"]) == (
        "open",
        "physician",
        "dose?",
    )
    assert Notification.objects.filter(recipient="noa@example.com", kind="handoff_opened").count() == 1
    with pytest.raises(HandoffRefused):
        services.handoff_claim(handoff, staff["dana"], access=DESK)


def test_a_patient_has_one_open_hand_off_for_each_reason(david: Patient) -> None:
    first = opened(patient=david)
    again = opened(patient=david)
    other = opened("complaint", patient=david)
    assert first.pk == again.pk != other.pk
    first.refresh_from_db()
    assert first.conversation_id == again.conversation_id
    services.handoff_close(handoff=first, access=DESK, outcome="answered")
    assert opened(patient=david).pk not in {first.pk, other.pk}


def test_an_address_and_a_conversation_open_only_so_many(db: None, settings: Any) -> None:
    settings.HANDOFFS_PER_ADDRESS, settings.HANDOFFS_PER_CONVERSATION = 4, 2
    made = 0
    for _ in range(20):
        try:
            opened(address_key="a")
            made += 1
        except HandoffLimited:
            pass
    assert made == 4
    opened("extra_dose", address_key="a")  # an emergency has room left
    opened(address_key="b")
    here = uuid4()
    opened(conversation_id=here)
    opened("complaint", conversation_id=here)
    with pytest.raises(HandoffLimited):
        opened("stock", conversation_id=here)


def at(text: str) -> datetime:
    return timezone.make_aware(datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("haste", "opens", "claim", "decide"),
    [
        (Haste.URGENT, "2026-11-28T03:00", "2026-11-28T03:15", "2026-11-28T04:00"),
        (Haste.SOON, "2026-11-28T03:00", "2026-11-28T04:00", "2026-11-28T07:00"),
    ],
)
def test_urgent_deadlines_are_clock_time(
    demo: None, haste: Haste, opens: str, claim: str, decide: str
) -> None:
    to_claim, to_decide = dues_of(haste, Store.objects.get(pk=101), at(opens))
    assert (to_claim.end, to_decide.end) == (at(claim), at(decide))


def test_usual_deadlines_count_opening_hours(demo: None) -> None:
    store = Store.objects.get(pk=101)
    store.exceptions.all().delete()
    store.hours.all().delete()
    for day in (6, 0, 1):  # Sunday, Monday, Tuesday
        store.hours.create(weekday=day, opens="08:00", closes="18:00")
    # Tuesday 16:00: two hours are left that day, the other two are on Sunday.
    to_claim, to_decide = dues_of(Haste.USUAL, Store.objects.get(pk=101), at("2026-11-24T16:00"))
    assert (to_claim.half, to_claim.end) == (at("2026-11-24T18:00"), at("2026-11-29T10:00"))
    assert (to_decide.half, to_decide.end) == (at("2026-11-29T08:00"), at("2026-11-29T18:00"))
    store.exceptions.create(date="2026-11-29", closed=True)
    to_claim, to_decide = dues_of(Haste.USUAL, Store.objects.get(pk=101), at("2026-11-24T16:00"))
    assert (to_claim.end, to_decide.end) == (at("2026-11-30T10:00"), at("2026-11-30T18:00"))


def test_reminders_at_half_of_the_time_and_supervisors_at_its_end(staff: dict[str, User]) -> None:
    handoff = opened("extra_dose")
    now = timezone.now()
    assert deadlines_take() == 0

    def minutes_later(minutes: int) -> int:
        HandoffDeadline.objects.filter(done_at=None).update(due_at=now)
        late = HandoffDeadline.objects.filter(done_at=None)
        for row in late:
            begun = {"claim": (7.5, 15), "decide": (30, 60)}[row.phase][row.action == "raise"]
            HandoffDeadline.objects.filter(pk=row.pk).update(due_at=now + timedelta(minutes=begun - minutes))
        return deadlines_take()

    assert minutes_later(7) == 0
    assert minutes_later(8) == 1
    assert Notification.objects.filter(kind="handoff_reminder").count() == 2  # both pharmacists
    assert minutes_later(16) == 1
    told = Notification.objects.filter(kind="handoff_raised").values_list("recipient", flat=True)
    assert "noa@example.com" in told
    handoff.refresh_from_db()
    assert handoff.raised_at is not None
    services.handoff_claim(handoff, staff["omer"], access=DESK)
    assert minutes_later(31) == 1 and deadlines_take() == 0
    services.handoff_close(handoff=handoff, access=DESK, outcome="by_phone")
    assert minutes_later(61) == 0
    needed = HandoffDeadline.objects.exclude(phase="decide", action="raise")
    assert set(needed.values_list("is_needed", flat=True)) == {True}
    assert HandoffDeadline.objects.get(phase="decide", action="raise").is_needed is False


def test_the_states_of_a_deadline(staff: dict[str, User]) -> None:
    handoff = opened("extra_dose")
    begun = handoff.created_at

    def state(minutes: int) -> SlaState:
        return sla_state(Handoff.objects.get(), begun + timedelta(minutes=minutes))

    assert [state(minutes) for minutes in (1, 8, 16)] == [
        SlaState.PENDING,
        SlaState.IMMINENT,
        SlaState.BREACHING,
    ]
    services.handoff_claim(handoff, staff["dana"], access=DESK)
    assert (state(16), state(61)) == (SlaState.PENDING, SlaState.BREACHING)
    services.handoff_close(handoff=handoff, access=DESK, outcome="denied")
    assert state(90) == SlaState.ACHIEVED
    assert Handoff.objects.get().state == "decided"
    Handoff.objects.update(closed_at=begun + timedelta(hours=2))
    assert state(150) == SlaState.BREACHED
    Handoff.objects.update(outcome="cancelled")
    assert state(150) == SlaState.CANCELLED


def minutes_pass(minutes: int) -> None:
    """Move all that is due later nearer by so many minutes, and sweep."""
    by = timedelta(minutes=minutes)
    HandoffDeadline.objects.filter(done_at=None).update(due_at=F("due_at") - by)
    Handoff.objects.filter(claim_until__isnull=False).update(claim_until=F("claim_until") - by)
    handoffs_sweep()


def told(kind: str) -> list[str]:
    """Whom a kind of notice went to, in order."""
    return list(Notification.objects.filter(kind=kind).order_by("pk").values_list("recipient", flat=True))


def test_the_time_until_a_claim_begins_anew_when_a_claim_is_forgotten(staff: dict[str, User]) -> None:
    handoff = opened("extra_dose")
    services.handoff_claim(handoff, staff["dana"], access=DESK)
    minutes_pass(14)  # both of its deadlines for a claim but the last have passed
    assert told("handoff_reminder") == []
    minutes_pass(2)
    handoff.refresh_from_db()
    assert handoff.state == "open"
    assert told("handoff_opened").count("omer@example.com") == 2  # once more when it is free again
    minutes_pass(8)
    assert set(told("handoff_reminder")) == {"dana@example.com", "omer@example.com"}
    minutes_pass(8)
    assert "noa@example.com" in told("handoff_raised")
    raised = len(told("handoff_raised"))
    services.handoff_claim(handoff, staff["dana"], access=DESK)
    services.handoff_release(handoff, staff["dana"], access=DESK)
    minutes_pass(16)  # the second time is announced, too
    assert len(told("handoff_raised")) > raised


def test_whoever_has_it_is_reminded_of_the_decision(staff: dict[str, User]) -> None:
    services.handoff_claim(opened("extra_dose"), staff["omer"], access=DESK)
    for _ in range(4):
        minutes_pass(10)
        Handoff.objects.update(claim_until=timezone.now() + services.CLAIM_TIME)
    assert told("handoff_reminder") == ["omer@example.com"]


def test_an_emergency_brings_the_deadlines_of_what_waits_forward(staff: dict[str, User]) -> None:
    handoff = opened()
    assert handoff.conversation_id is not None
    services.handoffs_mark_urgent(handoff.conversation_id)
    handoff.refresh_from_db()
    assert handoff.is_urgent and handoff.claim_due_at is not None
    assert handoff.claim_due_at <= timezone.now() + timedelta(minutes=15)
    minutes_pass(16)
    assert "noa@example.com" in told("handoff_raised")


def test_a_second_request_in_an_emergency_makes_the_first_urgent(david: Patient) -> None:
    first = opened(patient=david)
    opened(patient=david, is_urgent=True)
    first.refresh_from_db()
    assert first.is_urgent


def test_refills_and_emergencies_are_never_too_many_in_a_conversation(david: Patient, settings: Any) -> None:
    settings.HANDOFFS_PER_CONVERSATION = 1
    here = uuid4()
    opened(conversation_id=here)
    opened("refill", conversation_id=here, patient=david)
    opened("extra_dose", conversation_id=here)
    with pytest.raises(HandoffLimited):
        opened("stock", conversation_id=here)


def test_the_most_pressing_finding_of_a_refill_counts(david: Patient) -> None:
    slow = Contact("pharmacist", "backend_unavailable")
    handoff = opened("refill", patient=david, contact=slow, reasons=["backend_unavailable", "direct_allergy"])
    assert handoff.claim_due_at is not None
    assert handoff.claim_due_at <= timezone.now() + timedelta(minutes=15)


def test_a_patient_opens_three_a_day_besides_urgent_ones_and_refills(
    david: Patient, rachel: Patient, settings: Any
) -> None:
    settings.HANDOFFS_PER_CONTACT = 2
    for reason in ("stock", "complaint"):
        services.handoff_close(handoff=opened(reason, patient=david), access=DESK)
    with pytest.raises(HandoffLimited):
        opened("pickup", patient=david)
    opened("pickup", patient=rachel)
    opened("extra_dose", patient=david)
    opened("refill", patient=david)
    Handoff.objects.update(created_at=timezone.now() - timedelta(hours=25))
    opened("pickup", patient=david)


def test_failed_verifications_of_a_contact_are_three_cases_a_day(db: None) -> None:
    for _ in range(3):
        case = handoff_open_for_contact(contact_key="k", conversation_id=uuid4(), language="en")
        again = handoff_open_for_contact(contact_key="k", conversation_id=uuid4(), language="en")
        assert again.pk == case.pk
        services.handoff_close(handoff=case, access=DESK)
    with pytest.raises(HandoffLimited):
        handoff_open_for_contact(contact_key="k", conversation_id=uuid4(), language="en")
    handoff_open_for_contact(contact_key="other", conversation_id=uuid4(), language="en")


def test_a_closed_case_is_never_joined_although_an_older_one_was_deleted(db: None) -> None:
    cases = []
    for _ in range(2):
        cases.append(handoff_open_for_contact(contact_key="k", conversation_id=uuid4(), language="en"))
        services.handoff_close(handoff=cases[-1], access=DESK)
    Handoff.objects.filter(pk=cases[0].pk).update(run_key=None)
    opened_anew = handoff_open_for_contact(contact_key="k", conversation_id=uuid4(), language="en")
    assert opened_anew.pk != cases[1].pk and opened_anew.closed_at is None


def test_an_address_that_was_left_counts_for_later_hand_offs_of_its_conversation(david: Patient) -> None:
    here = uuid4()
    first = opened("stock", conversation_id=here)
    Handoff.objects.filter(pk=first.pk).update(contact_email="left@example.com")
    services.handoff_close(handoff=first, access=DESK)
    assert opened("complaint", conversation_id=here).contact_email == "left@example.com"
    # Who is identified is written to by the address on file, and other conversations have their own.
    assert opened("pickup", conversation_id=here, patient=david).contact_email == ""
    assert opened("stock", conversation_id=uuid4()).contact_email == ""

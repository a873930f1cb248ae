"""Who decides an escalated request: the roster, the rules' walk over it, and what rules do with a model's proposal."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import connection

from inventory.models import Ingredient, StockLevel
from prescriptions.audit import Access
from prescriptions.errors import RefillRefused
from prescriptions.models import (
    Handoff,
    LabRule,
    OnCall,
    Prescription,
    RefillRequest,
    SupplyLimit,
)
from prescriptions.refill.contacts import contact_by_rules, roles_for
from prescriptions.refill.reasoning import Reasoner, ReasonerFailed, ReasoningStep, Thought
from prescriptions.refill.safety import Check
from prescriptions.refill.services import refill_decide
from prescriptions.refill.states import Reason
from prescriptions.roster import on_call

Submit = Callable[..., RefillRequest]
MONDAY_NOON = datetime(2026, 3, 2, 10, tzinfo=UTC)  # 12:00 in Jerusalem
JOHNS_ALLERGY, JOHNS_CODEINE, OUT_OF_STOCK = 12, 13, 2
SCHEDULE_III = 13
DECIDER = Access(who="user:7", where="tests")


def person(name: str, group: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    return user


@pytest.fixture
def dana(demo: None) -> User:
    """A pharmacist, alone on the roster: at any time, for all branches."""
    OnCall.objects.all().delete()
    user = person("dana", "pharmacist")
    OnCall.objects.create(person=user, role="pharmacist")
    return user


@pytest.fixture
def omer(dana: User) -> User:
    """A physician on call beside the pharmacist."""
    user = person("omer", "physician")
    OnCall.objects.create(person=user, role="physician")
    return user


def who(
    role: str = "pharmacist", branch: int = 101, reason: Reason = Reason.EARLY, at: Any = MONDAY_NOON
) -> list[str]:
    return [User.objects.get(pk=duty.person).username for duty in on_call(role, branch, reason, at=at)]


class TestRoster:
    def test_a_line_without_limits_holds_always(self, dana: User) -> None:
        assert who() == ["dana"] and who(role="physician") == []

    @pytest.mark.parametrize(
        ("line", "is_on"),
        [
            ({"branch_id": 101}, True),
            ({"branch_id": 102}, False),
            ({"days": [0]}, True),
            ({"days": [1, 6]}, False),
            ({"starts": time(8), "ends": time(12)}, False),
            ({"starts": time(12), "ends": time(13)}, True),
            ({"first_day": date(2026, 3, 3)}, False),
            ({"last_day": date(2026, 3, 2)}, True),
            ({"last_day": date(2026, 3, 1)}, False),
            ({"reasons": ["early", "labs"]}, True),
            ({"reasons": ["labs"]}, False),
            ({"is_active": False}, False),
        ],
    )
    def test_each_limit_counts(self, dana: User, line: dict[str, Any], is_on: bool) -> None:
        OnCall.objects.update(**line)
        assert who() == (["dana"] if is_on else [])

    def test_a_night_belongs_to_the_day_on_which_it_began(self, dana: User) -> None:
        OnCall.objects.update(days=[6], starts=time(22), ends=time(7))
        assert who(at=datetime(2026, 3, 2, 4, 59, tzinfo=UTC)) == ["dana"]
        assert who(at=datetime(2026, 3, 2, 5, 0, tzinfo=UTC)) == []
        assert who(at=datetime(2026, 3, 2, 20, 30, tzinfo=UTC)) == []

    def test_the_line_of_the_branch_comes_before_that_of_all(self, dana: User) -> None:
        noa = person("noa", "pharmacist")
        OnCall.objects.create(person=noa, role="pharmacist", branch_id=101)
        assert who() == ["noa", "dana"] and who(branch=102) == ["dana"]

    def test_the_line_of_the_reason_comes_before_that_of_all(self, dana: User) -> None:
        noa = person("noa", "pharmacist")
        OnCall.objects.create(person=noa, role="pharmacist", reasons=["early"])
        assert who() == ["noa", "dana"]

    def test_somebody_with_two_lines_is_named_once(self, dana: User) -> None:
        OnCall.objects.create(person=dana, role="pharmacist", branch_id=101)
        assert who() == ["dana"]

    def test_who_left_the_group_or_the_pharmacy_is_not_on_call(self, dana: User) -> None:
        dana.groups.clear()
        assert who() == []
        dana.groups.add(Group.objects.get(name="pharmacist"))
        User.objects.update(is_active=False)
        assert who() == []

    @pytest.mark.parametrize(
        "wrong",
        [
            {"starts": time(8)},
            {"first_day": date(2026, 3, 2), "last_day": date(2026, 3, 1)},
            {"days": [7]},
            {"role": "physician"},
        ],
    )
    def test_a_line_that_makes_no_sense_is_refused(self, dana: User, wrong: dict[str, Any]) -> None:
        line = OnCall(**{"person": dana, "role": "pharmacist", **wrong})
        with pytest.raises(ValidationError):
            line.full_clean()


class TestRules:
    def test_the_person_on_call_is_the_contact_and_every_step_is_kept(
        self, dana: User, submit: Submit
    ) -> None:
        request = submit(JOHNS_ALLERGY)
        assert (request.contact, request.contact_person) == ("pharmacist", dana)
        actions = [step["action"] for step in request.routing]
        assert actions == ["reason", "roles", "branch", "working_hours", "on_call", "choose"]
        assert {step["by"] for step in request.routing} == {"rules"}
        assert request.routing[-1]["arguments"] == {"role": "pharmacist", "person": dana.pk}
        package = Handoff.objects.get(pk=request.handoff_id).package
        assert package["routing"] == request.routing
        assert package["contact"] == {"role": "pharmacist", "person": dana.pk}

    def test_without_anybody_on_call_the_role_is_the_contact(self, demo: None, submit: Submit) -> None:
        OnCall.objects.all().delete()
        request = submit(JOHNS_ALLERGY)
        assert (request.contact, request.contact_person_id) == ("pharmacist", None)
        assert request.routing[-1]["thought"] == "nobody_on_call"

    def test_schedule_iii_goes_to_the_physician_on_call(self, omer: User, submit: Submit) -> None:
        request = submit(SCHEDULE_III)
        assert request.reason == "controlled_substance"
        assert request.contact_person_id == (omer.pk if request.contact == "physician" else None)
        assert request.contact == "physician"

    @pytest.mark.parametrize("reason", ["labs", "age"])
    def test_a_clinical_finding_beside_another_one_needs_a_physician(
        self, omer: User, submit: Submit, reason: str
    ) -> None:
        """John's sulfamethoxazole meets his allergy, which is found first and alone goes to a pharmacist."""
        prescription = Prescription.objects.select_related("medication").get(pk=JOHNS_ALLERGY)
        if reason == "age":
            SupplyLimit.objects.update_or_create(
                medication=prescription.medication, defaults={"minimum_age": 120}
            )
        else:
            ingredient = Ingredient.objects.filter(medications=prescription.medication).first()
            LabRule.objects.create(ingredient=ingredient, code="potassium", not_older_than_days=1)
        request = submit(JOHNS_ALLERGY)
        assert request.reason == "direct_allergy"
        assert (request.contact, request.contact_person) == ("physician", omer)
        assert request.routing[-1]["observation"] == {"why": reason}
        with pytest.raises(RefillRefused, match="role"):
            refill_decide(request, "approve", access=DECIDER, role="pharmacist")

    def test_what_a_decision_covers_needs_no_second_one(self, omer: User, submit: Submit) -> None:
        prescription = Prescription.objects.select_related("medication").get(pk=JOHNS_ALLERGY)
        SupplyLimit.objects.update_or_create(
            medication=prescription.medication, defaults={"minimum_age": 120}
        )
        request = submit(JOHNS_ALLERGY)
        StockLevel.objects.filter(medication=prescription.medication).update(quantity=0)
        refill_decide(request, "approve", access=DECIDER, role="physician")
        assert (request.reason, request.contact, request.walk) == ("out_of_stock", "pharmacist", 2)

    def test_nobody_is_asked_about_their_own_request(self, dana: User, submit: Submit) -> None:
        noa = person("noa", "pharmacist")
        OnCall.objects.create(person=noa, role="pharmacist")
        request = submit(JOHNS_ALLERGY, access=Access(who=f"user:{dana.pk}", where="tests"))
        assert request.contact_person == noa

    def test_an_approval_starts_with_no_contact(self, dana: User, submit: Submit) -> None:
        request = submit(JOHNS_ALLERGY)
        refill_decide(request, "approve", access=Access(who="user:7", where="tests"), role="pharmacist")
        assert request.outcome == "dispensed"
        assert (request.contact, request.contact_person_id, request.routing) == ("", None, [])


def found(reason: Reason, *, escalates: bool = True, decided_by: str = "", schedule: str = "") -> Check:
    return Check(
        str(reason), "block", reason, {"schedule": schedule}, escalates=escalates, decided_by=decided_by
    )


class TestStrictest:
    ALLERGY = found(Reason.DIRECT_ALLERGY)
    LABS = found(Reason.LABS)
    AGE = found(Reason.AGE)
    IV = found(Reason.CONTROLLED_SUBSTANCE, decided_by="pharmacist", schedule="IV")
    III = found(Reason.CONTROLLED_SUBSTANCE, decided_by="physician", schedule="III")
    NOTED = found(Reason.LABS, escalates=False)

    @pytest.mark.parametrize(
        ("reason", "findings", "role", "why"),
        [
            (Reason.DIRECT_ALLERGY, [ALLERGY], "pharmacist", "direct_allergy"),
            (Reason.DIRECT_ALLERGY, [ALLERGY, LABS], "physician", "labs"),
            (Reason.LABS, [LABS, ALLERGY], "physician", "labs"),
            (Reason.DIRECT_ALLERGY, [ALLERGY, AGE, LABS], "physician", "age"),
            (Reason.DIRECT_ALLERGY, [ALLERGY, NOTED], "pharmacist", "direct_allergy"),
            (Reason.CONTROLLED_SUBSTANCE, [IV], "pharmacist", "schedule_IV"),
            (Reason.CONTROLLED_SUBSTANCE, [IV, LABS], "physician", "labs"),
            (Reason.LABS, [LABS, III], "physician", "schedule_III"),
            (Reason.DIRECT_ALLERGY, [ALLERGY, III], "physician", "schedule_III"),
            (Reason.OUT_OF_STOCK, [found(Reason.OUT_OF_STOCK), LABS], "physician", "labs"),
        ],
    )
    def test_the_strictest_role_of_all_findings_wins(
        self, reason: Reason, findings: list[Check], role: str, why: str
    ) -> None:
        contact = contact_by_rules(reason, findings)
        assert (contact.role, contact.why) == (role, why)
        roles = roles_for(reason, findings)
        assert roles[0] == role
        assert role != "physician" or roles == ("physician",)


class Scripted:
    """A reasoner that says what a test scripted."""

    def __init__(self, *thoughts: Thought | Exception) -> None:
        self.thoughts = list(thoughts)
        self.seen: list[Sequence[ReasoningStep]] = []
        self.in_transaction: list[bool] = []

    def next(self, steps: Sequence[ReasoningStep]) -> Thought:
        self.seen.append(steps)
        self.in_transaction.append(connection.in_atomic_block)
        thought = self.thoughts.pop(0) if len(self.thoughts) > 1 else self.thoughts[0]
        if isinstance(thought, Exception):
            raise thought
        return thought

    @contextmanager
    def open(self, seconds: float) -> Iterator[Reasoner]:
        yield self


@pytest.fixture
def reasoner(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    """Let the site have a reasoner with this script."""

    def use(*thoughts: Thought | Exception) -> Scripted:
        scripted = Scripted(*thoughts)
        monkeypatch.setattr("prescriptions.refill.central.import_string", lambda name: scripted.open)
        return scripted

    return use


def choose(role: object, person: object) -> Thought:
    return Thought("It is their turn.", "choose", {"role": role, "person": person})


class TestModel:
    def test_its_proposal_is_taken_and_its_steps_are_kept(
        self, omer: User, submit: Submit, reasoner: Callable[..., Scripted]
    ) -> None:
        scripted = reasoner(
            Thought("Who may decide?", "roles"),
            Thought("Who is there?", "on_call", {"role": "physician", "branch": 1}),
            choose("physician", omer.pk),
        )
        request = submit(JOHNS_ALLERGY)
        assert (request.contact, request.contact_person) == ("physician", omer)
        assert [(step["by"], step["action"]) for step in request.routing] == [
            ("model", "roles"),
            ("model", "on_call"),
            ("model", "choose"),
        ]
        assert request.routing[0]["observation"]["roles"] == ["pharmacist", "physician"]
        assert request.routing[1]["observation"]["people"][0]["person"] == omer.pk
        assert scripted.seen[2][0].thought == "Who may decide?"

    def test_it_sees_no_patient_and_no_medicine(
        self, omer: User, submit: Submit, reasoner: Callable[..., Scripted]
    ) -> None:
        scripted = reasoner(
            *(
                Thought("", name, {"branch": 1, "role": "pharmacist"})
                for name in ("reason", "roles", "branch", "on_call")
            ),
            choose("pharmacist", None),
        )
        request = submit(JOHNS_ALLERGY)
        shown = str([step.observation for step in scripted.seen[-1]])
        patient = request.patient
        for secret in (
            patient.mrn,
            patient.name_en,
            patient.email,
            request.prescription.medication.name_en,
            "sulf",
        ):
            assert secret.lower() not in shown.lower()

    @pytest.mark.parametrize(
        ("role", "person", "why"),
        [
            ("technician", None, "role_not_allowed"),
            (None, None, "role_not_allowed"),
            (["pharmacist"], None, "role_not_allowed"),
            ("pharmacist", 999_999, "person_not_on_call"),
            ("pharmacist", "1 OR 1=1", "person_not_on_call"),
            ("pharmacist", True, "person_not_on_call"),
            ("pharmacist", "the physician", "person_not_on_call"),
            ("pharmacist", None, "somebody_is_on_call"),
        ],
    )
    def test_a_wrong_proposal_falls_back_to_the_rules_and_is_named(
        self,
        omer: User,
        dana: User,
        submit: Submit,
        reasoner: Callable[..., Scripted],
        role: Any,
        person: Any,
        why: str,
    ) -> None:
        reasoner(choose(role, omer.pk if person == "the physician" else person))
        request = submit(JOHNS_ALLERGY)
        assert (request.contact, request.contact_person) == ("pharmacist", dana)
        assert request.routing[1]["observation"] == {"refused": why}
        assert [step["by"] for step in request.routing[2:]] == ["rules"] * 6

    def test_schedule_iii_is_never_given_to_a_pharmacist(
        self, omer: User, dana: User, submit: Submit, reasoner: Callable[..., Scripted]
    ) -> None:
        reasoner(choose("pharmacist", dana.pk))
        request = submit(SCHEDULE_III)
        assert (request.contact, request.contact_person) == ("physician", omer)

    def test_a_person_of_another_branch_is_refused(
        self, omer: User, dana: User, submit: Submit, reasoner: Callable[..., Scripted]
    ) -> None:
        OnCall.objects.filter(person=omer).update(branch_id=104)
        reasoner(choose("physician", omer.pk))
        assert submit(JOHNS_ALLERGY, 101).contact_person == dana

    def test_who_made_the_request_is_refused(
        self, omer: User, dana: User, submit: Submit, reasoner: Callable[..., Scripted]
    ) -> None:
        reasoner(choose("physician", omer.pk))
        request = submit(JOHNS_ALLERGY, access=Access(who=f"user:{omer.pk}", where="tests"))
        assert request.contact_person == dana

    @pytest.mark.parametrize(
        ("thought", "why"),
        [
            (ReasonerFailed("timeout"), "timeout"),
            (RuntimeError("boom"), "RuntimeError"),
            (Thought("Hmm.", "sell_everything", {"branch": {"a": [1]}}), "too_many_steps"),
            (Thought("Again.", "reason"), "too_many_steps"),
        ],
    )
    def test_a_model_that_fails_or_never_chooses_is_left_for_the_rules(
        self, dana: User, submit: Submit, reasoner: Callable[..., Scripted], thought: Any, why: str
    ) -> None:
        reasoner(thought)
        request = submit(JOHNS_ALLERGY)
        assert request.contact_person == dana
        assert {"failed": why} in [step["observation"] for step in request.routing]
        assert request.state == "Escalation_Complete"


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_a_model_thinks(
    demo_committed: None, submit: Submit, reasoner: Callable[..., Scripted]
) -> None:
    OnCall.objects.all().delete()
    scripted = reasoner(Thought("", "reason"), choose("pharmacist", None))
    assert submit(JOHNS_ALLERGY).routing[0]["by"] == "model"
    assert scripted.in_transaction == [False, False]

"""The language model looks for the person who decides a refill, over a real socket."""

import time
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone
from scripted_model import ScriptedModel, calls, fails, says, stalls

from agent.conversation import spending
from agent.inference.base import ModelUnavailable, Usage
from agent.llm import routing
from agent.models import ModelUse
from prescriptions.audit import Access
from prescriptions.models import OnCall, Prescription, RefillRequest
from prescriptions.refill.services import refill_submit
from stores.models import Store

JOHNS_ALLERGY = 12
Submit = Callable[[], RefillRequest]


@pytest.fixture
def submit(model: ScriptedModel, settings: Any) -> Submit:
    """Request the refill that meets an allergy, on a site whose language model finds the contact."""
    settings.REFILL_REASONER = "agent.llm.routing.reasoner_open"
    settings.REFILL_ROUTING_TIMEOUT = 5.0
    routing._breaker.cache_clear()
    prescription = Prescription.objects.select_related("patient").get(pk=JOHNS_ALLERGY)
    return lambda: refill_submit(
        patient=prescription.patient,
        prescription_id=prescription.pk,
        store=Store.objects.get(pk=101),
        access=Access(who="key:1", where="tests"),
        language="en",
    )


@pytest.fixture
def dana(model: ScriptedModel) -> User:
    OnCall.objects.all().delete()
    user = User.objects.create_user("dana", first_name="Dana", last_name="Regev")
    user.groups.add(Group.objects.get(name="pharmacist"))
    OnCall.objects.create(person=user, role="pharmacist")
    return user


def test_the_model_looks_and_chooses(model: ScriptedModel, dana: User, submit: Submit) -> None:
    model.script(
        calls(("reason", {"thought": "Why does it wait?"})),
        calls(("on_call", {"thought": "Who is there?", "role": "pharmacist", "branch": 101})),
        calls(("choose", {"thought": "She is on call.", "role": "pharmacist", "person": dana.pk})),
    )
    request = submit()
    assert (request.contact, request.contact_person) == ("pharmacist", dana)
    assert [(step["by"], step["thought"]) for step in request.routing] == [
        ("model", "Why does it wait?"),
        ("model", "Who is there?"),
        ("model", "She is on call."),
    ]
    assert model.last.tools_offered == ["reason", "roles", "branch", "working_hours", "on_call", "choose"]
    observed = [message["content"] for message in model.last.messages if message["role"] == "tool"]
    assert "direct_allergy" in observed[0] and f'"person": {dana.pk}' in observed[1]
    sent = model.last.text.lower()
    patient = request.patient
    for secret in (patient.mrn, patient.name_en, "regev", request.prescription.medication.name_en):
        assert secret.lower() not in sent


def test_a_wrong_person_is_replaced_by_the_rules(model: ScriptedModel, dana: User, submit: Submit) -> None:
    model.script(calls(("choose", {"thought": "Somebody.", "role": "physician", "person": dana.pk})))
    request = submit()
    assert (request.contact, request.contact_person) == ("pharmacist", dana)
    assert request.routing[1]["observation"] == {"refused": "person_not_on_call"}


@pytest.mark.parametrize(
    ("reply", "why"),
    [(says("A pharmacist, I think."), "no_action"), (fails(400), "request"), (calls(("choose", "{")), "malformed")],
)  # fmt: skip
def test_an_answer_of_no_use_falls_back_to_the_rules(
    model: ScriptedModel, dana: User, submit: Submit, reply: Any, why: str
) -> None:
    model.script(reply)
    request = submit()
    assert request.contact_person == dana
    assert request.routing[0]["observation"] == {"failed": why}


def test_a_model_that_is_too_slow_falls_back_to_the_rules(
    model: ScriptedModel, dana: User, submit: Submit, settings: Any
) -> None:
    settings.REFILL_ROUTING_TIMEOUT = 0.5
    model.script(stalls(after_chunks=0, seconds=30))
    started = time.monotonic()
    request = submit()
    assert time.monotonic() - started < 5
    assert request.contact_person == dana and request.state == "Escalation_Complete"
    assert request.routing[0]["observation"] == {"failed": "timeout"}


def test_a_used_up_budget_asks_no_model(
    model: ScriptedModel, dana: User, submit: Submit, settings: Any
) -> None:
    settings.OPENAI_TOKENS_PER_DAY = 0
    request = submit()
    assert request.contact_person == dana and not model.requests
    assert request.routing[0]["observation"] == {"failed": "cap_day"}


def test_its_tokens_count_in_the_days_limit(
    model: ScriptedModel, dana: User, submit: Submit, settings: Any
) -> None:
    settings.OPENAI_PRICE_IN, settings.OPENAI_PRICE_OUT = Decimal(2), Decimal(10)
    choice = {"thought": "She is on call.", "role": "pharmacist", "person": dana.pk}
    model.script(
        calls(("reason", {"thought": "Why?"}), usage=(700, 40)), calls(("choose", choice), usage=(900, 60))
    )
    spending.day.forget()
    spending.limits_read()
    tokens, cost = spending.day.spent
    assert submit().routing[-1]["by"] == "model"
    used = ModelUse.objects.get()
    assert (used.purpose, used.tokens_in, used.tokens_out) == ("routing", 1_600, 100)
    assert used.cost == Decimal("0.0042")
    spending.day.forget()
    spending.limits_read()
    assert spending.day.spent == (tokens + 1_700, cost + Decimal("0.0042"))
    # What is used up by routing is used up for the chat as well.
    settings.OPENAI_TOKENS_PER_DAY = tokens + 1_700
    with pytest.raises(ModelUnavailable, match="cap_day"):
        spending.budget_check(0)
    ModelUse.objects.update(created_at=timezone.now() - timedelta(hours=25))
    spending.day.forget()
    spending.limits_read()
    assert spending.day.spent == (tokens, cost)


def test_the_tokens_of_a_model_that_fails_count_too(model: ScriptedModel, dana: User, submit: Submit) -> None:
    model.script(says("A pharmacist, I think.", usage=(500, 20)))
    assert submit().contact_person == dana
    assert ModelUse.objects.get().tokens_in == 500


def test_without_a_model_nothing_is_counted(dana: User, submit: Submit, settings: Any) -> None:
    settings.REFILL_REASONER = ""
    submit()
    assert not ModelUse.objects.exists()


def test_what_no_limit_counts_any_more_is_deleted(db: None) -> None:
    for days in (31, 1):
        spending.use_record("routing", Usage(tokens_in=10, tokens_out=1))
        ModelUse.objects.filter(pk=ModelUse.objects.latest("pk").pk).update(
            created_at=timezone.now() - timedelta(days=days)
        )
    spending.use_record("routing", Usage(tokens_in=10, tokens_out=1))
    assert ModelUse.objects.count() == 2

"""An answer to staff while a language model is at work: it never hears of what is for staff alone, and goes on otherwise."""

import pytest
from django.contrib.auth.models import Group, User
from scripted_model import ScriptedModel, calls, chooses
from talking import Talk

from agent.answers.render import say
from prescriptions.audit import Access
from prescriptions.models import Patient, RefillRequest
from prescriptions.refill import services
from prescriptions.refill.questions import questions_of
from stores.models import Store

LEAH, LEAHS_IBUPROFEN = "10000124", 17
LOOK = calls(
    ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None})
)
ANSWER = chooses("{stock|Florentin, Tel Aviv}", usage=(900, 100))


@pytest.fixture
def asked(model: ScriptedModel) -> tuple[Talk, RefillRequest]:
    """Leah's conversation, in which a pharmacist asked her something."""
    dana = User.objects.create_user("dana", email="dana@example.com", is_staff=True)
    dana.groups.add(Group.objects.get(name="pharmacist"))
    talk = Talk(patient=LEAH)
    request = services.refill_submit(
        patient=Patient.objects.get(mrn=LEAH), prescription_id=LEAHS_IBUPROFEN, store=Store.objects.get(pk=103),
        access=Access(who="chat:1", where="chat"), language="en", conversation_id=talk.conversation.pk,
    )  # fmt: skip
    access = Access(who=f"user:{dana.pk}", where="admin")
    services.refill_decide(
        request, "ask", access=access, role="pharmacist", question="When did you last take it?"
    )
    return talk, request


def test_what_is_for_staff_alone_reaches_no_model(
    model: ScriptedModel, asked: tuple[Talk, RefillRequest]
) -> None:
    talk, request = asked
    assert talk.say("three weeks ago") == say("staff_answered", "en", numbers=request.number)
    assert not model.requests and questions_of(request)[0]["answer"] == "three weeks ago"


def test_a_question_is_answered_by_the_model_and_its_tokens_are_counted(
    model: ScriptedModel, asked: tuple[Talk, RefillRequest]
) -> None:
    talk, request = asked
    model.script(LOOK, ANSWER)
    text = talk.say("do you have Advil in Florentin?")
    assert "Florentin" in text and text.endswith(say("staff_answered", "en", numbers=request.number))
    assert talk.run.tokens_in >= 900 and not talk.run.fallback
    assert talk.shown[-1] == text
    assert questions_of(request)[0]["answer"] == "do you have Advil in Florentin?"

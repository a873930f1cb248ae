"""With a language model, too, code decides what is left to the person: the model is not asked."""

from typing import Any

from django.contrib.auth.models import Group, User
from scripted_model import ScriptedModel
from scripted_replies import calls, chooses
from talking import Talk

from agent.conversation import accept
from prescriptions.audit import Access
from prescriptions.handoffs import services
from prescriptions.models import Handoff
from prescriptions.transcripts import reply_write

DESK = Access("user:1", "admin")
STOCK = calls(
    ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None})
)


def test_the_model_is_asked_only_what_the_assistant_answers(tireless: ScriptedModel) -> None:
    talk = Talk()
    accept.handoff_request(conversation_id=talk.conversation.pk, address="192.0.2.1")
    talk.answer()
    handoff = Handoff.objects.get()
    asked = len(tireless.requests)
    assert handoff.number in talk.say("Hello? Is anybody there?")
    assert talk.say("thanks, I will wait") == ""
    assert len(tireless.requests) == asked
    tireless.script(STOCK, chooses("{stock|Florentin, Tel Aviv}"))
    assert "Florentin" in talk.say("do you have Advil in Florentin?")

    user = User.objects.create_user("dana2", first_name="Dana", last_name="Levi", is_staff=True)
    user.groups.add(Group.objects.get(name="pharmacist"))
    services.handoff_claim(handoff, user, access=DESK)
    reply_write(handoff, user, "Hello", seen_seq=2**31 - 1, access=DESK)
    asked = len(tireless.requests)
    said: list[Any] = [talk.say(text) for text in ("do you have Advil in Florentin?", "thanks", "why?")]
    assert said == ["", "", ""] and len(tireless.requests) == asked

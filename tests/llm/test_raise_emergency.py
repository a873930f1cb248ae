"""A language model may raise an emergency that no rule recognised, and cannot end one."""

from scripted_model import ScriptedModel, calls, fails, says
from talking import Talk, once

from agent.models import Conversation

STRANGE = "do you have Advil in Florentin? my boy has such a funny walk tonight"
RAISED = calls(("raise_emergency", {"kind": "poisoning"}))
LOOK = ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None})


def test_a_raised_emergency_is_answered_with_the_number_and_stays_open(model: ScriptedModel) -> None:
    talk = once(model, STRANGE, RAISED)
    assert "Call 101 now" in talk.payload["text"] and "packs" not in talk.payload["text"]
    assert Conversation.objects.get(pk=talk.conversation.pk).emergency == "POISONING"
    assert talk.say("do you have Advil in Florentin?").startswith("Emergency: call 101")
    assert len(model.requests) == 1


def test_an_emergency_comes_before_everything_else_that_the_model_calls(model: ScriptedModel) -> None:
    both = calls(LOOK, ("raise_emergency", {"kind": "self_harm"}), ("offer_person", {}))
    talk = once(model, STRANGE, both)
    assert "1201" in talk.payload["text"] and "check_stock" not in talk.tools


def test_a_kind_that_does_not_exist_is_an_emergency_all_the_same(model: ScriptedModel) -> None:
    talk = once(model, STRANGE, calls(("raise_emergency", {"kind": "none"})))
    assert "101" in talk.payload["text"]
    assert Conversation.objects.get(pk=talk.conversation.pk).emergency_open


def test_neither_the_model_nor_its_failure_ends_an_emergency(model: ScriptedModel) -> None:
    talk = Talk()
    talk.say("my toddler swallowed bleach")
    model.script(fails(500), says("All is well."))
    assert talk.say("do you have Advil in Florentin?").startswith("Emergency: call 101")
    assert model.requests == []
    model.reset()

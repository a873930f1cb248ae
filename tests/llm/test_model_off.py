"""The language model switched off by operators: nothing is sent, the offline model answers."""

from typing import Any

import pytest
from scripted_model import ScriptedModel, calls, chooses
from talking import Talk

from agent.answers.sentences import SENTENCES
from agent.knowledge import embeddings
from agent.llm import routing
from agent.llm.knowledge import knowledge_model
from prescriptions.models import SiteSwitches
from prescriptions.refill.reasoning import ReasonerFailed


@pytest.fixture
def off(model: ScriptedModel) -> SiteSwitches:
    row = SiteSwitches.objects.get()
    row.model_off = True
    row.save()
    return row


def test_the_offline_model_answers_and_says_so_once(off: SiteSwitches, model: ScriptedModel) -> None:
    talk = Talk()
    said = talk.say("do you have Advil in Florentin?")
    assert said.startswith(SENTENCES["basic_mode"][0]) and "3 units" in said
    assert (talk.run.fallback, talk.run.model) == ("switched_off", "offline")
    assert SENTENCES["basic_mode"][0] not in talk.say("how much is Advil?")
    assert not model.requests


def test_nor_is_anything_else_sent(off: SiteSwitches, model: ScriptedModel, settings: Any) -> None:
    settings.OPENAI_EMBEDDING_MODEL = "embedder"
    with knowledge_model() as opened:
        assert opened is None
    with pytest.raises(ReasonerFailed, match="switched_off"):
        routing.reasoner_open(5.0)
    assert embeddings.question_embedding("what is a fever?") is None
    assert not model.requests


def test_it_answers_again_when_it_is_switched_on(off: SiteSwitches, model: ScriptedModel) -> None:
    talk = Talk()
    talk.say("how much is Advil?")
    off.model_off = False
    off.save()
    look = calls(
        ("check_stock", {"medication_query": "Advil", "store_query": "Florentin", "show_all_stores": None})
    )
    model.script(look, chooses("{stock|Florentin, Tel Aviv}"))
    assert "3 units" in talk.say("and do you have it in Florentin?")
    assert talk.run.fallback == "" and model.requests

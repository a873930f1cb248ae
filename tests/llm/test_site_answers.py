"""A language model hands questions that the data cannot answer to the texts that staff wrote."""

import pytest
from scripted_model import ScriptedModel, calls
from talking import once

from stores.models import SiteAnswer

pytestmark = pytest.mark.usefixtures("demo_committed")


def test_a_language_model_answers_with_the_same_text(model: ScriptedModel) -> None:
    talk = once(model, "do you ship to eilat?", calls(("site_answer", {"topic": "delivery"})))
    assert SiteAnswer.objects.get(topic="delivery").text_en in talk.payload["text"]


def test_a_subject_that_does_not_exist_is_outside_what_can_be_answered(model: ScriptedModel) -> None:
    talk = once(model, "do you ship to eilat?", calls(("site_answer", {"topic": "weather"})))
    assert "outside what I can answer" in talk.payload["text"]

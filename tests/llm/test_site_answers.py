"""A language model answers questions that the data cannot answer with the texts that staff wrote."""

import pytest
from scripted_model import ScriptedModel, calls, chooses
from talking import Talk, once

from prescriptions.models import Handoff
from stores.models import SiteAnswer

pytestmark = pytest.mark.usefixtures("demo_committed")


def test_a_language_model_answers_with_the_same_text(model: ScriptedModel) -> None:
    asked = calls(("site_answer", {"topic": "delivery", "branch": None}))
    talk = once(
        model, "do you ship to eilat?", asked, chooses("[thanks_for_asking] {site.delivery|} [anything_else]")
    )
    written = SiteAnswer.objects.get(topic="delivery").text_en
    assert talk.payload["text"] == f"Thanks for asking. {written} Is there anything else?"


def test_a_subject_that_does_not_exist_has_no_fact(model: ScriptedModel) -> None:
    asked = calls(("site_answer", {"topic": "weather", "branch": None}))
    talk = once(model, "do you ship to eilat?", asked, chooses("[not_on_file]"))
    assert talk.payload["text"] == "I can't answer that from our data."


def test_the_phone_of_the_branch_is_a_fact(model: ScriptedModel) -> None:
    asked = calls(("site_answer", {"topic": "parking", "branch": "Jaffa"}))
    said = chooses("{site.parking|} {phone|Jaffa, Tel Aviv}")
    talk = once(model, "where do people park in Jaffa?", asked, said)
    assert talk.payload["text"].endswith("Jaffa, Tel Aviv: 03-555-0104.")


@pytest.mark.parametrize("question", ["", " [anything_else]"])
def test_an_offered_person_is_called_after_a_yes_only(model: ScriptedModel, question: str) -> None:
    """The question is ours, and the only one."""
    asked = calls(("site_answer", {"topic": "complaint", "branch": None}))
    model.script(asked, chooses(f"[sorry_to_hear] {{site.complaint|}}{question}"))
    talk = Talk()
    text = talk.say("my pack was damaged and nobody cared")
    assert text.endswith("Shall I pass you on?") and text.count("?") == 1
    assert SiteAnswer.objects.get(topic="complaint").text_en in text
    assert talk.payload["suggestions"] == ["Yes", "No"] and not Handoff.objects.exists()
    talk.say("yes")
    assert Handoff.objects.count() == 1

"""If the message names no medicine, the answer names the one it is about, or asks; it is never taken for a refill (T21)."""

import itertools
from typing import Any

from scripted_model import ScriptedModel, by, calls, forever, says
from scripted_replies import facts_offered
from talking import Talk

from agent.models import Confirmation

NAMES = [("Advil", "אדוויל", "Ibuprofen", "איבופרופן"), ("Warfarin", "וורפרין", "Warfarin", "וורפרין"), ("Metformin", "מטפורמין", "Metformin", "מטפורמין")]  # fmt: skip
NEEDS = ("does it need a prescription?", "צריך מרשם?")
YES = {
    "en": by(lambda request: _prescription(request, "Yes!")), "he": by(lambda request: _prescription(request, "כן!")),
}  # fmt: skip


def _prescription(request: dict[str, Any], said: str) -> Any:
    """Answer with the newest fact about a prescription, which names its medicine."""
    found = [fact for fact in facts_offered(request) if fact["kind"] == "prescription"]
    return says(f"{said} [{found[-1]['id']}]")


def _look(tool: str, name: str) -> Any:
    return calls((tool, {"medication_name" if tool == "get_medication_by_name" else "query": name}))


def _talked(model: ScriptedModel, language: str, *names: str) -> Talk:
    """A conversation in which these were asked about, one after the other."""
    model.reset()
    talk = Talk(language)
    for name in names:
        model.script(
            _look("get_medication_by_name", name),
            by(lambda request: says(f"[{next(iter(facts_offered(request)))['id']}]")),
        )
        talk.say(("do you sell {}?", "אתם מוכרים {}?")[language == "he"].format(name))
        model.forget()
    return talk


def test_an_assumed_medicine_is_named_in_the_answer(tireless: ScriptedModel) -> None:
    """Whatever the model leaves unsaid."""
    wrong = []
    for one, language in itertools.product(NAMES, ("en", "he")):
        he = language == "he"
        talk = _talked(tireless, language, one[he])
        for tool in ("get_medication_info", "check_prescription_requirement"):
            tireless.script(_look(tool, "it"), forever(YES[language]))
            text = talk.say(NEEDS[he])
            tireless.forget()
            if one[2 + he] not in text and one[he] not in text:
                wrong.append((one[he], tool, text))
    assert wrong == []


def test_of_two_possible_medicines_the_one_looked_up_is_named_or_the_customer_is_asked(
    tireless: ScriptedModel,
) -> None:
    wrong = []
    for (one, other), language in itertools.product(itertools.permutations(NAMES, 2), ("en", "he")):
        he = language == "he"
        talk = _talked(tireless, language, one[he], other[he])
        tireless.script(_look("get_medication_info", other[he]), forever(YES[language]))
        text = talk.say(NEEDS[he])
        tireless.forget()
        if not any(name in text for name in (other[he], other[2 + he])):
            wrong.append((one[he], other[he], text))
    assert wrong == []


def test_a_refill_of_an_assumed_medicine_leads_to_a_question(tireless: ScriptedModel) -> None:
    talk = Talk(patient="10000101")
    tireless.script(calls(("patient_matter", {"matter": "refill", "medication_name": "it"})))
    assert talk.say("please get me some more of it") == "Do you want to refill a prescription?"
    text = talk.say("yes")
    assert not Confirmation.objects.exists()
    assert "Amoxicillin" in text and "Metformin" in text and "?" in text

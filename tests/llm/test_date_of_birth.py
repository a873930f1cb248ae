"""With a language model and CHAT_IDENTITY=dob: our own plan asks for the date of birth, and no request to the API has it."""

from typing import Any

from scripted_model import ScriptedModel
from scripted_replies import calls, forever, says
from talking import Talk, sent_to

from prescriptions.models import Challenge


def test_the_model_hands_over_and_reads_no_date_of_birth(model: ScriptedModel, settings: Any) -> None:
    settings.CHAT_IDENTITY = "dob"
    matter = {"matter": "prescriptions", "medication_name": None, "for_somebody_else": False}
    # Once it is proven who asks, the model is asked the question again; what it says without a fact is not shown.
    model.script(calls(("patient_matter", matter)), forever(says("All done.")))
    talk = Talk()
    assert "date of birth" in talk.say("Could you look at what the doctor has ordered for me?")
    assert "date of birth" in talk.say("10000101")
    assert "2 tries" in talk.say("12.6.78")
    assert "Metformin" in talk.say("June 11th 1978")
    assert Challenge.objects.get().state == "used"
    sent = sent_to(model)
    model.forget()
    for secret in ("12.6.78", "June 11th", "1978", "10000101"):
        assert secret not in sent

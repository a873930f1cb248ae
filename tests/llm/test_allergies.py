"""Allergies that are mentioned, and those on file, are checked unasked against what comes up, by both models."""

import json
import re
from typing import Any

import pytest
from scripted_model import ScriptedModel, calls, chooses, fails, forever, says
from talking import Talk, once

from agent.llm.offline.reading.allergies import allergies_apart
from agent.llm.offline.reading.recognise import recognise
from agent.turn import allergies
from inventory.models import Ingredient
from prescriptions.models import Allergy, AuditEvent, Patient

pytestmark = pytest.mark.usefixtures("demo_committed")
GROUP = "belongs to that group. Speak to a pharmacist or doctor before it is taken."
WITH_PENICILLIN_ALLERGY = "10000104"
UNKNOWN_STATUS = Patient.AllergyStatus.UNKNOWN
AUGMENTIN = calls(("get_medication_by_name", {"medication_name": "Augmentin"}))
RX = chooses("{prescription|Augmentin}")


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I'm allergic to penicillin", ["penicillin"]),
        ("btw I am severely allergic to Augmentin, do you have Nurofen?", ["Augmentin"]),
        ("my son has a sulfa allergy", ["sulfa medicines (sulfonamides)"]),
        ("penicillin, sulfa and aspirin: I'm allergic to penicillin, aspirin and codeine", ["penicillin", "Aspirin", "Codeine"]),
        ("I'm allergic to penicillin, and sulfa", ["penicillin", "sulfa medicines (sulfonamides)"]),
        ("I'm allergic to peanuts, lactose and penicillin", ["peanuts", "lactose", "penicillin"]),
        ("I can't take penicillin because I'm allergic", ["penicillin"]),
        ("I had an allergic reaction to naproxen as a child", ["naproxen"]),
        ("do you have amoxicillin, I'm allergic to penicillin?", ["penicillin"]),
        ("אני אלרגית לפניצילין", ["penicillin"]),
        ("לא, הבן שלי אלרגי לסולפה ולאספירין", ["sulfa medicines (sulfonamides)", "Aspirin"]),
        ("יש לי אלרגיה לבוטנים, יש לכם אדוויל?", ["בוטנים"]),
        ("לאמא שלי יש רגישות לפניצילין", ["penicillin"]),
        ("I'm not allergic to penicillin", []),
        ("I don't have any allergy to penicillin", []),
        ("I have no allergies", []),
        ("is Advil OK for people with a penicillin allergy?", []),
        ("can it be used if you are allergic to penicillin?", []),
        ("am I allergic to penicillin?", []),
        ("do you have an allergy medicine?", []),
        ("I need Cetirizine for my dust allergy", []),
        ("אני לא אלרגי לפניצילין", []),
        ("אין לי אלרגיה לפניצילין", []),
        ("האם אוגמנטין מתאים לאנשים עם אלרגיה לפניצילין?", []),
        ("יש לכם משהו לאלרגיה לחתולים?", []),
    ],
)  # fmt: skip
def test_allergies_that_are_mentioned_are_recognised(text: str, names: list[str]) -> None:
    assert [one["en"] for one in allergies_apart(recognise(text))[0]] == names


def test_what_else_is_said_beside_an_allergy_is_understood() -> None:
    text = Talk().say("I'm on warfarin and allergic to Advil. How much is Nurofen?")
    assert "₪32.90" in text and "Ibuprofen – warnings" not in text
    assert "cannot be taken together" in text and "You mentioned an allergy to Advil." in text


def test_a_product_of_that_class_is_warned_of_once() -> None:
    talk = Talk()
    assert "Noted for this conversation: an allergy to penicillin" in talk.say("I'm allergic to penicillin")
    warning = f"You mentioned an allergy to penicillin. Augmentin {GROUP}"
    assert warning in talk.say("do I need a prescription for Augmentin?")
    assert "allergy" not in talk.say("how much is Augmentin?")
    assert f"Amoxicillin {GROUP}" in talk.say("do you have amoxicillin?")  # another pair
    assert "allergy" not in talk.say("how much is Nurofen?")


def test_hebrew_is_warned_in_hebrew() -> None:
    talk = Talk("he")
    talk.say("אני אלרגית לפניצילין")
    text = _bare(talk.say("כמה עולה אוגמנטין?"))
    assert "ציינתם אלרגיה לפניצילין. אוגמנטין שייך לקבוצה הזו. יש לשוחח עם רוקח או רופא לפני הנטילה." in text


def test_a_list_warns_once_for_each_product_that_clashes() -> None:
    text = _bare(Talk().say("I'm allergic to NSAIDs. What painkillers do you sell?"))
    clashing = re.findall(r"(\w+) belongs to that group", text)
    assert sorted(clashing) == ["IbuTabs", "Ibuprofen", "Nurofen", "PainAway"]


def test_an_ingredient_and_a_class_that_two_ingredients_share_are_warned_of() -> None:
    talk = Talk()
    talk.say("my daughter is allergic to aspirin")
    assert "Aspirin contains Aspirin. Speak to a pharmacist" in talk.say("how much is aspirin?")
    assert "Nurofen belongs to the same group: NSAIDs" in talk.say("how much is Nurofen?")


def test_a_related_class_is_said_more_mildly() -> None:
    text = Talk().say("I'm allergic to sulfa. How much is hydrochlorothiazide?")
    assert "belongs to a related group: thiazides. A pharmacist can say what that means." in text


def test_an_allergy_that_is_mentioned_later_is_checked_against_what_was_talked_about() -> None:
    talk = Talk()
    talk.say("how much is Augmentin?")
    assert f"Augmentin {GROUP}" in talk.say("oh, and I'm allergic to penicillin")


def test_what_cannot_be_checked_is_said_once_when_a_product_comes_up() -> None:
    talk = Talk()
    assert "cannot be checked" not in talk.say("I'm allergic to peanuts and lactose")
    assert "An allergy to peanuts and lactose cannot be checked here." in talk.say("how much is Nurofen?")
    assert "cannot be checked" not in talk.say("how much is Acamoli?")


def test_a_product_without_classes_on_file_is_said_to_be_unchecked() -> None:
    Ingredient.objects.filter(key="ibuprofen").update(classes=[])
    text = Talk().say("I'm allergic to penicillin. How much is Nurofen?")
    assert "Our data was not enough to check allergies for Nurofen." in text


@pytest.mark.parametrize("message", ["my son has a sulfa allergy", "הבן שלי אלרגי לסולפה"])
def test_a_mention_alone_is_no_request_for_advice(message: str) -> None:
    text = Talk().say(message)
    assert "shall I pass you on" not in text and "להעביר אתכם" not in text


def test_advice_is_refused_and_the_warning_is_said_beside_it() -> None:
    text = Talk().say("I have a penicillin allergy, can I take Augmentin?")
    assert "A pharmacist can help" in text and f"Augmentin {GROUP}" in text


def test_an_emergency_comes_first() -> None:
    text = Talk().say("I ate penicillin and my throat swells, I'm allergic")
    assert "101" in text and "Noted" not in text


def test_a_check_that_fails_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError

    talk = Talk()
    talk.say("I'm allergic to penicillin")
    monkeypatch.setattr(allergies, "allergies_check", broken)
    assert "Allergies could not be checked right now." in talk.say("how much is Augmentin?")


class TestOnFile:
    """Allergies on file count for the verified patient, and nobody else."""

    def test_they_count_once_the_patient_is_identified(self) -> None:
        talk = Talk()
        assert "allergy" not in talk.say("how much is Augmentin?")
        talk.verify(WITH_PENICILLIN_ALLERGY)
        assert f"An allergy to penicillin is on your file. Augmentin {GROUP}" in talk.say(
            "price of Augmentin?"
        )
        assert talk.payload["personal"] is True
        talk.forget()
        assert "allergy" not in talk.say("how much is amoxicillin?")

    def test_they_are_checked_against_the_patients_own_prescriptions(self) -> None:
        text = _bare(Talk("he", WITH_PENICILLIN_ALLERGY).say("מה המרשמים שלי?"))
        assert "בתיק שלכם רשומה אלרגיה לפניצילין. אמוקסיצילין שייך לקבוצה הזו." in text

    def test_a_refill_is_warned_of(self) -> None:
        text = Talk(patient="10000123").say("I want to refill Sulfamethoxazole")
        assert f"is on your file. Sulfamethoxazole + Trimethoprim {GROUP}" in text

    @pytest.mark.parametrize(
        ("language", "asks", "says"),
        [
            ("en", "refill my adalimumab", "About another medicine on your list, Sulfamethoxazole"),
            ("en", "can I refill the adalimumab?", "About another medicine on your list, Sulfamethoxazole"),
            ("he", "לנפק אדלימומב", "לגבי תרופה אחרת ברשימה שלכם, סולפמתוקסזול"),
        ],
    )
    def test_a_warning_of_another_medicine_of_the_list_says_so_once(
        self, language: str, asks: str, says: str
    ) -> None:
        talk = Talk(language, "10000123")
        assert says in _bare(talk.say(asks))
        assert says not in _bare(talk.say(asks))
        asked = {"en": "I want to refill Sulfamethoxazole", "he": "לנפק סולפמתוקסזול"}[language]
        assert says not in _bare(Talk(language, "10000123").say(asked))

    def test_the_reading_is_audited(self) -> None:
        talk = Talk(patient=WITH_PENICILLIN_ALLERGY)
        talk.say("how much is Augmentin?")
        event = AuditEvent.objects.get(what="allergies_read")
        assert (event.who, event.why) == (f"chat:{talk.conversation.pk}", f"run:{talk.run.pk}")
        assert event.patient_id == Patient.objects.get(mrn=WITH_PENICILLIN_ALLERGY).pk

    def test_one_that_was_also_mentioned_is_said_once(self) -> None:
        talk = Talk(patient=WITH_PENICILLIN_ALLERGY)
        assert talk.say("I'm allergic to penicillin. How much is Augmentin?").count(GROUP) == 1

    def test_a_patient_of_unknown_status_adds_nothing(self) -> None:
        patient = Patient.objects.filter(allergy_status=UNKNOWN_STATUS).first()
        assert patient and not Allergy.objects.filter(patient=patient).exists()
        assert "llerg" not in Talk(patient=patient.mrn).say("how much is Augmentin?")

    def test_a_class_that_no_ingredient_has_cannot_be_checked(self) -> None:
        patient = Patient.objects.get(mrn="10000101")
        Allergy.objects.create(patient=patient, drug_class="latex", severity="mild")
        text = Talk(patient="10000101").say("how much is Augmentin?")
        assert "An allergy to latex cannot be checked here." in text


class TestLanguageModel:
    """The warning is there whatever the model does."""

    def test_what_word_rules_recognise_is_warned_of_once(self, tireless: ScriptedModel) -> None:
        talk = Talk()
        tireless.script(says("[thanks_for_telling]"))
        assert talk.say("I'm allergic to penicillin") == "Thank you for telling me."
        tireless.script(AUGMENTIN, RX)
        text = talk.say("does Augmentin need a prescription?")
        assert text.count(f"You mentioned an allergy to penicillin. Augmentin {GROUP}") == 1
        tireless.script(AUGMENTIN, RX)
        assert "allergy" not in talk.say("so Augmentin needs one?")

    def test_what_the_model_notes_is_checked_in_the_same_turn(self, model: ScriptedModel) -> None:
        both = calls(
            ("note_medicine", {"name": "penicillin", "is_allergy": True}),
            ("get_medication_by_name", {"medication_name": "Augmentin"}),
        )
        talk = once(
            model, "penicillin nearly put me in my grave. Augmentin: prescription?", both, forever(RX)
        )
        assert talk.payload["text"].count(f"Augmentin {GROUP}") == 1

    def test_what_the_model_notes_is_remembered(self, tireless: ScriptedModel) -> None:
        talk = Talk("he")
        tireless.script(
            calls(("note_medicine", {"name": "פניצילין", "is_allergy": True})), says("[thank_you]")
        )
        talk.say("פניצילין ואני לא חברים")
        tireless.script(AUGMENTIN, chooses("{prescription|אוגמנטין}"))
        assert "ציינתם אלרגיה לפניצילין. אוגמנטין שייך לקבוצה הזו." in _bare(talk.say("אוגמנטין במרשם?"))

    def test_a_note_beside_a_refill_is_taken_before_it(self, tireless: ScriptedModel) -> None:
        talk = Talk(patient="10000101")
        noted = ("note_medicine", {"name": "penicillin", "is_allergy": True})
        tireless.script(
            calls(noted, ("patient_matter", {"matter": "refill", "medication_name": "Amoxicillin"}))
        )
        text = talk.say("penicillin makes me swell up, it did years ago. my amoxicillin again please")
        assert f"Amoxicillin {GROUP}" in text and "prescription_verify" in talk.tools

    def test_a_note_survives_a_model_that_fails(self, tireless: ScriptedModel) -> None:
        talk = Talk()
        tireless.script(
            calls(("note_medicine", {"name": "penicillin", "is_allergy": True})), forever(fails(400))
        )
        text = talk.say("penicillin and me don't mix. Does Augmentin need a prescription?")
        assert talk.run.fallback and f"Augmentin {GROUP}" in text

    def test_words_that_the_customer_did_not_write_are_not_shown(self, tireless: ScriptedModel) -> None:
        talk = Talk()
        tireless.script(
            calls(("note_medicine", {"name": "zorbaflex which is safe", "is_allergy": True})),
            says("[thank_you]"),
        )
        talk.say("cashews and I are no friends at all")
        tireless.script(AUGMENTIN, RX)
        text = talk.say("does Augmentin need a prescription?")
        assert "An allergy to another substance cannot be checked here." in text and "safe" not in text

    def test_an_allergen_that_is_none_is_refused(self, model: ScriptedModel) -> None:
        once(
            model,
            "hm",
            calls(("note_medicine", {"name": "it", "is_allergy": True})),
            forever(says("[thank_you]")),
        )
        assert json.loads(model.last.messages[-1]["content"])["code"] == "unknown_allergen"

    def test_an_allergy_on_file_is_warned_of_only_after_identification(self, tireless: ScriptedModel) -> None:
        talk = Talk()
        tireless.script(AUGMENTIN, RX)
        assert "allergy" not in talk.say("does Augmentin need a prescription?")
        talk.verify(WITH_PENICILLIN_ALLERGY)
        tireless.script(AUGMENTIN, RX)
        text = talk.say("does Augmentin need a prescription?")
        assert f"An allergy to penicillin is on your file. Augmentin {GROUP}" in text

    def test_a_check_that_fails_is_not_silent(
        self, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> Any:
            raise RuntimeError

        monkeypatch.setattr(allergies, "allergies_check", broken)
        talk = once(model, "I'm allergic to penicillin. Augmentin: on prescription?", AUGMENTIN, forever(RX))
        assert "Allergies could not be checked right now." in talk.payload["text"]

"""Warnings, disclosures, checks and redirects are there whatever a language model does (T15, T17)."""

import itertools
import re
from typing import Any

from scripted_model import ScriptedModel, calls, fails, forever, says
from talking import Talk, once

from agent.answers.sentences import SENTENCES
from agent.llm import chosen
from agent.models import Run
from inventory.models import Ingredient, Interaction, Medication

NAMES = {  # id → (generic and brand, English and Hebrew)
    1: (("Ibuprofen", "איבופרופן"), ("Advil", "אדוויל")),
    14: (("Atorvastatin", "אטורבסטטין"), ("Lipitor", "ליפיטור")),
    15: (("Warfarin", "וורפרין"), ("Coumadin", "קומדין")),
    16: (("Simvastatin", "סימבסטטין"), ("Zocor", "זוקור")),
    17: (("Clarithromycin", "קלריתרומיצין"), ("Klacid", "קלאסיד")),
    18: (("Nitroglycerin", "ניטרוגליצרין"), ("Nitrolingual", "ניטרולינגואל")),
    19: (("Sildenafil", "סילדנפיל"), ("Viagra", "ויאגרה")),
    20: (("Aspirin", "אספירין"), ("Micropirin", "מיקרופירין")),
    5: (("Cetirizine", "צטיריזין"), ("Zyrtec", "זירטק")),
}
PAIRS = [(1, 15), (16, 17), (18, 19), (1, 20), (14, 17), (15, 20), (5, 16)]
ASKS = ("Can I take {0} together with {1}?", "אפשר לקחת {0} ביחד עם {1}?")
CODES = ("en", "he")
NEUTRAL = {"en": "Thanks for asking.", "he": "תודה על השאלה."}


def _bare(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", text)


def _level(one: int, other: int) -> str:
    """What is on file about two products, read from the tables."""
    a, b = (
        set(Ingredient.objects.filter(medications=pk).values_list("pk", flat=True)) for pk in (one, other)
    )
    found = [
        row.level for row in Interaction.objects.all()
        if (row.ingredient_a_id in a and row.ingredient_b_id in b) or (row.ingredient_a_id in b and row.ingredient_b_id in a)
    ]  # fmt: skip
    return max(found, key=("caution", "avoid").index, default="none")


def _sentences(level: str, one: int, other: int, language: int) -> list[str]:
    """Our sentence for the level, in either order of the two."""
    names = [NAMES[pk][0][language] for pk in (one, other)]
    if level == "none":
        joint = (" and ", " ו")[language]
        return [
            SENTENCES["interaction_none"][language].format(names=joint.join(p))
            for p in itertools.permutations(names)
        ]
    return [SENTENCES[f"pair_{level}"][language].format(a=a, b=b) for a, b in itertools.permutations(names)]


def _models(ids: tuple[int, int], language: str, sentence: str) -> dict[str, list[Any]]:
    """What a model may do about a question for an interaction."""
    told = [str(pk) for pk in ids]
    look = calls(("get_medication_by_name", {"medication_name": NAMES[ids[0]][0][0]}))

    def check(med_ids: Any, lang: str = language) -> Any:
        return calls(("interaction_check", {"med_ids": med_ids, "language": lang}))

    end = forever(says(NEUTRAL[language]))
    denies = {
        "en": f"An old notice read: {sentence} That is history.",
        "he": f"בעבר נכתב: {sentence} זה היסטוריה.",
    }
    plays = {"en": "Many people have both at home.", "he": "הרבה אנשים מחזיקים בבית את שתיהן."}
    return {
        "leaves it out": [look, end],
        "calls nothing": [end],
        "calls it": [check(told), end],
        "calls it twice": [check(told), check(told[::-1]), end],
        "for one only": [check(told[:1]), end],
        "with an unknown one": [check([*told, "99999"]), end],
        "in no language": [check(told, "fr"), end],
        "with a number": [check(5), end],
        "with nothing": [calls(("interaction_check", {})), end],
        "offers a person": [calls(("offer_person", {}))],
        "identifies": [calls(("patient_matter", {"matter": "refill"}))],
        "uses up its calls": [calls(*[("store_info", {"query": None})] * 8), end],
        "quotes it to deny it": [look, forever(says(denies[language]))],
        "plays it down": [look, forever(says(plays[language]))],
        "repeats it": [check(told), forever(says(sentence))],
    }  # fmt: skip


def test_the_stored_interaction_sentence_appears_exactly_once(tireless: ScriptedModel) -> None:
    """Pairs × languages × orders × brand or generic; each with several of the things that a model may do."""
    kinds = itertools.cycle(_models((1, 15), "en", ""))
    wrong = []
    for pair, language, brand, turned in itertools.product(PAIRS, (0, 1), (0, 1), (False, True)):
        ids = pair[::-1] if turned else pair
        level = _level(*ids)
        wanted = _sentences(level, *ids, language)
        kind = next(kinds)
        text = ASKS[language].format(*(NAMES[pk][brand][language] for pk in ids))
        replies = _models(ids, CODES[language], wanted[0])[kind]
        talk = once(tireless, text, *replies, language=CODES[language])
        said = _bare(talk.payload["text"])
        if sum(said.count(sentence) for sentence in wanted) != 1 or talk.run.state != Run.State.DONE:
            wrong.append((kind, text, level, said))
        if talk.shown[-1] != talk.payload["text"]:
            wrong.append((kind, "shown otherwise than kept"))
    assert wrong == []


def test_the_worst_interaction_is_shown_whatever_the_model_says(tireless: ScriptedModel) -> None:
    sentence = _sentences("avoid", 1, 15, 0)
    for kind, replies in _models((1, 15), "en", sentence[0]).items():
        talk = once(tireless, ASKS[0].format("Advil", "Coumadin"), *replies)
        assert sum(_bare(talk.payload["text"]).count(one) for one in sentence) == 1, kind


def test_three_to_five_medicines_are_checked_in_all_pairs(tireless: ScriptedModel) -> None:
    for ids, language in itertools.product([(1, 15, 20), (15, 16, 17, 20), (1, 15, 16, 17, 20)], (0, 1)):
        names = [NAMES[pk][0][language] for pk in ids]
        text = ("Can I take {} together?", "אפשר לקחת {} ביחד?")[language].format(", ".join(names))
        first = str(ids[0])
        some = calls(("interaction_check", {"med_ids": [first, str(ids[1])], "language": CODES[language]}))
        talk = once(tireless, text, some, forever(says(NEUTRAL[CODES[language]])), language=CODES[language])
        said = _bare(talk.payload["text"])
        for one, other in itertools.combinations(ids, 2):
            if (level := _level(one, other)) != "none":
                assert sum(map(said.count, _sentences(level, one, other, language))) == 1, (text, said)


def test_a_pair_that_was_never_assessed_is_not_assessed_by_the_model(tireless: ScriptedModel) -> None:
    Ingredient.objects.filter(key="cetirizine").update(assessed=False)
    for language, replies in itertools.product(
        (0, 1), ("leaves it out", "calls it", "plays it down", "offers a person")
    ):
        text = ASKS[language].format(NAMES[5][0][language], NAMES[16][0][language])
        script = _models((5, 16), CODES[language], "")[replies]
        talk = once(tireless, text, *script, language=CODES[language])
        beginning = ("I can't assess interactions for", "איני יכול לבדוק אינטראקציות עבור")[language]
        assert talk.payload["text"].count(beginning) == 1, (replies, talk.payload["text"])


def test_an_unknown_medicine_is_never_called_harmless(tireless: ScriptedModel) -> None:
    for said in ("Happy to check!", "Yes, they go well together.", "Nothing is known against it."):
        talk = once(tireless, "Can I take Advil together with Zorbaflexin?", forever(says(said)))
        assert "Zorbaflexin" in talk.payload["text"] and "can't assess" in talk.payload["text"]
        assert "together." not in talk.payload["text"] and "against" not in talk.payload["text"]


def test_equivalents_have_their_disclosure_whatever_the_model_says(tireless: ScriptedModel) -> None:
    for language, name in (("en", "Nurofen"), ("he", "נורופן")):
        query = {"query": "Nurofen", "language": language}
        for said in (NEUTRAL[language], "IbuTabs." if language == "en" else "איבוטאבס."):
            asked = ("what else has the same as {}?", "מה עוד יש זהה ל{}?")[language == "he"].format(name)
            talk = once(
                tireless, asked, calls(("inventory_find_equivalent", _equivalent(query))), forever(says(said)),
                language=language,
            )  # fmt: skip
            assert talk.run.state == Run.State.DONE
            disclosure = SENTENCES["disclosure"][language == "he"]
            assert talk.payload["text"].count(disclosure) == 1, talk.payload["text"]


def _equivalent(query: dict[str, str]) -> dict[str, Any]:
    return {"med_id": str(Medication.objects.get(name_en=query["query"]).pk), "language": query["language"]}


def test_a_refill_is_always_verified_first(tireless: ScriptedModel) -> None:
    for patient, name in (("10000101", "Metformin"), ("10000101", "Amoxicillin")):
        talk = once(
            tireless,
            "please get me some more of it",
            calls(("patient_matter", {"matter": "refill", "medication_name": name})),
            patient=patient,
        )
        talk.say("yes")
        assert "prescription_verify" in talk.tools
        asked = talk.conversation.confirmations.count()
        assert asked == ("Confirm below" in talk.payload["text"])
    talk = once(
        tireless,
        "please get me some more of it",
        calls(("patient_matter", {"matter": "refill", "medication_name": "Metformin"})),
    )
    talk.say("yes")
    assert not talk.tools and not talk.conversation.confirmations.exists()


URGENT = {
    "my chest is killing me": "en", "she is not breathing": "en", "I want to kill myself": "en",
    "my daughter swallowed a whole pack of Acamol": "en", "היא לא נושמת": "he", "אני רוצה למות": "he",
}  # fmt: skip


def test_an_emergency_is_answered_before_any_model(tireless: ScriptedModel, settings: Any) -> None:
    """The model's server gets no request, and whether it runs makes no difference."""
    for text, language in URGENT.items():
        talk = once(tireless, text, language=language)
        assert not tireless.requests and talk.payload["phones"], text
        assert not talk.tools and talk.run.tokens_in == 0
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    assert Talk().say("my chest is killing me") == once(tireless, "my chest is killing me").payload["text"]


def test_an_emergency_is_answered_during_a_conversation_and_without_the_model(
    tireless: ScriptedModel,
) -> None:
    chosen.breaker.cache_clear()
    tireless.script(forever(fails(503)))
    talk = Talk()
    talk.say("do you have Advil?")
    before = len(tireless.requests)
    talk.say("I can't breathe")
    assert len(tireless.requests) == before and talk.payload["phones"]

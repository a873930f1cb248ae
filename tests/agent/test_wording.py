"""The table of sentences: both languages, the same placeholders, every key used, and readable mixed text."""

import re
from pathlib import Path
from string import Formatter

import pytest

from agent.answers import render
from agent.answers.sentences import LABELS, PLURALS, SENTENCES

HEBREW = re.compile(r"[\u05d0-\u05ea]")
ROOT = Path(__file__).resolve().parents[2] / "agent"


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("key", SENTENCES)
def test_a_sentence_has_both_languages_and_the_same_placeholders(key: str) -> None:
    english, hebrew = SENTENCES[key]
    assert fields(english) == fields(hebrew)
    bare = re.sub(r"{\w+}", "", hebrew)
    assert HEBREW.search(bare) or not re.search("[A-Za-z]", bare)
    assert not HEBREW.search(english)


@pytest.mark.parametrize("key", PLURALS)
def test_a_plural_has_three_forms_in_both_languages(key: str) -> None:
    for forms in PLURALS[key]:
        assert len(forms) == 3
        assert fields(forms[2]) >= {"n"}


def test_labels_have_both_languages() -> None:
    for values in LABELS.values():
        for english, hebrew in values.values():
            assert HEBREW.search(hebrew) and not HEBREW.search(english)


def test_every_sentence_is_used_somewhere() -> None:
    code = "\n".join(path.read_text() for path in ROOT.rglob("*.py") if path.name != "sentences.py")
    made = (
        "emergency_",
        "error_",
        "doing",
        "leaflet_",
        "pair_",
        "allergy_",
        "unknown_",
        "refuse",
        "card_",
        "chip_",
        "tag_",
        "refill_",
        "ended_",
    )
    said = set(re.findall(r"""["'](\w+)["']""", code))
    unused = [
        key
        for key in [*SENTENCES, *PLURALS]
        if not {key, key.removesuffix("_low"), key.removesuffix("_no_phone")} & said
        and not key.startswith(made)
    ]
    assert unused == []


def test_names_and_ranges_are_isolated_in_hebrew_text() -> None:
    assert "\u2068Advil 200 mg\u2069" in render.say("out_of_stock", "he", name="Advil 200 mg")
    assert "\u206603-555-0104\u2069" in render.apart("03-555-0104", "he")
    assert render.apart("אקמול", "he") == "אקמול"
    assert render.apart("Advil", "en") == "Advil"
    assert render.apart("אקמול", "en") == "\u2068אקמול\u2069"


def test_lists_and_dates_are_worded_in_both_languages() -> None:
    assert render.listed(["A", "B", "C"], "en") == "A, B and C"
    assert render.listed(["אקמול", "נורופן"], "he") == "אקמול ונורופן"
    assert render.dated("2026-01-15", "en") == "January 15, 2026"
    assert render.dated("2026-01-15", "he") == "15 בינואר 2026"

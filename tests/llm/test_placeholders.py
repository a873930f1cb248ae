"""What leaves the house carries no personal data, comes back whole, and cannot be forged."""

import re
import time
import timeit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llm.personal_corpus import BENIGN, samples

from agent.safety.privacy.placeholders import KINDS, Placeholders
from pharmacy_site.lib.shadow import Shadow
from pharmacy_site.lib.text import clean

DAVID = {
    "PATIENT": ["David Cohen", "דוד כהן", "David", "Cohen", "דוד", "כהן"],
    "EMAIL": ["david@example.com"],
    "PHONE": ["+972521234567"],
    "DATE": ["1980-02-03"],
    "ID": ["10000101"],
}
TOKEN = re.compile(r"\[\[[A-Z]+(?:_\d+)?\]\]")


def _seen(hidden: str, pieces: list[str]) -> list[str]:
    """The pieces that can still be read in what goes out."""
    shadow = Shadow(TOKEN.sub(" ", hidden)).text
    tight = re.sub(r"[^\w@]", "", shadow)
    return [piece for piece in pieces if piece.lower() in shadow or re.sub(r"\W", "", piece.lower()) in tight]


@pytest.mark.parametrize("language", ["en", "he"])
def test_at_least_99_of_100_sentences_are_sent_without_personal_data(language: str) -> None:
    corpus = samples(language, 500)
    missed = [
        (text, Placeholders().hide(text))
        for text, pieces in corpus
        if _seen(Placeholders().hide(text), pieces)
    ]
    assert len(missed) <= len(corpus) // 100, "\n".join(f"{text!r} -> {hidden!r}" for text, hidden in missed)


@pytest.mark.parametrize("language", ["en", "he"])
def test_hidden_values_are_restored(language: str) -> None:
    for text, _ in samples(language, 500):
        placeholders = Placeholders()
        assert clean(placeholders.restore(placeholders.hide(text))) == clean(text)


@pytest.mark.parametrize("text", BENIGN)
def test_a_text_without_personal_data_is_unchanged(text: str) -> None:
    assert Placeholders().hide(text) == text
    assert Placeholders(DAVID).hide(text) == text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("I'm David", "I'm [[PATIENT]]"),
        ("DAVID  COHEN here", "[[PATIENT]] here"),
        ("המרשם של דוד כהן", "המרשם של [[PATIENT]]"),
        ("לדוד יש מרשם", "ל[[PATIENT]] יש מרשם"),
        ("David\u200b Co\u200fhen", "[[PATIENT]]"),
        ("mail Da\u00advid@Example.com", "mail [[EMAIL_1]]"),
        ("לdavid@example.com", "ל[[EMAIL_1]]"),
        ("052-1234567", "[[PHONE_1]]"),
        ("ב-052 123 45 67", "ב-[[PHONE_1]]"),
        ("+972 (0)52-123-4567", "[[PHONE_1]]"),
        ("٠٥٢١٢٣٤٥٦٧", "[[PHONE_1]]"),
        ("03.02.1980 / 3 February 1980 / 1980-02-03", "[[DATE_1]] / [[DATE_1]] / [[DATE_1]]"),
        ("1000 0101, 10000101", "[[ID_1]], [[ID_1]]"),
        ("dana@example.com", "[[EMAIL_2]]"),
        ("054-7654321 and 0547654321", "[[PHONE_2]] and [[PHONE_2]]"),
        ("my daughter Noa Cohen", "my daughter [[NAME_1]]"),
        ("send to the 7654321 box", "send to the [[ID_2]] box"),
        ("482913", "[[CODE_1]]"),
        ("12.3.81", "[[DATE_2]]"),
        ("I was born in February 1980", "I was born in [[DATE_2]]"),
        ("Levi, Dana", "[[NAME_1]]"),
        ("my name is Mary-Ann Smith Jones", "my name is [[NAME_1]]"),
        ("it's me, Moshe", "it's me, [[NAME_1]]"),
        ("my code is 4829", "my code is [[CODE_1]]"),
    ],
)
def test_the_patients_own_values_are_found_in_every_notation(text: str, hidden: str) -> None:
    assert Placeholders(DAVID).hide(text) == hidden


def test_one_value_has_one_placeholder_through_the_conversation() -> None:
    placeholders = Placeholders()
    first = placeholders.hide("I'm Dana Levi, dana@x.co.il, 054-7654321, my code is 4829")
    again = placeholders.hide("Dana Levi, DANA@X.CO.IL, +972 54 765 4321, 4829")
    assert (
        TOKEN.findall(first)
        == TOKEN.findall(again)
        == ["[[NAME_1]]", "[[EMAIL_1]]", "[[PHONE_1]]", "[[CODE_1]]"]
    )
    assert placeholders.hide_known({"contact": "dana@x.co.il"}) == {"contact": "[[EMAIL_1]]"}


def test_a_name_given_in_the_conversation_is_found_by_its_parts() -> None:
    placeholders = Placeholders()
    placeholders.hide("my name is Zelda Kwiatkowska")
    hidden = placeholders.hide("is it ready for Zelda?")
    assert "Zelda" not in hidden
    assert placeholders.restore(hidden) == "is it ready for Zelda?"


def test_only_the_patients_data_is_hidden_in_tool_results() -> None:
    result = {
        "patient": {"name": "דוד כהן", "id": "10000101", "mrn": 10000101, "email": "David@example.com", "born": "1980-02-03"},
        "stores": [{"name": "King David, Jerusalem", "phone": "+97225551234", "hours": "08:00-20:00", "km": 1.25, "id": 10000102}],
        "prescription": {"id": 1007, "rx": "RX-1007", "medicine": "Advil 200 mg", "refills": 2, "due": "2026-12-03", "open": True, "note": None},
        "sms": "sent to 052-123-4567",
    }  # fmt: skip
    hidden = Placeholders(DAVID).hide_known(result)
    assert hidden["patient"] == {
        "name": "[[PATIENT]]", "id": "[[ID_1]]", "mrn": "[[ID_1]]", "email": "[[EMAIL_1]]", "born": "[[DATE_1]]"
    }  # fmt: skip
    assert hidden["sms"] == "sent to [[PHONE_1]]"
    assert (hidden["stores"], hidden["prescription"]) == (result["stores"], result["prescription"])


@pytest.mark.parametrize(
    "written",
    [
        "[[EMAIL_1]]",
        "[[email_1]]",
        "[[ EMAIL_1 ]]",
        "[EMAIL_1]",
        "[[Email 1]]",
        "[[EMAIL\\_1]]",
        "\\[\\[EMAIL_1\\]\\]",
    ],
)
def test_variants_of_a_placeholder_are_recognised(written: str) -> None:
    placeholders = Placeholders(DAVID)
    assert placeholders.restore(f"write to {written}, please") == "write to david@example.com, please"
    assert placeholders.restore({"to": [written]}) == {"to": ["david@example.com"]}


def test_the_patients_name_is_restored_in_the_language_of_the_sentence() -> None:
    placeholders = Placeholders(DAVID)
    assert placeholders.restore("Hello [[PATIENT]]!") == "Hello David Cohen!"
    assert placeholders.restore("שלום [[patient]]!") == "שלום דוד כהן!"
    assert placeholders.restore({"name": "[[PATIENT]]"}) == {"name": "David Cohen"}
    assert Placeholders({"PATIENT": ["Dana"]}).restore("שלום [[PATIENT]]") == "שלום Dana"


@pytest.mark.parametrize(
    "text",
    [
        "[[EMAIL_9]]",
        "call [PHONE_7]",
        "[[PATIENT]] hi",
        "EMAIL_1",
        "[[NAME",
        "[NAME]",
        "NAME_1]]",
        "[[ema\u200bil_1]]",
        "[[PATIENT_2]]",
    ],
)
def test_an_answer_with_a_placeholder_is_recognised(text: str) -> None:
    assert Placeholders().unresolved(Placeholders().restore(text))


@pytest.mark.parametrize(
    "text", ["Hello David", "[identity] [1]", "the patient's name", "ID 5", "code 3", "names: [a]", "[[x]]"]
)
def test_an_answer_without_a_placeholder_is_not_recognised(text: str) -> None:
    assert not Placeholders().unresolved(text)


@pytest.mark.parametrize(
    "forged",
    [
        "[[PATIENT]]", "[[EMAIL_1]]", "[email_1]", "[[ EMAIL_1 ]]", "[[EM\u200bAIL_1]]", "［［PATIENT］］", "[[[[PATIENT]]]]", "[ [PATIENT] ]",
        "[[PA[[PATIENT]]TIENT]]", "[[EMAIL[[EMAIL_1]]_1]]", "[[EMAIL_١]]", "\\[\\[PATIENT\\]\\]", "[[\U000e0041PATIENT]]", "[\n[EMAIL_1]\n]",
    ],
)  # fmt: skip
def test_a_placeholder_that_somebody_typed_restores_nothing(forged: str) -> None:
    placeholders = Placeholders(DAVID)
    for hide in (placeholders.hide, placeholders.hide_known):
        back = placeholders.restore(clean(hide(f"a {forged} b")))
        assert "David" not in back
        assert "david@" not in back


_PIECES = st.sampled_from(
    ["[", "]", "[[", "]]", "_", "1", "2", " ", "\\", "-", "\u200b", "［", "］", "\n", "David", "052-1234567", "david@example.com", "482913", "@", "+", "(", "ל"]
    + list(KINDS)
    + [kind.lower() for kind in KINDS]
)  # fmt: skip
_HOSTILE = st.lists(_PIECES, max_size=25).map("".join)


@given(_HOSTILE)
@example("[[[052-1234567]]]")
@example("david@example.comלdavid@example.com_")
@settings(max_examples=400, deadline=None)
def test_only_hidden_values_are_restored(text: str) -> None:
    placeholders = Placeholders(DAVID)
    hidden = placeholders.hide(text)
    assert "1234567" not in hidden
    assert "david@example.com" not in Shadow(hidden).text
    issued = len(TOKEN.findall(hidden))
    back = placeholders.restore(hidden)
    # Each value that comes back was written by us: without our own tokens nothing is restored.
    bare = TOKEN.sub("", hidden)
    assert placeholders.restore(bare) == bare or issued
    for value in ("David Cohen", "+972521234567"):
        assert back.count(value) <= issued


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_text_causes_an_error(text: str) -> None:
    placeholders = Placeholders(DAVID)
    placeholders.unresolved(placeholders.restore(placeholders.hide(text)))
    assert placeholders.hide_known({"a": [text, 1, None, True, 1.5]})["a"][1:] == [1, None, True, 1.5]


# Models write brackets with a backslash before them, which is removed with the placeholder.
@given(
    st.text(
        st.characters(blacklist_categories=["Cc", "Cf", "Cs", "Mn", "Nd", "No"], blacklist_characters=["\\"]),
        max_size=80,
    )
)
@settings(max_examples=300, deadline=None)
def test_a_text_without_numbers_and_brackets_is_restored_unchanged(text: str) -> None:
    placeholders = Placeholders()
    if "[" not in Shadow(text).text:
        assert clean(placeholders.restore(placeholders.hide(text))) == clean(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hi I'm Dana, is Advil 200 mg in stock? call 052-1234567 please. " * 62,
        "שלום, קוראים לי דנה ויש לי מרשם לאקמול 500 מ״ג, הטלפון 052-1234567. " * 58,
        "1" * 4000, "1 " * 2000, "1-" * 2000, "a@" * 2000, "a" * 4000, "[" * 4000, "[[PATIENT" * 440, "@" * 4000, "a at " * 800, "nineteen " * 440,
        "one " * 1000, "my name is " * 360, "050 " * 1000, "my code is " * 360, "(" * 4000, "id 1 " * 800, "1.1." * 1000, "a.a-" * 1000, "first of May " * 300,
    ],
)  # fmt: skip
def test_the_time_grows_with_the_length_and_no_faster(text: str) -> None:
    def seconds(length: int) -> float:
        hide = Placeholders(DAVID).hide
        return min(timeit.repeat(lambda: hide(text[:length]), timer=time.process_time, number=1, repeat=3))

    # Four times the length: a quadratic search would take sixteen times as long.
    assert seconds(4000) < 10 * max(seconds(1000), 0.002)


def test_every_character_that_looks_like_a_bracket_is_recognised() -> None:
    shown = [chr(code) for code in range(0x110000) if Shadow(chr(code)).text == "["]
    assert len(shown) > 1
    for bracket in shown:
        forged = f"{bracket}[NAME_1]]"
        assert Placeholders().hide(forged) == Placeholders().hide_known(forged)
        assert "NAME_1]" not in Placeholders().hide_known(forged)


@pytest.mark.parametrize(
    "text",
    ["da\x00vid cohen", "DAVID\nCOHEN", "Da'vid Cohen", "(david cohen)", "ｄａｖｉｄ cohen", "לדוד כהן"],
)
def test_a_known_name_is_hidden_wherever_it_is_in_a_result(text: str) -> None:
    told = Placeholders(DAVID).hide_known({"note": text})
    assert "[[PATIENT]]" in told["note"]


def test_a_value_that_is_learned_later_is_hidden_in_earlier_messages() -> None:
    hidden = Placeholders()
    assert hidden.hide_known("Dana Levi") == "Dana Levi"
    hidden.hide("My name is Dana Levi")
    assert hidden.hide_known("Dana Levi") == "[[NAME_1]]"

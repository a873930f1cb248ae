"""The notation of the lexicons: counts, amounts, gaps over sentences, and phrases that explain a match."""

import pytest

from agent.safety.lexicon import IT, Lexicon


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I took 6 pills", True),
        ("I took eleven pills", True),
        ("I took a dozen pills", True),
        ("לקחתי שבעה עשר כדורים", True),
        ("I took five pills", False),
        ("I took 600 mg", False),
        ("I took it 20 minutes ago", False),
        ("לקחתי בעשר בבוקר", False),
        ("I took 8 days of pills", False),
    ],
)
def test_a_count_is_a_number_of_pieces_in_digits_or_words(text: str, found: bool) -> None:
    lexicon = Lexicon({"many": ["#6+"]})
    assert lexicon.read_whole(text).has("many") is found


@pytest.mark.parametrize(
    ("text", "found"), [("5000 mg", True), ("5 grams", True), ("400 mg", False), ("5000 pills", False)]
)
def test_an_amount_is_compared_in_milligrams(text: str, found: bool) -> None:
    assert Lexicon({"much": ["#4000+mg"]}).read_whole(text).has("much") is found


def test_the_end_of_a_sentence_counts_as_a_word_of_a_gap() -> None:
    lexicon = Lexicon({"near": ["one .. two"], "next": ["one two"]})
    assert lexicon.read_whole("one. a. two").has("near")
    assert not lexicon.read_whole("one. a b. two").has("near")
    assert not lexicon.read_whole("one. two").has("next")


def test_a_phrase_explains_only_the_words_that_it_covers() -> None:
    lexicon = Lexicon({"pain": ["pain"], "denied": [f"no <{IT}>"], "asked": [f"<{IT}> ... effect"]})
    message = lexicon.read_whole("no pain here, but pain there")
    first, second = sorted(message.spans("pain"))
    assert message.explains("denied", first) and not message.explains("denied", second)


def test_no_phrase_explains_over_the_end_of_a_sentence() -> None:
    lexicon = Lexicon({"pain": ["pain"], "asked": [f"<{IT}> ... effect"]})
    for text, explained in (("is pain an effect", True), ("I have pain. Is it an effect", False)):
        message = lexicon.read_whole(text)
        (hit,) = message.spans("pain")
        assert message.explains("asked", hit) is explained


def test_a_phrase_may_not_name_words_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="no concept 'nowhere'"):
        Lexicon({"a": ["<nowhere>"]})

"""Load the words that the reading knows: cues, forms, and common words that are no names."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from agent.safety import lexicon
from agent.safety.lexicon import Lexicon
from pharmacy_site.lib.text import fold, words
from pharmacy_site.lib.yaml_files import yaml_read

_INFLECTED: Final = 4  # letters
_ORDINARY: Final = 3.5
"""From this Zipf frequency on (once in 300,000 words) a word is ordinary; names of medicines are rarer: "aspirin" has 3.3."""


@lru_cache(maxsize=1)
def cue_lexicon() -> Lexicon:
    """Return the cues of `cues.yaml`, with one typo forgiven in longer words; a common word is no typo of a cue."""
    return Lexicon({**lexicon_yaml("cues"), "common": sorted(common_words())}, typo_from=5)


@lru_cache(maxsize=1)
def form_lexicon() -> Lexicon:
    """Return the words for forms."""
    return Lexicon(lexicon_yaml("forms"))


def form_names() -> list[str]:
    """Return the forms that have words."""
    return list(lexicon_yaml("forms"))


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Return the words that are no names, folded."""
    return frozenset(word for text in lexicon_yaml("words").values() for word in words(text))


@lru_cache(maxsize=1)
def cue_words() -> frozenset[str]:
    """Return every single word of the cues; some of them may be part of a name all the same."""
    return frozenset(
        word for phrases in lexicon_yaml("cues").values() for phrase in phrases for word in words(str(phrase))
    )


@lru_cache(maxsize=2)
def explained_words(*, in_sentence: bool) -> frozenset[str]:
    """Return the words that need not be a name; within a sentence these are the ordinary ones, too."""
    known = common_words() | cue_words()
    return known | ordinary_words() if in_sentence else known


@lru_cache(maxsize=1)
def ordinary_words() -> frozenset[str]:
    """Return the frequent words of English and Hebrew, folded, English ones also with an "s".

    Within a sentence they are not looked up as names of medicines.
    """
    from wordfreq import get_frequency_dict

    least = 10 ** (_ORDINARY - 9)
    found = {
        fold(word)
        for language in ("en", "he")
        for word, frequency in get_frequency_dict(language, "small").items()
        if frequency >= least
    }
    return frozenset(found | {f"{word}s" for word in found if word.isascii() and len(word) >= _INFLECTED})


@lru_cache(maxsize=8)
def lexicon_yaml(name: str) -> dict[str, Any]:
    """Return a lexicon's file, its groups merged."""
    path = Path(lexicon.__file__).with_name(f"{name}.yaml")
    loaded = yaml_read(path)
    flat: dict[str, Any] = {}
    for key, value in loaded.items():
        flat |= value if isinstance(value, dict) else {str(key): value}
    return flat

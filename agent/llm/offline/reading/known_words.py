"""The words that the reading knows: cues, forms, and common words that are no names."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from agent.safety import lexicon
from agent.safety.lexicon import Lexicon
from pharmacy_site.lib.text import words
from pharmacy_site.lib.yaml_files import yaml_read


@lru_cache(maxsize=1)
def cue_lexicon() -> Lexicon:
    """The cues of `cues.yaml`, with one typo forgiven in longer words; a common word is no typo of a cue."""
    return Lexicon({**lexicon_yaml("cues"), "common": sorted(common_words())}, typo_from=5)


@lru_cache(maxsize=1)
def form_lexicon() -> Lexicon:
    """The words for forms."""
    return Lexicon(lexicon_yaml("forms"))


def form_names() -> list[str]:
    """The forms that have words."""
    return list(lexicon_yaml("forms"))


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Words that are no names, folded."""
    return frozenset(word for text in lexicon_yaml("words").values() for word in words(text))


@lru_cache(maxsize=1)
def cue_words() -> frozenset[str]:
    """Every single word of the cues: known words, though some of them may be part of a name."""
    return frozenset(
        word for phrases in lexicon_yaml("cues").values() for phrase in phrases for word in words(str(phrase))
    )


@lru_cache(maxsize=1)
def explained_words() -> frozenset[str]:
    return common_words() | cue_words()


@lru_cache(maxsize=8)
def lexicon_yaml(name: str) -> dict[str, Any]:
    path = Path(lexicon.__file__).with_name(f"{name}.yaml")
    loaded = yaml_read(path)
    flat: dict[str, Any] = {}
    for key, value in loaded.items():
        flat |= value if isinstance(value, dict) else {str(key): value}
    return flat

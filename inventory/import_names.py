"""Convert a register's names in capitals to ordinary spelling. Pure: no Django."""

import re
from typing import Final

from inventory import import_tables as tables

_TITLE_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_VOWELS: Final = frozenset("AEIOUYÀÂÄÉÈÊËÎÏÔÖÙÛÜ")


def display_name(brand: str) -> str:
    """Return a brand in capitals as people write it: "TYLENOL EXTRA STRENGTH" is "Tylenol Extra Strength"."""
    if brand != brand.upper():
        # Somebody chose its capitals.
        return brand
    return " ".join(_display_word(word, first=index == 0) for index, word in enumerate(brand.split()))


def _display_word(word: str, *, first: bool) -> str:
    def one(match: re.Match[str]) -> str:
        part = match[0]
        before, after = word[: match.start()], word[match.end() :]
        if part in tables.UNIT_WORDS and (before[-1:].isdigit() or not before):
            return tables.UNIT_WORDS[part]
        if (
            part in tables.UPPER_WORDS
            or before[-1:].isdigit()
            or after[:1].isdigit()
            or not _VOWELS & set(part)
        ):
            return part
        if part.lower() in tables.LOWER_WORDS and not first and not before:
            return part.lower()
        return part[0] + part[1:].lower()

    return _TITLE_WORD.sub(one, word)

"""Compare texts for the judge: by meanings, which have many wordings, or literally."""

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from evaluation.scenario import Wanted
from pharmacy_site.lib.yaml_files import yaml_read

_FOLDER: Final = Path(__file__).parent
_MARKS: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SAME: Final = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "״": '"', "׳": "'", "–": "-", "\u00a0": " "}
)


def plain(text: str) -> str:
    """Return the text without direction marks."""
    return _MARKS.sub("", text)


def folded(text: str) -> str:
    """Return the text as it is compared: with one kind of quotes and dashes, in lower case."""
    return plain(text).translate(_SAME).casefold()


@cache
def words(name: str) -> dict[str, Any]:
    """Return the word lists of one of the judge's files."""
    read: dict[str, Any] = yaml_read(_FOLDER / f"{name}.yaml")
    return read


def says(text: str, wanted: Wanted) -> bool:
    """Return whether a text says this: a value, a meaning (~name), or any of a list."""
    if isinstance(wanted, list):
        return any(says(text, one) for one in wanted)
    if isinstance(wanted, str) and wanted.startswith("~"):
        return any(_pattern(one).search(folded(text)) for one in _forms(wanted))
    value = re.escape(folded(str(wanted)))
    # "25" and "50" do not say "5".
    before = r"(?<![\d.,])" if value[:1].isdigit() else ""
    after = r"(?!\d)" if value[-1:].isdigit() else ""
    return re.search(before + value + after, folded(text)) is not None


def phrase_for(wanted: Wanted, language: str) -> str:
    """Return the first wording that says this."""
    first = wanted[0] if isinstance(wanted, list) else wanted
    if isinstance(first, str) and first.startswith("~"):
        return str(words("meanings")[first[1:]][language][0])
    return str(first)


def _forms(wanted: str) -> list[str]:
    meaning = words("meanings")[wanted[1:]]
    return [form for forms in meaning.values() for form in forms]


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(folded(form))

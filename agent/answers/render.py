"""Render the sentences of the assistant in English or Hebrew.

A sentence has both languages or it does not load. Placeholders are named; plurals have forms for one, two and many.
Names, doses and phones keep their own direction inside Hebrew text (see `say`).
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from agent.answers.sentences import LABELS, PLURALS, SENTENCES
from pharmacy_site.lib.text import Language, as_language, isolate, ltr
from pharmacy_site.lib.vocabulary import HEBREW_LETTER, HEBREW_START, MONTH_NAMES, UNITS_IN_HEBREW

MASK: Final = "***"
_FOREIGN_TO_HEBREW: Final = re.compile(r"[A-Za-z0-9]")
_PREFIXED: Final = re.compile(HEBREW_START + r"([ובלמהכש]{1,2})\{(\w+)\}")
_DEFINITE: Final = ("החנות", "הסניף")
_UNIT: Final = re.compile(rf"(?<=[\d ])({'|'.join(UNITS_IN_HEBREW)})(?![A-Za-z])")


def say(key: str, language: Language, **values: object) -> str:
    """Return the sentence `key` in a language, with values isolated where they read in the other direction."""
    return _filled(SENTENCES[key][0 if language == "en" else 1], language, values)


def count(key: str, language: Language, n: int, **values: object) -> str:
    """Return the plural sentence `key` for a number: there are forms for one, two and many."""
    forms = PLURALS[key][0 if language == "en" else 1]
    form = forms[0] if n == 1 else forms[1] if n == 2 else forms[2]
    return _filled(form, language, {"n": n, **values})


def _filled(template: str, language: Language, values: Mapping[str, object]) -> str:
    """Return a template with its values; a Hebrew prefix letter gets a hyphen before what is not Hebrew."""
    shown = {name: apart(value, language) for name, value in values.items()}
    if language == "he":
        for match in _PREFIXED.finditer(template):
            # ב + החנות is בחנות; only a name that begins with an article of its own loses it.
            if match[1][-1] in "בלכ" and shown.get(match[2], "").startswith(_DEFINITE):
                shown[match[2]] = shown[match[2]][1:]

        def joint(match: re.Match[str]) -> str:
            hebrew = _starts_hebrew(str(values.get(match[2], "")))
            return match[0] if hebrew else f"{match[1]}-{{{match[2]}}}"

        template = _PREFIXED.sub(joint, template)
    return template.format(**shown)


def _starts_hebrew(text: str) -> bool:
    """Return whether the first letter or digit is Hebrew: then a prefix joins it without a hyphen."""
    return bool(HEBREW_LETTER.match(next((char for char in text if char.isalnum()), "א")))


def measure(text: str, language: Language) -> str:
    """Return a strength with its units in a language: "200 mg" or "200 מ״ג"."""
    if language == "en":
        return text
    return _UNIT.sub(lambda match: UNITS_IN_HEBREW[match[1]], text)


def apart(value: object, language: Language) -> str:
    """Return a value for a sentence, isolated when it reads in the other direction."""
    text = str(value)
    if "\n" in text or len(text) > 160 or "\u2068" in text or "\u2066" in text:
        return text
    if language == "he" and _FOREIGN_TO_HEBREW.search(text):
        return (
            isolate(text)
            if HEBREW_LETTER.search(text) or not re.fullmatch(r"[\d\s():+./:-]+", text)
            else _number(text)
        )
    if language == "en" and HEBREW_LETTER.search(text):
        return isolate(text)
    return text


def _number(text: str) -> str:
    return text if re.fullmatch(r"\d+", text) else ltr(text)


def listed(names: Sequence[str], language: Language) -> str:
    """Join names: "A, B and C"."""
    names = [apart(name, language) for name in names]
    if len(names) < 2:
        return "".join(names)
    if language == "en":
        return f"{', '.join(names[:-1])} and {names[-1]}"
    last = names[-1]
    joint = " ו" if _starts_hebrew(last) else " ו-"
    return f"{', '.join(names[:-1])}{joint}{last}"


def dated(day: date | str, language: Language) -> str:
    """Return a day as "January 15, 2026" or "15 בינואר 2026"."""
    if isinstance(day, str):
        day = date.fromisoformat(day[:10])
    month = MONTH_NAMES[language][day.month - 1]
    return f"{month} {day.day}, {day.year}" if language == "en" else f"{day.day} ב{month} {day.year}"


def label(kind: str, value: str, language: Language) -> str:
    """Return a word of a fixed list (form, section, weekday, column) in a language; an unlisted one as it is."""
    pair = LABELS.get(kind, {}).get(value)
    return value if pair is None else pair[0 if language == "en" else 1]


def waited(seconds: int, language: Language) -> str:
    """Return when something can be tried again, never too early: "in 20 seconds", "in 5 minutes", "in 2 hours"."""
    key, n = wait_of(seconds)
    return count(key, language, n)


def wait_of(seconds: int) -> tuple[str, int]:
    """Return the key of the plural sentence for a time to wait, and its number."""
    if seconds < 60:
        return "in_seconds", seconds
    if seconds <= 119 * 60:
        return "in_minutes", -(-seconds // 60)
    return "in_hours", -(-seconds // 3600)


def error_text(
    code: str,
    language: str,
    *,
    tries_left: int | None = None,
    retry_after: int | None = None,
    by_birth: bool = False,
) -> str:
    """Return the sentence for a chat error; `by_birth` where a date of birth is asked for in place of a code.

    `retry_after` is the number of seconds until the message can be sent again; without it the sentence says a minute.
    """
    lang = as_language(language)
    if code == "code_wrong" and tries_left is not None:
        return count("birth_wrong" if by_birth else "code_wrong", lang, tries_left)
    key = f"error_{code}"
    if by_birth and code in ("code_wrong", "code_expired", "locked"):
        key = f"error_birth_{code.removeprefix('code_')}"
    when = waited(60 if retry_after is None else retry_after, lang)
    return say(key if key in SENTENCES else "error_internal", lang, when=when)


def tool_label(name: str, arguments: Mapping[str, Any], language: Language) -> str:
    """Return what a customer reads while a tool runs."""
    query = str(
        arguments.get("medication_name") or arguments.get("medication_query") or arguments.get("query") or ""
    )
    if query.startswith(("med-", MASK)):
        query = ""  # a number of ours tells a customer nothing
    place = str(arguments.get("store_query") or "").removeprefix(MASK)
    if name == "check_stock" and place:
        return say("doing_check_stock_in", language, place=place[:60])
    key = f"doing_{name}"
    if query and f"{key}_of" in SENTENCES:
        return say(f"{key}_of", language, name=query[:60])
    return say(key if key in SENTENCES else "doing", language)

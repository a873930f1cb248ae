"""Replace personal values by placeholders in requests to a language model's API, and put them back. Pure.

Free text goes through `hide`, results of our own tools through `hide_known`, each text once. The model's answer and
the arguments of its calls go through `restore`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from agent.safety.privacy.comparing import PUBLIC_FROM, TRUNK, Key, dates_of, key_of, national
from agent.safety.privacy.people import Token, is_common, is_street, names_in, tokens_of
from agent.safety.privacy.personal import Found, personal_in
from agent.safety.privacy.public import Public
from pharmacy_site.lib.json_values import rebuilt
from pharmacy_site.lib.shadow import Shadow
from pharmacy_site.lib.text import clean, fold
from pharmacy_site.lib.vocabulary import EMAIL, HEBREW_LETTER
from prescriptions.masking import DATES

KINDS: Final = ("PATIENT", "NAME", "EMAIL", "PHONE", "DATE", "ID", "CODE")

_KIND: Final = f"(?:{'|'.join(KINDS)})"
_NAME: Final = rf"(?P<name>PATIENT(?:[\s_\\-]*\d+)?|{_KIND}[\s_\\-]*\d+)"
_PLACEHOLDER: Final = re.compile(rf"\\?\[(?:\\?\[)?\s*{_NAME}\s*\\?\](?:\\?\])?", re.IGNORECASE | re.ASCII)
# A customer must not be able to type one, with whatever signs between its letters.
_FORGED: Final = re.compile(rf"\[[\s\\]*{_NAME}[\s\\]*\]", re.IGNORECASE)
_BRACKET: Final = re.compile(r"[\[\ufe47\uff3b]")  # and what a shadow shows as one
_LEFT_OVER: Final = re.compile(
    rf"\[\s*{_KIND}[\s_\\-]*\d*\s*\\?\]|\[\[\s*{_KIND}(?![a-z])|{_KIND}[\s_\\-]*\d*\s*\\?\]\\?\]|(?<![a-z]){_KIND}\\?_\d",
    re.IGNORECASE,
)
_DIGIT: Final = re.compile(r"\d")
_FOLDED_AWAY: Final = str.maketrans(",", ".", "'\"`")
_RUN: Final = re.compile(r"\d(?:[ .\-()/]{0,3}\d)*")
_SHORTEST_NUMBER: Final = 4  # digits of a known number that are looked for
_BLANKS: Final = re.compile(r"[ \-.]{1,3}")


class Placeholders:
    """The personal values of one conversation and their placeholders."""

    def __init__(self, known: Mapping[str, Sequence[str]] = {}) -> None:
        """`known` are the verified patient's own values by kind: names as PATIENT, DATE in ISO form, the others as on file."""
        self._names: dict[Key, str] = {}  # of a value in its comparable form: its placeholder
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._people: dict[str, list[Key]] = {}  # first word of a name of several: the names
        self._parts: set[str] = set()
        self._firsts: set[str] = set()  # words with which the known names begin
        self._hidden: dict[str, str] = {}  # texts of our own tools, most of which come again and again
        self._public = Public()
        self._own = [value for value in map(clean, known.get("PATIENT", ())) if fold(value)]
        for value in self._own:
            self._learn_name(value, "PATIENT")
        for kind in ("EMAIL", "PHONE", "DATE", "ID", "CODE", "NAME"):
            for value in filter(None, map(clean, known.get(kind, ()))):
                self._stand_in(kind, value)
        self._known_numbers = [
            key[1] for key in self._names if key[0] == "number" and len(key[1]) >= _SHORTEST_NUMBER
        ]
        self._known_dates = {key[1:]: name for key, name in self._names.items() if key[0] == "date"}

    def publish(self, public: Public) -> None:
        """Let these names and numbers stay in texts, unless they are values of the patient's own."""
        self._public = public

    def hide(self, text: str) -> str:
        """Return free text that a customer or the assistant wrote without anything that looks personal."""
        shadow = Shadow(_disarmed(text))
        spans = _Spans(shadow)
        spans.add(self._known_in(shadow.text))
        spans.shield(self._public.phones_in(spans.rest()))
        for start, end, kind in personal_in(spans.rest(), datetime.now(UTC).date()):
            spans.add([(start, end, self._stand_in(kind, shadow.typed(start, end)))])
        tokens = tokens_of(shadow)
        spans.add(self._full_names(shadow.text, tokens))
        free = [token for token in tokens if spans.is_free(token.start, token.end)]
        for start, end in names_in(shadow, tokens, self._public):
            if spans.is_free(start, end):
                spans.add([(start, end, self._stand_in("NAME", shadow.typed(start, end)))])
        spans.add(self._single_names(shadow, free, spans))
        return shadow.replaced(spans.found)

    def remove(self, text: str) -> str:
        """Delete everything that looks personal from free text, and return the rest."""
        return clean(_PLACEHOLDER.sub(" ", self.hide(text)))

    def hide_known(self, value: Any) -> Any:
        """Return JSON of our own tools without what is known of the customer; everything else in it is no secret."""
        return _changed(value, self._leaf_hidden)

    def restore(self, value: Any) -> Any:
        """Return the value with the personal values in their places; unknown placeholders stay."""
        return _changed(value, lambda leaf: self._restored(leaf) if isinstance(leaf, str) else leaf)

    def unresolved(self, text: str) -> bool:
        """Return whether a text still holds a placeholder, or a piece of one, and must not be shown."""
        return bool(_LEFT_OVER.search(Shadow(text).text))

    # -- Looking up ----------------------------------------------------------------------------------------

    def _stand_in(self, kind: str, value: str) -> str:
        """Return the placeholder of a value, a new one for a new value."""
        if kind == "NAME":
            return self._name_of_person(value)
        key = key_of(kind, value)
        if key not in self._names:
            self._names[key] = self._new(kind, value)
        return self._names[key]

    def _new(self, kind: str, value: str) -> str:
        self._hidden.clear()
        self._counts[kind] = self._counts.get(kind, 0) + 1
        name = f"{kind}_{self._counts[kind]}"
        self._values[name] = clean(value)
        return f"[[{name}]]"

    def _name_of_person(self, value: str) -> str:
        key = ("name", *fold(value).split())
        if key not in self._names:
            own = {part for known in self._own for part in fold(known).split()}
            if own.issuperset(key[1:]):
                return "[[PATIENT]]"
            self._names[key] = self._new("NAME", value)
            self._learn_name(value, self._names[key])
        return self._names[key]

    def _learn_name(self, value: str, name: str) -> None:
        parts = tuple(fold(value).split())
        self._firsts.update(parts[:1])
        self._hidden.clear()
        self._names[("name", *parts)] = "[[PATIENT]]" if name == "PATIENT" else name
        if len(parts) > 1:
            entry = self._people.setdefault(parts[0], [])
            entry.append(parts)
            entry.sort(key=len, reverse=True)
        self._parts.update(part for part in parts if len(part) > 1 and not is_common(part))

    # -- Searching -----------------------------------------------------------------------------------------

    def _known_in(self, text: str) -> Iterator[Found]:
        """Yield the values that are known by number, date or address, however they are written."""
        has_digit = bool(_DIGIT.search(text))
        if self._known_dates and has_digit:
            for pattern in DATES:
                for match in pattern.finditer(text):
                    name = next(
                        (self._known_dates[day] for day in dates_of(match) if day in self._known_dates), ""
                    )
                    if name:
                        yield (*match.span(), name)
        if "@" in text:
            for match in EMAIL.finditer(text):
                name = self._names.get(key_of("EMAIL", match.group()), "")
                if name:
                    yield (*match.span(), name)
        for run in _RUN.finditer(text) if has_digit else ():
            yield from self._numbers_in(text, run)

    def _numbers_in(self, text: str, run: "re.Match[str]") -> Iterator[Found]:
        places = [place for place in range(*run.span()) if text[place].isdigit()]
        digits = "".join(text[place] for place in places)
        whole = self._names.get(("number", national(digits)))
        if whole and len(digits) >= _SHORTEST_NUMBER:
            yield _from_plus(text, run.start()), run.end(), whole
            return
        for number in self._known_numbers:
            at = digits.find(number)
            while at >= 0:
                end = places[at + len(number) - 1] + 1
                begin = at
                for trunk in TRUNK:
                    if digits[:at].endswith(trunk):
                        begin = at - len(trunk)
                        break
                start = places[begin]
                is_apart = not text[start - 1 : start].isdigit() and not text[end : end + 1].isdigit()
                if is_apart or len(number) >= PUBLIC_FROM:
                    yield _from_plus(text, start), end, self._names[("number", number)]
                at = digits.find(number, at + len(number))

    def _full_names(self, text: str, tokens: list[Token]) -> Iterator[Found]:
        for place, token in enumerate(tokens):
            for start, word in _readings(text, token):
                for name in self._people.get(word, ()):
                    rest = tokens[place + 1 : place + len(name)]
                    if tuple(other.folded for other in rest) == name[1:] and _stand_together(
                        text, token, rest
                    ):
                        yield start, rest[-1].end, self._names[("name", *name)]

    def _single_names(self, shadow: Shadow, tokens: list[Token], spans: "_Spans") -> Iterator[Found]:
        """Yield single words of names; beside another name they are somebody else's ("Noa Cohen" is not David Cohen)."""
        if not self._parts:
            return
        text = shadow.text
        for place, token in enumerate(tokens):
            for start, word in _readings(text, token):
                if word not in self._parts or not spans.is_free(start, token.end):
                    continue
                if is_street(text, token.start, token.end):
                    continue
                end = token.end
                before = tokens[place - 1] if place and start == token.start else None
                after = tokens[place + 1] if place + 1 < len(tokens) else None
                if before and self._is_name_like(before) and _stand_together(text, before, [token]):
                    start = before.start
                if after and self._is_name_like(after) and _stand_together(text, token, [after]):
                    end = after.end
                yield start, end, self._stand_in("NAME", shadow.typed(start, end))
                break

    def _is_name_like(self, token: Token) -> bool:
        is_public = self._public.name_at([token.folded], 0)
        return token.is_capital and len(token.folded) > 1 and not is_common(token.folded) and not is_public

    def _leaf_hidden(self, leaf: Any) -> Any:
        if isinstance(leaf, str):
            return self._hide_known(leaf)
        is_long = isinstance(leaf, int) and not isinstance(leaf, bool) and leaf >= 10 ** (PUBLIC_FROM - 1)
        return self._names.get(("number", str(leaf)), leaf) if is_long else leaf

    def _hide_known(self, text: str) -> str:
        hidden = self._hidden.get(text)
        if hidden is None:
            hidden = self._hidden[text] = self._without_known(_disarmed(text))
        return hidden

    def _without_known(self, text: str) -> str:
        if not self._names or not text:
            return text
        shadow = Shadow(text)
        spans = _Spans(shadow)
        spans.add(self._known_in(shadow.text))
        if not self._may_name(shadow):
            return shadow.replaced(spans.found) if spans.found else text
        tokens = tokens_of(shadow) if self._people else []
        spans.add(self._full_names(shadow.text, tokens))
        alone = self._names.get(("name", *fold(text).split()))
        if alone and not spans.found:
            return alone
        return shadow.replaced(spans.found)

    def _may_name(self, shadow: Shadow) -> bool:
        """Return whether a text may hold a known name; one in plain letters must contain the first word of one."""
        if not shadow.original.isascii():
            return True
        letters = shadow.text.translate(_FOLDED_AWAY)
        return any(first in letters for first in self._firsts)

    def _restored(self, text: str) -> str:
        if "[" not in text:
            return text

        def value(match: "re.Match[str]") -> str:
            name = re.sub(r"[\s_\\-]+", "", match["name"].upper())
            if name == "PATIENT" and self._own:
                in_hebrew = bool(HEBREW_LETTER.search(_PLACEHOLDER.sub("", text)))
                is_bare = _PLACEHOLDER.fullmatch(text.strip())
                fitting = [own for own in self._own if bool(HEBREW_LETTER.search(own)) == in_hebrew]
                return self._own[0] if is_bare or not fitting else fitting[0]
            kind = name.rstrip("0123456789")
            return self._values.get(f"{kind}_{name[len(kind) :]}", match.group())

        return _PLACEHOLDER.sub(value, text)


class _Spans:
    """The spans of a text to be replaced; a span that overlaps an earlier one is left out."""

    def __init__(self, shadow: Shadow) -> None:
        self.found: list[Found] = []
        self._text = shadow.text
        self._taken = bytearray(len(shadow.text))

    def is_free(self, start: int, end: int) -> bool:
        return not any(self._taken[start:end])

    def add(self, found: Iterator[Found] | list[Found]) -> None:
        for start, end, name in found:
            if self.is_free(start, end):
                self._taken[start:end] = b"\1" * (end - start)
                self.found.append((start, end, name))

    def shield(self, found: Iterator[tuple[int, int]]) -> None:
        """Let these spans stay as they are."""
        for start, end in found:
            self._taken[start:end] = b"\1" * (end - start)

    def rest(self) -> str:
        """Return the text with the spans overwritten by line breaks."""
        return "".join("\n" if taken else char for char, taken in zip(self._text, self._taken, strict=True))


def _changed(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return JSON with its plain values changed, the names of its fields too."""
    return rebuilt(value, leaf, lambda fields: ((leaf(name), item) for name, item in fields.items()))


def _disarmed(text: str) -> str:
    """Remove all brackets from a text in which somebody typed a placeholder, so that the rest cannot form one."""
    if not _BRACKET.search(text):
        return text
    shadow = Shadow(text)
    if not _FORGED.search(shadow.text):
        return text
    return shadow.replaced((at, at + 1, "") for at, char in enumerate(shadow.text) if char in "[]")


def _readings(text: str, token: Token) -> Iterator[tuple[int, str]]:
    """Yield a word, and what is left of it without Hebrew prefix letters, each with its start."""
    yield token.start, token.folded
    for cut in range(1, min(4, token.end - token.start - 1)):
        if text[token.start + cut - 1] not in "ושהבלכמ":
            break
        yield token.start + cut, fold(text[token.start + cut : token.end])


def _stand_together(text: str, first: Token, rest: Sequence[Token]) -> bool:
    ends = [first.end, *(token.end for token in rest)]
    return all(_BLANKS.fullmatch(text[end : token.start]) for end, token in zip(ends, rest, strict=False))


def _from_plus(text: str, start: int) -> int:
    while start and text[start - 1] in "+(":
        start -= 1
    return start

"""What is nobody's secret in a customer's message: names of medicines, phones of branches. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agent.safety.privacy.comparing import TRUNK, national
from pharmacy_site.lib.text import fold, hebrew_stems

WORD: Final = re.compile(r"[^\W\d_]+(?:['\"][^\W\d_]+)*'?")
_PHONE: Final = re.compile(r"(?<![\d+])(?<!\d[.\-/])\(?(?:\+|00)?\d(?:[ .\-()/]{0,2}\d){7,14}(?![.\-/]?\d)")


@dataclass(frozen=True)
class Public:
    """Names and numbers that stay in a message, in their comparable form."""

    names: frozenset[tuple[str, ...]] = frozenset()
    phones: frozenset[str] = frozenset()
    """National digits, without the trunk zero."""

    @staticmethod
    def of(names: Iterable[str], phones: Iterable[str]) -> "Public":
        """Return these names of medicines and these phones."""
        folded = (tuple(fold(word) for word in WORD.findall(name)) for name in names)
        digits = ("".join(filter(str.isdigit, phone)) for phone in phones)
        return Public(frozenset(filter(None, folded)), frozenset(national(one) for one in digits if one))

    def name_at(self, words: Sequence[str], place: int) -> int:
        """Return how many of these folded words, from this one on, are a medicine's name; 0 when none is."""
        counts = [
            len(name)
            for name in self.names
            if tuple(words[place + 1 : place + len(name)]) == name[1:]
            and name[0] in (words[place], *hebrew_stems(words[place]))
        ]
        return max(counts, default=0)

    def phones_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a text has one of these phones, with the zero or the code of the country before it."""
        for match in _PHONE.finditer(text) if self.phones else ():
            digits = "".join(filter(str.isdigit, match.group()))
            if digits.startswith(TRUNK) and national(digits) in self.phones:
                yield match.span()

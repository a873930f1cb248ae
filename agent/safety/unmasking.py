"""Undo disguised wording: letters of other scripts that look Latin, spelled-out words, signs between letters."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_LOOKALIKES: Final = str.maketrans(
    dict(zip("авеёіїјкмнорстухѕԁԛԝһүԍгиӏ", "abeeiijkmhopctyxsdqwhygrul", strict=True))
    | dict(zip("αβγεζηικμνορτυχω", "abyeznikuvoptuxw", strict=True))
    | dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıɑɡ", "abcdefghijklmnoprstuvwyziag", strict=True))
)
_FOREIGN_LETTER: Final = re.compile(r"[^\W\d_\u0000-\u024f\u0590-\u05ff\ufb1d-\ufb4f]")
_NAMED: Final = re.compile(r"(?:REGIONAL INDICATOR SYMBOL|(?:NEGATIVE|CROSSED)[\w ]*CAPITAL) LETTER ([A-Z])$")
_BETWEEN_LETTERS: Final = re.compile(r"(?<=[^\W\d_])[^\w\s.,:;!?/&()'\"׳״’“”–—־|-]+(?=[^\W\d_])")
_SPELLED: Final = re.compile(r"(?<!\w)[^\W\d_](?:([ \t.\-־·*•/_]{1,3})[^\W\d_])(?:\1[^\W\d_])+(?!\w)")
_LETTER: Final = re.compile(r"[^\W\d_]")


@lru_cache(maxsize=2048)
def _plain_character(char: str) -> str:
    """Return the letter inside a box or flag symbol, and nothing for an invisible character."""
    if unicodedata.category(char) in {"Cf", "Mn", "Me"}:
        return char if "\u0591" <= char <= "\u05c7" else ""
    named = _NAMED.search(unicodedata.name(char, ""))
    return named[1].lower() if named else char


def unmask(text: str) -> str:
    """Return the text as a reader sees its words: lookalikes, invisible characters and signs inside words undone."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", "".join(map(_plain_character, text)))
        if _FOREIGN_LETTER.search(text):
            text = text.lower().translate(_LOOKALIKES)
    text = _BETWEEN_LETTERS.sub("", text)
    return _SPELLED.sub(lambda spelled: "".join(_LETTER.findall(spelled[0])), text)


def spelled_out(text: str) -> bool:
    """Return whether the text spells a word letter by letter, as no answer does."""
    return any(len(_LETTER.findall(spelled[0])) > 3 for spelled in _SPELLED.finditer(text))

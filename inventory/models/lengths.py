"""Column lengths that several tables and the code that fills them share."""

from typing import Final

NAME_LENGTH: Final = 200
FOLDED_LENGTH: Final = 255
WORD_LENGTH: Final = 32
"""The longest word that the typo index holds."""

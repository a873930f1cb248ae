"""How far an import has come, on stderr: a bar on a terminal, a line for each tenth in a log."""

import sys
from typing import Final, TextIO

_WIDTH: Final = 30
_TENTHS: Final = 10


class Progress:
    """Shows one step after another; call it with the step's name and the fraction done."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._on_terminal = self._stream.isatty()
        self._shown: tuple[str, int] | None = None

    def __call__(self, step: str, fraction: float) -> None:
        """Show the step at this fraction (0 to 1), if that looks different from what is shown already."""
        fraction = min(1.0, max(0.0, fraction))
        state = (step, int(fraction * (100 if self._on_terminal else _TENTHS)))
        if state == self._shown:
            return
        self._shown = state
        if self._on_terminal:
            bar = "#" * round(fraction * _WIDTH)
            end = "\n" if fraction == 1 else ""
            self._stream.write(f"\r{step:<10} [{bar:<{_WIDTH}}] {fraction:>4.0%}{end}")
        else:
            self._stream.write(f"{step}: {fraction:.0%}\n")
        self._stream.flush()

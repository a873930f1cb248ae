"""Read a CSV or JSON file row by row, packed or not, and report each problem with its line.

This module does not know what the columns mean, and holds only one row in memory.
"""

import codecs
import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Final

from pharmacy_site.lib.importing import ImportRefused, Progress

MOST_PROBLEMS: Final = 20
_LONGEST_LINE: Final = 1_000_000
"""A longer line is not a row but an attempt to fill the memory."""
_LONGEST_OBJECT: Final = 200_000
_JSON_PIECE: Final = 65_536
_PEEK: Final = 1_024
_SHOW_EVERY: Final = 500
_GZIP_MAGIC: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Row:
    """One row, with the line on which it ends; all values are text."""

    line: int
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem and its line; line 0 is the file as a whole."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" if self.line else self.reason


class _Broken(Exception):
    """The file cannot be read beyond this line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.problem = Problem(line, reason)


class RowFile:
    """A file of rows; iterating yields a Row, or a Problem for a row that cannot be read.

    Iteration ends after a problem that makes further reading impossible (a truncated archive, a missing column).
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = columns
        self.fraction = 0.0
        """How much of the file has been read, from 0 to 1."""
        self._line = 0

    def __iter__(self) -> Iterator[Row | Problem]:
        self._line = 0
        self.fraction = 0.0
        try:
            with self.path.open("rb") as packed:
                yield from self._read(packed)
        except _Broken as broken:
            yield broken.problem
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            yield Problem(self._line + 1, f"the archive is damaged or cut off here ({error})")
        except OSError as error:
            yield Problem(0, f"the file cannot be read: {error.strerror or error}")

    def _read(self, packed: BufferedReader) -> Iterator[Row | Problem]:
        content: BufferedReader | gzip.GzipFile = packed
        if packed.peek(2).startswith(_GZIP_MAGIC):
            content = gzip.GzipFile(fileobj=packed)
        opening = content.peek(_PEEK).removeprefix(codecs.BOM_UTF8).lstrip()[:1]
        if not opening:
            raise _Broken(0, "the file is empty")
        if opening in (b"[", b"{"):
            yield from self._json(self._pieces(content, packed, _JSON_PIECE))
        else:
            yield from self._csv(self._whole_lines(content, packed))
        self.fraction = 1.0

    def _whole_lines(self, content: IO[bytes] | gzip.GzipFile, packed: BufferedReader) -> Iterator[str]:
        for line in self._pieces(content, packed, _LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                raise _Broken(self._line, f"longer than {_LONGEST_LINE} characters")
            yield line

    def _pieces(
        self, content: IO[bytes] | gzip.GzipFile, packed: BufferedReader, limit: int
    ) -> Iterator[str]:
        """Yield lines, long ones in pieces; count them, and track how much of the file has been read."""
        size = max(1, self.path.stat().st_size)
        decoder = codecs.getincrementaldecoder("utf-8")()
        at_start = True
        while raw := content.readline(limit):
            self._line += at_start
            at_start = raw.endswith(b"\n")
            try:
                text = decoder.decode(raw)
            except UnicodeDecodeError:
                raise _Broken(self._line, "not UTF-8") from None
            self.fraction = min(1.0, packed.tell() / size)
            yield text.removeprefix("\ufeff") if self._line == 1 else text
        if decoder.getstate()[0]:
            raise _Broken(self._line, "not UTF-8")

    def _csv(self, lines: Iterator[str]) -> Iterator[Row | Problem]:
        reader = csv.reader(lines, strict=True)
        try:
            header = [name.strip() for name in next(reader)]
            self._check_header(header)
            for values in reader:
                if not values:
                    continue
                if len(values) != len(header):
                    yield Problem(reader.line_num, f"{len(values)} columns instead of {len(header)}")
                    continue
                yield Row(reader.line_num, dict(zip(header, values, strict=True)))
        except csv.Error as error:
            raise _Broken(reader.line_num, f"not CSV ({error})") from None

    def _check_header(self, header: list[str]) -> None:
        missing = [name for name in self.columns if name not in header]
        if missing:
            raise _Broken(1, f"missing column: {', '.join(missing)}")
        twice = sorted({name for name in header if header.count(name) > 1})
        if twice:
            raise _Broken(1, f"column given twice: {', '.join(twice)}")

    def _json(self, pieces: Iterator[str]) -> Iterator[Row | Problem]:
        """Read a list of objects, or objects one after another, with only one piece in memory."""
        decoder = json.JSONDecoder()
        text = ""
        opened = closed = False
        for piece in pieces:
            text += piece
            while text := text.lstrip(" \t\r\n,"):
                if text[0] == "[" and not opened:
                    opened, text = True, text[1:]
                elif text[0] == "]" and opened and not closed:
                    closed, text = True, text[1:]
                elif text[0] != "{" or closed:
                    raise _Broken(self._line, "an object was expected here")
                else:
                    try:
                        value, end = decoder.raw_decode(text)
                    except json.JSONDecodeError as error:
                        # At the end of a line an object may continue on the next line, but a value may not.
                        if len(text) > _LONGEST_OBJECT or (
                            text.endswith("\n") and error.pos < len(text.rstrip())
                        ):
                            raise _Broken(self._line, f"not JSON ({error.msg})") from None
                        break
                    text = text[end:]
                    yield self._object(value)
        if text or (opened and not closed):
            raise _Broken(self._line, "the file ends inside a list or an object")

    def _object(self, value: dict[str, object]) -> Row | Problem:
        missing = [name for name in self.columns if name not in value]
        if missing:
            return Problem(self._line, f"missing column: {', '.join(missing)}")
        plain = {name: item for name, item in value.items() if not isinstance(item, dict | list)}
        if not plain.keys() >= set(self.columns):
            return Problem(self._line, "a value is a list or an object instead of text")
        return Row(self._line, {name: "" if item is None else str(item) for name, item in plain.items()})


@dataclass(slots=True)
class ImportReport:
    """How many rows were created, updated, left unchanged, or skipped for the given reason."""

    skipped_because: str
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        text = f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged"
        return f"{text}, {self.skipped} skipped ({self.skipped_because})" if self.skipped else text


def rows_check(file: RowFile, check: Callable[[Row], Iterator[str]], progress: Progress) -> None:
    """Check every row of the file; raise ImportRefused with the first problems if there are any."""
    problems: list[Problem] = []
    rows = 0
    for found in file:
        rows += 1
        problems += (
            [found] if isinstance(found, Problem) else [Problem(found.line, why) for why in check(found)]
        )
        if len(problems) > MOST_PROBLEMS:
            raise ImportRefused(problems[:MOST_PROBLEMS], more=True)
        if rows % _SHOW_EVERY == 0:
            progress("checking", file.fraction)
    if not rows:
        problems.append(Problem(0, "the file has no rows"))
    if problems:
        raise ImportRefused(problems)
    progress("checking", 1.0)

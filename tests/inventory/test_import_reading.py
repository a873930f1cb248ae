"""Files of rows: CSV and JSON, packed or not, and what is said about broken ones."""

import gzip
import io
import json
from pathlib import Path

import pytest

from inventory.import_reading import MOST_PROBLEMS, Problem, Row, RowFile, rows_check
from pharmacy_site.lib.importing import ImportRefused, ProgressBar, quiet

COLUMNS = ("din", "name")
GOOD = "din,name,extra\n1,Ibuprofen,x\n2,אקמול,\n"


def read(path: Path) -> tuple[list[Row], list[Problem]]:
    found = list(RowFile(path, COLUMNS))
    return [row for row in found if isinstance(row, Row)], [p for p in found if isinstance(p, Problem)]


def written(folder: Path, content: str | bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


ROWS = [{"din": "1", "name": "Ibuprofen", "extra": "x"}, {"din": "2", "name": "אקמול", "extra": ""}]


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("Ibuprofen", '"Ibuprofen"') + "\n\n",
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2, ensure_ascii=False),
        "\n".join(json.dumps(row) for row in ROWS),
        "\ufeff" + json.dumps(ROWS),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_format_is_recognised_by_the_content(tmp_path: Path, content: str, packed: bool) -> None:
    data = content.encode()
    rows, problems = read(written(tmp_path, gzip.compress(data) if packed else data))
    assert problems == []
    assert [row.values for row in rows] == ROWS


def test_line_numbers_are_right_after_a_value_of_two_lines(tmp_path: Path) -> None:
    rows, _ = read(written(tmp_path, 'din,name\n1,"two\nlines"\n2,b\n'))
    assert [(row.line, row.values["name"]) for row in rows] == [(3, "two\nlines"), (4, "b")]


def test_json_numbers_and_nulls_become_text(tmp_path: Path) -> None:
    rows, _ = read(written(tmp_path, '[{"din": 12, "name": null}]'))
    assert [row.values for row in rows] == [{"din": "12", "name": ""}]


PACKED = gzip.compress(("din,name\n" + "".join(f"{n},name {n * 7919}\n" for n in range(5_000))).encode())


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", 0, "empty"),
        (b"  \n", 0, "empty"),
        (b"din,other\n1,a\n", 1, "missing column: name"),
        (b"din,name,din\n1,a,1\n", 1, "column given twice: din"),
        (b"din,name\n1,a\n2,b,c\n3,d\n", 3, "3 columns instead of 2"),
        (b"din,name\n1,a\n2\n3,d\n", 3, "1 columns instead of 2"),
        (b"din,name\n1,a\n2,caf\xe9\n3,d\n", 3, "not UTF-8"),
        (b'din,name\n1,a\n2,"b"c\n', 3, "not CSV"),
        (b'din,name\n1,a\n2,"never ends\n', 3, "not CSV"),
        (b"din,name\n1,a\n2," + b"x" * 1_000_001, 3, "longer than"),
        (b'[{"din": "1", "name": "a"},\n {"din": "2"}]', 2, "missing column: name"),
        (b'[{"din": "1", "name": "a"},\n {"din": "2", "name": ["b"]}]', 2, "instead of text"),
        (b'[{"din": "1", "name": "a"},\n {"din": "2", "na', 2, "ends inside"),
        (
            b'[{"din": "1", "name": "a"},\n {"din" "2", "name": "b"},\n {"din": "3", "name": "c"}]',
            2,
            "not JSON",
        ),
        (b'[{"din": "1", "name": "a"}]\n[]', 2, "object was expected"),
        (b'[{"din": "1", "name": "a"},\n 7]', 2, "object was expected"),
    ],
)
def test_a_broken_file_names_line_and_reason(tmp_path: Path, content: bytes, line: int, reason: str) -> None:
    _, problems = read(written(tmp_path, content))
    assert [(problem.line, reason in problem.reason) for problem in problems] == [(line, True)], problems


@pytest.mark.parametrize(
    "packed", [PACKED[:-20], PACKED[: len(PACKED) // 2], PACKED[:200] + b"\0" * 40 + PACKED[240:]]
)
def test_a_damaged_archive_names_the_line_where_reading_ended(tmp_path: Path, packed: bytes) -> None:
    rows, problems = read(written(tmp_path, packed, "x.gz"))
    assert len(problems) == 1
    assert "archive is damaged" in problems[0].reason or "not UTF-8" in problems[0].reason
    assert problems[0].line >= len(rows)


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    _, problems = read(tmp_path / "nothing.csv")
    assert [problem.line for problem in problems] == [0]
    assert "cannot be read" in problems[0].reason


def test_at_most_twenty_problems_are_collected(tmp_path: Path) -> None:
    path = written(tmp_path, "din,name\n" + "1\n" * 50)
    with pytest.raises(ImportRefused) as refused:
        rows_check(RowFile(path, COLUMNS), lambda _: iter(()), quiet)
    assert len(refused.value.problems) == MOST_PROBLEMS
    assert refused.value.more
    assert str(refused.value).startswith("line 2: 1 columns instead of 2\nline 3: ")
    assert str(refused.value).endswith("… and more")


def test_the_fraction_read_grows_to_one(tmp_path: Path) -> None:
    file = RowFile(written(tmp_path, PACKED, "x.gz"), COLUMNS)
    seen = [file.fraction for _ in file]
    assert seen == sorted(seen)
    assert file.fraction == 1.0


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal_and_a_line_a_tenth_in_a_log() -> None:
    log, terminal = io.StringIO(), _Terminal()
    for stream in (log, terminal):
        progress = ProgressBar(stream)
        for step in range(1_001):
            progress("writing", step / 1_000)
    assert len(log.getvalue().splitlines()) == 11
    assert log.getvalue().endswith("writing: 100%\n")
    assert terminal.getvalue().count("\r") == 101
    assert terminal.getvalue().count("\n") == 1

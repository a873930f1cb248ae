"""README and docs say what is there: settings, commands, make targets, files, tests and links."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = sorted([README, *(ROOT / "docs").rglob("*.md")])
WRITTEN = [
    page for page in PAGES if page.name != "contracts.md"
]  # that one is generated, and has its own test

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.(?:py|yaml|json|toml|txt|md)(?:::\w+)*|[\w-]+(?:/[\w-]+)*/")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code(page: Path) -> list[str]:
    """Every line of a code block and every code span of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = [line for block in _FENCE.findall(text) for line in block.splitlines()[1:-1]]
    return [*blocks, *_SPAN.findall(_FENCE.sub("", text))]


def table(heading: str) -> list[list[str]]:
    """The cells of the table under a heading of README, without its head."""
    section = README.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


# -- Settings ------------------------------------------------------------------------------------------------
def variables_read() -> Iterator[tuple[str, ast.expr]]:
    """Each environment variable that the settings read, and the expression of its default."""
    tree = ast.parse((ROOT / "pharmacy_site" / "settings.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = ast.unparse(node.func.value)
        assert owner not in ("os.environ", "environ"), f"line {node.lineno}: read it with `env`"
        if owner == "env":
            name, default = node.args
            assert isinstance(name, ast.Constant), f"line {node.lineno}: the name must be a plain text"
            yield str(name.value), default


def cell(default: ast.expr) -> str | None:
    """A default as the table writes it; None for one that is computed."""
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return None
    if value in ("", []):
        return "*empty*"
    if isinstance(value, bool):
        return "`on`" if value else "`off`"
    return f"`{','.join(value)}`" if isinstance(value, list) else f"`{value}`"


def test_the_table_of_settings_is_what_the_settings_read() -> None:
    rows = table("Settings")
    documented = {row[0].strip("`"): row[1] for row in rows}
    assert len(documented) == len(rows), "a variable stands in the table twice"
    read = {name: cell(default) for name, default in variables_read()}
    assert set(documented) == set(read)
    assert {name: documented[name] for name in read if read[name]} == {
        name: told for name, told in read.items() if told
    }
    assert all(len(row) == 3 and row[1] and row[2] for row in rows)


# -- Commands ------------------------------------------------------------------------------------------------
def make_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", text, re.MULTILINE))


def own_commands() -> set[str]:
    """The management commands of this project's apps."""
    own = {
        config.name
        for config in apps.get_app_configs()
        if Path(config.path).is_relative_to(ROOT) and ".venv" not in config.path
    }
    return {name for name, app in get_commands().items() if app in own}


def test_every_target_and_command_is_in_the_table() -> None:
    told = " ".join(row[0] + " " + row[1] for row in table("Commands"))
    targets, commands = make_targets(), own_commands()
    assert "run" in targets and "load_demo" in commands  # else what follows compares nothing
    assert targets <= set(re.findall(r"`make ([a-z-]+)`", told))
    assert commands <= set(re.findall(r"`manage\.py (\w+)", told))


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_what_a_page_tells_to_run_exists(page: Path) -> None:
    commands = get_commands()
    for text in code(page):
        for target in re.findall(r"(?:^|\s)make ([a-z][a-z-]*)", text):
            assert target in make_targets(), text
        for name, arguments in re.findall(r"manage\.py (\w+)(.*)", text):
            assert name in commands, text
            app = commands[name]
            command = load_command_class(app, name) if isinstance(app, str) else app
            known = command.create_parser("manage.py", name)._option_string_actions
            assert [
                option for option in re.findall(r"--[a-z][\w-]*", arguments) if option not in known
            ] == [], text


# -- Files, tests, links -------------------------------------------------------------------------------------
@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_files_and_tests_that_a_page_names_exist(page: Path) -> None:
    for text in code(page):
        if not _FILE.fullmatch(text) or "/" not in text or text.startswith("var/"):
            continue
        path, *names = text.split("::")
        assert (ROOT / path).exists(), text
        if names:
            body: list[ast.stmt] = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
            for name in names:
                found = [node for node in body if getattr(node, "name", None) == name]
                assert found, text
                body = getattr(found[0], "body", [])


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and GitLab make them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file() and target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for link in _LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target in PAGES:
                waiting.append(target)
    assert set(PAGES) - seen == set()

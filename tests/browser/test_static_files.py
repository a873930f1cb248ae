"""The files of pages as customers get them: joined, few, small, and with addresses that change with their content."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from served_site import ROOT, Site, demo_database, free_port, served

from pharmacy_site.checks import development_defaults
from pharmacy_site.static_files import script_joined

MOST_BYTES = 45 * 1024
SENT = "performance.getEntriesByType('resource').map(({name, transferSize}) => [name, transferSize])"
PAGES = {"/": "site/demo", "/continue/": "embed/continue", "/embed/pub_demo/": "embed/frame"}


def reader(**files: str) -> Callable[[str], str]:
    return lambda path: files[path.replace("/", "_").replace(".", "_")]


# -- Joining ------------------------------------------------------------------------------------------------
def test_each_module_is_joined_once_after_the_modules_it_imports() -> None:
    joined = script_joined(
        "site/entry.js",
        reader(
            chat_base_js="const SECRET = 1;\nexport function base() { return SECRET; }\n",
            chat_middle_js='import { base as under } from "./base.js";\nconst SECRET = 2;\n'
            "export const twice = () => under() * SECRET;\n",
            site_entry_js='import { twice } from "../chat/middle.js";\nimport { base } from "../chat/base.js";\n'
            "console.log(twice() + base());\n",
        ),
    )
    assert re.findall(r"^const (\$\w+) =", joined, re.MULTILINE) == [
        "$chat_base_js",
        "$chat_middle_js",
        "$site_entry_js",
    ]
    assert "const { base: under } = $chat_base_js;" in joined
    assert not re.search(r"^(import|export)\b", joined, re.MULTILINE)


def test_comments_are_left_out_and_addresses_in_texts_stay() -> None:
    source = '/** Why. */\n/**\n * Long,\n */\nconst map = "https://maps.example";\n  // here\nconsole.log(map); // there\n'
    joined = script_joined("entry.js", reader(entry_js=source))
    assert 'const map = "https://maps.example";\nconsole.log(map); // there\n' in joined
    assert not any(comment in joined for comment in ("Why", "Long", "// here"))


@pytest.mark.parametrize(
    "source",
    [
        'import Chat from "./base.js";',
        'import * as all from "./base.js";',
        'const late = await import("./base.js");',
        "export default 1;",
        "const here = import.meta.url;",
        'import { entry } from "./entry.js";',
    ],
)
def test_a_script_that_cannot_be_joined_is_refused(source: str) -> None:
    read = reader(base_js="export const base = 1;\n", entry_js=source + "\nexport const entry = 1;\n")
    with pytest.raises(ValueError, match=r"\.js"):
        script_joined("entry.js", read)


# -- Collected, and served to a browser ---------------------------------------------------------------------
@pytest.fixture(scope="module")
def collected(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Site]:
    """The site as it is deployed: without DEBUG, its files collected."""
    folder = tmp_path_factory.mktemp("collected")
    with demo_database("collected", folder, django_db_blocker) as database:
        env = {**os.environ, "DATABASE_URL": database, "DEBUG": "0", "STATIC_ROOT": str(folder / "static")}
        collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
        subprocess.run(collect, cwd=ROOT, env=env, check=True)
        with served(env, free_port(), folder / "server.log") as site:
            yield site


@pytest.fixture
def files_of(browser: Any, collected: Site) -> Iterator[Callable[[str], dict[str, int]]]:
    """Opens a page and returns the files that it loaded, with the bytes that were sent for each."""
    context = browser.new_context()

    def load(path: str) -> dict[str, int]:
        page = context.new_page()
        page.goto(f"{collected.url}{path}")
        expect(page.locator("#chat[data-status=online]")).to_be_attached(timeout=15_000)
        page.wait_for_load_state("networkidle")
        return {name.removeprefix(collected.url): size for name, size in page.evaluate(SENT)}

    yield load
    context.close()


@pytest.mark.browser
def test_a_page_with_the_joined_script_gets_an_answer(new_chat: Callable[..., Any], collected: Site) -> None:
    chat = new_chat(base=collected.url).open("he")
    expect(chat.ask("יש לכם אקמול בפלורנטין?").locator(".chat-text")).to_contain_text("פלורנטין")


@pytest.mark.browser
@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_few_small_files(files_of: Callable[[str], dict[str, int]], path: str) -> None:
    files = files_of(path)
    assert any(re.fullmatch(rf"/static/{PAGES[path]}\.[0-9a-f]{{12}}\.js", name) for name in files)
    assert len(files) + 1 <= 8, files  # and the page itself
    assert sum(files.values()) <= MOST_BYTES, files


@pytest.mark.browser
def test_a_file_with_a_hash_in_its_name_is_cached_for_long(
    files_of: Callable[[str], dict[str, int]], browser: Any, collected: Site
) -> None:
    page = browser.new_page()
    for name in files_of("/"):
        answer = page.request.get(f"{collected.url}{name}", headers={"Accept-Encoding": "gzip"})
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", name)
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
    page.context.close()


@pytest.mark.django_db  # a request looks after the connection that an earlier test has left open
def test_files_that_are_not_collected_are_served_as_they_are(client: Any) -> None:
    page = client.get("/").content.decode()
    addresses = re.findall(r'"(/static/[^"]+)"', page)
    assert {"/static/chat/chat.css", "/static/site/demo.js"} <= set(addresses)
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200
        assert "immutable" not in answer.headers["Cache-Control"]
        answer.close()


@pytest.mark.parametrize(("collect", "found"), [(True, False), (False, True)])
def test_a_deployment_without_collected_files_is_refused(
    settings: Any, tmp_path: Path, collect: bool, found: bool
) -> None:
    settings.STATIC_ROOT = tmp_path
    if collect:
        (tmp_path / "staticfiles.json").write_text("{}")
    assert ("pharmacy.E007" in {error.id for error in development_defaults()}) is found

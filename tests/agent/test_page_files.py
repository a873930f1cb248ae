"""The joined files of a page: they are what the sources say, and they are kept only under their own address."""

import re
from pathlib import Path
from typing import Any

import pytest

from agent.web import page_files


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setattr(page_files, "STATIC", tmp_path)
    return tmp_path


def test_each_module_is_in_once_behind_what_it_needs(sources: Path) -> None:
    (sources / "base.js").write_text("const SECRET = 1;\nexport function base() { return SECRET; }\n")
    (sources / "middle.js").write_text(
        'import { base as under } from "./base.js";\nconst SECRET = 2;\nexport const twice = () => under() * SECRET;\n'
    )
    (sources / "entry.js").write_text(
        'import { twice } from "./middle.js";\nimport { base } from "./base.js";\nconsole.log(twice() + base());\n'
    )
    joined = page_files.script_joined("entry.js")
    assert re.findall(r"^const (\$\w+) =", joined, re.MULTILINE) == ["$base_js", "$middle_js", "$entry_js"]
    assert "const { base: under } = $base_js;" in joined
    assert not re.search(r"^(import|export)\b", joined, re.MULTILINE)


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
def test_what_cannot_be_joined_is_refused(sources: Path, source: str) -> None:
    (sources / "base.js").write_text("export const base = 1;\n")
    (sources / "entry.js").write_text(source + "\nexport const entry = 1;\n")
    with pytest.raises(ValueError, match=r"\.js"):
        page_files.script_joined("entry.js")


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.django_db
def test_pages_name_files_that_are_there(client: Any, settings: Any, debug: bool) -> None:
    settings.DEBUG = debug
    for address in ("/", "/continue/"):
        page = client.get(address).content.decode()
        found = re.findall(r'"(/w/v1/[^"]+)"', page)
        assert [path.rsplit(".", 1)[1] for path in found] == ["css", "js"]
        for path in found:
            answer = client.get(path)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["Cache-Control"]
            assert len(answer.content) > 5_000


def test_an_address_from_before_a_deployment_gets_what_there_is_now(client: Any) -> None:
    current = client.get(page_files.page_file_url("demo", "js"))
    old = client.get("/w/v1/demo.000000000000.js")
    assert old.content == current.content
    assert old.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/w/v1/other.abc.js", "/w/v1/demo.abc.txt"])
def test_there_are_no_other_files(client: Any, path: str) -> None:
    assert client.get(path).status_code == 404

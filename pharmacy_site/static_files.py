"""How `collectstatic` stores files: with a hash in the name, compressed, and a page's modules as one script.

The sources in `static/` are plain modules that import one another. A browser can load them as they are, and does so
during development; customers get one script in the place of two dozen.
"""

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath
from typing import Any, Final

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

SCRIPTS: Final = ("site/demo.js", "embed/frame.js", "embed/continue.js")
_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";$', re.MULTILINE)
_COMMENT: Final = re.compile(r"^[ \t]*(?:/\*\*(?:(?!\*/)[\s\S])*\*/|//.*)\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER: Final = re.compile(r"^(?:import|export)\b.*|\bimport\(.*|\bimport\.meta\b.*", re.MULTILINE)
Read = Callable[[str], str]


class PageFilesStorage(CompressedManifestStaticFilesStorage):
    """Hashed and compressed files; while nothing is collected, files under their own names."""

    def stored_name(self, name: str) -> str:
        """Return the name with the hash, or the file's own name when there is no manifest."""
        return str(super().stored_name(name)) if self.hashed_files else name

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Put the joined scripts in the place of the modules that import, then let files be named and compressed."""

        def read(name: str) -> str:
            storage, path = paths[name]
            with storage.open(path) as file:
                return str(file.read().decode())

        if not dry_run:
            joined = {name: script_joined(name, read) for name in SCRIPTS}
            for name, script in joined.items():
                self.delete(name)
                self.save(name, ContentFile(script.encode()))
                paths[name] = (self, name)
        yield from super().post_process(paths, dry_run=dry_run, **options)


def script_joined(entry: str, read: Read) -> str:
    """Return a module together with all that it imports, as one module that imports nothing.

    Each module keeps a scope of its own; comments on lines of their own are left out. Raises ValueError for what cannot be joined: another form of import or export
    than `import { names } from "./file.js";` and `export` before a declaration, or a circle of imports.
    """
    joined: dict[str, str] = {}

    def add(path: str) -> str:
        name = "$" + re.sub(r"\W", "_", path)
        if name in joined:
            if not joined[name]:
                raise ValueError(f"{path} imports itself")
            return name
        joined[name] = ""
        source = _IMPORT.sub(
            lambda found: (
                f"const {{{found[1].replace(' as ', ': ')}}} = {add(normpath(join(dirname(path), found[2])))};"
            ),
            _COMMENT.sub("", read(path)),
        )
        exported = ", ".join(_EXPORT.findall(source))
        source = _EXPORT.sub("", source)
        if other := _OTHER.search(source):
            raise ValueError(f"{path}: {other[0]}")
        # Behind the modules that it needs.
        del joined[name]
        joined[name] = f"const {name} = (() => {{\n{source}\nreturn {{ {exported} }};\n}})();\n"
        return name

    add(entry)
    return "".join(joined.values())

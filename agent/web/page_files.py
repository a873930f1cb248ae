"""What a page with the chat loads: all its modules as one script, all its styles as one sheet.

The sources in `static/` are plain modules and stay what is read and edited. They are joined when they are asked for, so
that there is no build step, and a page waits for two files instead of thirty. Addresses change with what is in them.
"""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

STATIC: Final = settings.BASE_DIR / "static"
ENTRIES: Final = {"demo": "site/demo.js", "embed": "embed/frame.js", "continue": "embed/continue.js"}
STYLES: Final = ("chat/chat.css", "chat/cards.css", "chat/controls.css")
_TYPES: Final = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER: Final = re.compile(r"^(?:import|export)\b.*|\bimport\(.*|\bimport\.meta\b.*", re.MULTILINE)


@require_safe
@gzip_page
def page_file(request: HttpRequest, page: str, digest: str, kind: str) -> HttpResponse:
    """The script (`js`) or the styles (`css`) of a page."""
    if page not in ENTRIES or kind not in _TYPES:
        raise Http404
    body, current = _file(page, kind)
    response = HttpResponse(body, content_type=_TYPES[kind])
    if digest == current:
        patch_cache_control(response, public=True, max_age=365 * 24 * 3600, immutable=True)
    else:  # a page from before a deployment: it gets what there is now
        patch_cache_control(response, no_cache=True)
    return response


def page_file_url(page: str, kind: str) -> str:
    """The address of a page's script or styles."""
    return reverse("page-file", args=[page, _file(page, kind)[1], kind])


def script_joined(entry: str) -> str:
    """A module of `static/` with all that it imports, as one module that imports nothing.

    Each module keeps a scope of its own. Raises ValueError for what cannot be joined: another form of import or export
    than `import { names } from "./file.js";` and `export` before a declaration, or a circle of imports.
    """
    joined: dict[str, str] = {}

    def add(path: Path) -> str:
        name = "$" + re.sub(r"\W", "_", path.relative_to(STATIC).as_posix())
        if name in joined:
            if not joined[name]:
                raise ValueError(f"{path.name} imports itself")
            return name
        joined[name] = ""
        source = _IMPORT.sub(
            lambda found: (
                f"const {{{found[1].replace(' as ', ': ')}}} = {add((path.parent / found[2]).resolve())};"
            ),
            path.read_text("utf-8"),
        )
        exported = ", ".join(_EXPORT.findall(source))
        source = _EXPORT.sub("", source)
        if other := _OTHER.search(source):
            raise ValueError(f"{path.name}: {other[0]}")
        del joined[name]  # behind what it needs
        joined[name] = f"const {name} = (() => {{\n{source}\nreturn {{ {exported} }};\n}})();\n"
        return name

    add(STATIC / entry)
    return "".join(joined.values())


def styles_joined() -> str:
    """The chat's stylesheets; the later ones build on the first."""
    return "\n".join((STATIC / path).read_text("utf-8") for path in STYLES)


def _file(page: str, kind: str) -> tuple[bytes, str]:
    """What is served, and the mark of it; read anew each time while somebody may be editing."""
    return _made(page, kind) if settings.DEBUG else _kept(page, kind)


def _made(page: str, kind: str) -> tuple[bytes, str]:
    body = (script_joined(ENTRIES[page]) if kind == "js" else styles_joined()).encode()
    return body, hashlib.sha256(body).hexdigest()[:12]


_kept = cache(_made)

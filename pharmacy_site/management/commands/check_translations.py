"""`manage.py check_translations`: every text of the admin and the pages exists in Hebrew, and is compiled."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

_CALLS = {"_", "gettext", "gettext_lazy", "ngettext", "pgettext"}
_TAG = re.compile(r"""{%\s*(?:translate|trans)\s+(?:"([^"]*)"|'([^']*)')""")
_APPS = ("pharmacy_site", "stores", "inventory", "prescriptions", "agent")


class Command(BaseCommand):
    """Fails with the texts that lack a translation."""

    help = "Checks that locale/he has every text and that its .mo is current."

    def handle(self, *args: Any, **options: Any) -> None:
        import polib  # a test tool: production does not have it

        folder = Path(settings.BASE_DIR) / "locale" / "he" / "LC_MESSAGES"
        catalogue = polib.pofile(str(folder / "django.po"))
        done = {entry.msgid for entry in catalogue if entry.msgstr and not entry.fuzzy}
        missing = sorted({text for text in self._texts() if text not in done})
        if missing:
            raise CommandError("No Hebrew for:\n" + "\n".join(f"  {text!r}" for text in missing))
        compiled = {e.msgid: e.msgstr for e in polib.mofile(str(folder / "django.mo"))}
        stale = [e.msgid for e in catalogue.translated_entries() if compiled.get(e.msgid) != e.msgstr]
        if stale:
            raise CommandError(f"django.mo is older than django.po ({len(stale)} texts): run `make messages`.")
        self.stdout.write(f"{len(done)} texts, all in Hebrew.")

    def _texts(self) -> Iterator[str]:
        root = Path(settings.BASE_DIR)
        for app in _APPS:
            for path in (root / app).rglob("*.py"):
                if "migrations" not in path.parts:
                    yield from _python_texts(path)
        for path in (root / "templates").rglob("*.html"):
            for first, second in _TAG.findall(path.read_text(encoding="utf-8")):
                yield first or second


def _python_texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS and node.args:
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value

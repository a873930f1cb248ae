"""`manage.py check_translations`: fail when a text of the admin or the pages has no Hebrew, or is not compiled."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.template import Engine
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.translation import gettext_noop, ngettext_lazy

_APPS = ("pharmacy_site", "stores", "inventory", "prescriptions", "agent", "evaluation")
_SINGLE = {"gettext", "gettext_lazy", "gettext_noop"}
_PLURAL = {"ngettext", "ngettext_lazy"}
# What makemessages finds; another name for one of these hides its texts.
_NAMED = _SINGLE | _PLURAL | {"_"}
_PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[a-z]|\{\w*\}")

# The admin's theme comes without Hebrew, and Django lacks a few texts: named here, makemessages keeps them.
OTHERS_TEXTS = (
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop("All applications"),
    gettext_noop("Apply Filters"),
    gettext_noop("Cancel"),
    gettext_noop("Choose file to upload"),
    gettext_noop("Click to cancel"),
    gettext_noop("Click to download"),
    gettext_noop("Dark"),
    gettext_noop("Date"),
    gettext_noop("Date from"),
    gettext_noop("Date to"),
    gettext_noop("Error:"),
    gettext_noop("Expand row"),
    gettext_noop("False"),
    gettext_noop("Filters"),
    gettext_noop("Forgotten your password or username?"),
    gettext_noop("From"),
    gettext_noop("General"),
    gettext_noop("Go back"),
    gettext_noop("Image preview"),
    gettext_noop("Light"),
    gettext_noop("Loading more results..."),
    gettext_noop("More actions"),
    gettext_noop("Next"),
    gettext_noop("No data"),
    gettext_noop("No recent searches"),
    gettext_noop("No results found"),
    gettext_noop("No results matching your query"),
    gettext_noop("Not enough data."),
    gettext_noop("Previous"),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the "
        'password using <a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
    gettext_noop("Recent searches"),
    gettext_noop("Record picture"),
    gettext_noop("Reset filters"),
    gettext_noop("Return to site"),
    gettext_noop("Run"),
    gettext_noop("Search apps and models..."),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("Select all rows"),
    gettext_noop("Select record"),
    gettext_noop("Select value"),
    gettext_noop("Submit"),
    gettext_noop("System"),
    gettext_noop("This item will be deleted."),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("Toggle password visibility"),
    gettext_noop("True"),
    gettext_noop("Type to search"),
    gettext_noop("Value"),
    gettext_noop("Welcome"),
    gettext_noop("Welcome back to"),
    gettext_noop("You have been successfully logged out from the administration"),
    gettext_noop("%(model)s instance with %(field)s %(value)r is not a valid choice."),
    ngettext_lazy(
        "\n                Found %(counter)s result in %(time)s seconds\n            ",
        "\n                Found %(counter)s results in %(time)s seconds\n            ",
        0,
    ),
    ngettext_lazy(
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
        0,
    ),
)


class Command(BaseCommand):
    help = "Checks that locale/he has every text and that its .mo is current."

    def handle(self, *args: Any, **options: Any) -> None:
        # Not above: a development package, and every command is imported for `manage.py help NAME`.
        import polib

        folder = Path(settings.BASE_DIR) / "locale" / "he" / "LC_MESSAGES"
        catalogue = polib.pofile(str(folder / "django.po"))
        forms = int(catalogue.metadata["Plural-Forms"].split("nplurals=")[1].split(";")[0])
        done = {entry.msgid: entry for entry in catalogue if entry.translated()}
        missing = set()
        for text, plural in self._texts():
            entry = done.get(text)
            if entry is None or (
                plural and len([form for form in entry.msgstr_plural.values() if form]) != forms
            ):
                missing.add(text)
        if missing:
            raise CommandError("No Hebrew for:\n" + "\n".join(f"  {text!r}" for text in sorted(missing)))
        if wrong := [text for text, entry in done.items() if not _same_placeholders(entry)]:
            raise CommandError(
                "Other placeholders in the Hebrew of:\n" + "\n".join(f"  {text!r}" for text in wrong)
            )
        compiled = {e.msgid: (e.msgstr, e.msgstr_plural) for e in polib.mofile(str(folder / "django.mo"))}
        current = {e.msgid: (e.msgstr, e.msgstr_plural) for e in done.values()}
        if compiled != current:
            stale = len({*compiled, *current}) - len([k for k in current if compiled.get(k) == current[k]])
            raise CommandError(f"django.mo is not made from django.po ({stale} texts): run `make messages`.")
        self.stdout.write(f"{len(done)} texts, all in Hebrew.")

    def _texts(self) -> Iterator[tuple[str, bool]]:
        """Yield each text in the source, and whether it has a plural."""
        root = Path(settings.BASE_DIR)
        for app in _APPS:
            for path in (root / app).rglob("*.py"):
                if "migrations" not in path.parts:
                    yield from _python_texts(path)
        engine = Engine.get_default()
        for path in (root / "templates").rglob("*.html"):
            yield from _template_texts(engine.from_string(path.read_text(encoding="utf-8")).nodelist)


def _python_texts(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the texts that a module passes to gettext."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {name: name for name in _NAMED}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
            for imported in node.names:
                if imported.name in _SINGLE | _PLURAL and imported.asname not in {None, *_NAMED}:
                    raise CommandError(f"{path}: makemessages does not find texts in {imported.asname}().")
                names[imported.asname or imported.name] = imported.name
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in names
            and node.args
        ):
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value, names[node.func.id] in _PLURAL


def _template_texts(nodes: Any) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a template's translate and blocktranslate tags."""
    for node in nodes.get_nodes_by_type(TranslateNode):
        text = getattr(node.filter_expression.var, "literal", None)
        if isinstance(text, str):
            yield text, False
    for node in nodes.get_nodes_by_type(BlockTranslateNode):
        yield node.render_token_list(node.singular)[0], bool(node.plural)


def _same_placeholders(entry: Any) -> bool:
    """Return whether the Hebrew forms have the placeholders of the English text."""
    wanted = set(_PLACEHOLDER.findall(entry.msgid))
    forms = entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]
    return all(set(_PLACEHOLDER.findall(form)) == wanted for form in forms)

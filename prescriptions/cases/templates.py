"""Create the standard reply templates of a new installation, from `fixtures/reply_templates.yaml`, and list them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.apps import AppConfig, apps
from django.conf import settings

from pharmacy_site.lib.bilingual import named
from pharmacy_site.lib.text import Language
from pharmacy_site.lib.yaml_files import yaml_read
from prescriptions.models import ReplyTemplate

_FILE: Final = "reply_templates.yaml"


@dataclass(frozen=True)
class Offered:
    """A template with its title in the reader's language and its text in the customer's."""

    title: str
    text: str


def templates_offered(page: Language, customer: Language) -> list[Offered]:
    """Return the templates that are offered for a reply in the customer's language."""
    rows = ReplyTemplate.objects.filter(is_active=True)
    return [Offered(named(row, page, "title"), named(row, customer, "text")) for row in rows]


def on_post_migrate(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Create the missing templates after a migration. Existing rows stay as they are, since staff may have edited them."""
    try:
        template = kwargs.get("apps", apps).get_model("prescriptions", "ReplyTemplate")
    except LookupError:
        return  # migrated back to before the table
    defaults: Mapping[str, Mapping[str, str]] = yaml_read(settings.BASE_DIR / "fixtures" / _FILE)
    rows = template.objects.using(using)
    known = set(rows.exclude(code=None).values_list("code", flat=True))
    rows.bulk_create(
        template(
            code=code,
            title=entry["title_en"],
            title_en=entry["title_en"],
            title_he=entry["title_he"],
            text=entry["en"],
            text_en=entry["en"],
            text_he=entry["he"],
        )
        for code, entry in defaults.items()
        if code not in known
    )

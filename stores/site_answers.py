"""Create the standard site answers of a new installation, from `fixtures/site_answers.yaml`."""

from collections.abc import Mapping
from typing import Any, Final

from django.apps import AppConfig, apps
from django.conf import settings

from pharmacy_site.lib.yaml_files import yaml_read

_FILE: Final = "site_answers.yaml"


def on_post_migrate(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Create the missing answers after a migration. Existing rows stay as they are, since staff may have edited them."""
    try:
        answer = kwargs.get("apps", apps).get_model("stores", "SiteAnswer")
    except LookupError:
        return  # migrated back to before the table
    defaults: Mapping[str, Mapping[str, str]] = yaml_read(settings.BASE_DIR / "fixtures" / _FILE)
    rows = answer.objects.using(using)
    known = set(rows.values_list("topic", flat=True))
    rows.bulk_create(
        answer(
            topic=topic,
            text=entry["en"],
            text_en=entry["en"],
            text_he=entry["he"],
            offer=entry["offer"],
        )
        for topic, entry in defaults.items()
        if topic not in known
    )

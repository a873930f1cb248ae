"""Load the demo's stores and the fixtures' towns; loading again leaves alone what staff may have changed."""

from datetime import date, time, timedelta
from pathlib import Path
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from pharmacy_site.lib.text import compact
from pharmacy_site.lib.yaml_files import yaml_read
from stores.models import (
    FOLDED_LENGTH,
    Locality,
    LocalityName,
    OpeningException,
    OpeningHours,
    Store,
    StoreAlias,
    folded_names,
)

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def load(folder: Path) -> None:
    """Load `localities.yaml` and `demo/stores.yaml` of the fixtures; dates are relative to today.

    Existing rows stay as they are, since staff may have corrected them; only the demo's own exceptions move with the
    calendar.
    """
    localities = yaml_read(folder / "localities.yaml")
    stores = yaml_read(folder / "demo" / "stores.yaml")
    with transaction.atomic():
        _load_localities(localities)
        for entry in stores:
            _load_store(entry, timezone.localdate())


def _load_localities(entries: list[dict[str, Any]]) -> None:
    known = set(Locality.objects.values_list("slug", flat=True))
    Locality.objects.bulk_create(
        Locality(
            slug=entry["slug"],
            name_en=entry["name"]["en"],
            name_he=entry["name"]["he"],
            country=entry["country"],
            lat=entry["lat"],
            lng=entry["lng"],
            is_prominent=True,
        )
        for entry in entries
        if entry["slug"] not in known
    )
    keys = dict(Locality.objects.values_list("slug", "pk"))
    names = []
    for entry in entries:
        official = folded_names(entry["name"]["en"], entry["name"]["he"])
        for folded, text in (folded_names(*entry.get("aliases", [])) | official).items():
            row = LocalityName(
                locality_id=keys[entry["slug"]], text=text, folded=folded, derived=folded in official
            )
            names.append(row)
    LocalityName.objects.bulk_create(names, ignore_conflicts=True)


def _load_store(entry: dict[str, Any], today: date) -> None:
    city = Locality.objects.get(slug=entry["city"]) if entry["city"] else None
    defaults = {
        "name_en": entry["name"]["en"],
        "name_he": entry["name"]["he"],
        "kind": entry["kind"],
        "locality": city,
        "address_en": entry["address"]["en"],
        "address_he": entry["address"]["he"],
        "lat": entry["lat"],
        "lng": entry["lng"],
        "phone": entry["phone"] or "",
    }
    store, created = Store.objects.get_or_create(pk=entry["id"], defaults=defaults)
    aliases = [
        StoreAlias(store=store, text=text, folded=compact(text)[:FOLDED_LENGTH])
        for text in folded_names(*entry.get("aliases", [])).values()
    ]
    StoreAlias.objects.bulk_create(aliases, ignore_conflicts=True)
    if created:
        for day, hours in (entry.get("hours") or {}).items():
            if hours:
                opens, closes = _hours(hours)
                OpeningHours.objects.create(store=store, weekday=_DAYS.index(day), opens=opens, closes=closes)
    _load_exceptions(store, entry.get("exceptions") or [], today)


def _load_exceptions(store: Store, entries: list[dict[str, Any]], today: date) -> None:
    """Move the demo's holidays to today's calendar; those of an earlier load are recognised by their notes."""
    notes = {entry["note"]["en"] for entry in entries}
    store.exceptions.filter(note_en__in=notes).delete()
    days_of_staff = set(store.exceptions.values_list("date", flat=True))
    for entry in entries:
        day = today + timedelta(days=entry["in_days"])
        if day in days_of_staff:
            continue
        opens, closes = _hours(entry["hours"]) if entry.get("hours") else (None, None)
        OpeningException.objects.create(
            store=store,
            date=day,
            closed=opens is None,
            opens=opens,
            closes=closes,
            note_en=entry["note"]["en"],
            note_he=entry["note"]["he"],
        )


def _hours(text: str) -> tuple[time, time]:
    opens, closes = text.split("-")
    return time.fromisoformat(opens), time.fromisoformat(closes)

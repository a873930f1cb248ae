"""Load the categories that ship with the product (for load_demo and import_catalogue), and recognise their names."""

from pathlib import Path
from typing import Any

from inventory.models import FOLDED_LENGTH, Category, CategoryAlias
from pharmacy_site.lib.text import compact
from pharmacy_site.lib.yaml_files import yaml_read


def categories_load(path: Path, *, update: bool) -> list[int]:
    """Create the categories of a fixture and return the ids of all of them.

    With `update`, existing categories are changed to what the file says; without, they stay as staff left them.
    """
    entries: list[dict[str, Any]] = yaml_read(path) or []
    existing = {category.slug: category for category in Category.objects.all()}
    aliases = set(CategoryAlias.objects.values_list("category_id", "folded"))
    ids, new_aliases = [], []
    for entry in entries:
        category = existing.get(entry["slug"])
        wanted = {
            "name_en": entry["name"]["en"],
            "name_he": entry["name"].get("he"),
            "atc_prefixes": list(entry.get("atc", [])),
        }
        if category is None:
            category = Category.objects.create(slug=entry["slug"], **wanted)
        elif update and wanted != {field: getattr(category, field) for field in wanted}:
            for field, value in wanted.items():
                setattr(category, field, value)
            category.save()
        ids.append(category.pk)
        for text in entry.get("aliases", []):
            key = (category.pk, compact(text)[:FOLDED_LENGTH])
            if key not in aliases:
                aliases.add(key)
                new_aliases.append(CategoryAlias(category=category, text=text, folded=key[1]))
    CategoryAlias.objects.bulk_create(new_aliases)
    return ids


def category_names() -> list[str]:
    """Return the English names of all categories, sorted."""
    return sorted(Category.objects.values_list("name_en", flat=True))


def categories_called(keys: list[str]) -> set[str]:
    """Return those of the compact names that are a category's, also in singular or plural ("painkiller(s)")."""
    forms = {form: key for key in keys for form in (key, f"{key}s", key.removesuffix("s"))}
    called = set(CategoryAlias.objects.filter(folded__in=forms).values_list("folded", flat=True))
    # All categories are read: there are a few dozen at most.
    for names in Category.objects.values_list("name_en", "name_he"):
        called |= {compact(name) for name in names if name} & forms.keys()
    return {forms[form] for form in called}

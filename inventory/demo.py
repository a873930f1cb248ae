"""Load the demo's medications, interactions and stock; safe to repeat.

The fixtures overwrite what the database says about a product; stock levels that exist are left alone.
"""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar

from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.utils import timezone

from inventory.categories import categories_load
from inventory.index import index_rebuild
from inventory.models import (
    FOLDED_LENGTH,
    Category,
    Ingredient,
    IngredientAlias,
    Interaction,
    LeafletSection,
    Medication,
    MedicationAlias,
    MedicationIngredient,
    StockLevel,
    StockMove,
)
from inventory.strengths import strength_parse
from pharmacy_site.lib.errors import PharmacyError
from pharmacy_site.lib.text import compact, language_of
from pharmacy_site.lib.yaml_files import yaml_read

ACTOR: Final = "system:demo"

Entry = dict[str, Any]
M = TypeVar("M", bound=models.Model)


class DemoConflict(PharmacyError):
    """An id of a demo product belongs to a product that was imported from a register."""


def load(folder: Path) -> None:
    """Write what the fixtures folder says (`categories.yaml` and `demo/*.yaml`) to the database."""
    demo = folder / "demo"
    with transaction.atomic():
        categories_load(folder / "categories.yaml", update=True)
        ingredients = _ingredients(_read(demo / "ingredients.yaml"))
        entries = _read(demo / "medications.yaml")
        _medications(entries)
        _contents(entries, ingredients)
        _aliases(entries)
        _leaflets(entries, yaml_read(demo / "meta.yaml"))
        _interactions(_read(demo / "interactions.yaml"), ingredients)
        _stock(entries)
        _reset_sequences([Medication])
        index_rebuild([entry["id"] for entry in entries])


def _read(path: Path) -> list[Entry]:
    return yaml_read(path) or []


def _translated(field: str, texts: Any) -> dict[str, str | None]:
    """Return the two columns of a translated field; a plain text is English."""
    texts = texts if isinstance(texts, dict) else {"en": texts or ""}
    return {f"{field}_en": texts.get("en") or "", f"{field}_he": texts.get("he") or None}


def _upsert(model: type[M], rows: dict[Any, M], key: object, identity: Entry, values: Entry) -> M:
    """Create the row, or update the existing one if its values differ; keep `rows` up to date."""
    row = rows.get(key)
    if row is None:
        row = rows[key] = model(**identity, **values)
        row.save(force_insert=True)
    elif any(getattr(row, field) != value for field, value in values.items()):
        for field, value in values.items():
            setattr(row, field, value)
        row.save()
    return row


def _ingredients(entries: list[Entry]) -> dict[str, Ingredient]:
    rows_by_key = {
        row.key: row for row in Ingredient.objects.filter(key__in=[entry["key"] for entry in entries])
    }
    aliases = {row.folded: row for row in IngredientAlias.objects.all()}
    for entry in entries:
        values = {
            **_translated("name", entry["name"]),
            **_translated("display", entry.get("display")),
            "classes": list(entry.get("classes", [])),
            "assessed": True,
        }
        ingredient = _upsert(Ingredient, rows_by_key, entry["key"], {"key": entry["key"]}, values)
        for text in entry.get("aliases", []):
            folded = compact(text)[:FOLDED_LENGTH]
            _upsert(
                IngredientAlias, aliases, folded, {"folded": folded}, {"ingredient": ingredient, "text": text}
            )
    return rows_by_key


def _medications(entries: list[Entry]) -> None:
    rows_by_id = Medication.objects.in_bulk([entry["id"] for entry in entries])
    if any(medication.external_id for medication in rows_by_id.values()):
        raise DemoConflict("the demo's numbers are taken by products of an import")
    categories = dict(Category.objects.values_list("slug", "pk"))
    for entry in entries:
        pack = entry.get("pack") or {}
        values = {
            **_translated("name", entry["name"]),
            **_translated("generic_name", entry.get("generic")),
            "category_id": categories[entry["category"]] if entry.get("category") else None,
            "form": entry["form"],
            "release": entry.get("release") or Medication.Release.IMMEDIATE,
            "strength": " + ".join(part["strength"] for part in entry["ingredients"]),
            "pack_size": pack.get("size"),
            "pack_unit": pack.get("unit") or "",
            "rx_required": bool(entry["rx"]),
            "schedule": entry.get("schedule") or "",
            "substitution": entry.get("substitution") or Medication.Substitution.ALLOWED,
            "prior_authorization": bool(entry.get("prior_authorization")),
            "acute_antibiotic": bool(entry.get("acute_antibiotic")),
            "price": Decimal(str(entry["price"])) if entry.get("price") is not None else None,
        }
        _upsert(Medication, rows_by_id, entry["id"], {"id": entry["id"]}, values)


def _contents(entries: list[Entry], ingredients: dict[str, Ingredient]) -> None:
    rows = MedicationIngredient.objects.filter(medication_id__in=[entry["id"] for entry in entries])
    rows_by_key = {(row.medication_id, row.ingredient_id): row for row in rows}
    wanted = set()
    for entry in entries:
        for position, part in enumerate(entry["ingredients"]):
            key = (entry["id"], ingredients[part["key"]].pk)
            wanted.add(key)
            amount, unit = strength_parse(part["strength"]) or (None, "")
            values = {"strength": part["strength"], "amount": amount, "unit": unit, "position": position}
            identity = {"medication_id": key[0], "ingredient_id": key[1]}
            _upsert(MedicationIngredient, rows_by_key, key, identity, values)
    surplus = [row.pk for key, row in rows_by_key.items() if key not in wanted]
    MedicationIngredient.objects.filter(pk__in=surplus).delete()


def _aliases(entries: list[Entry]) -> None:
    ids = [entry["id"] for entry in entries]
    existing = set(MedicationAlias.objects.filter(medication_id__in=ids).values_list("medication_id", "text"))
    wanted = dict.fromkeys((entry["id"], text) for entry in entries for text in entry.get("aliases", []))
    MedicationAlias.objects.bulk_create(
        MedicationAlias(medication_id=pk, text=text, language=language_of(text) or "")
        for pk, text in wanted
        if (pk, text) not in existing
    )


def _leaflets(entries: list[Entry], meta: Entry) -> None:
    rows = LeafletSection.objects.filter(medication_id__in=[entry["id"] for entry in entries])
    rows_by_key = {(row.medication_id, row.kind): row for row in rows}
    source = _translated("source", meta["leaflet_source"])
    as_of = timezone.localdate() - timedelta(days=int(meta["leaflet_days_old"]))
    new = []
    for entry in entries:
        for kind, texts in (entry.get("leaflet") or {}).items():
            values = {**_translated("text", texts), **source}
            identity = {"medication_id": entry["id"], "kind": kind, "updated_on": as_of}
            if (entry["id"], kind) in rows_by_key:
                _upsert(LeafletSection, rows_by_key, (entry["id"], kind), {}, values)
            else:
                new.append(LeafletSection(**identity, **values))
    LeafletSection.objects.bulk_create(new)


def _interactions(entries: list[Entry], ingredients: dict[str, Ingredient]) -> None:
    rows_by_key = {(row.ingredient_a_id, row.ingredient_b_id): row for row in Interaction.objects.all()}
    for entry in entries:
        low, high = sorted((ingredients[entry["a"]].pk, ingredients[entry["b"]].pk))
        row = rows_by_key.get((low, high))
        if row is not None and row.level == Interaction.Level.AVOID:
            # A level is never lowered, not by the demo either.
            continue
        values = {"level": entry["level"], "source_text": entry.get("source_text") or "", "sources": "demo"}
        _upsert(
            Interaction, rows_by_key, (low, high), {"ingredient_a_id": low, "ingredient_b_id": high}, values
        )


def _stock(entries: list[Entry]) -> None:
    """Create the missing levels, each with its movement; an existing level was counted by somebody and stays."""
    existing = set(StockLevel.objects.values_list("store_id", "medication_id"))
    today = timezone.localdate()
    levels = []
    for entry in entries:
        restock = {int(store): int(days) for store, days in (entry.get("restock_in_days") or {}).items()}
        for store, quantity in (entry.get("stock") or {}).items():
            if (int(store), entry["id"]) in existing:
                continue
            levels.append(
                StockLevel(
                    store_id=int(store),
                    medication_id=entry["id"],
                    quantity=int(quantity),
                    restock_on=_in_days(today, restock.get(int(store))),
                )
            )
    StockLevel.objects.bulk_create(levels)
    StockMove.objects.bulk_create(
        StockMove(
            store_id=level.store_id,
            medication_id=level.medication_id,
            delta=level.quantity,
            quantity_after=level.quantity,
            reason=StockMove.Reason.DEMO,
            actor=ACTOR,
        )
        for level in levels
    )


def _in_days(today: date, days: int | None) -> date | None:
    return None if days is None else today + timedelta(days=days)


def _reset_sequences(tables: list[type[models.Model]]) -> None:
    """Let PostgreSQL number new rows after the explicit ids; SQLite does so by itself."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables):
            cursor.execute(statement)

"""Facts about medications, leaflets and stores as JSON, in both languages: the evidence beside a contract's fields.

Shapes, used by every tool (its own file says which keys it gives):

- medication: `{id, label_en, label_he, generic_en, generic_he, form, release, strength, pack_size, pack_unit, price,
  rx, schedule, controlled, substitution, prior_authorization, category_en, category_he}`
- leaflet: `{kind: {en, he, source_en, source_he, updated_on}}`
- candidate: `{id, label_en, label_he, form, release, strength}`
- store: `{store_id, label_en, label_he, kind, phone, lat, lng}`; in the chat also `open_now, opens_at, closes_at, hours_today,
  note_en, note_he`
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import prefetch_related_objects
from django.utils import timezone

from agent.conversation.stores import opening_facts, store_facts
from agent.tools.base import ToolContext
from inventory import catalog
from inventory.models import Medication, MedicationIngredient
from pharmacy_site.lib.bilingual import both, labels, named
from pharmacy_site.lib.text import Language, compact
from stores.models import Store
from stores.selectors import exceptions_ahead, opening_state

SHORTEST_PART: Final = 4
"""Letters of a name's part that may stand for the name; less than a whole word of them is chance ("it")."""


def controlled(medication: Medication) -> bool:
    """Return whether customers are shown no quantity of it (safety: scraping of controlled stock)."""
    return medication.schedule != ""


def _contents(medication: Medication) -> Iterable[MedicationIngredient]:
    catalog.contents_load([medication])
    return medication.contents.all()


def ingredient_names(medication: Medication) -> list[str]:
    """Return the English names of its ingredients, in order."""
    return [both(row.ingredient, "name")[0] for row in _contents(medication)]


def ingredient_display(medication: Medication, language: Language) -> str:
    """Return its ingredients as customers read them: "Paracetamol (Acetaminophen)"."""
    return ", ".join(
        named(row.ingredient, language, "display") or named(row.ingredient, language)
        for row in _contents(medication)
    )


def ingredients_with_strength(medication: Medication) -> str:
    """Return its ingredients as S0 writes them: "Amoxicillin 875mg, Clavulanic acid 125mg"."""
    return ", ".join(
        f"{both(row.ingredient, 'name')[0]} {row.strength.replace(' ', '')}".rstrip()
        for row in _contents(medication)
    )


def medication_facts(medication: Medication) -> dict[str, Any]:
    """Return what is on file about a product."""
    category = medication.category
    return {
        "id": medication.pk,
        **labels(medication),
        **labels(medication, "generic_name", key="generic"),
        "form": medication.form,
        "release": medication.release,
        "strength": medication.strength,
        "pack_size": medication.pack_size,
        "pack_unit": medication.pack_unit,
        "price": None if medication.price is None else str(medication.price),
        "rx": medication.rx_required,
        "schedule": medication.schedule,
        "controlled": controlled(medication),
        "substitution": medication.substitution,
        "prior_authorization": medication.prior_authorization,
        **(labels(category, key="category") if category else dict.fromkeys(("category_en", "category_he"))),
    }


def leaflet_facts(medication: Medication) -> dict[str, dict[str, Any]]:
    """Return the leaflet on file by kind of section."""
    prefetch_related_objects([medication], "leaflet")
    return {
        section.kind: {
            **dict(zip(("en", "he"), both(section, "text"), strict=True)),
            **labels(section, "source", key="source"),
            "updated_on": section.updated_on.isoformat() if section.updated_on else None,
        }
        for section in medication.leaflet.all()
    }


def candidate_facts(medications: Iterable[Medication]) -> list[dict[str, Any]]:
    """Return what tells products apart when a customer has to choose."""
    return [
        {
            "id": medication.pk,
            **labels(medication),
            "form": medication.form,
            "release": medication.release,
            "strength": medication.strength,
        }
        for medication in medications
    ]


def near_misses(query: str, context: ToolContext) -> list[dict[str, Any]]:
    """Return products whose names are a typo away, for "did you mean"; only the chat asks that."""
    if context.channel != "chat" or not compact(query):
        return []
    return candidate_facts(catalog.medications_suggest(query))


def stores_facts(stores: Sequence[Store], context: ToolContext) -> dict[int, dict[str, Any]]:
    """Return the facts of each store by id; opening hours only for the chat, in two queries for all of them."""
    facts = {store.pk: {**store_facts(store), "lat": store.lat, "lng": store.lng} for store in stores}
    if context.channel == "chat":
        now = timezone.now()
        prefetch_related_objects(list(stores), "hours", "exceptions")
        for store in stores:
            facts[store.pk] |= _hours(store, now)
    return facts


def _hours(store: Store, now: datetime) -> dict[str, Any]:
    state = opening_state(store, now)
    special = exceptions_ahead(store, timezone.localdate(now), days=1)
    note = next((both(row, "note") for row in special if row.note), ("", ""))
    return {
        **opening_facts(state),
        "opens_at": state.opens_at.isoformat() if state.opens_at else None,
        "note_en": note[0],
        "note_he": note[1],
    }

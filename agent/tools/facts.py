"""Return facts about medications, leaflets and stores as JSON in both languages: the evidence beside a result.

Their shapes are in `agent/evidence.py`; each tool's own file says which of them it gives.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from django.db.models import prefetch_related_objects
from django.utils import timezone

from agent.conversation.stores import opening_facts, store_facts
from agent.evidence import CandidateFacts, Evidence, LeafletSection, OpeningFacts, ProductFacts, StoreFacts
from agent.tools.base import ToolContext
from inventory import catalog
from inventory.models import Medication, MedicationIngredient
from inventory.stock import totals
from pharmacy_site.lib.bilingual import both, named
from pharmacy_site.lib.text import Language, compact
from stores.models import Store
from stores.places import StorePlace, UnservedPlace, place_find, places_in
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


def medication_facts(medication: Medication) -> ProductFacts:
    """Return what is on file about a product."""
    name_en, name_he = both(medication, "name")
    generic_en, generic_he = both(medication, "generic_name")
    category_en, category_he = both(medication.category, "name") if medication.category else (None, None)
    return {
        "id": medication.pk,
        "label_en": name_en,
        "label_he": name_he,
        "generic_en": generic_en,
        "generic_he": generic_he,
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
        "category_en": category_en,
        "category_he": category_he,
    }


def leaflet_facts(medication: Medication) -> dict[str, LeafletSection]:
    """Return the leaflet on file by kind of section."""
    prefetch_related_objects([medication], "leaflet")
    leaflet: dict[str, LeafletSection] = {}
    for section in medication.leaflet.all():
        (text_en, text_he), (source_en, source_he) = both(section, "text"), both(section, "source")
        leaflet[section.kind] = {
            "en": text_en,
            "he": text_he,
            "source_en": source_en,
            "source_he": source_he,
            "updated_on": section.updated_on.isoformat() if section.updated_on else None,
        }
    return leaflet


def candidate_facts(medications: Iterable[Medication]) -> list[CandidateFacts]:
    """Return what distinguishes products when a customer has to choose."""
    return [
        {
            "id": medication.pk,
            "label_en": both(medication, "name")[0],
            "label_he": both(medication, "name")[1],
            "form": medication.form,
            "release": medication.release,
            "strength": medication.strength,
        }
        for medication in medications
    ]


def near_misses(query: str, context: ToolContext) -> list[CandidateFacts]:
    """Return products whose names are a typo away, for "did you mean"; none outside the chat."""
    if context.channel != "chat" or not compact(query):
        return []
    return candidate_facts(catalog.medications_suggest(query))


def stock_there(medication_ids: Iterable[int], context: ToolContext) -> Evidence:
    """Return the packs of these products at the one store or city that the message, or else the conversation, is about."""
    mentions = places_in(context.message) if context.message else []
    place = mentions[0].place if len(mentions) == 1 else None
    if not mentions and context.place:
        place = place_find(context.place)
    if place is None or isinstance(place, UnservedPlace):
        return {}
    row, stores = (
        (place.store, [place.store]) if isinstance(place, StorePlace) else (place.locality, place.stores)
    )
    packs = totals(medication_ids, stores)
    label_en, label_he = both(row, "name")
    shown = {str(pk): quantity for pk, quantity in packs.items()}
    return {"there": {"label_en": label_en, "label_he": label_he, "packs": shown}}


def stores_facts(stores: Sequence[Store], context: ToolContext) -> dict[int, StoreFacts]:
    """Return the facts of each store by id; opening hours only for the chat, in two queries for all of them."""
    is_chat, now = context.channel == "chat", timezone.now()
    if is_chat:
        prefetch_related_objects(list(stores), "hours", "exceptions")
    facts: dict[int, StoreFacts] = {}
    for store in stores:
        hours: OpeningFacts = _hours(store, now) if is_chat else {}
        facts[store.pk] = {**store_facts(store), "lat": store.lat, "lng": store.lng, **hours}
    return facts


def _hours(store: Store, now: datetime) -> OpeningFacts:
    state = opening_state(store, now)
    special = exceptions_ahead(store, timezone.localdate(now), days=1)
    note = next((both(row, "note") for row in special if row.note), ("", ""))
    return {
        **opening_facts(state),
        "opens_at": state.opens_at.isoformat() if state.opens_at else None,
        "note_en": note[0],
        "note_he": note[1],
    }

"""Say in the page's language what was looked up for an answer: the facts of a tool's call, by name and value. Pure.

Both languages stand here, as in `prescriptions.refill.staff_wording`; keys of the database, and what is empty, are left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pharmacy_site.lib.text import Language

Row = tuple[str, str]
_Words = Mapping[str, tuple[str, str]]
_MOST: Final = 30
"""Rows of one call; a list of all stores has more than anybody reads."""
_IDS: Final = frozenset(
    {"id", "presc_id", "med_id", "store_id", "a", "b", "numbers", "lat", "lng", "by", "whole_word", "matched_by", "more"}
    | {"query", "language", "patient_id", "user_identifier", "prescription_id", "threshold", "status_known", "totals"}
)  # fmt: skip
_TOOLS: Final[_Words] = {
    "check_stock": ("stock of a medicine", "מלאי של תרופה"),
    "check_inventory": ("stock of a medicine", "מלאי של תרופה"),
    "inventory_check": ("stock of a medicine", "מלאי של תרופה"),
    "get_medication_by_name": ("a medicine", "תרופה"),
    "get_medication_info": ("a medicine", "תרופה"),
    "check_prescription_requirement": ("whether a prescription is needed", "אם נדרש מרשם"),
    "inventory_find_equivalent": ("equivalents", "תחליפים"),
    "interaction_check": ("interactions", "תגובות בין תרופות"),
    "prescription_management": ("prescriptions", "מרשמים"),
    "prescription_verify": ("a prescription", "מרשם"),
}
_KEYS: Final[_Words] = {
    "medication": ("medicine", "תרופה"),
    "medications": ("medicines", "תרופות"),
    "medication_name": ("asked for", "נשאל על"),
    "medication_query": ("asked for", "נשאל על"),
    "store_query": ("place", "מקום"),
    "label": ("name", "שם"),
    "generic": ("active ingredient", "חומר פעיל"),
    "form": ("form", "צורה"),
    "release": ("release", "שחרור"),
    "strength": ("strength", "חוזק"),
    "pack_size": ("units in a pack", "יחידות באריזה"),
    "pack_unit": ("unit", "יחידה"),
    "price": ("price", "מחיר"),
    "rx": ("prescription needed", "נדרש מרשם"),
    "schedule": ("schedule", "דרגת פיקוח"),
    "controlled": ("controlled", "מפוקחת"),
    "substitution": ("substitution", "החלפה"),
    "prior_authorization": ("the insurer must authorise it", "נדרש אישור מהמבטח"),
    "category": ("category", "קטגוריה"),
    "leaflet": ("leaflet", "עלון"),
    "source": ("source", "מקור"),
    "updated_on": ("updated on", "עודכן ביום"),
    "updated_at": ("updated at", "עודכן בשעה"),
    "candidates": ("may be meant", "ייתכן שהכוונה ל"),
    "near": ("similar names", "שמות דומים"),
    "equivalents": ("equivalents", "תחליפים"),
    "there": ("there", "שם"),
    "packs": ("packs", "אריזות"),
    "quantity": ("packs", "אריזות"),
    "low": ("low", "נמוך"),
    "restock_on": ("restock expected", "חידוש מלאי צפוי"),
    "store": ("store", "סניף"),
    "requested": ("store", "סניף"),
    "stores": ("stores", "סניפים"),
    "elsewhere": ("other stores", "סניפים אחרים"),
    "nearest": ("nearest store", "הסניף הקרוב"),
    "nearest_stocked": ("nearest store with stock", "הסניף הקרוב שיש בו מלאי"),
    "near_place": ("near", "ליד"),
    "place": ("place", "מקום"),
    "city": ("city", "עיר"),
    "kind": ("kind", "סוג"),
    "phone": ("phone", "טלפון"),
    "km": ("kilometres", "קילומטרים"),
    "open_now": ("open now", "פתוח כעת"),
    "opens_at": ("opens at", "נפתח בשעה"),
    "closes_at": ("closes at", "נסגר בשעה"),
    "hours_today": ("hours today", "שעות היום"),
    "note": ("note", "הערה"),
    "pairs": ("pair", "צמד"),
    "level": ("level", "דרגה"),
    "ingredients": ("ingredients", "חומרים פעילים"),
    "unassessed": ("cannot be assessed", "אי אפשר להעריך"),
    "unknown": ("unknown names", "שמות לא מוכרים"),
    "prescription": ("prescription", "מרשם"),
    "prescriptions": ("prescription", "מרשם"),
    "expires_on": ("valid until", "בתוקף עד"),
    "issued_on": ("issued on", "הונפק ביום"),
    "last_filled_on": ("last filled on", "נופק לאחרונה ביום"),
    "days_supply": ("days of supply", "ימי טיפול"),
    "refills_left": ("refills left", "ניפוקים שנותרו"),
    "refill_pending": ("a refill is open", "ניפוק פתוח"),
    "directions": ("directions", "הוראות נטילה"),
    "action": ("action", "פעולה"),
    "intent": ("for", "לצורך"),
    "use": ("use", "שימוש"),
    "dosage": ("dosage", "מינון"),
    "warnings": ("warnings", "אזהרות"),
    "side_effects": ("side effects", "תופעות לוואי"),
    "storage": ("storage", "אחסון"),
}
_VALUES: Final[_Words] = {
    "avoid": ("not together", "לא יחד"),
    "caution": ("with caution", "בזהירות"),
    "none": ("nothing listed", "לא רשום דבר"),
    "listed": ("listed", "רשום"),
    "tablet": ("tablet", "טבליה"),
    "tablets": ("tablets", "טבליות"),
    "capsule": ("capsule", "כמוסה"),
    "capsules": ("capsules", "כמוסות"),
    "syrup": ("syrup", "סירופ"),
    "pen": ("pen", "עט"),
    "pens": ("pens", "עטים"),
    "immediate": ("immediate", "מיידי"),
    "extended": ("extended", "מושהה"),
    "allowed": ("allowed", "מותרת"),
    "branch": ("branch", "סניף"),
    "online": ("online store", "חנות מקוונת"),
    "LIST": ("list", "רשימה"),
    "REFILL_STATUS": ("refill status", "מצב הניפוק"),
    "refill": ("refill", "ניפוק"),
    "new": ("new", "חדש"),
}
_LONGEST: Final = 200
_DAY: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d:\d\d).*)?")


def tool_shown(name: str, language: Language) -> str:
    """Return what a tool looks up, in words; a tool without words is called as it is."""
    return _word(_TOOLS, name, language)


def facts_shown(facts: Mapping[str, Any], language: Language) -> list[Row]:
    """Return the facts as rows of a name and a value, in the page's language."""
    return list(_rows(facts.get("facts", facts), language))[:_MOST]


def _rows(facts: Mapping[str, Any], language: Language) -> Iterator[Row]:
    for name, value in _own(facts, language):
        word = _word(_KEYS, name, language)
        if isinstance(value, Mapping) and not set(value) <= {"en", "he"} and name not in ("packs",):
            items: Sequence[Any] = list(value.values()) if name in ("leaflet", "medications") else [value]
            names = list(value) if name == "leaflet" else [name] * len(items)
            for one, item in zip(names, items, strict=True):
                yield _word(_KEYS, one, language), _line(item, language)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for item in value:
                yield word, _line(item, language)
        elif shown := _shown(value, language):
            yield word, shown


def _line(item: Any, language: Language) -> str:
    """Return one product, store or prescription on one line, its name first."""
    if not isinstance(item, Mapping) or set(item) <= {"en", "he"}:
        return _shown(item, language)
    parts = []
    for name, value in _own(item, language):
        if shown := _shown(value, language):
            parts.append(shown if name in ("label", "text") else f"{_word(_KEYS, name, language)}: {shown}")
    return " · ".join(parts)[:_LONGEST]


def _own(facts: Mapping[str, Any], language: Language) -> Iterator[tuple[str, Any]]:
    """Yield what is not a key of the database, of two languages the page's."""
    other = "_he" if language == "en" else "_en"
    for key, value in facts.items():
        if key in ("en", "he"):
            if key == language:
                yield "text", value
        elif key not in _IDS and not key.endswith(other):
            yield key.removesuffix(f"_{language}"), value


def _shown(value: Any, language: Language) -> str:
    if isinstance(value, bool):
        return (("no", "לא"), ("yes", "כן"))[value][language == "he"]
    if isinstance(value, Mapping):
        if "en" in value and "he" in value:
            return str(value[language] or value["en"])
        return _line(value, language) if not all(isinstance(one, int) for one in value.values()) else ""
    if isinstance(value, list):
        return ", ".join(filter(None, (_shown(one, language) for one in value)))
    if value is None or value == "":
        return ""
    if found := _DAY.fullmatch(str(value)):
        year, month, day, at = found.groups()
        return f"{day}.{month}.{year}" + (f" {at}" if at else "")
    return _word(_VALUES, str(value), language)


def _word(words: _Words, code: str, language: Language) -> str:
    pair = words.get(code)
    return pair[language == "he"] if pair else code.replace("_", " ") if words is not _VALUES else code

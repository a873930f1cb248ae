"""Names and texts of a row in both languages, each language standing in for the other where it is missing. Pure."""

from pharmacy_site.lib.text import Language


def both(row: object, name: str) -> tuple[str, str]:
    """Return a translated field in English and Hebrew."""
    english, hebrew = getattr(row, f"{name}_en") or "", getattr(row, f"{name}_he") or ""
    return english or hebrew, hebrew or english


def named(row: object, language: Language, name: str = "name") -> str:
    """Return a translated field in one language."""
    english, hebrew = both(row, name)
    return hebrew if language == "he" else english


def labels(row: object, name: str = "name", *, key: str = "label") -> dict[str, str]:
    """Return a translated field as JSON: "label_en" and "label_he", or two keys that begin with another word."""
    english, hebrew = both(row, name)
    return {f"{key}_en": english, f"{key}_he": hebrew}

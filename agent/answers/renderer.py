"""Word facts in the language of an answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.answers.render import count, dated, label, measure, say
from agent.inference.base import Turn
from agent.state import RememberedAllergen, RememberedMedication, RememberedPlace, RememberedPrescription
from pharmacy_site.lib.text import Language

Named = RememberedMedication | RememberedPlace | RememberedPrescription | RememberedAllergen
"""What a conversation remembers by its name in both languages."""
Facts = Mapping[str, object]
"""What is on file about something, its texts in both languages: `label_en`, `label_he`."""


@dataclass(frozen=True)
class Renderer:
    """Words the answer of one turn."""

    turn: Turn
    language: Language

    def say(self, key: str, **values: object) -> str:
        """Return a sentence."""
        return say(key, self.language, **values)

    def count(self, key: str, n: int, **values: object) -> str:
        """Return a sentence with a number."""
        return count(key, self.language, n, **values)

    def of(self, facts: Facts, field_name: str = "label") -> str:
        """Return a text of these facts, in English where the language has none."""
        return str(facts.get(f"{field_name}_{self.language}") or facts.get(f"{field_name}_en") or "")

    def name(self, remembered: Named) -> str:
        """Return the name of what was talked about."""
        names: Facts = remembered
        return str(names.get(self.language) or names.get("en") or names.get("query") or "")

    def word(self, kind: str, value: str) -> str:
        """Return a word of a fixed list."""
        return label(kind, value, self.language)

    def measure(self, facts: Facts) -> str:
        """Return a product's strength, with the units of the language."""
        return measure(str(facts.get("strength") or ""), self.language)

    def ingredients(self, facts: Facts, result: Facts) -> list[str]:
        """Return a product's ingredients with their strengths; in Hebrew when their Hebrew names are on file."""
        names, strengths = str(facts.get("generic_he") or "").split(" + "), self.measure(facts).split(" + ")
        if self.language == "he" and len(names) == len(strengths) and names[0] and not names[0].isascii():
            return [f"{name} {strength}" for name, strength in zip(names, strengths, strict=True)]
        return str(result.get("active_ingredients") or result.get("activeIngredient") or "").split(", ")

    def date(self, day: str) -> str:
        """Return a day in words."""
        return dated(day, self.language)

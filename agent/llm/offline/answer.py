"""The parts that plans put together: text, cards, suggestions, and what the conversation is about afterwards."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.answers.render import apart, count, dated, label, measure, say
from agent.inference.base import Step, StepResult, Turn
from pharmacy_site.lib.text import Language

Medication = Mapping[str, Any]


@dataclass
class Part:
    """One worded piece of an answer. `state` is merged into the conversation's state."""

    text: str
    cards: list[dict[str, Any]] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    quoted: list[str] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)


# A plan yields the steps it needs together, is sent their results, and returns its part.
Plan = Generator[Sequence[Step], Sequence[StepResult], Part]


@dataclass(frozen=True)
class View:
    """What a plan may look at: the turn and the language of its answer."""

    turn: Turn
    language: Language

    def say(self, key: str, **values: object) -> str:
        """A sentence in the language of the answer."""
        return say(key, self.language, **values)

    def count(self, key: str, n: int, **values: object) -> str:
        """A plural sentence in the language of the answer."""
        return count(key, self.language, n, **values)

    def of(self, facts: Mapping[str, Any], field_name: str = "label") -> str:
        """A fact that comes in both languages."""
        return str(facts.get(f"{field_name}_{self.language}") or facts.get(f"{field_name}_en") or "")

    def name(self, medication: Medication) -> str:
        """A medicine of the state in the language of the answer."""
        return str(medication.get(self.language) or medication.get("en") or medication.get("query") or "")

    def word(self, kind: str, value: str) -> str:
        """A word of a fixed list."""
        return label(kind, value, self.language)

    def measure(self, facts: Mapping[str, Any]) -> str:
        """A product's strength with the units of the language."""
        return measure(str(facts.get("strength") or ""), self.language)

    def ingredients(self, facts: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
        """A product's ingredients, each with its strength; in Hebrew when their Hebrew names are on file."""
        names, strengths = str(facts.get("generic_he") or "").split(" + "), self.measure(facts).split(" + ")
        if self.language == "he" and len(names) == len(strengths) and names[0] and not names[0].isascii():
            return [f"{name} {strength}" for name, strength in zip(names, strengths, strict=True)]
        return str(result.get("active_ingredients") or result.get("activeIngredient") or "").split(", ")

    def date(self, day: str) -> str:
        """A day in words."""
        return dated(day, self.language)


def medicine_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's medication facts as the conversation keeps them."""
    return {"id": facts["id"], "en": facts["label_en"], "he": facts["label_he"]}


def stores_of(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Branches as the conversation keeps them, in the order shown, so that "the second one" can be asked about."""
    return [
        {"query": row["label_en"], "en": row["label_en"], "he": row["label_he"], "store": row["store_id"]}
        for row in rows
    ]


def as_of(view: View) -> str:
    """When the stock was read; it is no reservation."""
    return view.say("stock_note", time=f"{view.turn.now:%H:%M}")


def option_of(facts: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """A product to choose from, with what tells it from the others."""
    option = {
        "id": facts["id"],
        "en": facts["label_en"],
        "he": facts["label_he"],
        "strength": facts.get("strength", ""),
        "form": facts.get("form", ""),
    }
    return option | ({"name": name} if name else {})


def product_line(view: View, facts: Mapping[str, Any]) -> str:
    """A product with form and strength: "Ibuprofen, tablet 200 mg"."""
    form = view.word("form", str(facts.get("form") or ""))
    release = str(facts.get("release") or "immediate")
    details = " ".join(
        text
        for text in (
            form,
            view.word("release", release) if release != "immediate" else "",
            apart(view.measure(facts), view.language),
        )
        if text
    )
    name = apart(view.of(facts), view.language)
    return f"{name}, {details}" if details else name


def rx_tag(view: View, facts: Mapping[str, Any]) -> str:
    """The prescription tag in words."""
    return view.say("tag_rx" if facts.get("rx") else "tag_otc")


def numbered(lines: Sequence[str]) -> str:
    """Lines that count up from 1, so that a customer can point at one."""
    return "\n".join(f"{place}. {line}" for place, line in enumerate(lines, 1))


def bullets(lines: Sequence[str]) -> str:
    """Lines without an order that matters."""
    return "\n".join(f"• {line}" for line in lines)


def paragraphs(*texts: str) -> str:
    """Paragraphs, the empty ones left out."""
    return "\n\n".join(text for text in texts if text)


def open_words(view: View, store: Mapping[str, Any]) -> str:
    """Whether a store is open at this moment."""
    if store.get("open_now"):
        until = str(store.get("closes_at") or "")[11:16]
        return view.say("open_now", time=until) if until else view.say("open_now_plain")
    return view.say("closed_now") if store.get("open_now") is False else view.say("hours_unknown")

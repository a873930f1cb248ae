"""Word what a product is, and name it as the conversation remembers it."""

from collections.abc import Sequence
from typing import Final

from agent.answers.render import apart
from agent.answers.renderer import Facts, Renderer
from agent.evidence import CandidateFacts, ProductFacts
from agent.state import ConversationState, RememberedMedication
from pharmacy_site.lib.text import compact, words

_FOR_CHILDREN: Final = ("child", "kids", "junior", "infant", "baby", "ילד", "תינוק", "פעוט")


def medicine_of(facts: CandidateFacts) -> RememberedMedication:
    """Return a product as the conversation remembers it."""
    return {"id": facts["id"], "en": facts["label_en"], "he": facts["label_he"]}


def option_of(facts: CandidateFacts, name: str = "") -> RememberedMedication:
    """Return a product to choose from, with what tells it from the others."""
    option = medicine_of(facts)
    option["strength"], option["form"] = facts.get("strength", ""), facts.get("form", "")
    if name:
        option["name"] = name
    return option


def about(medications: Sequence[RememberedMedication]) -> ConversationState:
    """Return the state after an answer about these medicines."""
    focus: list[RememberedMedication] = []
    for medication in medications:
        if "id" in medication:
            one: RememberedMedication = {"id": medication["id"]}
            for key in ("en", "he", "name"):
                if key in medication:
                    one[key] = medication[key]
            focus.append(one)
    return {"focus": focus} if focus else {}


def exact_name(facts: CandidateFacts) -> str:
    """Return how to call a product in a tool's argument when others share its name."""
    return f"med-{facts['id']}"


def is_called_by_ingredient(facts: ProductFacts) -> bool:
    """Return whether a product's name is or has that of its only ingredient: "Ibuprofen", "Metformin XR"."""
    ingredient, name = words(facts["generic_en"]), words(facts["label_en"])
    return bool(ingredient) and "+" not in facts["generic_en"] and set(ingredient) <= set(name)


def form_words(renderer: Renderer, facts: Facts) -> str:
    """Return a product's form and how it sets its contents free: "tablet, extended release"."""
    release = str(facts.get("release") or "immediate")
    form = renderer.word("form", str(facts.get("form") or ""))
    return form if release == "immediate" or not form else f"{form}, {renderer.word('release', release)}"


def product_line(renderer: Renderer, facts: Facts) -> str:
    """Return a product with form and strength: "Ibuprofen, tablet 200 mg"."""
    form = renderer.word("form", str(facts.get("form") or ""))
    release = str(facts.get("release") or "immediate")
    details = " ".join(
        text
        for text in (
            form,
            renderer.word("release", release) if release != "immediate" else "",
            apart(renderer.measure(facts), renderer.language),
        )
        if text
    )
    name = apart(renderer.of(facts), renderer.language)
    return f"{name}, {details}" if details else name


def rx_tag(renderer: Renderer, facts: Facts) -> str:
    """Return the prescription tag in words."""
    return renderer.say("tag_rx" if facts.get("rx") else "tag_otc")


def name_correction(renderer: Renderer, medication: RememberedMedication, facts: Facts) -> str:
    """Name the product if the customer called it otherwise, or asked for a kind of it that is not listed."""
    texts = _other_name(renderer, medication, facts), _other_kind(renderer, medication, facts)
    return " ".join(text for text in texts if text)


def _other_kind(renderer: Renderer, medication: RememberedMedication, facts: Facts) -> str:
    """Say that the product is not the kind asked for: never passed off as a children's or extended-release one."""
    kind = medication.get("variant")
    names = f"{facts.get('label_en')} {facts.get('label_he')}".lower()
    fits = {
        "children": facts.get("form") in ("syrup", "drops") or any(word in names for word in _FOR_CHILDREN),
        "extended": str(facts.get("release") or "immediate") != "immediate",
    }
    if not kind or fits[str(kind)]:
        return ""
    line = product_line(renderer, facts) if "form" in facts else renderer.of(facts)
    return renderer.say("not_children" if kind == "children" else "not_extended", name=line)


def _other_name(renderer: Renderer, medication: RememberedMedication, facts: Facts) -> str:
    written = str(medication.get("said") or medication.get("query") or "")
    if not written or any(
        compact(written) == compact(str(facts.get(key) or ""))
        or compact(written).endswith(compact(str(facts.get(key) or "§")))
        for key in ("label_en", "label_he")
    ):
        return ""
    return renderer.say("listed_as", said=written, name=renderer.of(facts))

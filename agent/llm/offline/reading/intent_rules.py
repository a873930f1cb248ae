"""Find the intent of a clause by its cues, and what narrows it."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from agent.answers.facts.leaflets import SECTIONS
from agent.llm.offline.frames import SHORT
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.references import asks_rx, places_wanted
from agent.state import RememberedMedication, RememberedPlace

_ANOTHER_PRODUCT: Final = frozenset(
    "what which something anything else another other מה משהו איזה אחר אחרת".split()
)

# Not an age: "a fever medicine for children" is a list.
_ABOUT_LEAFLET: Final = tuple(name for name in SECTIONS[1:] if name != "minimum_age")


def joins(clause: Clause) -> bool:
    """Return whether a "with" is more than a piece of "what about" (ומה עם)."""
    follow = clause.cues.spans("follow")
    return any(
        all(not (a <= start and end <= b) for a, b in follow)
        for start, end in clause.cues.spans("interaction")
    )


class _Asked(NamedTuple):
    """A clause with the medicines and the place that it names, and the medicines that are talked about."""

    clause: Clause
    medicines: Sequence[RememberedMedication]
    place: RememberedPlace | None
    focus: Sequence[RememberedMedication]


def intent_of(
    clause: Clause,
    medicines: Sequence[RememberedMedication],
    place: RememberedPlace | None,
    focus: Sequence[RememberedMedication],
) -> str | None:
    """Return the intent that the cues of a clause ask for, most particular first."""
    asked = _Asked(clause, medicines, place, focus)
    for intent in (_of_pairs, _of_choice, _of_shop, _of_product, _of_stock, _of_rest):
        if found := intent(asked):
            return found
    return None


def _of_pairs(asked: _Asked) -> str | None:
    """Return the intent of a question about two medicines together, if it is one."""
    clause, medicines, place, focus = asked
    several = len(medicines) >= 2
    strong_stock = clause.without("stock", "weak_stock")
    if several and clause.has("price"):
        return "price"
    if (
        clause.has("same")
        and (several or (clause.has("it", "both") and not clause.has("equivalent")))
        and not clause.has("where")
    ):
        return "same"
    if several and clause.has("strong_interaction", "interaction") and not strong_stock:
        return "interaction"
    if several and clause.has("taking") and not strong_stock and not clause.has(*SECTIONS):
        return "interaction"
    if clause.has("strong_interaction") and not strong_stock and not clause.has("food_alcohol"):
        return "interaction"
    if (
        clause.has("interaction")
        and len(medicines) == 1
        and not (strong_stock or place or clause.has("equivalent", *SECTIONS))
    ):
        # "Can it be taken with X?"; without "it" when a medicine is being talked about.
        talked_about = clause.has("it", "both") or (focus and not clause.has("stock"))
        if joins(clause) and talked_about:
            return "interaction"
    return None


def _of_choice(asked: _Asked) -> str | None:
    """Return the intent of a question about price, insurance, restocking or equivalents, if it is one."""
    clause, medicines, place, focus = asked
    several = len(medicines) >= 2
    if clause.has("insurance"):
        return "insurance"
    if (clause.has("price") and not (clause.has("rx") and clause.has("pays"))) or (
        clause.has("how_much") and len(clause.words) <= 4 and not clause.has("dosage", *SECTIONS)
    ):
        return "price"
    if clause.has("cheaper") and (several or (len(focus) > 1 and not medicines and clause.has("list"))):
        return "price"
    if clause.has("restock"):
        return "restock"
    if (
        clause.has("equivalent")
        and not clause.categories
        and not _names_another_place(clause, medicines, place)
    ):
        return "equivalent"
    return None


def _of_shop(asked: _Asked) -> str | None:
    """Return the intent of a question about hours, branches, an illness or a kind of product, if it is one."""
    clause, medicines, place, focus = asked
    strong_stock = clause.without("stock", "weak_stock")
    taken = (
        clause.has("dosage", "food_alcohol") and not place
    )  # "every how many hours?", "what time do I take it?"
    if not medicines and clause.has("hours") and not (strong_stock and focus) and not taken:
        return "hours"
    if not medicines and not clause.has("it") and clause.has("phone", "address", "has_branch"):
        return "branch"
    if clause.has("disease") and not medicines and not strong_stock:
        return "health"
    if clause.categories and not medicines and not clause.has(*_ABOUT_LEAFLET):
        return "list"
    return None


def _of_product(asked: _Asked) -> str | None:
    """Return the intent of a question about a product's prescription, leaflet or contents, if it is one."""
    clause, medicines, place, focus = asked
    strong_stock = clause.without("stock", "weak_stock")
    if asks_rx(clause):
        return "rx"
    kind_asked = any("variant" in medicine for medicine in medicines) and not clause.has(*_ABOUT_LEAFLET)
    if kind_asked and (place or clause.has("stock")):
        return "stock"  # "do you have Nurofen for kids?" asks for a product, not for an age
    if clause.has(*SECTIONS) and not (strong_stock and not clause.has("leaflet", "info", *SECTIONS[3:])):
        return "section"
    if medicines and clause.has("branches") and clause.has("where", "here"):
        return "stock_place"  # "איפה הסניף הקרוב שיש בו אקמול?": the branch has it in it
    if clause.has("maker") and (medicines or focus):
        return "detail"
    if clause.has("ingredient", "pack") or (clause.has("strength", "form") and not strong_stock):
        return "detail"
    return None


def _of_stock(asked: _Asked) -> str | None:
    """Return the intent of a question about stock and where it is, if it is one."""
    clause, medicines, place, focus = asked
    strong_stock = clause.without("stock", "weak_stock")
    leans = (
        place is not None and bool(focus) and not clause.has("list", "info")
    )  # "and at your Dizengoff branch?"
    if (
        focus
        and not medicines
        and clause.has("which_branch")
        and not clause.has("has_branch", "phone", "address", "hours")
    ):
        return "stock_place"  # "and at which branch?" of the medicine talked about
    if (
        not medicines and clause.has("branches") and not leans and not clause.has("it", "stock", "online")
    ) or (not medicines and clause.has("branches") and clause.has("list") and not clause.has("it")):
        return "branch"
    if clause.has("where", "all_stores", "here"):
        return "stock_place"
    if strong_stock:
        return "stock"
    if clause.has("online", "reserve") and not clause.has("info"):
        return "stock"
    return None


def _of_rest(asked: _Asked) -> str | None:
    """Return the intent that weaker cues point to, if there are any."""
    clause, medicines, place, focus = asked
    if clause.has("health") and not medicines:
        return "health"
    if (
        clause.without("info", "weak_info")
        or clause.has("leaflet")
        or (
            clause.has("info")
            and not clause.has("follow", "asked_about", "earlier_one")
            and not (place and medicines)  # "tell me whether Ramat Aviv has X" is about stock
        )
    ):
        return "info"
    if clause.has("stock", "reserve") and medicines:
        return "stock"
    if place:
        return "place"
    if clause.has("stock") and (clause.has("it") or (focus and len(clause.words) <= SHORT)):
        return "stock"
    return None


def details_of(clause: Clause) -> dict[str, Any]:
    """Return what narrows a question: strength, form, near me, all stores, open now, online, a day."""
    details: dict[str, Any] = {}
    if clause.strengths:
        details["strengths"] = clause.strengths
    if clause.forms:
        details["forms"] = clause.forms
        details["form_text"] = clause.form_text
    if clause.categories:
        details["category"] = clause.categories[0]
    for name in (
        "here",
        "all_stores",
        "online",
        "tomorrow",
        "reserve",
        "ingredient",
        "pack",
        "phone",
        "address",
        "leaflet",
        "maker",
        "closed_days",
    ):
        if clause.has(name):
            details[name] = True
    if clause.has("each_of", "both"):
        details["each"] = True
    if clause.has("hours"):
        details["open"] = True
    day = next((d for d in ("sun", "mon", "tue", "wed", "thu", "fri", "sat") if clause.has(d)), None)
    if day:
        details["day"] = day
    details["text"] = clause.text
    return details


def _names_another_place(
    clause: Clause, medicines: Sequence[RememberedMedication], place: RememberedPlace | None
) -> bool:
    """Return whether "instead" means the place: "no wait, Haifa instead", but not "what do you have instead in Haifa?".

    Where one place takes that of another, it does whatever is asked: "do you have it in Dizengoff instead of Jaffa?".
    """
    if len(places_wanted(clause)) < len(clause.places):
        starts = {start for start, _end in clause.cues.spans("instead_of")}
        return starts.issuperset(start for start, _end in clause.cues.spans("equivalent"))
    only_instead = clause.cues.spans("equivalent") <= clause.cues.spans("instead")
    asks_for_another = clause.has("stock", "list", "info") or not _ANOTHER_PRODUCT.isdisjoint(clause.words)
    return only_instead and place is not None and not medicines and not asks_for_another

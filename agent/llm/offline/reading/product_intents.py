"""Read clauses about products, stock and branches; short ones by what was asked before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.answers.facts.leaflets import SECTIONS
from agent.llm.offline.frames import REPEATABLE, SHORT, Frame
from agent.llm.offline.reading.followups import leaning, medicines_meant
from agent.llm.offline.reading.intent_rules import details_of, intent_of, joins
from agent.llm.offline.reading.message import Clause, Medicine, Unknown
from agent.llm.offline.reading.recognise import release_of
from agent.llm.offline.reading.references import (
    ORDINALS,
    has_topic,
    medications_of,
    place_of,
    places_asked,
    position_of,
    store_pointed,
)
from agent.state import RememberedMedication
from pharmacy_site.lib.text import fold
from stores.places import PlaceMention


def product_frame(  # noqa: C901  # to be replaced with the offline reading
    clause: Clause, state: Mapping[str, Any], focus: list[Any], before: Sequence[Frame]
) -> Frame | None:
    """Return what a clause wants to know about products, stock or branches."""
    # "Are Acamol and paracetamol the same?" names one product twice.
    medicines = medications_of(clause.medicines, distinct=not clause.has("same"))
    place = place_of(clause)
    last: Any = state.get("last") or {}
    details = details_of(clause)
    places = places_asked(clause)
    if len(places) > 1:
        place, details["places"] = places[0], places  # "in Jaffa or in Dizengoff?"
    shown = state.get("shown") or []
    if not medicines and len(shown) > 1 and clause.has("which_of"):
        if place:
            return Frame("list_at", 0.9, tuple(shown), place, details=details)
        if last.get("intent") == "list" and clause.has("stock", "rx", "it"):
            return Frame.recalled(last)
    pointed = store_pointed(clause, state)
    if pointed:
        place = pointed
        details.pop("day", None)  # "הראשון" is the first one here, not Sunday
    bare_strength = _bare_strength(clause) and not clause.unknown
    if not medicines and len(focus) == 1 and bare_strength and last.get("intent") == "stock":
        details |= {"strengths": [f"{clause.numbers[0]} mg"]}  # "200, then"
        return Frame("stock", 0.9, tuple(focus), details=details, assumed=True)
    if not medicines and not clause.unknown and len(focus) == 1 and clause.has("extended_kind", "plain_kind"):
        extended = clause.has("extended_kind")
        other = release_of(str(focus[0].get("en") or ""), extended=extended)
        kept: Any = {**focus[0], "variant": "extended"} if extended else focus[0]
        asked_before = last.get("intent") in REPEATABLE and not has_topic(clause)
        if asked_before or has_topic(clause) or clause.has("stock"):
            medicines = (other or kept,)
        if asked_before and not clause.has("stock"):
            narrow = {"forms", "form_text", "strengths"}  # what the kind just named takes the place of
            again = Frame.recalled(last)
            asked = {key: value for key, value in again.details.items() if key not in narrow}
            return replace(again, medicines=medicines, details={**asked, **details})

    ordinals = [place for place, name in enumerate(ORDINALS[: len(shown)]) if clause.has(name)]
    if not medicines and not pointed and len(ordinals) == 2:
        medicines = tuple(shown[place] for place in ordinals)  # "is the second the same as the first?"
    if not medicines and shown and not pointed:
        position = position_of(clause, len(shown))
        if position is not None and (
            clause.has("it", "follow", "asked_about", *ORDINALS, "last", "former") or len(clause.words) <= 4
        ):
            medicines = (shown[position],)
    inside = focus and _holds_unknown(clause)
    if not medicines and len(shown) == 1 and clause.has("that_one"):
        medicines = (shown[0],)
    if place is None and (amount_of := _amount_within(clause)):
        return Frame("detail", 0.9, medications_of([amount_of]), details={**details, "ingredient": True})
    if len(clause.medicines) == 1 and place is None and _within(clause):
        return Frame("detail", 0.9, medicines, details={**details, "ingredient": True})
    asks_branch = clause.has("phone") and not clause.has("stock")
    asks_branch = asks_branch or (clause.has("branches") and clause.has("hours"))
    about_branch = asks_branch or (
        place is not None
        and clause.has("has_branch", "branches", "address", "hours")
        and not (clause.unknown and clause.has("stock"))
    )
    other_ways = ("stock", "interaction", "same", "equivalent", "correction", "where")
    about_it = (
        bool(focus) and "it" in clause.words and not clause.has(*other_ways)
    )  # "does it have food restrictions?"
    if (
        not medicines
        and clause.unknown
        and not clause.categories
        and not (place and focus and clause.has("it"))
        and not about_branch
        and not inside
        and not about_it
    ):
        medicines = ({"query": clause.unknown[0].text},)
        if (
            not has_topic(clause)
            and not clause.has("stock", "follow", "it", "correction")
            and len(clause.words) > 3
            and not _only_a_name_and_place(clause)
        ):
            # A sentence of words that nothing explains and no question that we know: no name.
            return Frame("unknown", 0.4)
    listed = [name for name in clause.unknown if _listed_with(clause, name)]
    if clause.medicines and listed and not (joins(clause) or clause.has("same")):
        # "Losartan or lisinopril?": a name that we don't know is answered too.
        medicines = (*medicines, *_unlisted(listed[:2]))
    if clause.medicines and clause.unknown and (joins(clause) or clause.has("same")):
        # A name that we don't know counts as well: what can't be assessed is said, never passed over.
        beside = [name for name in clause.unknown if len(medicines) == 1 or _beside(clause, name)]
        medicines = (*medicines, *_unlisted(beside[:2]))
    if len(medicines) == 1 and focus and clause.has("it") and clause.has("allergic_to"):
        medicines = ()  # "can it be used if you are allergic to X?" is about it
    if place is None and clause.has("there"):
        place = state.get("place")
    intent = intent_of(clause, medicines, place, focus)
    if clause.has("correction") and (medicines or place) and last and intent in (None, "place"):
        frame = Frame.recalled(last)
        frame = replace(frame, medicines=medicines or frame.medicines, place=place or frame.place)
        if place and frame.intent in ("stock", "info"):
            frame = replace(frame, intent="stock_place")
        return frame
    told = state.get("last_branch")
    leans_on_pair = clause.has("follow", "interaction") or len(clause.words) <= SHORT
    if last.get("intent") == "interaction" and len(medicines) == 1 and clause.medicines and leans_on_pair:
        # "And with omeprazole?", "what about Acamol instead?"
        intent = (
            "interaction" if intent is None or (intent == "equivalent" and clause.has("follow")) else intent
        )
    if (
        told
        and not medicines
        and intent in (None, "place")
        and (place or any(d in details for d in ("day", "tomorrow")))
    ):
        # "And on Saturday?", "and in Jaffa?" after opening hours.
        days = {"day", "tomorrow"}
        kept = {
            key: value for key, value in told["details"].items() if not (key in days and days & {*details})
        }
        return replace(Frame.recalled(told), place=place or told["place"], details={**kept, **details})
    if (
        intent == "stock"
        and not medicines
        and not focus
        and last.get("intent") == "list"
        and clause.has("list")
    ):
        return Frame.recalled(last)  # "which ones do you have?"
    follows_stock = (
        focus and not told and clause.has("follow") and last.get("intent") in ("stock", "stock_place")
    )
    if intent == "branch" and follows_stock and not clause.has("phone", "address"):
        intent = "stock_place"  # "what about the Ramat Aviv store?", "and the other branches?"
    if intent in ("list", "hours", "branch", "health"):
        if intent != "list" and place is None and not clause.has("branches", "all_stores"):
            place = (told or last).get("place")
        return Frame(intent, 0.9, medicines=medicines, place=place, details=details)
    if intent in ("interaction", "same") and len(medicines) == 1:
        details["others"] = [m for m in focus if m.get("id") != medicines[0].get("id")]
        if intent == "same":  # "is it the same as Losec?", which it may be
            medicines = (*(details["others"][:1] or focus[:1]), *medicines)
    assumed = False
    if not medicines and not (about_branch and clause.unknown and not clause.has("it")):
        medicines, assumed = medicines_meant(clause, state, focus), True
        if intent == "same" and len(medicines) == 1:
            # Of the two last talked about, or the product and its only equivalent.
            other_one = (
                shown if len(shown) == 1 and last.get("intent") == "equivalent" else state.get("earlier")
            )
            medicines = (*medicines, *list(other_one or ())[:1])
    if intent == "stock_place" and not medicines and place and not clause.has("it"):
        return Frame("branch", 0.9, place=place, details=details)  # "the nearest to Herzliya"
    if assumed and clause.has("delivery") and not clause.has("it") and not place:
        return Frame("branch", 0.9, details=details)  # "do you deliver?", whatever was talked about
    if intent == "stock" and not medicines and details.get("online"):
        return Frame("branch", 0.9, details=details)
    if (
        intent == "stock"
        and clause.has("question")
        and medicines
        and not clause.without("stock", "weak_stock")
    ):
        return Frame("ask_what", 0.75, medicines, details=details)
    if intent is None or intent == "place":
        return leaning(clause, state, medicines, place, before, assumed=assumed, details=details)
    if (
        intent in ("section", "detail")
        and assumed
        and not medicines
        and not clause.asks
        and not clause.has("it", "info", "leaflet")
    ):
        return Frame("unknown", 0.6)
    sections = tuple(name for name in SECTIONS if clause.has(name)) if intent == "section" else ()
    if "missed_dose" in sections:
        sections = tuple(name for name in sections if name != "dosage")  # its "dose" is the missed one
    if sections == ("use",):
        intent, sections = "info", ()  # what it is for is part of what it is (S0 flow A)
    confidence = 0.95 if medicines and not assumed else 0.9
    if not medicines:
        confidence = 0.8 if not (clause.has("greeting", "thanks") and not clause.asks) else 0.6
        if intent == "stock" and not clause.without("stock", "weak_stock"):
            confidence = 0.6
        if intent == "info" and not clause.without("info", "weak_info"):
            confidence = 0.6
    if (
        intent == "stock"
        and place is None
        and assumed
        and last.get("intent") == "stock_place"
        and not details.get("online")
    ):
        place = last["place"]
    if intent == "stock" and (place or details.get("all_stores")):
        intent = "stock_place"
    return Frame(intent, confidence, medicines, place, sections, details, assumed)


def _unlisted(names: Sequence[Unknown]) -> list[RememberedMedication]:
    """Return unknown names as medicines that are asked about."""
    return [{"query": name.text} for name in names]


def _within(clause: Clause) -> bool:
    """Return whether a clause asks what a product contains: "there is" right before "in" and its name."""
    medicine = clause.medicines[0]
    return (
        medicine.start > 0
        and clause.words[medicine.start] == f"ב{fold(medicine.text)}"
        and clause.words[medicine.start - 1].removeprefix("ש") == "יש"
        and not clause.has(*SECTIONS)
    )


def _holds_unknown(clause: Clause) -> bool:
    """Return whether unknown words are what a product may contain: "is there aspartame in it?", "contains aspartame?"."""
    if not clause.unknown or not clause.has("ingredient", "excipients"):
        return False
    first = clause.unknown[0].start
    return clause.has("it") or any(end == first for _start, end in clause.cues.spans("contains"))


def _only_a_name_and_place(clause: Clause) -> bool:
    """Return whether a clause is hardly more than one unknown name and a place: "zorbulin in Ramat Aviv"."""
    if len(clause.unknown) != 1 or not clause.places:
        return False
    spans: list[Unknown | PlaceMention] = [*clause.unknown, *clause.places]
    single = clause.unknown[0].end - clause.unknown[0].start == 1
    return single and len(clause.words) - sum(span.end - span.start for span in spans) <= SHORT


def _bare_strength(clause: Clause) -> bool:
    """Return whether a clause is hardly more than a number that can only be a strength."""
    return len(clause.numbers) == 1 and clause.numbers[0] > len(ORDINALS) and len(clause.words) <= SHORT


def _amount_within(clause: Clause) -> Medicine | None:
    """Return the product of "how much paracetamol is in Acamol?": the name after "in"."""
    if len(clause.medicines) < 2 or not clause.has("amount"):
        return None
    inner, outer = clause.medicines[0], clause.medicines[-1]
    hebrew = clause.words[outer.start] == f"ב{fold(outer.text)}".split()[0]
    inside = hebrew or clause.words[outer.start - 1] in ("in", "of")
    return outer if inside and inner.end <= outer.start else None


def _listed_with(clause: Clause, name: Unknown) -> bool:
    """Return whether an unknown name is listed with a known one: "A or B", "A and B"."""
    for medicine in clause.medicines:
        first, second = (name, medicine) if name.start < medicine.start else (medicine, name)
        between = clause.words[first.end : second.start]
        joined = (
            not between
            and clause.words[second.start].startswith("ו")
            and len(clause.words[second.start]) > SHORT
        )
        if joined or between in (["או"], ["or"], ["and"], ["וגמ"]):
            return True
    return False


def _beside(clause: Clause, name: Unknown) -> bool:
    """Return whether an unknown name is next to a known one, with at most one word between."""
    return any(name.start - m.end in (0, 1) or m.start - name.end in (0, 1) for m in clause.medicines)

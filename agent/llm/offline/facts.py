"""Plans for facts about products: what they are, leaflet sections, prescription, price, sameness, interactions."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.answers.render import listed
from agent.inference.base import Step, StepResult
from agent.llm.offline.answer import (
    Medication,
    Part,
    Plan,
    View,
    bullets,
    medicine_of,
    paragraphs,
    product_line,
)
from agent.llm.offline.cards import interactions_card, medication_card
from agent.llm.offline.frames import Frame
from agent.llm.offline.names import about, asked_by_name, choose, tool_query, unresolved
from agent.llm.offline.talk import unknown
from pharmacy_site.lib.text import compact

_FOR_CHILDREN: Final = ("child", "kids", "junior", "infant", "baby", "ילד", "תינוק", "פעוט")
_STRENGTH: Final = re.compile(r"\s+\d.*$")


def info(view: View, frame: Frame) -> Plan:
    """What a product is: ingredients, use, dosage, warnings, prescription (S0 flow A)."""
    if len(frame.medicines) > 1:
        return (yield from _several(view, frame))
    medication = frame.medicines[0]
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(view, frame, medication, tool)
    if isinstance(found, Part):
        return found
    return _described(view, medication, found)


def lost(view: View, part: Part) -> Part:
    """Words that are no name and ask nothing count as not understood: the third time a person is offered."""
    if "shown" in part.state or "pending" not in part.state:  # a near name is being offered, or it was a name
        return part
    misses = int(view.turn.state.get("misses") or 0) + 1
    if misses > 1:
        return unknown(view, misses)
    part.state["misses"] = misses
    return part


def _several(view: View, frame: Frame) -> Plan:
    """Facts about several products, with the interaction check that two or more always get."""
    parts: list[Part] = []
    known: list[dict[str, Any]] = []
    for medication in frame.medicines[:3]:
        one = Frame(frame.intent, frame.confidence, (medication,))
        found = yield from asked_by_name(view, one, medication, "get_medication_by_name")
        if isinstance(found, Part):
            parts.append(found)
        else:
            parts.append(_described(view, medication, found, short=True))
            known.append(medicine_of(found.evidence["medication"]))
    return joined(parts, known, (yield from check_pairs(view, known)))


def joined(parts: Sequence[Part], known: Sequence[Mapping[str, Any]], pairs: Part | None) -> Part:
    """Several parts as one, about all of their medicines."""
    parts = [*parts, *([pairs] if pairs else [])]
    state: dict[str, Any] = {}
    for part in parts:
        state |= part.state
    return Part(
        paragraphs(*(part.text for part in parts)),
        cards=[card for part in parts for card in part.cards],
        suggestions=[chip for part in parts for chip in part.suggestions][:3],
        quoted=[text for part in parts for text in part.quoted],
        state=state | about(list(known)),
    )


def _described(view: View, medication: Medication, found: StepResult, *, short: bool = False) -> Part:
    facts = found.evidence["medication"]
    leaflet = found.evidence.get("leaflet") or {}
    name = view.of(facts)
    result = found.result["medication"]
    ingredients = view.ingredients(facts, result)
    contains = view.say(
        "contains_one" if len(ingredients) == 1 else "contains_many",
        name=name,
        ingredients=listed(ingredients, view.language),
    )
    lines, quoted = [], []
    for kind in () if short else ("use", "dosage", "warnings"):
        if kind in leaflet:
            text = view.of({f"label_{lang}": leaflet[kind].get(lang) for lang in ("en", "he")})
            quoted.append(text)
            plain = kind == "dosage" and speaks_of_children(text)
            lines.append(view.say("leaflet_dosage_any" if plain else f"leaflet_{kind}", text=text))
    if not short and not lines:
        lines.append(view.say("no_leaflet", name=name))
    return Part(
        paragraphs(
            said_otherwise(view, medication, facts),
            contains,
            *lines,
            view.say("rx_yes" if facts["rx"] else "rx_no", name=name),
            "" if short or not leaflet else source_line(view, leaflet, "dosage"),
        ),
        cards=[medication_card(view, facts, result, leaflet)],
        suggestions=[
            view.say("chip_stock", name=name),
            view.say("chip_side_effects", name=name),
            view.say("chip_where", name=name),
        ],
        quoted=quoted,
        state=about([medicine_of(facts)]),
    )


def speaks_of_children(text: str) -> bool:
    """Whether a leaflet's text is (also) about children, so that it can't be headed "adults"."""
    return bool(
        {"children", "child", "infants", "ילדים", "לילדים", "הילד", "תינוקות"}
        & set(text.lower().replace(":", " ").split())
    )


def said_otherwise(view: View, medication: Medication, facts: Mapping[str, Any]) -> str:
    """Names the product when the customer called it otherwise, or asked for a kind of it that is not listed."""
    return " ".join(
        text for text in (_other_name(view, medication, facts), _other_kind(view, medication, facts)) if text
    )


def _other_kind(view: View, medication: Medication, facts: Mapping[str, Any]) -> str:
    """Says that the product is not the kind asked for: never passed off as a children's or extended-release one."""
    kind = medication.get("variant")
    names = f"{facts.get('label_en')} {facts.get('label_he')}".lower()
    fits = {
        "children": facts.get("form") in ("syrup", "drops") or any(word in names for word in _FOR_CHILDREN),
        "extended": str(facts.get("release") or "immediate") != "immediate",
    }
    if not kind or fits[str(kind)]:
        return ""
    line = product_line(view, facts) if "form" in facts else view.of(facts)
    return view.say("not_children" if kind == "children" else "not_extended", name=line)


def _other_name(view: View, medication: Medication, facts: Mapping[str, Any]) -> str:
    said = str(medication.get("said") or medication.get("query") or "")
    if not said or any(
        compact(said) == compact(str(facts.get(key) or ""))
        or compact(said).endswith(compact(str(facts.get(key) or "§")))
        for key in ("label_en", "label_he")
    ):
        return ""
    return view.say("listed_as", said=said, name=view.of(facts))


def source_line(view: View, leaflet: Mapping[str, Any], kind: str) -> str:
    """Where a leaflet text comes from and of when it is."""
    section: Mapping[str, Any] = leaflet.get(kind) or next(iter(leaflet.values()), {})
    source = section.get(f"source_{view.language}") or section.get("source_en")
    if not source or not section.get("updated_on"):
        return ""
    return view.say("source", source=source, date=view.date(section["updated_on"]))


def section(view: View, frame: Frame) -> Plan:
    """What the leaflet says on the subjects asked about, quoted."""
    medication = frame.medicines[0]
    if frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each"):
        return choose(view, frame, frame.medicines, head=view.say("which_of_these"))
    if len(frame.medicines) > 1:
        parts, known = [], []
        for one in frame.medicines[:2]:
            part = yield from section(view, Frame("section", 0.9, (one,), sections=frame.sections))
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(view, known)))
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(view, frame, medication, tool)
    if isinstance(found, Part):
        return found
    facts = found.evidence["medication"]
    leaflet = found.evidence.get("leaflet") or {}
    name = view.of(facts)
    lines, quoted = [], []
    for kind in frame.sections[:3]:
        if kind in leaflet:
            text = view.of({f"label_{lang}": leaflet[kind].get(lang) for lang in ("en", "he")})
            quoted.append(text)
            key = "leaflet_says_any" if kind == "minimum_age" or speaks_of_children(text) else "leaflet_says"
            lines.append(view.say(key, name=name, section=view.word("section", kind), text=text))
        else:
            lines.append(view.say("leaflet_silent", name=name, section=view.word("section", kind)))
    return Part(
        paragraphs(
            said_otherwise(view, medication, facts),
            *lines,
            source_line(view, leaflet, frame.sections[0]) if quoted else "",
        ),
        cards=[medication_card(view, facts, found.result["medication"], leaflet)] if quoted else [],
        suggestions=[
            view.say("chip_stock", name=name),
            view.say("chip_info", name=name),
            view.say("chip_person"),
        ],
        quoted=quoted,
        state=about([medicine_of(facts)]),
    )


def detail(view: View, frame: Frame) -> Plan:
    """One fact of a product: its ingredients, strength, form or pack."""
    medication = frame.medicines[0]
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(view, frame, medication, tool)
    if isinstance(found, Part):
        return found
    facts = found.evidence["medication"]
    result = found.result["medication"]
    name = view.of(facts)
    if frame.details.get("ingredient"):
        ingredients = view.ingredients(facts, result)
        key = "contains_one" if len(ingredients) == 1 else "contains_many"
        text = view.say(key, name=name, ingredients=listed(ingredients, view.language))
    elif frame.details.get("maker"):
        text = view.say("maker_unknown", name=name)
    elif frame.details.get("pack"):
        unit = view.word("unit", str(facts.get("pack_unit") or ""))
        size = facts.get("pack_size")
        text = view.say("product_pack", size=size, unit=unit) if size else view.say("pack_unknown")
        text = f"{product_line(view, facts)}. {text}"
    else:
        text = paragraphs(
            view.say("strength_of", name=name, strength=view.measure(facts) or "–"),
            view.say("form_of", name=name, form=view.word("form", str(facts.get("form") or "–"))),
        )
    return Part(
        paragraphs(said_otherwise(view, medication, facts), text),
        suggestions=[view.say("chip_info", name=name), view.say("chip_stock", name=name)],
        state=about([medicine_of(facts)]),
    )


def rx(view: View, frame: Frame) -> Plan:
    """Whether a prescription is needed; with two candidates the customer says which, unless both are asked about."""
    if frame.assumed and len(frame.medicines) > 1 and not frame.details.get("each"):
        return choose(view, frame, frame.medicines, head=view.say("which_of_these"))
    parts, known = [], []
    for medication in frame.medicines[:3]:
        one = Frame(frame.intent, frame.confidence, (medication,))
        found = yield from asked_by_name(view, one, medication, "check_prescription_requirement")
        if isinstance(found, Part):
            parts.append(found)
            continue
        facts = found.evidence["medication"]
        name = view.of(facts)
        required = found.result["prescriptionRequired"]
        text = view.say("rx_yes" if required else "rx_no", name=name)
        chips = [view.say("chip_stock", name=name), view.say("chip_info", name=name)]
        parts.append(Part(paragraphs(said_otherwise(view, medication, facts), text), suggestions=chips))
        known.append(medicine_of(facts))
    return joined(parts, known, (yield from check_pairs(view, known)))


def each(plan: Callable[[View, Frame], Plan]) -> Callable[[View, Frame], Plan]:
    """A plan for one product, for each product that a message names, with the interaction check they always get."""

    def several(view: View, frame: Frame) -> Plan:
        if len(frame.medicines) < 2 or frame.assumed:
            return (yield from plan(view, frame))
        parts, known = [], []
        for medication in frame.medicines[:3]:
            part = yield from plan(view, replace(frame, medicines=(medication,)))
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(view, known)))

    return several


def price(view: View, frame: Frame) -> Plan:
    """The price on file, or the branch."""
    if len(frame.medicines) > 1:
        parts, known = [], []
        for one in frame.medicines[:3]:
            part = yield from price(view, Frame("price", 0.9, (one,)))
            parts.append(part)
            known += part.state.get("focus", [])
        return joined(parts, known, (yield from check_pairs(view, known)))
    medication = frame.medicines[0]
    tool = "get_medication_info" if frame.assumed else "get_medication_by_name"
    found = yield from asked_by_name(view, frame, medication, tool)
    if isinstance(found, Part):
        return found
    facts = found.evidence["medication"]
    name = view.of(facts)
    amount = facts.get("price")
    text = view.say("price", name=name, price=amount) if amount else view.say("price_none", name=name)
    return Part(
        paragraphs(said_otherwise(view, medication, facts), text),
        suggestions=[view.say("chip_stock", name=name), view.say("chip_branches")],
        state=about([medicine_of(facts)]),
    )


def insurance(view: View, frame: Frame) -> Plan:
    """Coverage is not on file."""
    yield from ()
    return Part(view.say("insurance"), suggestions=[view.say("chip_branches"), view.say("chip_person")])


def same(view: View, frame: Frame) -> Plan:
    """Whether two products hold the same ingredients, without ranking them."""
    if len(frame.medicines) < 2:
        pending = {"kind": "medication", "frame": frame.kept()}
        return Part(view.say("which_other_medicine"), state={"pending": pending})
    found: list[StepResult] = []
    for medication in frame.medicines[:2]:
        one = yield from asked_by_name(view, frame, medication, "get_medication_by_name")
        if isinstance(one, Part):
            return one
        found.append(one)
    first, second = (one.evidence["medication"] for one in found)
    contents = [str(one.result["medication"]["active_ingredients"]) for one in found]
    said = [tool_query(medication) for medication in frame.medicines[:2]]
    if first["id"] == second["id"]:
        text = view.say("same_one", a=said[0], b=said[1], name=product_line(view, first))
        return Part(text, state=about([medicine_of(first)]))
    bare = [sorted(_STRENGTH.sub("", part).strip() for part in text.split(", ")) for text in contents]
    if bare[0] == bare[1]:
        shared = str(first.get("generic_he") or "").split(" + ") if view.language == "he" else bare[0]
        key = "same_yes_one" if len(bare[0]) == 1 else "same_yes"
        text = view.say(
            key,
            a=view.of(first),
            b=view.of(second),
            ingredients=listed(shared if any(shared) else bare[0], view.language),
        )
        text = paragraphs(text, bullets([product_line(view, first), product_line(view, second)]))
    else:
        inside = [
            listed(view.ingredients(one.evidence["medication"], one.result["medication"]), view.language)
            for one in found
        ]
        text = view.say("same_no", a=view.of(first), b=view.of(second), first=inside[0], second=inside[1])
    known = [medicine_of(first), medicine_of(second)]
    return joined([Part(text)], known, (yield from check_pairs(view, known)))


def interaction(view: View, frame: Frame) -> Plan:
    """What is on file about taking medicines together (S1: never advice about what to do)."""
    medicines = list(frame.medicines)
    if len(medicines) < 2:
        others = [
            m
            for m in frame.details.get("others", ())
            if all(m.get("id") != own.get("id") for own in medicines)
        ]
        medicines = [*medicines, *others]
    if len(medicines) < 2:
        pending = {"kind": "medication", "frame": frame.kept()}
        return Part(view.say("which_other_medicine"), state={"pending": pending} | about(medicines))
    known: list[dict[str, Any]] = []
    missing: list[str] = []
    for place, medication in enumerate(medicines[:5]):
        if "id" in medication:
            known.append(dict(medication))
            continue
        kinds = {option.get("generic") for option in medication.get("candidates", ())}
        if len(kinds) == 1 and "" not in kinds and None not in kinds:
            # Strengths and makers of one medicine: interactions go by ingredient, so any of them stands for all.
            said = medication["query"]
            known.append({**medication["candidates"][0], "en": said, "he": said})
            continue
        [result] = yield [Step("get_medication_by_name", {"medication_name": tool_query(medication)})]
        if result.ok and result.evidence.get("whole_word", True):
            known.append(medicine_of(result.evidence["medication"]))
            continue
        if result.ok or result.evidence.get("candidates") or result.evidence.get("near"):
            rest = [m for n, m in enumerate(medicines) if n != place]
            waiting = Frame("interaction", 0.9, (medication, *rest))
            if result.ok:
                return choose(
                    view,
                    waiting,
                    [medicine_of(result.evidence["medication"])],
                    head=view.say("sure_name", name=view.of(result.evidence["medication"])),
                )
            return unresolved(view, waiting, medication, result)
        missing.append(tool_query(medication))
    if missing:
        text = view.say("interaction_unknown", names=listed(missing, view.language))
        if len(known) < 2:
            return Part(text, suggestions=[view.say("chip_person")], state=about(known))
        part = yield from check_pairs(view, known)
        return joined([Part(text, suggestions=[view.say("chip_person")]), part or Part("")], known, None)
    part = yield from check_pairs(view, known)
    return part or Part(view.say("which_other_medicine"), state=about(known))


def check_pairs(
    view: View, known: Sequence[Mapping[str, Any]]
) -> Generator[Sequence[Step], Sequence[StepResult], Part | None]:
    """The interaction check that two or more medicines in one request always get."""
    ids = list(dict.fromkeys(int(medication["id"]) for medication in known))
    if len(ids) < 2:
        return None
    [result] = yield [
        Step("interaction_check", {"med_ids": [str(pk) for pk in ids], "language": view.language})
    ]
    return pairs_part(view, known, result)


def pairs_part(view: View, known: Sequence[Mapping[str, Any]], result: StepResult) -> Part:
    """Our stored sentence for each pair of these medicines, or that they cannot be assessed."""
    names = {int(medication["id"]): view.name(medication) for medication in known}
    person = [view.say("chip_person")]
    if not result.ok:
        if result.code != "UNKNOWN_MED_ID":
            return Part(view.say("data_error"), suggestions=person)
        gaps = [gap.get(view.language) or gap.get("en") for gap in result.evidence.get("unassessed", ())]
        text = view.say(
            "interaction_unknown",
            names=listed([str(gap) for gap in gaps] or list(names.values()), view.language),
        )
        return Part(text, suggestions=person, state=about(list(known)))
    lines, pairs = [], []
    for pair in sorted(result.evidence.get("pairs", ()), key=lambda pair: pair["level"] != "avoid"):
        a, b = names.get(pair["a"], ""), names.get(pair["b"], "")
        if pair["kind"] == "same_ingredient":
            shared = [str(i.get(view.language) or i.get("en")) for i in pair["ingredients"]]
            level = "same"
            lines.append(view.say("pair_same", a=a, b=b, ingredients=listed(shared, view.language)))
        else:
            level = str(pair["level"])
            lines.append(view.say(f"pair_{level}", a=a, b=b))
        pairs.append(
            {
                "names": [a, b],
                "level": level,
                "label": view.word("level", level).capitalize(),
                "text": lines[-1],
            }
        )
    if not lines:
        lines.append(view.say("interaction_none", names=listed(list(names.values()), view.language)))
    gaps = [str(gap.get(view.language) or gap.get("en")) for gap in result.evidence.get("unassessed", ())]
    partly = view.say("interaction_partly", names=listed(gaps, view.language)) if gaps else ""
    cards = [interactions_card(view, pairs, partly)] if pairs else []
    return Part(paragraphs(*lines, partly), cards=cards, suggestions=person, state=about(list(known)))

"""Add what must be in an answer whatever a language model does: warnings, disclosures and cards, made from the results.

The sentences are ours, from `agent/answers/sentences.py`, and the same that the offline model uses.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from agent.answers.cards import Card, medication_card, prescriptions_card, products_card, stock_card
from agent.answers.equivalents import MOST_LISTED, equivalents_part
from agent.answers.interactions import pairs_part
from agent.answers.leaflets import leaflet_texts
from agent.answers.parts import AnswerPart
from agent.answers.prescriptions import remembered_prescription
from agent.answers.products import about, medicine_of, option_of
from agent.answers.renderer import Renderer
from agent.answers.stock import stock_at
from agent.evidence import ProductFacts, names_checked, products_listed, totals_of
from agent.inference.base import Reply, Step, StepResult, Turn
from agent.llm.offline.reading.known_words import common_words
from agent.llm.offline.reply import reply_of
from agent.llm.offline.understand import Understood
from agent.state import ConversationState, RememberedMedication
from inventory import catalog
from pharmacy_site.lib.text import compact

_CHECK: Final = "interaction_check"
_SHORTEST_SENTENCE: Final = 30
_ISOLATES: Final = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
_SHOWS_CARD: Final = ("get_medication_by_name", "get_medication_info")


def due(understood: Understood) -> list[Step]:
    """Return the interaction check for a request with two or more medicines; it runs before any model is called."""
    ids = asked_together(understood)
    if len(ids) < 2:
        return []
    return [Step(_CHECK, {"med_ids": [str(pk) for pk in ids], "language": understood.renderer.language})]


def asked_together(understood: Understood) -> list[int]:
    """Return the ids of the medicines that a message names, and of those that it asks about together with them."""
    named = [
        one
        for clause in understood.message.clauses
        for medicine in clause.medicines
        for one in medicine.candidates
    ]
    for frame in understood.frames:
        if frame.intent == "interaction":
            named += [*frame.medicines, *frame.details.get("others", ())]
    return list(dict.fromkeys(int(one["id"]) for one in named if "id" in one))


def completed(understood: Understood, turn: Turn, results: Sequence[StepResult], reply: Reply) -> Reply:
    """Return a language model's answer with what the results oblige us to say and show."""
    renderer = replace(understood.renderer, turn=turn)
    obliged = list(_obliged(renderer, results))
    state = _talked_about(results)
    own = AnswerPart(
        _own_words(reply.text, obliged),
        cards=list(_cards(renderer, results)),
        suggestions=_chips(renderer, results, state),
        state=state,
    )
    if name := _unnamed(renderer, understood, results, reply.text):
        obliged.insert(0, AnswerPart(renderer.say("about_medicine", name=name)))
    ours = [line for part in obliged for line in part.text.splitlines() if line]
    before = turn.state.copy()
    before.pop("basic", None)
    whole = reply_of(understood, [own, *obliged], replace(turn, state=before))
    return replace(whole, free=True, quoted=[*whole.quoted, *leaflet_texts(results), *ours])


def _chips(renderer: Renderer, results: Sequence[StepResult], state: ConversationState) -> list[str]:
    """Return suggestions: further questions about the one medicine of the answer, and a person."""
    chips = [renderer.say("chip_person")]
    focus = state.get("focus", [])
    if len(focus) != 1:
        return chips
    name, called = renderer.name(focus[0]), {result.step.name for result in results}
    if "check_stock" not in called:
        chips.insert(0, renderer.say("chip_where", name=name))
    if not called & {*_SHOWS_CARD}:
        chips.insert(0, renderer.say("chip_info", name=name))
    return chips


def _own_words(text: str, obliged: Sequence[AnswerPart]) -> str:
    """Return an answer without its copies of our sentences: a model may quote them in words that take them back."""
    for line in (
        line for part in obliged for line in part.text.splitlines() if len(line) > _SHORTEST_SENTENCE
    ):
        text = text.replace(line, "").replace(line.translate(_ISOLATES), "")
    return text.strip()


def _checked(result: StepResult) -> set[str]:
    """Return the ids that an interaction check looked at; none for other calls and for a call that was refused."""
    if result.step.name != _CHECK or result.code == "invalid":
        return set()
    return {str(pk).removeprefix("med-") for pk in result.step.arguments["med_ids"]}


def _is_repeated(result: StepResult, results: Sequence[StepResult]) -> bool:
    """Return whether another check says all that this one says; of two equal ones the second repeats the first."""
    ids, is_later = _checked(result), False
    for other in results:
        if other is result:
            is_later = True
            continue
        known = _checked(other)
        if other.ok and known and (known > ids or not result.ok or (known == ids and not is_later)):
            return True
    return False


def _obliged(renderer: Renderer, results: Sequence[StepResult]) -> Iterator[AnswerPart]:
    for result in results:
        if _checked(result) and not _is_repeated(result, results):
            names = names_checked(result.evidence)
            if not names and not result.evidence.get("unassessed"):
                continue  # ids that a model made up: what the message names was checked before
            known: list[RememberedMedication] = [
                {"id": int(pk), "en": labels["en"], "he": labels["he"]} for pk, labels in names.items()
            ]
            yield pairs_part(renderer, known, result)
        if result.step.name == "inventory_find_equivalent" and "medication" in result.evidence:
            yield equivalents_part(renderer, medicine_of(result.evidence["medication"]), result)


def looked_up(results: Sequence[StepResult], *, with_check: bool = True) -> set[int]:
    """Return the ids of the medicines that these results are about, those of an interaction check included or not."""
    found = {int(facts["id"]) for result in results for facts in _products(result)}
    for result in results:
        found |= {int(row["med_id"]) for row in result.evidence.get("prescriptions", ())}
        if with_check and result.step.name == _CHECK:
            found |= {int(pk) for pk in names_checked(result.evidence)}
    return found


def _products(result: StepResult) -> list[ProductFacts]:
    """Return the products whose facts came with a result."""
    one, evidence = result.evidence.get("medication"), result.evidence
    return [*([one] if one else []), *products_listed(evidence), *evidence.get("equivalents", ())]


def names_unknown(text: str, turn: Turn, results: Sequence[StepResult]) -> bool:
    """Return whether an answer names a medicine that nobody looked up, in this turn or before."""
    earlier = [*turn.state.get("focus", ()), *turn.state.get("shown", ()), *turn.state.get("earlier", ())]
    own = turn.state.get("prescriptions", ()) if turn.identifier else ()
    known = looked_up(results) | {int(one["id"]) for one in earlier if "id" in one}
    known |= {int(one["med_id"]) for one in own}
    names = {str(one[key]) for one in earlier for key in ("en", "he", "name") if one.get(key)}
    for facts in (facts for result in results for facts in _products(result)):
        names |= {facts["label_en"], facts["label_he"], facts["generic_en"], facts["generic_he"]}
    # In a large catalogue a name has more products than a mention lists: what was looked up by it is known by it.
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
    return any(
        not known & {medication.pk for medication in mention.medications}
        for mention in catalog.mentions_in(text, ignore=common_words())
    )


def _talked_about(results: Sequence[StepResult]) -> ConversationState:
    """Return the state after this answer: the medicines that were looked up, and the products that were listed."""
    looked = [result for result in results if result.ok]
    found = [medicine_of(one.evidence["medication"]) for one in looked if "medication" in one.evidence]
    state = about(list({one["id"]: one for one in found}.values()))
    for result in looked:
        if result.step.name == "prescription_management" and "prescriptions" in result.result:
            state["prescriptions"] = [remembered_prescription(row) for row in result.result["prescriptions"]]
        if result.step.name == "inventory_check":
            state["shown"] = [option_of(facts) for facts in products_listed(result.evidence)[:MOST_LISTED]]
    return state


def _unnamed(renderer: Renderer, understood: Understood, results: Sequence[StepResult], text: str) -> str:
    """Return the one medicine that the answer is about and that neither the message nor the answer names."""
    if any(clause.medicines for clause in understood.message.clauses):
        return ""
    found = _talked_about(results).get("focus", [])
    if len(found) != 1:
        return ""
    answer = compact(text)
    names = [compact(str(name or "")) for name in (found[0].get("en"), found[0].get("he"))]
    return "" if any(name and name in answer for name in names) else renderer.name(found[0])


def _cards(renderer: Renderer, results: Sequence[StepResult]) -> Iterator[Card]:
    for result in results:
        if not result.ok:
            continue
        evidence, name = result.evidence, result.step.name
        if name in _SHOWS_CARD:
            leaflet = evidence.get("leaflet", {})
            yield medication_card(renderer, evidence["medication"], result.result["medication"], leaflet)
        elif name == "check_stock":
            requested = evidence.get("requested")
            stores = [row for row in evidence.get("stores", ()) if row["quantity"]]
            if requested and (requested["quantity"] or not stores):
                stores = [requested]
            if stores:
                yield stock_card(renderer, evidence["medication"], stores)
        elif name == "check_inventory" and "store" in evidence:
            inventory = result.result.get("inventory") or {}
            store = stock_at(evidence["store"], int(inventory.get("qty") or 0), low=bool(evidence.get("low")))
            yield stock_card(renderer, evidence["medication"], [store])
        elif name == "inventory_check":
            shown = products_listed(evidence)[:MOST_LISTED]
            title = renderer.say("card_products")
            yield products_card(renderer, "stock", title, shown, totals_of(evidence), "")
        elif name == "prescription_management":
            listed = result.result.get("prescriptions") or [result.result["prescription"]]
            facts = {row["presc_id"]: row for row in evidence.get("prescriptions", ())}
            yield prescriptions_card(renderer, listed, facts)

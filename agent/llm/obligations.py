"""What must be in an answer whatever a language model does: its warnings, disclosures and cards, made from the results.

The sentences are ours, from `agent/answers/sentences.py`, and the same that the offline model uses.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent.inference.base import Reply, Step, StepResult, Turn
from agent.llm.offline import Understood, reply_of
from agent.llm.offline.answer import Part, View, medicine_of, option_of
from agent.llm.offline.cards import medication_card, prescriptions_card, products_card, stock_card
from agent.llm.offline.facts import pairs_part
from agent.llm.offline.listing import MOST_LISTED, equivalents_part
from agent.llm.offline.names import about
from agent.llm.offline.patients import prescription_kept
from agent.llm.offline.recognise import common_words
from agent.turn.streaming import leaflet_texts
from inventory import catalog
from pharmacy_site.lib.text import compact

_CHECK: Final = "interaction_check"
_SHORTEST_SENTENCE: Final = 30
_NAMES: Final = ("label_en", "label_he", "generic_en", "generic_he")
_ISOLATES: Final = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))
_SHOWS_CARD: Final = ("get_medication_by_name", "get_medication_info")


def due(understood: Understood) -> list[Step]:
    """The interaction check that two or more medicines in one request always get, before any model is asked."""
    ids = asked_together(understood)
    if len(ids) < 2:
        return []
    return [Step(_CHECK, {"med_ids": [str(pk) for pk in ids], "language": understood.view.language})]


def asked_together(understood: Understood) -> list[int]:
    """The ids of the medicines that a message names, and of those that it asks about together with them."""
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
    """A language model's answer with what the results oblige us to say and show."""
    view = replace(understood.view, turn=turn)
    obliged = list(_obliged(view, results))
    parts = [Part(_own_words(reply.text, obliged), state=_talked_about(results))]
    if name := _unnamed(view, understood, results, reply.text):
        obliged.insert(0, Part(view.say("about_medicine", name=name)))
    parts += obliged
    parts[0].cards = list(_cards(view, results))
    parts[0].suggestions = _chips(view, results, parts[0].state)
    ours = [line for part in obliged for line in part.text.splitlines() if line]
    before = replace(turn, state={key: value for key, value in turn.state.items() if key != "basic"})
    whole = reply_of(understood, parts, before)
    return replace(whole, free=True, quoted=[*whole.quoted, *leaflet_texts(results), *ours])


def _chips(view: View, results: Sequence[StepResult], state: Mapping[str, Any]) -> list[str]:
    """What may be asked next about the one medicine of the answer, and a person."""
    chips = [view.say("chip_person")]
    if len(state.get("focus", ())) != 1:
        return chips
    name, asked = view.name(state["focus"][0]), {result.step.name for result in results}
    if "check_stock" not in asked:
        chips.insert(0, view.say("chip_where", name=name))
    if not asked & {*_SHOWS_CARD}:
        chips.insert(0, view.say("chip_info", name=name))
    return chips


def _own_words(text: str, obliged: Sequence[Part]) -> str:
    """An answer without its copies of our sentences: a model may quote them in words that take them back."""
    for line in (
        line for part in obliged for line in part.text.splitlines() if len(line) > _SHORTEST_SENTENCE
    ):
        text = text.replace(line, "").replace(line.translate(_ISOLATES), "")
    return text.strip()


def _checked(result: StepResult) -> set[str]:
    """The ids that an interaction check looked at; none for other calls and for a call that was refused."""
    if result.step.name != _CHECK or result.code == "invalid":
        return set()
    return {str(pk).removeprefix("med-") for pk in result.step.arguments["med_ids"]}


def _is_repeated(result: StepResult, results: Sequence[StepResult]) -> bool:
    """Whether another check says all that this one says; of two equal ones the second repeats the first."""
    told, is_later = _checked(result), False
    for other in results:
        if other is result:
            is_later = True
            continue
        known = _checked(other)
        if other.ok and known and (known > told or not result.ok or (known == told and not is_later)):
            return True
    return False


def _obliged(view: View, results: Sequence[StepResult]) -> Iterator[Part]:
    for result in results:
        if _checked(result) and not _is_repeated(result, results):
            names = result.evidence.get("medications", {})
            if not names and not result.evidence.get("unassessed"):
                continue  # ids that a model made up: what the message names was checked before
            yield pairs_part(view, [{"id": int(pk), **label} for pk, label in names.items()], result)
        if result.step.name == "inventory_find_equivalent" and "medication" in result.evidence:
            yield equivalents_part(view, medicine_of(result.evidence["medication"]), result)


def looked_up(results: Sequence[StepResult], *, with_check: bool = True) -> set[int]:
    """The ids of the medicines that these results are about, those of an interaction check included or not."""
    found = {int(facts["id"]) for result in results for facts in _products(result)}
    for result in results:
        found |= {int(row["med_id"]) for row in result.evidence.get("prescriptions", ())}
        if with_check and result.step.name == _CHECK:
            found |= {int(pk) for pk in result.evidence.get("medications", ())}
    return found


def _products(result: StepResult) -> list[Mapping[str, Any]]:
    """The products whose facts came with a result."""
    one, several = result.evidence.get("medication"), result.evidence.get("medications")
    rows = [one, *(several if isinstance(several, list) else ()), *result.evidence.get("equivalents", ())]
    return [facts for facts in rows if isinstance(facts, Mapping)]


def names_unknown(text: str, turn: Turn, results: Sequence[StepResult]) -> bool:
    """Whether an answer names a medicine that nobody looked up, in this turn or before: nothing bears what it says."""
    earlier = [*turn.state.get("focus", ()), *turn.state.get("shown", ()), *turn.state.get("earlier", ())]
    own = turn.state.get("prescriptions", ()) if turn.identifier else ()
    known = looked_up(results) | {int(one["id"]) for one in earlier if "id" in one}
    known |= {int(one["med_id"]) for one in own}
    names = {str(one[key]) for one in earlier for key in ("en", "he", "name") if one.get(key)}
    for facts in (facts for result in results for facts in _products(result)):
        names |= {str(facts[key]) for key in _NAMES if facts.get(key)}
    # In a large catalogue a name has more products than a mention lists: what was looked up by it is known by it.
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
    return any(
        not known & {medication.pk for medication in mention.medications}
        for mention in catalog.mentions_in(text, ignore=common_words())
    )


def _talked_about(results: Sequence[StepResult]) -> dict[str, Any]:
    """The medicines that were looked up, and the products that were listed."""
    found = [
        medicine_of(result.evidence["medication"])
        for result in results
        if result.ok and isinstance(result.evidence.get("medication"), Mapping)
    ]
    state = about(list({one["id"]: one for one in found}.values()))
    for result in results:
        if result.ok and result.step.name == "prescription_management" and "prescriptions" in result.result:
            state["prescriptions"] = [prescription_kept(row) for row in result.result["prescriptions"]]
        if result.ok and result.step.name == "inventory_check":
            state["shown"] = [option_of(facts) for facts in result.evidence["medications"][:MOST_LISTED]]
    return state


def _unnamed(view: View, understood: Understood, results: Sequence[StepResult], text: str) -> str:
    """The one medicine that the answer is about and that neither the message nor the answer names."""
    if any(clause.medicines for clause in understood.message.clauses):
        return ""
    found = _talked_about(results).get("focus", [])
    if len(found) != 1:
        return ""
    told = compact(text)
    names = [compact(str(found[0].get(language) or "")) for language in ("en", "he")]
    return "" if any(name and name in told for name in names) else view.name(found[0])


def _cards(view: View, results: Sequence[StepResult]) -> Iterator[dict[str, Any]]:
    for result in results:
        if not result.ok:
            continue
        evidence, name = result.evidence, result.step.name
        facts = evidence.get("medication") or {}
        if name in _SHOWS_CARD:
            yield medication_card(view, facts, result.result["medication"], evidence.get("leaflet") or {})
        elif name == "check_stock":
            requested = evidence.get("requested")
            stores = [row for row in evidence.get("stores") or () if row["quantity"]]
            if requested and (requested["quantity"] or not stores):
                stores = [requested]
            if stores:
                yield stock_card(view, facts, stores)
        elif name == "check_inventory" and evidence.get("store"):
            stock = result.result.get("inventory") or {}
            row = {**evidence["store"], "quantity": int(stock.get("qty") or 0), "low": evidence.get("low")}
            yield stock_card(view, facts, [row])
        elif name == "inventory_check":
            totals = {int(pk): int(total) for pk, total in dict(evidence["totals"]).items()}
            shown = evidence["medications"][:MOST_LISTED]
            yield products_card(view, "stock", view.say("card_products"), shown, totals, "")
        elif name == "prescription_management":
            listed = result.result.get("prescriptions") or [result.result["prescription"]]
            about_rows = {row["presc_id"]: row for row in evidence.get("prescriptions", ())}
            yield prescriptions_card(view, listed, about_rows)

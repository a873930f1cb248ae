"""Make the facts of interaction checks: our stored sentence for each pair of medicines, all of them required."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.answers.card_types import InteractionPair
from agent.answers.facts.fact import Fact
from agent.answers.render import listed
from agent.answers.renderer import Renderer
from agent.evidence import Labels, names_checked
from agent.inference.base import StepResult
from agent.state import RememberedMedication
from pharmacy_site.lib.text import words


def interaction_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield a sentence for each pair, or that they cannot be assessed (S1 `interaction_check`)."""
    known = checked_medicines(result)
    is_made_up = result.code == "UNKNOWN_MED_ID" and not result.evidence.get("unassessed")
    if known or not is_made_up:  # ids that a model made up are nothing to tell
        yield from pair_facts(renderer, known, result)


def pair_facts(
    renderer: Renderer, known: Sequence[RememberedMedication], result: StepResult
) -> Iterator[Fact]:
    """Yield a sentence for each pair of these medicines, or that they cannot be assessed."""
    names = [renderer.name(medication) for medication in known]
    gaps = [name_of(renderer, gap) for gap in result.evidence.get("unassessed", ())]
    if not result.ok and result.code == "UNKNOWN_MED_ID":
        yield unassessable_fact(renderer, gaps or names)
    elif not result.ok:
        yield _warning(renderer, names, renderer.say("data_error"))
    else:
        pairs = pairs_listed(renderer, known, result)
        for pair in pairs:
            saying = " ".join([pair["level"], *sorted(pair["names"])])
            yield replace(_warning(renderer, names, pair["text"]), saying=saying)
        if not pairs:
            none = renderer.say("interaction_none", names=listed(names, renderer.language))
            yield replace(_warning(renderer, names, none), saying=" ".join(["none", *sorted(names)]))
        if gaps:
            yield partly_fact(renderer, gaps)


def pairs_listed(
    renderer: Renderer, known: Sequence[RememberedMedication], result: StepResult
) -> list[InteractionPair]:
    """Return the pairs that our data lists, the worst first."""
    names = {medication["id"]: renderer.name(medication) for medication in known}
    pairs: list[InteractionPair] = []
    for pair in sorted(result.evidence.get("pairs", ()), key=lambda pair: pair["level"] != "avoid"):
        a, b = names.get(pair["a"], ""), names.get(pair["b"], "")
        level = "same" if pair["kind"] == "same_ingredient" else str(pair["level"])
        shared = [name_of(renderer, ingredient) for ingredient in pair["ingredients"]]
        text = renderer.say(f"pair_{level}", a=a, b=b, ingredients=listed(shared, renderer.language))
        label = renderer.word("level", level).capitalize()
        pairs.append({"names": [a, b], "level": level, "label": label, "text": text})
    return pairs


def unassessable_fact(renderer: Renderer, names: Sequence[str]) -> Fact:
    """Return that interactions of these medicines cannot be assessed."""
    text = renderer.say("interaction_unknown", names=listed(names, renderer.language))
    return _warning(renderer, names, text)


def taken_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield that a medicine which the customer takes cannot be checked, if none on file is meant (`medicine.taken`).

    A name that a language model gave is only said if the customer wrote it.
    """
    if not result.ok:
        name = str(result.step.arguments["medication_name"])
        is_own = bool(words(name)) and set(words(renderer.turn.text)).issuperset(words(name))
        yield unassessable_fact(renderer, [name if is_own else renderer.say("medicine_mentioned")])


def partly_fact(renderer: Renderer, names: Sequence[str]) -> Fact:
    """Return that these could not be assessed beside what was."""
    text = renderer.say("interaction_partly", names=listed(names, renderer.language))
    return _warning(renderer, names, text)


def too_many_fact(renderer: Renderer) -> Fact:
    """Return that more came up than one check takes."""
    return _warning(renderer, [], renderer.say("interaction_too_many"))


def _warning(renderer: Renderer, names: Sequence[str], text: str) -> Fact:
    subject = listed(names, renderer.language)
    return Fact("interaction", subject, text, is_required=True, is_lasting=False)


def checked_medicines(result: StepResult) -> list[RememberedMedication]:
    """Return the products that an interaction check looked at, as the conversation remembers them."""
    names = names_checked(result.evidence)
    return [{"id": int(pk), "en": labels["en"], "he": labels["he"]} for pk, labels in names.items()]


def name_of(renderer: Renderer, labels: Labels) -> str:
    """Return a name of both languages in the answer's."""
    return str(labels["he"] if renderer.language == "he" and labels.get("he") else labels["en"])

"""Make the facts of lists: products that a search found, equivalents, products that a name may mean."""

from collections.abc import Iterator, Sequence
from typing import Final

from agent.answers.cards import products_on_card
from agent.answers.facts.fact import Fact
from agent.answers.facts.medicines import price_fact
from agent.answers.layout import numbered, paragraphs
from agent.answers.products import product_line, rx_tag
from agent.answers.render import apart, listed
from agent.answers.renderer import Facts, Renderer
from agent.answers.stock import stock_words
from agent.evidence import Evidence, ProductFacts, packs_there, products_listed, totals_of
from agent.inference.base import StepResult

MOST_LISTED: Final = 10
_FEW: Final = 3  # of products: enough to show that they exist, and to name those that a place has
_OF_THEM: Final = {True: "of_them_all", None: "of_them_some", False: "of_them_none"}
_ELSEWHERE: Final = {
    (False, True): "of_them_elsewhere_all",
    (False, False): "of_them_elsewhere_some",
    (True, True): "of_them_rest_all",
    (True, False): "of_them_rest_some",
}
"""By whether the place has any of a list, and whether other stores have all the rest."""
_ANSWERED_BY_NAMES: Final = frozenset({"NOT_FOUND", "MED_NOT_FOUND", "AMBIGUOUS"})
_NAMES: Final = ("medication_name", "medication_query", "query")


def list_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield the products of S1's `inventory_check` as one list, and each by itself with its price."""
    evidence = result.evidence
    products = sorted_there(products_listed(evidence), evidence)
    if len(products) > 1:
        head = renderer.say("matches_head", query=str(result.step.arguments["query"]))
        yield list_fact(renderer, products, evidence, brief_head=head)
    for facts in products[:MOST_LISTED]:
        total = 0 if facts["controlled"] else totals_of(evidence).get(facts["id"], 0)
        # What only other stores have is neither a yes nor a no at the place that is talked about.
        is_elsewhere = total and "there" in evidence and not packs_there(evidence, facts["id"])
        polarity = None if facts["controlled"] or is_elsewhere else bool(total)
        line = _line(renderer, facts, evidence)
        yield Fact("listed", renderer.of(facts), f"{line}.", polarity, is_lasting=False)
        yield price_fact(renderer, facts)


def list_fact(
    renderer: Renderer,
    products: Sequence[ProductFacts],
    evidence: Evidence,
    *,
    head: str = "",
    brief_head: str = "",
    is_choice: bool = False,
) -> Fact:
    """Return a list of products, in this order, with their stock, under a head; `brief_head` is only for its brief form.

    A choice is no offer, so it needs no note on its order.
    """
    shown = products[:MOST_LISTED]
    lines = [_line(renderer, facts, evidence) for facts in shown]
    more = renderer.say("more_exist") if len(products) > MOST_LISTED or evidence.get("more") else ""
    note = "" if is_choice else renderer.say("category_note")
    subject = renderer.of(products[0], "category")
    brief = None
    if len(shown) > 1:
        stock, number = _in_stock(renderer, shown, evidence), renderer.word("number", str(len(shown)))
        found = renderer.say("list_short", head=head or brief_head, number=number, stock=stock)
        brief = " ".join(part for part in (found, more, note) if part)
    return Fact(
        "list",
        subject,
        paragraphs(head, numbered(lines), more, note),
        is_lasting=False,
        brief=brief,
        on_card=products_on_card(renderer, shown, evidence),
    )


def _in_stock(renderer: Renderer, products: Sequence[ProductFacts], evidence: Evidence) -> str:
    """Return whether all, some or none of these products are in stock, at the place that is talked about if there is one.

    It has no quantity of a controlled medicine, so nothing is said of a list with one.
    """
    if any(facts["controlled"] for facts in products):
        return ""
    totals = totals_of(evidence)
    stocked = [bool(totals.get(facts["id"])) for facts in products]
    if "there" not in evidence:
        return renderer.say(_OF_THEM[_share(stocked)], at="")
    at = f" {renderer.say('in_store', store=renderer.of(evidence['there']))}"
    here = [bool(packs_there(evidence, facts["id"])) for facts in products]
    named = [renderer.of(facts) for facts, is_here in zip(products, here, strict=True) if is_here]
    if 0 < len(named) <= _FEW:
        words = renderer.say("of_them_there", at=at, names=listed(named, renderer.language))
    else:
        words = renderer.say(_OF_THEM[_share(here)], at=at)
    rest = [has_some for has_some, is_here in zip(stocked, here, strict=True) if not is_here]
    if not any(rest):
        return words
    return words + renderer.say(_ELSEWHERE[bool(named), all(rest)])


def _share(flags: Sequence[bool]) -> bool | None:
    """Return whether all are true: yes, no (none is), or neither."""
    return True if all(flags) else None if any(flags) else False


def _line(renderer: Renderer, facts: ProductFacts, evidence: Evidence) -> str:
    stock = stock_words(renderer, facts, evidence)
    return f"{product_line(renderer, facts)} – {rx_tag(renderer, facts)}, {stock}"


def sorted_there(products: Sequence[ProductFacts], evidence: Evidence) -> list[ProductFacts]:
    """Return products with those first that the place asked about has."""
    return sorted(products, key=lambda facts: not packs_there(evidence, facts["id"]))


def equivalents_listed(result: StepResult) -> list[ProductFacts]:
    """Return the equivalents that may be shown: those in stock, at the place asked about first."""
    evidence = result.evidence
    if not result.ok or evidence["medication"]["substitution"] == "pharmacist_only":
        return []
    # What only a pharmacist may give in a product's place is never listed in its place.
    facts = [row for row in evidence["equivalents"] if row["substitution"] != "pharmacist_only"]
    stocked = [row for row in facts if totals_of(evidence).get(row["id"])]
    return sorted_there(stocked, evidence)[:MOST_LISTED] or facts[:_FEW]


def equivalent_facts(renderer: Renderer, result: StepResult) -> Iterator[Fact]:
    """Yield the equivalents with their whole disclosure as one fact (S1 `inventory_find_equivalent`)."""
    facts = result.evidence["medication"]
    name, products = renderer.of(facts), equivalents_listed(result)
    texts, brief = [], None
    if products:
        lines = [
            _line(renderer, row, result.evidence)
            if row["rx"]
            else f"{product_line(renderer, row)} – {stock_words(renderer, row, result.evidence)}"
            for row in products
        ]
        head = renderer.say("equivalents_head", name=name)
        texts = [f"{head}\n{numbered(lines)}", renderer.say("disclosure")]
        brief = _equivalents_in_short(renderer, name, products, result.evidence, lines[0])
    elif not result.ok:
        is_none = result.code == "NO_EQUIVALENTS_FOUND"
        texts = [renderer.say("no_equivalents", name=name) if is_none else renderer.say("data_error")]
    if facts["substitution"] == "pharmacist_only" or not texts:
        texts.append(renderer.say("pharmacist_only", name=name))
    yield Fact(
        "equivalents",
        name,
        paragraphs(*texts),
        is_required=True,
        is_lasting=False,
        brief=brief,
        on_card=(*products_on_card(renderer, products, result.evidence), renderer.say("disclosure"))
        if products
        else (),
    )


def _equivalents_in_short(
    renderer: Renderer, name: str, products: Sequence[ProductFacts], evidence: Evidence, first: str
) -> str:
    """Return in one sentence how many equivalents there are; the card has them, with the whole disclosure.

    Which of them need a prescription is said.
    """
    if len(products) == 1:
        return renderer.say("equivalent_short", name=name, line=first)
    number, stock = renderer.word("number", str(len(products))), _in_stock(renderer, products, evidence)
    found = renderer.say("equivalents_short", name=name, number=number, stock=stock)
    needing = [renderer.of(row) for row in products if row["rx"]]
    note = renderer.say("equivalents_rx", names=listed(needing, renderer.language)) if needing else ""
    return f"{found[:1].upper()}{found[1:]} {note}".rstrip()


def unresolved_fact(renderer: Renderer, result: StepResult) -> Fact:
    """Return why a name led to no product: several that it may mean, near names, or none."""
    arguments, evidence = result.step.arguments, result.evidence
    query = next((str(arguments[key]) for key in _NAMES if arguments.get(key)), "")
    candidates, near = evidence.get("candidates") or [], evidence.get("near") or []
    if candidates:
        more = renderer.say("more_exist") if evidence.get("more") else ""
        lines = numbered(_apart(renderer, candidates, result.result.get("suggestions") or ()))
        text = paragraphs(renderer.say("ambiguous", query=query), lines, more)
        return Fact("which", query, text, is_lasting=False)
    if result.code not in _ANSWERED_BY_NAMES or not query:
        return unreadable_fact(renderer, query)
    text = renderer.say("not_found", query=query)
    if len(near) == 1:
        text += " " + renderer.say("did_you_mean", name=renderer.of(near[0]))
    elif near:
        lines = numbered([product_line(renderer, facts) for facts in near])
        text = paragraphs(f"{text} {renderer.say('did_you_mean_one_of')}", lines)
    return Fact("not_found", query, text, polarity=False, is_lasting=False)


def _apart(renderer: Renderer, candidates: Sequence[Facts], names: Sequence[str]) -> list[str]:
    """Return a line for each of these products; their exact names where the lines would be the same."""
    lines = [product_line(renderer, facts) for facts in candidates]
    if len(set(lines)) < len(lines) == len(names):
        lines = [apart(name, renderer.language) for name in names]
    return lines[:MOST_LISTED]


def unreadable_fact(renderer: Renderer, subject: str = "") -> Fact:
    """Return that the data cannot be read now."""
    return Fact("unreadable", subject, renderer.say("data_error"), is_lasting=False)

"""Decide when the products of an answer are compared with allergies: those that were mentioned and those on file."""

from collections.abc import Iterable, Iterator, Sequence

from agent.answers.render import say
from agent.inference.base import Step, Turn
from agent.llm.offline.frames import OF_IDENTITY, REFILLS, Frame
from agent.llm.offline.understand import Understood
from agent.state import ConversationState, RememberedAllergen
from pharmacy_site.lib.text import words


def allergens_said(understood: Understood, turn: Turn) -> list[RememberedAllergen]:
    """Return the allergies that the customer has mentioned in this conversation."""
    return [*turn.state.get("allergies", ()), *understood.allergies]


def allergy_step(
    asked: Iterable[int], said: Sequence[RememberedAllergen], turn: Turn, *, listed: Iterable[int] = ()
) -> Step | None:
    """Return the check of these products; None when there is nothing to check.

    Of those in `listed` a warning says that they are other medicines of the patient's list: nobody asked about them.
    Of a customer who is identified, the allergies on file count too: the server reads them.
    """
    ids = list(dict.fromkeys(asked))
    if not ids or not (said or turn.identifier):
        return None
    return Step("allergies.check", {"med_ids": ids, "said": list(said), "listed": sorted(listed)})


def products_in(state: ConversationState) -> Iterator[int]:
    """Yield the products that an answer, or a conversation so far, is about."""
    yield from products_named(state)
    for row in state.get("prescriptions", ()):
        yield row["med_id"]


def products_named(state: ConversationState) -> Iterator[int]:
    """Yield the products that an answer, or a conversation so far, talks about, without the patient's whole list."""
    for one in (*state.get("focus", ()), *state.get("shown", ())):
        if "id" in one:
            yield one["id"]


def names_what_is_refilled(frames: Iterable[Frame]) -> bool:
    """Return whether the message asks only for refills of medicines that it names: the rest of the list is read beside them."""
    found = [frame for frame in frames if frame.intent not in OF_IDENTITY]
    return bool(found) and all(frame.intent in REFILLS and frame.medicines for frame in found)


def in_own_words(allergens: Iterable[RememberedAllergen], message: str) -> Iterator[RememberedAllergen]:
    """Yield what a language model noted; a text that the customer did not write stays without its words."""
    own = set(words(message))
    for one in allergens:
        if not (one["ingredients"] or one["classes"] or own.issuperset(words(one["en"]))):
            one = {**one, "en": say("allergen_other", "en"), "he": say("allergen_other", "he")}
        yield one

"""Say whether a question, as the rules read it, is one about health in general: what it names and lacks, against what an entry covers."""

import re
from typing import Final

from django.conf import settings

from agent.answers.facts.leaflets import SECTIONS
from agent.knowledge.common_words import is_light
from agent.knowledge.coverage import SURE, Covered
from agent.knowledge.general import health_margin, is_about_health
from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.message import Message
from agent.safety import policy
from inventory import catalog
from pharmacy_site.lib.text import fold, words

MISREAD: Final = frozenset(
    (
        "unknown health list info section interaction equivalent same rx detail stock restock price ask_what nothing_asked help"
        " site insurance renew hours branch stock_place thanks cancelled prescriptions refill_status greeting out_of_scope"
    ).split()
)
"""Intents that the rules may read into a general question: "opened capsules", "a dry place", "my pills"."""
_OF_SHOP: Final = frozenset(
    "list stock restock price stock_place hours branch rx insurance site prescriptions renew refill_status".split()
)
COURTESIES: Final = frozenset({"thanks", "greeting", "cancelled"})
LACKS_MEDICINE: Final = frozenset({"section", "info", "interaction", "equivalent", "detail", "unknown"})
_ASKS_WHICH: Final = LACKS_MEDICINE - {"unknown"} | {
    "stock", "price", "restock", "stock_place", "same", "rx", "out_of_scope", "greeting"
}  # fmt: skip
"""Intents that need a medicine: without one the rules can only ask which is meant, or say that they did not understand."""
LEAST_MARGIN: Final = -0.6
"""A question that an entry covers is about health from this margin on (`health_margin`)."""
LIKELY: Final = -1.2
"""A question that an entry surely covers is about health from this margin on."""
_TOLD_BESIDE: Final = 0.7
"""From this confidence on an entry answers what is asked beside the name of a product."""
_BESIDE: Final = 2
"""So many telling words beside the name of a product ask for more than what it is."""
_OPENING: Final = re.compile(r"open|clos|branch|store|shop|pharmac|פתוח|סגור|פותח|סוגר|נסגר|סניפ|חנות|מרקחת")
"""A word that each question about opening hours has; "five hours in the sun" has none."""
_UNLIKELY: Final = -2.0
"""A question in which the rules found nothing else is about health from this margin on; "remind me to call mom" is below it."""
TOLD: Final = 0.8
"""From this confidence on an entry says more about two medicines than that their ingredients differ, or about an unlisted one than that it is."""
_AGAINST_SHOP: Final = -0.25
"""A question that an entry surely covers, with words that ask for what a shop has, is about health from this margin on."""
_CLEARLY_AGAINST_SHOP: Final = 0.5
"""The same where the entry is not sure, or there is none."""
_OF_NAMES: Final = frozenset(words("plus forte extra retard פלוס פורטה אקסטרה רטרד"))
"""Words that only end a product's name."""
SENTENCE: Final = 6  # words
_ENTRY_MAY_ANSWER: Final = frozenset({"same", "info", "hours", "unknown"})
"""Intents that an entry may answer although a product is named: what two have in common, what is asked beside a name, misread hours."""


def answered_from_product(frame: Frame) -> bool:
    """Return whether a question names a product on file and no entry can answer it instead.

    `is_health` returns False for such a question in a message that names a medicine; a test compares the two.
    """
    return _is_on_file(frame) and frame.intent not in _ENTRY_MAY_ANSWER


def is_health(message: Message, frame: Frame, text: str, covered: Covered | None) -> bool:
    """Return whether a question, read as `frame` by the rules, is one about health in general; `covered` is the entry about it."""
    if frame.intent not in MISREAD or frame.details.get("identifier"):
        return False
    if frame.details.get("topic") == "manager":
        return False  # somebody is asked for, whatever an entry says about talking with a pharmacist
    # A short one is about the place before: "and on Friday?"
    names_place = any(clause.places for clause in message.clauses) or len(text.split()) < SENTENCE
    if frame.place and names_place and not (covered and _is_place_of_story(message, frame, text, covered)):
        return False
    is_told = covered is not None and covered.confidence >= TOLD
    # It names a product, or leans on the one before ("what are its side effects?"), or chooses one ("the syrup for children").
    names = any(clause.medicines for clause in message.clauses)
    chooses = not frame.assumed and not is_told
    leans = (
        names
        or chooses
        or any(clause.has("it") for clause in message.clauses)
        or _asks_of_one(frame, message)
    )
    if leans and _is_on_file(frame):
        asks_beside = covered and covered.confidence >= _TOLD_BESIDE and _asks_beside(frame, text)
        return bool((is_told and _compares_two(frame)) or asks_beside)
    if _asks_of_one(frame, message) or (_is_name_alone(frame, text) and not is_told):
        return False
    if frame.intent == "list" and policy.describes_product(text):
        return False  # "the white pills for allergy" wants to see products
    if frame.intent == "price" and frame.medicines and any(clause.has("price") for clause in message.clauses):
        return False  # "how much is a thermometer" is not about temperature
    of_shop = _is_of_shop(message, frame, text) and not (frame.place and names_place)
    if frame.intent in COURTESIES and (covered is None or not any(clause.asks for clause in message.clauses)):
        return False
    if covered is None:
        return is_about_health(text) and (not of_shop or health_margin(text) >= _CLEARLY_AGAINST_SHOP)
    margin = health_margin(text)
    if not of_shop and ((is_told and not _names_product(frame)) or says_nothing(message, frame, text)):
        return margin >= _UNLIKELY
    is_sure = covered.confidence >= SURE
    if not of_shop:
        least = LIKELY if is_sure else LEAST_MARGIN
    elif is_told and "category" not in frame.details and len(text.split()) >= SENTENCE:
        least = LIKELY
    else:
        least = _AGAINST_SHOP if is_sure else _CLEARLY_AGAINST_SHOP
    return margin >= least


def says_nothing(message: Message, frame: Frame, text: str) -> bool:
    """Return whether the rules found nothing in a sentence that could be answered: no known medicine, category or place.

    A short one may lack only the product that it is about ("what are the side effects?"), and "it" is about the one before.
    """
    leans = any(clause.has("it", "earlier_one", "asked_about", "both") for clause in message.clauses)
    lists_nothing = _lists_nothing(message, frame, text)
    if _asks_no_hours(frame, text) and not frame.place:
        return True
    return (
        ((frame.intent in _ASKS_WHICH and "category" not in frame.details) or lists_nothing)
        and not (_names_product(frame) or leans or frame.place)
        and len(text.split()) >= SENTENCE
    )


def _is_of_shop(message: Message, frame: Frame, text: str) -> bool:
    """Return whether the rules read a question that a shop answers: about stock, prices, opening hours, prescriptions."""
    is_misread = _asks_no_hours(frame, text) or _lists_nothing(message, frame, text)
    # "How long is a prescription good for?" is about none of our products.
    is_general = frame.intent == "rx" and not frame.medicines
    return frame.intent in _OF_SHOP and not (is_misread or is_general)


def _asks_no_hours(frame: Frame, text: str) -> bool:
    """Return whether "hours" were misread: "five hours in the sun", or "lose" taken for a misspelt "close"."""
    return frame.intent == "hours" and not _OPENING.search(fold(text))


def _is_place_of_story(message: Message, frame: Frame, text: str, covered: Covered) -> bool:
    """Return whether a place that was named is no branch that is asked for: "flying to Bangkok, …", "I read online that …"."""
    place = frame.place or {}
    is_elsewhere = place.get("unserved") or place.get("store") == settings.DEFAULT_STORE
    if is_elsewhere and health_margin(text) >= _AGAINST_SHOP:
        return True
    of_branch = ("branches", "has_branch", "hours", "phone", "address", "stock", "where")
    return covered.confidence >= SURE and not any(clause.has(*of_branch) for clause in message.clauses)


def _lists_nothing(message: Message, frame: Frame, text: str) -> bool:
    """Return whether a sentence names a kind of product but asks for no list, stock or price: "is the morning after pill bad for me?"."""
    asks = any(clause.has("stock", "list", "where", "price") for clause in message.clauses)
    return frame.intent == "list" and not asks and len(text.split()) >= SENTENCE


def _names_product(frame: Frame) -> bool:
    """Return whether a question names a product of the catalogue, or nearly: "amoxicilin" is asked back about."""
    if _is_on_file(frame):
        return True
    return bool(catalog.misspelt({word for one in frame.medicines for word in words(str(one["query"]))}))


def _is_on_file(frame: Frame) -> bool:
    """Return whether a question names a product of the catalogue, or one of several that may be meant."""
    return any("id" in one or "candidates" in one for one in frame.medicines)


def _compares_two(frame: Frame) -> bool:
    """Return whether a question is about what two different medicines have in common: "paracetamol or ibuprofen?"."""
    return frame.intent == "same" and len({one.get("generic") for one in frame.medicines}) > 1


def _asks_beside(frame: Frame, text: str) -> bool:
    """Return whether a question that names a product asks for something that the rules do not know: "is spinach bad with coumadin?"."""
    named = {word for one in frame.medicines for word in words(str(one.get("said", "")))}
    rest = [word for word in fold(text).split() if word not in named and not is_light(word)]
    return frame.intent == "info" and len(rest) >= _BESIDE


def _is_name_alone(frame: Frame, text: str) -> bool:
    """Return whether one word that may be a name is all that a question says: "what is ibuprofin?", "what is zorbulin plus?"."""
    telling = sum(not is_light(word) and word not in _OF_NAMES for word in fold(text).split())
    return telling <= 1 and any("query" in one for one in frame.medicines)


def _asks_of_one(frame: Frame, message: Message) -> bool:
    """Return whether a question lacks only the product that it is about: "what are the side effects?"."""
    if frame.intent != "section":
        return False
    for clause in message.clauses:
        known = {place for name in SECTIONS for span in clause.cues.spans(name) for place in range(*span)}
        if any(place not in known and not is_light(word) for place, word in enumerate(clause.words)):
            return False
    return True

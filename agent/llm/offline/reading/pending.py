"""Read answers to what the assistant asked: a name, a choice, a yes, an identifier."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.conf import settings

from agent.knowledge.common_words import is_light
from agent.llm.offline.frames import SHORT, SURE, Frame
from agent.llm.offline.reading.amounts import AMOUNTS, wished_in
from agent.llm.offline.reading.clauses import clause_frame
from agent.llm.offline.reading.message import Clause, Message
from agent.llm.offline.reading.offered import offered_answer, wanted_answer
from agent.llm.offline.reading.references import (
    has_topic,
    medications_of,
    option_chosen,
    place_of,
    position_of,
    prescription_chosen,
)
from agent.llm.offline.reading.refilled import asks_for_all, medicines_of_rows, refilled_in, rows_named
from agent.state import RememberedMedication, RememberedPlace

PLACED: Final = frozenset({"stock", "stock_place", "info"})  # what a place beside a name can be about
_LONGEST_NAMING: Final = 8  # words of "it is called zorbulin, the one of 5 mg"


_RECORD_NUMBER: Final = re.compile(
    r"(?i)\W*(?:(?:my )?(?:mrn|(?:medical )?record number)(?: is)?|מספר (?:ה?תיק|ה?רשומה)(?: ה?רפואית?)?(?: שלי)?(?: הוא)?)?"
    r"\W*([0-9]{6,8})\W*"
)
"""Nothing but a medical record number, where the account was asked for."""
_ASKED_BESIDE: Final = ("stock", "list", "hours", "price", "where", "which_branch")
"""What makes a yes to an offer no answer to it: "OK, I'll take it, which branch"."""

_CHANGE_TO: Final = re.compile(
    r"(?:(?:ok|no|please|actually|can you|could you|אפשר|בבקשה|בעצם|לא) )*"
    r"(?:change|make|set|switch|update|ת?שנ[הויא]|לשנות|תעש[הוי]|תעדכנ[וי]?|תורידו|תעלו)"
    r"(?: (?:it|that|this|the (?:amount|quantity|number)|את (?:זה|הכמות)|הכמות))?(?: (?:to|into|ל))? ?ל?(\d{1,4})"
    r"(?: (?:instead|please|now|במקומ|בבקשה))*"
)
_SMALLEST_UNITS: Final = 5
_SHORT_ANSWER: Final = 3
_SAYS_MORE: Final = 3
"""From so many telling words beside the yes on, it is no answer: "ok and can I use the armpit thermometer"."""
_OF_REQUESTS: Final = ("refill", "refill_progress", "site_orders")
"""What a customer says of requests: no answer to where a refill is picked up."""


def pending_answer(message: Message, pending: Mapping[str, Any], state: Mapping[str, Any]) -> Frame | None:
    """Return the frame that was waiting, completed by this message; None when the message is about something else."""
    clauses = message.clauses
    kind = pending["kind"]
    if kind == "identifier" and message.contacts:
        return identity_frame(message, state)
    if kind == "identifier" and (number := _RECORD_NUMBER.fullmatch(message.text)):
        return identity_frame(replace(message, contacts=(number[1],)), state)
    if not clauses:
        return None
    clause = clauses[0]
    new_topic = has_topic(clause)
    if kind == "confirm":
        return _card_answer(message, pending)
    if kind == "offer_person":
        reason = pending.get("reason", "not_understood")
        return _offer_answer(message, Frame("person", 0.95, details={"reason": reason}))
    if "frame" not in pending:
        return None  # code reads the answer
    waiting = Frame.recalled(pending["frame"])
    if kind in _OF_REFILLS:
        return _OF_REFILLS[kind](clause, waiting, list(pending.get("options", ())))
    if clause.has("takes") and clause.medicines:
        return None  # "I'm on warfarin, by the way" chooses nothing
    if kind == "which_refill":
        return _refill_answer(clause, waiting)
    options = list(pending.get("options", ()))
    if kind == "which_prescription":
        return _prescription_answer(clause, waiting, options)
    if kind == "which_medication":
        return _medicine_answer(message, waiting, options, state)
    if kind == "medication" and not new_topic and (clause.medicines or _may_be_name(clause)):
        named = medications_of(clause.medicines) or ({"query": clause.unknown[0].text},)
        # "With which other one?"
        first = waiting.medicines if waiting.intent in ("interaction", "same") else ()
        sure = waiting.confidence if clause.medicines else 0.72
        return replace(_there(clause, waiting), medicines=(*first, *named), confidence=sure)
    if kind == "what" and not clause.medicines:
        inner = clause_frame(clause, state, list(waiting.medicines), [])
        if inner and inner.confidence >= SURE and inner.medicines:
            return inner
    return None


def _may_be_name(clause: Clause) -> bool:
    """Return whether unknown words may be the name that was asked for; not in thanks or in a long sentence."""
    return bool(clause.unknown) and len(clause.words) <= _LONGEST_NAMING and not clause.has("thanks", "bye")


def _offer_answer(message: Message, accepted: Frame) -> Frame | None:
    """Return this frame when the customer takes up an offer: of a person, or to pass a refill on."""
    clause, *later = message.clauses
    # "Is it ok with coffee?" says no yes, and "you don't help at all" no no.
    says_yes = _begins(clause, "yes") or (clause.has("yes") and len(clause.words) <= _SHORT_ANSWER)
    says_no = clause.has("no")
    # "OK, what pain relievers do you have then?" takes up no offer.
    asks = (
        _says_more(clause)
        or clause.categories
        or clause.places
        or clause.unknown
        or clause.has(*_ASKED_BESIDE)
        or any(
            other.asks
            or other.medicines
            or other.categories
            or other.has(*_ASKED_BESIDE)
            or _says_more(other)
            for other in later
        )
    )
    if says_yes and not clause.medicines and not says_no and not asks:
        return accepted
    goes_on = any(len(other.words) > _SHORT_ANSWER for other in later)
    if _begins(clause, "no") and not goes_on and not has_topic(clause) and not clause.medicines:
        return Frame("declined", 0.95)
    return None


def _says_more(clause: Clause) -> bool:
    """Return whether a clause has more to say than that somebody agrees, is grateful, or wants a person."""
    agreed = {
        place
        for cue in ("yes", "thanks", "person", "strong_person")
        for span in clause.cues.spans(cue)
        for place in range(*span)
    }
    rest = [word for place, word in enumerate(clause.words) if place not in agreed and not is_light(word)]
    return len(rest) >= _SAYS_MORE


def _begins(clause: Clause, cue: str) -> bool:
    return any(start == 0 for start, _ in clause.cues.spans(cue))


def _card_answer(message: Message, pending: Mapping[str, Any]) -> Frame | None:
    """Return what a message wants of the refill whose card is open: another place or amount, to go on, or a typed yes."""
    clause = message.clauses[0]
    if "frame" in pending:
        waiting = Frame.recalled(pending["frame"])
        if clause.has("resume"):
            return waiting
        changed = _changed(clause, waiting, wished_in(clause) or _bare_amount(clause))
        if changed and not _asks_else(clause) and _names_only(clause, waiting) and not clause.asks:
            return changed
    return _offer_answer(message, Frame("confirm_on_card", 0.95))


def _pickup_answer(clause: Clause, waiting: Frame, options: Sequence[Any]) -> Frame | None:
    """Return the refill with the place that a clause names or chooses; a clause that says nothing of it counts as a failed turn."""
    if clause.has("resume") and not clause.places:
        return waiting
    changed = _changed(clause, waiting, wished_in(clause))
    if changed and (not _asks_else(clause, but=("delivery", "online")) or clause.has("refill")):
        same = changed.place and waiting.place and changed.place.get("store") == waiting.place.get("store")
        return replace(changed, details={**changed.details, "anyway": True}) if same else changed
    position = position_of(clause, len(options)) if options else None
    if position is not None and not clause.medicines:
        return replace(waiting, place=options[position])
    is_off = clause.has("no", "refill_cancel") or (clause.has("cancel") and not clause.has("refill"))
    if is_off and not has_topic(clause) and not clause.medicines:
        return replace(waiting, details={**waiting.details, "withdrawn": True})
    if clause.medicines or clause.asks or has_topic(clause) or clause.has(*_OF_REQUESTS):
        return None  # about something else
    turns = int(waiting.details.get("turns") or 0) + 1
    return replace(waiting, details={**waiting.details, "turns": turns})


def _bare_amount(clause: Clause) -> dict[str, Any]:
    """Return the amount of "change it to 30" as units, which the card shows again; a small number may be packs."""
    found = _CHANGE_TO.fullmatch(" ".join(clause.words))
    return {"units": int(found[1])} if found and int(found[1]) >= _SMALLEST_UNITS else {}


def _changed(clause: Clause, waiting: Frame, wished: dict[str, Any]) -> Frame | None:
    """Return a refill with the place that a clause names or the amount that it wishes for; None without either."""
    place = place_of(clause) or _online(clause)
    if place and "delivery" in wished and _delivers_instead(clause):
        place = None
    if place:
        wished.pop("delivery", None)
    if not wished and not place:
        return None
    details = {
        key: value for key, value in waiting.details.items() if key not in ("delivery", "anyway", "turns")
    }
    details = {
        key: value for key, value in details.items() if key not in (*AMOUNTS, "amounts", "each", "unowned")
    }
    return replace(waiting, place=place or waiting.place, details={**details, **wished})


def _delivers_instead(clause: Clause) -> bool:
    """Return whether a clause wants a delivery in place of the place that it names: "delivery instead of the online store"."""
    delivery = [start for start, _end in clause.cues.spans("delivery")]
    instead = [start for start, _end in clause.cues.spans("instead")]
    return bool(delivery and instead) and min(delivery) < max(instead) < len(clause.words) - 1


def _asks_else(clause: Clause, but: Collection[str] = ()) -> bool:
    """Return whether a clause has a topic of its own; "15 instead of 60" asks for no equivalent."""
    starts = {start for start, _end in clause.cues.spans("instead")}
    instead = starts.issuperset(start for start, _end in clause.cues.spans("equivalent"))
    return has_topic(clause, but=(*but, "equivalent") if instead else but)


def _names_only(clause: Clause, waiting: Frame) -> bool:
    """Return whether a clause names no medicine but those of the refill."""
    ids = {one.get("id") for one in waiting.medicines}
    return all(any(one["id"] in ids for one in medicine.candidates) for medicine in clause.medicines)


def _online(clause: Clause) -> RememberedPlace | None:
    """Return the online store, if a clause means it as a place and not a delivery."""
    if not clause.has("online") or clause.has("delivery"):
        return None
    return {"query": "online", "en": "Online store", "he": "החנות המקוונת", "store": settings.DEFAULT_STORE}


def _refill_answer(clause: Clause, waiting: Frame) -> Frame | None:
    """Return whether a renewal is a refill or a new prescription from a doctor."""
    if clause.has("new_prescription") or position_of(clause, 2) == 1:
        return replace(waiting, intent="renew_doctor")
    if clause.has("refill") or position_of(clause, 2) == 0:
        return replace(waiting, intent="refill_status")
    if clause.medicines and not has_topic(clause):
        return replace(waiting, medicines=medications_of(clause.medicines))  # "the amoxicillin, actually"
    return None


def _prescription_answer(clause: Clause, waiting: Frame, options: Sequence[Any]) -> Frame | None:
    """Return the frame that waited for one of these prescriptions."""
    if has_topic(clause):
        return None
    several = refilled_in(clause) or rows_named(clause, options)
    if len(several) > 1:
        return replace(waiting, medicines=several)
    if asks_for_all(clause) and len(options) > 1:
        return replace(waiting, medicines=medicines_of_rows(options))
    row = prescription_chosen(clause, options)
    agrees = clause.has("yes") and not clause.has("no") and not clause.medicines
    if row is None and agrees and len(clause.words) <= 3:
        return waiting
    return replace(waiting, details={**waiting.details, "prescription": row}) if row else None


def _medicine_answer(
    message: Message, waiting: Frame, options: Sequence[RememberedMedication], state: Mapping[str, Any]
) -> Frame | None:
    """Return the frame that waited for one of these medicines, or what is asked about the only one that was offered."""
    clause, *later = message.clauses
    says_yes, says_no, new_topic = clause.has("yes"), clause.has("no"), has_topic(clause)
    chosen = option_chosen(clause, options)
    if chosen is not None and not (new_topic and not clause.medicines):
        # Two that are looked at together keep the other one; of two candidates only the chosen one stays.
        return replace(waiting, medicines=(*_others(waiting), chosen))
    asked = _asked_about(clause, waiting, options, state)
    if asked:
        return asked
    other_name = clause.medicines or (
        clause.unknown and (new_topic or clause.places or len(clause.words) <= SHORT)
    )
    if says_yes and len(options) == 1 and not says_no and not other_name:
        return replace(waiting, medicines=(*_others(waiting), options[0]))
    if clause.has("both") and len(options) <= 3 and options:
        return replace(waiting, medicines=tuple(options))
    goes_on = any(other.medicines or other.unknown for other in later)
    if says_no and not clause.medicines and not new_topic and not clause.unknown:
        if goes_on:
            return None
        return Frame("declined_name", 0.95)
    if says_yes and not new_topic and not other_name and len(clause.words) <= 3:
        return replace(waiting, intent="which", details={"options": options, "frame": waiting.remembered()})
    together = len(clause.medicines) > 1 and clause.has("interaction", "taking")
    elsewhere = clause.places and waiting.intent not in PLACED
    if clause.medicines and not (new_topic or together or elsewhere):
        narrow = ("strengths", "forms", "form_text", "places")  # what was said of another medicine
        details = {key: value for key, value in waiting.details.items() if key not in narrow}
        named = (*_others(waiting), *medications_of(clause.medicines))
        return replace(_there(clause, waiting), medicines=named, details=details)
    return None


def _asked_about(
    clause: Clause, waiting: Frame, options: Sequence[RememberedMedication], state: Mapping[str, Any]
) -> Frame | None:
    """Return a question about what has only been offered ("Did you mean X?" – "is it OK with Y?").

    It is about the only medicine offered, which is then named as such; of several the customer still has to choose."""
    if waiting.intent in ("interaction", "same") and not has_topic(clause):
        return None
    inner = clause_frame(clause, state, list(options[:1]), [])
    if inner is None or inner.confidence < SURE:
        return None
    others = inner.details.get("others") or ()
    if not ((inner.assumed and inner.medicines) or (inner.intent == "interaction" and others)):
        return None
    if len(options) == 1:
        return replace(inner, details={**inner.details, "offered": True})
    if inner.intent != "interaction":
        return None
    open_one: RememberedMedication = {"query": str(options[0].get("en") or "")}
    pair = replace(inner, medicines=(*inner.medicines, open_one), details={})
    return replace(inner, intent="which", details={"options": options, "frame": pair.remembered()})


def _there(clause: Clause, waiting: Frame) -> Frame:
    """Return the waiting frame at the place that its answer names."""
    place = place_of(clause) or waiting.place
    intent = "stock_place" if place and waiting.intent in ("stock", "info") else waiting.intent
    return replace(waiting, intent=intent, place=place)


def _others(waiting: Frame) -> tuple[RememberedMedication, ...]:
    """Return the medicines beside the one that was asked about: two that are checked together stay together."""
    if waiting.intent not in ("interaction", "same"):
        return ()
    open_one = next((place for place, medicine in enumerate(waiting.medicines) if "id" not in medicine), 0)
    return (*waiting.medicines[:open_one], *waiting.medicines[open_one + 1 :])


def identity_frame(message: Message, state: Mapping[str, Any]) -> Frame:
    """Return the frame of an e-mail address, phone or record number: it says whose prescriptions are asked for."""
    waiting = state.get("waiting")
    details = {"identifier": message.contacts[0]}
    if waiting:
        return Frame("identify", 0.95, details={**details, "waiting": waiting})
    asked = next((clause for clause in message.clauses if clause.has("refill", "refill_status")), None)
    medicines = medications_of(asked.medicines) if asked else ()
    inner = Frame("refill_status" if asked else "prescriptions", 0.9, medicines=medicines)
    return Frame("identify", 0.9, details={**details, "waiting": inner.remembered()})


_OF_REFILLS: Final[Mapping[str, Callable[[Clause, Frame, Sequence[Any]], Frame | None]]] = {
    "pickup": _pickup_answer,
    "refill_wanted": wanted_answer,
    "which_offered": offered_answer,
}

"""Read clauses about a customer's own prescriptions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent.llm.offline.frames import SHORT, Frame
from agent.llm.offline.reading.amounts import wished_in
from agent.llm.offline.reading.message import Clause
from agent.llm.offline.reading.references import asks_rx, has_topic, medications_of, place_of, position_of
from agent.llm.offline.reading.refilled import asks_for_all, refilled_in, rows_named
from agent.state import RememberedMedication
from pharmacy_site.lib.text import words
from prescriptions.refill.confidence import DOUBTFUL

REQUEST_NUMBER: Final = re.compile(r"\bR-?\d{4,}\b", re.IGNORECASE)
PRESCRIPTION_MATTERS: Final = frozenset({"prescriptions", "refill_status", "refill", "renew"})
_SAID: Final = 0.95
"""Confidence in a request for a refill in plain words."""
_IMPLIED: Final = 0.80
"""That in one which only says that the medicine is used up."""
_DOUBT: Final = 0.15
"""How much less it is when the customer hesitates, or says that they do not want it."""
_PLEASE: Final = frozenset(words("please pls בבקשה"))
_LEADS_TO_NAME: Final = frozenset(words("my the of for some more another את של לי ה עוד"))


def patient_frame(clause: Clause, state: Mapping[str, Any]) -> Frame | None:
    """Return what a clause wants about prescriptions, refills or identification."""
    if clause.has("strong_person") and not clause.medicines:
        return None  # "talk to someone about my refill"
    medicines = medications_of(clause.medicines) or _name_to_refill(clause)
    other = clause.has("other_person")
    details = {"other_person": True} if other else {}
    if clause.has("logout"):
        return Frame("logout", 0.95)
    if clause.has("resend") and (
        clause.has("code_word") or state.get("waiting") or state.get("identifier_asked")
    ):
        return Frame("resend", 0.95)
    if request := _request_frame(clause, state, details):
        return request
    if clause.has("renew"):
        medicines = refilled_in(clause) or medicines
        return Frame("renew", 0.95, medicines=medicines, details=details)
    if clause.has("refill_term") and not medicines and not clause.has("my"):
        return Frame("what_refill", 0.95)
    if clause.has("refill") or _needs_again(clause):
        return _refill_frame(clause, state, medicines, details)
    if implied := _implied_frame(clause, details):
        return implied
    mine = (clause.has("prescriptions") and len(medicines) < 2) or (
        clause.has("my") and clause.has("rx_word")
    )
    if mine and not (medicines and asks_rx(clause) and not clause.has("my", "prescriptions")):
        return Frame("prescriptions", 0.95, details=details)
    if clause.has("rx_plural") and len(clause.words) <= 2 and not medicines:
        return Frame("prescriptions", 0.9)
    if other and clause.has("rx_word", "prescriptions"):
        return Frame("prescriptions", 0.9, details=details)
    matter = (state.get("waiting") or state).get("intent")
    if matter == "refill_pickup":
        matter = "refill"
    if len(medicines) == 1 and matter in PRESCRIPTION_MATTERS and _only_names(clause):
        # "And the metformin?"; "no wait, the amoxicillin one" is the same request for the other medicine.
        changed = clause.has("correction", "no", "instead") and matter in ("refill", "renew")
        return Frame(str(matter) if changed else "refill_status", 0.9, medicines=medicines, details=details)
    shown = state.get("prescriptions") or []
    position = (
        position_of(clause, len(shown))
        if shown and state.get("intent") in ("prescriptions", "refill_status")
        else None
    )
    if position is not None and not medicines:
        return Frame("refill_status", 0.9, details={"prescription": shown[position]})
    return None


def _refill_frame(
    clause: Clause,
    state: Mapping[str, Any],
    medicines: tuple[RememberedMedication, ...],
    details: dict[str, Any],
) -> Frame:
    """Return what a clause wants about a refill: one, or whether one is possible; of a medicine or a listed prescription."""
    medicines = refilled_in(clause) or medicines
    if asks_for_all(clause) and not medicines:
        details = {**details, "all": True}
    position = position_of(clause, 9)
    shown = state.get("prescriptions") or []
    medicines = medicines or rows_named(clause, shown)
    if position is not None and position < len(shown) and not medicines:
        details = {**details, "prescription": shown[position]}
    numbered = [number for number in clause.numbers if number in {row["id"] for row in shown}]
    if not medicines and "prescription" not in details and numbered:
        details = {**details, "prescription": next(row for row in shown if row["id"] == numbered[0])}
    asks = clause.has("refill_status") or (clause.asks and not clause.has("weak_stock"))
    if asks:
        return Frame("refill_status", 0.95, medicines=medicines, details=details)
    wished = {**details, **wished_in(clause)}
    if wished.get("all") and "days" in wished:
        wished["each"] = True  # "refill all of them for 30 days"
    sure = _confidence(clause, medicines, _SAID)
    return Frame("refill", sure, medicines=medicines, place=place_of(clause), details=wished)


def _needs_again(clause: Clause) -> bool:
    """Return whether a clause wishes for a prescription medicine again: "I need metformin again", "צריכה שוב מטפורמין".

    So does a name with nothing but "my" and "again": "my metformin again please".
    """
    if clause.asks or has_topic(clause, but=("stock",)):
        return False
    if (
        clause.has("once_more")
        and (clause.has("my") or not _PLEASE.isdisjoint(clause.words))
        and _only_names(clause)
    ):
        return any(medicine.needs_prescription for medicine in clause.medicines)
    return any(
        medicine.needs_prescription and start <= medicine.start <= end + 1
        for start, end in clause.cues.spans("needs_again")
        for medicine in clause.medicines
    )


def _implied_frame(clause: Clause, details: Mapping[str, Any]) -> Frame | None:
    """Return a refill that a customer does not ask for, but whose medicine they say is used up."""
    implied = clause.cues.spans("refill_implied")
    covered = {place for span in implied for place in range(*span)}
    # "המטפורמין שלי נגמר": the word is in the cues of stock as well.
    asks_stock = any(not covered.issuperset(range(*span)) for span in clause.cues.spans("stock"))
    if not implied or not clause.medicines or clause.asks or asks_stock or has_topic(clause, but=("stock",)):
        return None
    medicines = refilled_in(clause)
    sure = _confidence(clause, medicines, _IMPLIED)
    wished = {**details, **wished_in(clause)}
    return Frame("refill", sure, medicines, place_of(clause), details=wished) if sure >= DOUBTFUL else None


def _confidence(clause: Clause, medicines: tuple[RememberedMedication, ...], sure: float) -> float:
    """Return how sure a refill was read: less with doubt, and with each unknown word but one, by their share of the clause."""
    names = {one.get("query") for one in medicines}
    unread = sum(
        one.end - one.start
        for one in clause.unknown
        if one.text not in names and not any(letter.isdigit() for letter in one.text)
    )
    doubt = _DOUBT if clause.has("refill_doubt") else 0.0
    return round(sure - doubt - max(unread - 1, 0) / len(clause.words), 2)


def unread_confidence(clauses: Sequence[Clause]) -> float:
    """Return how sure a refill is that only a language model read: the customer is asked, never taken at a model's word."""
    doubt = _DOUBT if any(clause.has("refill_doubt") for clause in clauses) else 0.0
    return max(round(_IMPLIED - doubt, 2), DOUBTFUL)


def _request_frame(clause: Clause, state: Mapping[str, Any], details: Mapping[str, Any]) -> Frame | None:
    """Return what a clause wants of a refill request that exists: cancel it, go on with it, hear how far it is."""
    names_it = clause.has("refill", "renew", "refill_request") or REQUEST_NUMBER.search(clause.text)
    if clause.has("refill_cancel") and names_it and not clause.has("strong_person"):
        return Frame("refill_cancel", 0.95, details={**details, **_number_in(clause)})
    if _denies_open(clause, state):
        return Frame("refill_cancel", 0.95, details=details)
    if clause.has("resume") and (state.get("refills") or clause.has("refill")) and not clause.medicines:
        return Frame("refill_resume", 0.95)
    if clause.has("refill_progress") and not clause.has("refill_status"):
        return Frame("refill_progress", 0.95, details=details)
    if REQUEST_NUMBER.search(clause.text):
        return Frame("refill_progress", 0.9, details={**details, **_number_in(clause)})
    return None


def _denies_open(clause: Clause, state: Mapping[str, Any]) -> bool:
    """Return whether a clause takes back all that is being requested: "I did not ask for a refill", "don't refill my metformin"."""
    if not (clause.has("refill_denied") and clause.has("refill") and state.get("refills")):
        return False
    waiting = (state.get("pending") or {}).get("frame") or {}
    open_ids = {one.get("id") for one in waiting.get("medicines", ())}
    named = {one.get("id") for medicine in clause.medicines for one in medicine.candidates}
    return not clause.medicines or (bool(open_ids) and open_ids <= named)


def _number_in(clause: Clause) -> dict[str, str]:
    found = REQUEST_NUMBER.search(clause.text)
    return {"number": found[0].upper().replace("R", "R-").replace("--", "-")} if found else {}


def _name_to_refill(clause: Clause) -> tuple[RememberedMedication, ...]:
    """Return an unknown name right after "refill" or "renew", so that no other prescription is taken for it."""
    if clause.categories:
        return ()  # "refill my heart medication"
    ends = [end for cue in ("refill", "renew") for _start, end in clause.cues.spans(cue)]
    behind = [
        name.text
        for name in clause.unknown
        if any(
            end <= name.start <= end + 1 and _LEADS_TO_NAME.issuperset(clause.words[end : name.start])
            for end in ends
        )
    ]
    return tuple({"query": name} for name in behind[:1])


def _only_names(clause: Clause) -> bool:
    """Return whether a clause about prescriptions does no more than name another medicine."""
    instead = clause.cues.spans("equivalent") <= clause.cues.spans("instead")
    topic = has_topic(clause, but=("equivalent",) if instead else ())
    asks_else = topic or clause.places or clause.without("stock", "weak_stock") or clause.has("interaction")
    leans = clause.has("follow", "my", "correction", "no", "instead", "that_one")
    return not asks_else and (leans or (len(clause.words) <= SHORT + 2 and not clause.unknown))

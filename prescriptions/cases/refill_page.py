"""Collect what the page of a refill request shows, worded for its reader."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.auth.models import User

from inventory.drug_classes import class_shown
from inventory.models import Ingredient, Medication
from pharmacy_site.lib.bilingual import named
from pharmacy_site.lib.text import Language
from prescriptions.models import RefillRequest, RefillTransition
from prescriptions.refill.escalation import package_of
from prescriptions.refill.questions import Question, questions_of
from prescriptions.refill.selectors import status_of
from prescriptions.refill.staff_wording import staff_word
from prescriptions.refill.states import Reason, State
from prescriptions.refill.wording import contact_name, reason_text
from prescriptions.transcripts import Said, transcript_of
from stores.models import Store

_NOTED: Final = ("question", "answer", "reference", "note")
_Fulfilment = RefillRequest.Fulfilment
_FOR_ALL: Final = ("refill", "status", "reason", "contact", "path", "address")
_OF_PRODUCTS: Final = frozenset({"medication", "same_class"})


@dataclass(frozen=True)
class Finding:
    """One finding of the checks, worded; `code` is its level."""

    check: str
    code: str
    level: str
    reason: str
    evidence: Sequence[str]


@dataclass(frozen=True)
class Passed:
    """One step on the request's way."""

    at: datetime
    walk: int
    state: str
    event: str
    who: str
    note: str


@dataclass(frozen=True)
class Asked:
    """A question of staff, and what the customer wrote next; "" while they have not."""

    at: datetime
    question: str
    answer: str
    answered_at: datetime | None


@dataclass(frozen=True)
class Considered:
    """One step of the search for who decides."""

    by: str
    thought: str
    action: str
    seen: str


@dataclass(frozen=True)
class Earlier:
    """An earlier request of the same prescription."""

    number: str
    status: str
    on: str


@dataclass(frozen=True)
class Page:
    """All that staff read about a request; without the right to see patients only what is prepared."""

    refill: RefillRequest
    status: str
    reason: str
    contact: str
    path: Sequence[Passed]
    address: str = ""
    findings: Sequence[Finding] = ()
    pairs: Sequence[str] = ()
    package: Mapping[str, Any] | None = None
    allergens: Sequence[str] = ()
    history: Sequence["Earlier"] = ()
    routing: Sequence[Considered] = ()
    transcript: Sequence[Said] = ()
    note: str = ""
    questions: Sequence[Asked] = ()


def refill_page(refill: RefillRequest, language: Language, *, with_patient: bool) -> Page:
    """Return the page; `with_patient` adds the context package, the transcript and who chose the contact."""
    shown = Page(
        refill=refill,
        status=status_shown(refill, language),
        reason=reason_text(refill.reason, language),
        contact=contact_shown(refill, language),
        path=_path(refill, language, with_patient=with_patient),
        address=refill.patient.address if with_patient or is_to_be_sent(refill) else "",
    )
    if not with_patient:
        return shown
    package = package_of(refill)
    note = (refill.handoff.package.get("note") or {}) if refill.handoff else {}
    names = _names(refill)
    reader = None if refill.reason == Reason.IDENTITY_FAILED else refill.patient_id
    return Page(
        **{name: getattr(shown, name) for name in _FOR_ALL},
        findings=[_finding(row, names, language) for row in package.get("findings") or []],
        pairs=[
            f"{names.get(pair['a'], pair['a'])} + {names.get(pair['b'], pair['b'])} ({staff_word('level', pair['level'], language)})"
            for pair in package.get("other_pairs") or []
        ],
        package=package,
        allergens=[
            ingredient_shown(one, language) for one in (package.get("allergies") or {}).get("items") or []
        ],
        history=[
            Earlier(
                row["number"], staff_word("status", row["outcome"] or "waiting", language), row["on"][:10]
            )
            for row in package.get("history") or []
        ],
        routing=_routing(refill, language),
        transcript=transcript_of(refill.conversation_id, reader),
        note=note.get(language, ""),
        questions=[_asked(row) for row in questions_of(refill)],
    )


def is_to_be_sent(refill: RefillRequest) -> bool:
    """Return whether it is prepared for a delivery now: whoever packs it needs the address."""
    is_delivery = refill.pickup_known and refill.store_id is None
    return is_delivery and refill.fulfilment in {_Fulfilment.PREPARING, _Fulfilment.READY}


def status_shown(refill: RefillRequest, language: Language) -> str:
    """Return how far the request is, as staff read it."""
    if refill.outcome is None:
        if refill.state == State.COMPLETE:
            return staff_word("status", "waiting", language)
        return staff_word("state", refill.state, language)
    return staff_word("status", status_of(refill), language)


def contact_shown(refill: RefillRequest, language: Language) -> str:
    """Return the role that decides, with the name of the person on call."""
    if not refill.contact:
        return ""
    role = contact_name(refill.contact, language)
    person = refill.contact_person
    return f"{role}: {person.get_full_name() or person.get_username()}" if person else role


def _asked(row: Question) -> Asked:
    answered_at = row["answered_at"]
    return Asked(
        at=datetime.fromisoformat(row["asked_at"]),
        question=row["question"],
        answer=row["answer"] or "",
        answered_at=datetime.fromisoformat(answered_at) if answered_at else None,
    )


def _finding(row: Mapping[str, Any], names: Mapping[int, str], language: Language) -> Finding:
    evidence = []
    for name, value in row["evidence"].items():
        if value is None:
            continue
        shown = names.get(value, value) if name in _OF_PRODUCTS else value
        if name == "why":
            shown = staff_word("why", str(value), language)
        elif name in ("class", "related"):
            shown = class_shown(str(value), language)
        elif name == "ingredient":
            shown = ingredient_shown(str(value), language)
        evidence.append(f"{staff_word('evidence', name, language)}: {shown}")
    return Finding(
        check=staff_word("check", row["name"], language),
        code=row["level"],
        level=staff_word("level", row["level"], language),
        reason=reason_text(row["reason"] or "", language),
        evidence=evidence,
    )


def ingredient_shown(key: str, language: Language) -> str:
    """Return the name of an ingredient by its key, and of a class that stands in its place, in a language."""
    found = Ingredient.objects.filter(key=key).first()
    return named(found, language) if found else class_shown(key, language)


def _names(refill: RefillRequest) -> dict[int, str]:
    """Return the names of the products that findings and pairs mention."""
    ids = {refill.prescription.medication_id}
    for row in refill.findings:
        ids |= {value for name, value in row["evidence"].items() if name in _OF_PRODUCTS}
    rows = refill.patient.prescriptions.values_list("medication_id", flat=True)
    return {row.pk: str(row) for row in Medication.objects.filter(pk__in=ids | set(rows))}


def _path(refill: RefillRequest, language: Language, *, with_patient: bool) -> list[Passed]:
    rows = list(RefillTransition.objects.filter(request=refill).order_by("version"))
    people = _people(row.actor for row in rows)
    return [
        Passed(
            at=row.at,
            walk=row.walk,
            state=staff_word("state", row.to_state, language),
            event=staff_word("event", row.event, language),
            who=people.get(row.actor) or staff_word("value", row.actor, language),
            note=str(next((row.detail[name] for name in _NOTED if row.detail.get(name)), ""))
            if with_patient
            else "",
        )
        for row in rows
    ]


def _people(actors: Any) -> dict[str, str]:
    numbers = {actor: int(actor[5:]) for actor in actors if actor.startswith("user:") and actor[5:].isdigit()}
    users = User.objects.in_bulk(numbers.values())
    return {
        actor: users[number].get_full_name() or users[number].get_username()
        for actor, number in numbers.items()
        if number in users
    }


def _considered(
    step: Mapping[str, Any], people: Mapping[str, str], stores: Mapping[int, str], language: Language
) -> Considered:
    def worded(name: str, value: Any) -> str:
        """Return a value of an observation in words: people and branches by name, codes by their meaning."""
        if isinstance(value, Mapping):
            return ", ".join(pair(key, item) for key, item in value.items() if item not in ("", None))
        if isinstance(value, list):
            return "; ".join(worded(name, item) for item in value) or "–"
        if name == "person":
            return people.get(f"user:{value}", str(value))
        if name == "branch":
            return stores.get(value, str(value))
        if name in ("until", "changes_at"):
            return str(value)[:16].replace("T", " ")
        code = str(value)
        if name in ("check", "level"):
            return staff_word("check" if name == "check" else "level", code, language)
        return reason_text(code, language) or staff_word("value", code, language)

    def pair(name: str, value: Any) -> str:
        return f"{staff_word('seen', name, language)}: {worded(name, value)}"

    action = staff_word("action", step["action"], language)
    arguments = worded("", step["arguments"])
    return Considered(
        by=step["by"],
        thought=staff_word("thought", step["thought"], language)
        if step["by"] == "rules"
        else step["thought"],
        action=f"{action} ({arguments})" if arguments else action,
        seen=worded("", step["observation"]),
    )


def _routing(refill: RefillRequest, language: Language) -> list[Considered]:
    people = _people(f"user:{number}" for number in _numbers(refill.routing, "person"))
    branches = Store.objects.filter(pk__in=_numbers(refill.routing, "branch"))
    stores = {store.pk: str(store) for store in branches}
    return [_considered(step, people, stores, language) for step in refill.routing]


def _numbers(value: Any, name: str) -> set[int]:
    """Return the numbers that stand under this name anywhere in the steps."""
    if isinstance(value, list):
        return set().union(*(_numbers(item, name) for item in value))
    if not isinstance(value, Mapping):
        return set()
    found = set().union(*(_numbers(item, name) for item in value.values()))
    number = value.get(name)
    return found | {number} if type(number) is int else found

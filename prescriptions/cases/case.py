"""Read one case for its page: all that a person needs to decide, in one place.

What is not on record is None, which the page shows as unknown. Without the right to see patients only what was said and
what is in stock is read; name, number and contacts only by whoever has claimed the hand-off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext as _

from pharmacy_site.lib.text import Language, as_language
from prescriptions.cases.decisions import is_waiting
from prescriptions.cases.looked_up import facts_shown, tool_shown
from prescriptions.cases.patients import (
    MedicineShown,
    PatientShown,
    Proof,
    StockShown,
    medicine_shown,
    patient_shown,
    proof_of,
    stock_shown,
)
from prescriptions.cases.queue import QueueRow, person_name, queue_row
from prescriptions.cases.refill_page import Page, refill_page
from prescriptions.cases.wording import ROLES, page_language, reason_shown, verified_code, word
from prescriptions.handoffs.rights import is_own, may_take
from prescriptions.handoffs.selectors import handoffs_for
from prescriptions.models import Handoff, RefillRequest
from prescriptions.refill.reservations import store_of
from prescriptions.refill.staff_wording import staff_word
from prescriptions.refill.states import State
from prescriptions.transcripts import Said, names_masked, short_name, transcript_of_handoff
from stores.models import Store

_MOST_EARLIER: Final = 10


@dataclass(frozen=True)
class Stop:
    """One of the seven states of a refill: how often the request was in it, and whether it is in it now."""

    name: str
    visits: int
    is_now: bool


@dataclass(frozen=True)
class Note:
    """What one person of the staff wrote for the next."""

    by: str
    text: str


@dataclass(frozen=True)
class Other:
    """Another hand-off, of the patient or of the conversation."""

    pk: int
    number: str
    reason: str
    state: str
    on: str


@dataclass(frozen=True)
class Case:
    """A hand-off with all that its page shows to this reader."""

    handoff: Handoff
    row: QueueRow
    role: str
    is_mine: bool
    is_own: bool
    may_claim: bool
    sees_patients: bool
    proof: Proof
    notes: Sequence[Note]
    draft: str
    summary: str
    """What is asked, in a model's words; "" for none."""
    draft_of_customer: str
    """The drafted note in the customer's language, for the reply."""
    transcript: Sequence[Said]
    others: Sequence[Other]
    refill: RefillRequest | None = None
    waits: bool = False
    """Whether the refill waits for this hand-off's decision."""
    page: Page | None = None
    path: Sequence[Stop] = ()
    patient: PatientShown | None = None
    medicine: MedicineShown | None = None
    stock: Sequence[StockShown] = ()
    earlier: Sequence[Other] = ()

    @property
    def replies_go_to(self) -> str:
        """Return what the conversation is called to which a reply goes; "" for none."""
        return short_name(self.handoff.conversation_id) if self.handoff.conversation_id else ""

    @property
    def last_seq(self) -> int:
        """Return the number of the last message that the reader sees."""
        return max((said.seq for said in self.transcript), default=0)


def case_read(handoff: Handoff, user: User) -> Case:
    """Return the case of a hand-off for this reader."""
    language = page_language()
    sees_patients = user.has_perm("prescriptions.view_patient")
    is_mine = handoff.claimed_by_id == user.pk
    proof = proof_of(handoff)
    refill = _refill(handoff)
    product = handoff.medication
    case = Case(
        handoff=handoff,
        row=queue_row(handoff, user, timezone.now()),
        role=word(ROLES, handoff.contact),
        is_mine=is_mine,
        is_own=is_own(user, handoff),
        may_claim=not handoff.is_over and handoff.claimed_by_id is None and may_take(user, handoff),
        sees_patients=sees_patients,
        proof=proof,
        notes=_notes(handoff),
        draft=_draft(handoff, language),
        summary=summary_shown(handoff, user),
        draft_of_customer=_draft(handoff, as_language(handoff.language)),
        transcript=messages_for(handoff, user),
        others=_others(handoff, user),
        refill=refill,
        waits=refill is not None and is_waiting(refill, handoff),
        stock=stock_shown(product, *_asked(handoff, refill)) if product else (),
    )
    if not sees_patients:
        return case
    known = proof.code != "failed"
    patient = handoff.patient if known else None
    return replace(
        case,
        page=refill_page(refill, language, with_patient=True) if refill else None,
        path=_path(refill) if refill else (),
        patient=patient_shown(patient, with_identity=is_mine) if patient else None,
        medicine=medicine_shown(product, refill.prescription if refill and known else None)
        if product
        else None,
        earlier=_earlier(handoff, user) if patient else (),
    )


def messages_for(handoff: Handoff, user: User, *, after: int | None = None) -> list[Said]:
    """Return the messages that this reader may see: all, or those of its own conversation behind `after`.

    Of a failed identity none that belongs to a patient. Without the right to see patients, whoever has claimed the
    hand-off reads what the customer and staff wrote, and all others only what is nobody's. Whoever has not claimed it
    reads no names, contacts or dates of birth.
    """
    is_known = verified_code(handoff) != "failed"
    if user.has_perm("prescriptions.view_patient"):
        found = transcript_of_handoff(handoff, with_patient=is_known)
    else:
        found = transcript_of_handoff(handoff, with_patient=False)
        if handoff.claimed_by_id == user.pk and is_known:
            open_to_all = {(said.seq, said.text) for said in found}
            found = [
                said if (said.seq, said.text) in open_to_all else _without_answer(said)
                for said in transcript_of_handoff(handoff)
            ]
    if handoff.claimed_by_id != user.pk:
        found = names_masked(found, handoff.patient if is_known else None)
    # Those of other conversations have no number; the page has them from the beginning.
    return [_worded(said) for said in found if after is None or said.seq > after]


def _worded(said: Said) -> Said:
    language = page_language()
    calls = [
        replace(
            call,
            title=tool_shown(call.name, language),
            rows=[*facts_shown(call.arguments, language), *facts_shown(call.result, language)],
        )
        for call in said.calls
    ]
    return replace(said, calls=calls)


def summary_shown(handoff: Handoff, user: User) -> str:
    """Return what is asked in a hand-off, in a model's words; without names and contacts for whoever has not claimed it."""
    if handoff.claimed_by_id == user.pk or not handoff.summary:
        return handoff.summary
    [masked] = names_masked([Said("assistant", handoff.summary, handoff.language)], handoff.patient)
    return masked.text


def _without_answer(said: Said) -> Said:
    """Return a message without an answer that holds personal data."""
    if said.role != "assistant":
        return said
    text = _("The assistant answered from the patient's record.")
    return replace(said, text=text, language=page_language(), calls=())


def _draft(handoff: Handoff, language: Language) -> str:
    return str((handoff.package.get("note") or {}).get(language) or "")


def _refill(handoff: Handoff) -> RefillRequest | None:
    number = (handoff.package.get("request") or {}).get("number")
    rows = RefillRequest.objects.select_related("prescription__medication", "patient", "store", "handoff")
    return rows.filter(number=number).first() if number else None


def _asked(handoff: Handoff, refill: RefillRequest | None) -> tuple[Store | None, int | None]:
    """Return where it is picked up, and how many units are asked for."""
    return (store_of(refill), refill.quantity) if refill and refill.pickup_known else (handoff.branch, None)


def _notes(handoff: Handoff) -> list[Note]:
    rows = handoff.package.get("notes") or []
    people = User.objects.in_bulk([row["by"] for row in rows])
    return [Note(person_name(people.get(row["by"])), str(row["text"])) for row in rows]


def _path(refill: RefillRequest) -> list[Stop]:
    language = page_language()
    rows = refill.transitions.order_by("version").values_list("from_state", "to_state")
    passed = [after for before, after in rows if before != after]
    return [
        Stop(staff_word("state", state, language), passed.count(str(state)), refill.state == state)
        for state in State
    ]


def _earlier(handoff: Handoff, user: User) -> list[Other]:
    rows = handoffs_for(user).filter(patient=handoff.patient_id).exclude(pk=handoff.pk)
    return [_other(row) for row in rows.order_by("-pk")[:_MOST_EARLIER]]


def _others(handoff: Handoff, user: User) -> list[Other]:
    if handoff.conversation_id is None:
        return []
    rows = handoffs_for(user).waiting().filter(conversation_id=handoff.conversation_id)
    return [_other(row) for row in rows.exclude(pk=handoff.pk).order_by("pk")[:_MOST_EARLIER]]


def _other(row: Handoff) -> Other:
    ended = row.get_outcome_display() if row.outcome else row.get_state_display()
    on = timezone.localtime(row.created_at).strftime("%d.%m.%Y")
    return Other(row.pk, row.number, reason_shown(row), str(ended), on)

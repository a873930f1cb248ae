"""Collect a customer's request before it is submitted: prescription, quantity, pick-up; live for five minutes (S3).

The request is a row from the start, in Collect_Refill_Request and unconfirmed: it reserves nothing, nobody waits for it,
and the prescription may be requested elsewhere. Each message of the customer extends its time in the cache only; the
row's `expires_at` is what holds when the cache is empty or down.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from pharmacy_site.lib.counters import counters
from pharmacy_site.lib.text import Language
from prescriptions.audit import Access
from prescriptions.errors import RefillAlreadyOpen, RefillChangedMeanwhile, RefillRefused
from prescriptions.models import Patient, Prescription, RefillRequest
from prescriptions.refill.reservations import packs_for, store_of, stores_with
from prescriptions.refill.safety import Check, stopping
from prescriptions.refill.states import Reason
from prescriptions.refill.steps import checks_made, prescription_mark
from prescriptions.refill.transitions import request_note, request_number
from prescriptions.selectors import prescription_get_for
from stores.models import Store

log = logging.getLogger(__name__)
_TRIES: Final = 5
_REPEATED: Final = timedelta(minutes=15)
"""Whoever asks again so soon after a refill was sent for preparation repeats a request, and means no next one."""


@dataclass(frozen=True)
class Pickup:
    """Name where a customer gets a refill: at `store`, or delivered to the address on file if `store` is None."""

    store: Store | None


@dataclass(frozen=True)
class Preview:
    """What is known of a request before it is confirmed: findings that warn and that stop it, and its packs.

    `stores` are the stores that have enough packs, by id; `in_stock` is None while nobody knows where it is picked up.
    """

    warnings: list[Check]
    stops: list[Check]
    packs: int
    in_stock: bool | None
    stores: list[int]


def collection_begin(
    *,
    patient: Patient,
    prescription_id: int,
    access: Access,
    language: Language,
    conversation_id: UUID,
    quantity: int | None = None,
    pickup: Pickup | None = None,
) -> RefillRequest:
    """Return the request that is collected for this prescription, begun or changed, live from now on.

    What is not given stays as it was; the quantity begins as the prescription's. Raises PrescriptionNotFound, and
    RefillAlreadyOpen when a submitted request is open.
    """
    prescription = prescription_get_for(patient, prescription_id, access=access)
    number = number_open(prescription) or number_just_dispensed(prescription)
    if number:
        raise RefillAlreadyOpen(number)
    begun = _collected(prescription)
    if begun is None:
        begun = _begin(prescription, access, language, conversation_id)
    fields: dict[str, object] = {"conversation_id": conversation_id, "language": language}
    if quantity is not None:
        fields |= {"quantity": quantity, "days_supply": days_of(prescription, quantity)}
    if pickup is not None:
        fields |= {"store": pickup.store, "pickup_known": True}
    _go_on(begun, "changed", access, fields)
    return begun


def collection_preview(request: RefillRequest) -> Preview:
    """Make the checks that the submitted request would go through, and look for its packs; nothing is kept."""
    checks = checks_made(request)
    stops = stopping(checks, request.covered)
    medication = request.prescription.medication
    packs = packs_for(medication, request.quantity)
    stores = stores_with(medication, packs)
    return Preview(
        warnings=[one for one in checks if one.level == "warn" and one not in stops],
        stops=stops,
        packs=packs,
        in_stock=store_of(request).pk in stores if request.pickup_known else None,
        stores=stores,
    )


def collection_confirm(request: RefillRequest, *, version: int, access: Access) -> RefillRequest:
    """Submit a collected request as the customer saw it; the caller walks it.

    `version` is that of the request when it was shown. Raises RefillChangedMeanwhile when it was changed since,
    RefillAlreadyOpen when the prescription was requested elsewhere. Repeating it changes nothing.
    """
    if request.is_confirmed:
        return request
    if request.version != version or not request.pickup_known or request.outcome is not None:
        raise RefillChangedMeanwhile
    if request.store is None and not request.patient.address:
        raise RefillChangedMeanwhile  # the address was removed since
    _submit(request, access, [])
    return request


def collection_give_up(request: RefillRequest, reason: Reason, *, access: Access) -> RefillRequest:
    """Submit a request that could not be collected, so that its breaker hands it to a person; the caller walks it."""
    if not request.is_confirmed:
        _submit(request, access, [Check("collection", "block", reason, escalates=True)])
    return request


def collection_withdraw(request: RefillRequest, *, access: Access) -> None:
    """End a request that the customer no longer wants before it was submitted. Raises RefillRefused."""
    if request.is_confirmed:
        raise RefillRefused("submitted")
    _end(request, access)


def collections_withdraw(conversation_id: UUID, patient: Patient, *, access: Access) -> list[RefillRequest]:
    """End the requests that this patient has not confirmed in a conversation, and return them."""
    rows = RefillRequest.objects.select_related("patient", "prescription__medication", "store").filter(
        conversation_id=conversation_id, patient=patient, outcome=None, is_confirmed=False
    )
    return [row for row in rows.order_by("pk") if _ended(row, access)]


def collection_extend(numbers: Iterable[str]) -> None:
    """Let these requests live for five minutes from now; only the cache is written, and its failure costs no more than that."""
    until = (timezone.now() + timedelta(seconds=settings.REFILL_LIVE)).isoformat()
    try:
        counters().set_many({_cache_key(number): until for number in numbers}, settings.REFILL_LIVE)
    except Exception as error:
        # Each cache client has errors of its own.
        log.warning("live refill not extended, the cache failed: %s", type(error).__name__)


def collections_pause() -> int:
    """Pause the requests that nobody has gone on with for five minutes, end those of two weeks ago; return how many paused."""
    access = Access(who="system", where="sweep")
    now = timezone.now()
    live = RefillRequest.objects.filter(outcome=None, is_confirmed=False)
    paused = 0
    for row in live.filter(is_paused=False, expires_at__lte=now).order_by("pk"):
        until = _extended(row)
        try:
            if until and until > now:
                RefillRequest.objects.filter(pk=row.pk, version=row.version).update(expires_at=until)
                continue
            request_note(row, "paused", actor=access.who, where=access.where, fields={"is_paused": True})
            paused += 1
        except RefillChangedMeanwhile:
            continue
    old = now - timedelta(days=settings.REFILL_PAUSED_DAYS)
    for row in live.filter(updated_at__lte=old).order_by("pk"):
        try:
            _end(row, access)
        except RefillChangedMeanwhile:
            continue
    return paused


def number_open(prescription: Prescription) -> str | None:
    """Return the number of the submitted request that this prescription has open."""
    rows = RefillRequest.objects.filter(prescription=prescription, outcome=None, is_confirmed=True)
    return rows.values_list("number", flat=True).first()


def number_just_dispensed(prescription: Prescription) -> str | None:
    """Return the number of the request that was sent for preparation a moment ago and is not ready yet.

    Until it is ready nothing changes its row, so that `updated_at` is when it was sent.
    """
    rows = RefillRequest.objects.filter(
        prescription=prescription,
        outcome=RefillRequest.Outcome.DISPENSED,
        fulfilment=RefillRequest.Fulfilment.PREPARING,
        updated_at__gte=timezone.now() - _REPEATED,
    )
    return rows.values_list("number", flat=True).first()


def days_of(prescription: Prescription, units: int) -> int:
    """Return how many days so many units last by the prescription, rounded up."""
    return -(-prescription.days_supply * units // max(prescription.quantity, 1))


def _collected(prescription: Prescription) -> RefillRequest | None:
    rows = RefillRequest.objects.filter(prescription=prescription, outcome=None, is_confirmed=False)
    return rows.select_related("patient", "prescription__medication", "store").first()


def _begin(
    prescription: Prescription, access: Access, language: Language, conversation_id: UUID
) -> RefillRequest:
    try:
        with transaction.atomic():
            request = RefillRequest.objects.create(
                number=str(uuid4()),
                patient=prescription.patient,
                prescription=prescription,
                quantity=prescription.quantity,
                days_supply=prescription.days_supply,
                order_key=uuid4().hex,
                requested_by=access.who,
                is_confirmed=False,
                pickup_known=False,
                conversation_id=conversation_id,
                language=language,
            )
            request_number(request, "begun", access)
    except IntegrityError:
        # The same customer in another window was first.
        found = _collected(prescription)
        if found is None:
            raise
        return found
    return request


def _go_on(request: RefillRequest, event: str, access: Access, fields: dict[str, object]) -> None:
    """Change a collected request and let it live for five minutes."""
    until = timezone.now() + timedelta(seconds=settings.REFILL_LIVE)
    for _ in range(_TRIES):
        if request.is_confirmed or request.outcome is not None:
            raise RefillAlreadyOpen(request.number)
        try:
            request_note(
                request,
                event,
                actor=access.who,
                where=access.where,
                fields={**fields, "expires_at": until, "is_paused": False},
            )
            break
        except RefillChangedMeanwhile:
            request.refresh_from_db()
    else:
        raise RefillChangedMeanwhile
    collection_extend([request.number])


def _submit(request: RefillRequest, access: Access, findings: list[Check]) -> None:
    """Make the request a submitted one. Raises RefillAlreadyOpen when the prescription has another one open."""
    fields: dict[str, object] = {"is_confirmed": True, "is_paused": False, "expires_at": None}
    if findings:
        fields["findings"] = [one.as_json() for one in findings]
    try:
        request_note(
            request,
            "submitted",
            actor=access.who,
            where=access.where,
            fields=fields,
            effect=_submitted,
        )
    except IntegrityError:
        number = number_open(request.prescription)
        if number is None:
            raise
        raise RefillAlreadyOpen(number) from None


def _submitted(request: RefillRequest) -> None:
    """Mark the prescription, unless a refill of it was requested elsewhere and sent for preparation a moment ago."""
    if number := number_just_dispensed(request.prescription):
        raise RefillAlreadyOpen(number)
    prescription_mark(request)


def _end(request: RefillRequest, access: Access) -> None:
    request_note(
        request,
        "withdrawn",
        actor=access.who,
        where=access.where,
        fields={"outcome": RefillRequest.Outcome.CANCELLED, "expires_at": None},
    )


def _ended(request: RefillRequest, access: Access) -> bool:
    """End a collected request as it is by now; False when it was submitted or ended meanwhile."""
    for _ in range(_TRIES):
        try:
            _end(request, access)
            return True
        except RefillChangedMeanwhile:
            request.refresh_from_db()
            if request.is_confirmed or request.outcome is not None:
                return False
    raise RefillChangedMeanwhile


def _extended(request: RefillRequest) -> datetime | None:
    """Return until when the cache lets a request live; None when it says nothing or fails."""
    try:
        until = counters().get(_cache_key(request.number))
    except Exception as error:
        log.warning("live refill not read, the cache failed: %s", type(error).__name__)
        return None
    return datetime.fromisoformat(until) if isinstance(until, str) else None


def _cache_key(number: str) -> str:
    return f"refill:{number}"

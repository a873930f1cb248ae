"""Refills whose process dies: a program that is run on a served site's database; see tests/services/test_refill_crashes.py.

Each scenario is played again and again, each time by a new child process that ends with `os._exit` at the next place:
before and after each commit, and before and after each call of the health record and the dispenser. Afterwards Redis is flushed,
time passes, the sweep runs, and what is wrong then is printed as JSON, together with the places and the states that the dead left.
"""

import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.cache import cache  # noqa: E402
from django.db.backends.base.base import BaseDatabaseWrapper  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402
from refill_invariants import all_packs, audit_broken, broken, stuck  # noqa: E402

from inventory.models import StockLevel  # noqa: E402
from prescriptions.audit import Access  # noqa: E402
from prescriptions.connectors.registry import connectors  # noqa: E402
from prescriptions.connectors.simulated import (  # noqa: E402
    SimulatedDispenser,
    SimulatedEHR,
    fault_set,
)
from prescriptions.errors import RefillRefused  # noqa: E402
from prescriptions.models import (  # noqa: E402
    Handoff,
    Patient,
    Prescription,
    RefillRequest,
    SimulatedFault,
    SimulatedLab,
    SimulatedOrder,
    StockReservation,
)
from prescriptions.refill import services  # noqa: E402
from prescriptions.refill.sweep import refills_sweep  # noqa: E402
from stores.models import Store  # noqa: E402

CLINICIAN = Access(who="key:1", where="tests")
STAFF = Access(who="user:8", where="admin")
DEAD = 9
REFILLS = 3
Do = Callable[[Prescription], object]


# -- Scenarios: what happens undisturbed first, and what a process dies in --------------------------------------------
def submit(prescription: Prescription) -> RefillRequest:
    """Request it; again under the same key, as a client does that got no answer."""
    return services.refill_submit(
        patient=prescription.patient,
        prescription_id=prescription.pk,
        store=Store.objects.get(pk=1),
        access=CLINICIAN,
        language="en",
        submit_key=f"dying:{prescription.pk}",
    )


def of(prescription: Prescription) -> RefillRequest:
    rows = RefillRequest.objects.select_related("patient", "prescription__medication", "handoff")
    return rows.filter(prescription=prescription).latest("pk")


def nothing(_: Prescription) -> None:
    """Nothing happened before."""


def unhealthy(prescription: Prescription) -> None:
    """Nobody ever asked for allergies, so that a person decides."""
    Patient.objects.filter(pk=prescription.patient_id).update(allergies_recorded_on=None)


def waiting(prescription: Prescription) -> None:
    unhealthy(prescription)
    submit(prescription)


def unknown(prescription: Prescription) -> None:
    """The order was sent and its answer is missing; then it was carried out."""
    fault_set("dispenser", "garbage", 2)
    row = submit(prescription)
    SimulatedOrder.objects.create(key=row.order_key, medication_id=4, units=row.quantity)
    pass_time()


def lost(prescription: Prescription) -> None:
    """As `unknown`, and after ten minutes it was handed to a person before the order turned up."""
    fault_set("dispenser", "garbage", 3)
    submit(prescription)
    pass_time(minutes=11)
    services.refill_walk(of(prescription))
    SimulatedOrder.objects.create(key=of(prescription).order_key, medication_id=4, units=60)


def dropping(_: Prescription) -> None:
    """The dispenser will carry the order out, and its answer will be lost."""
    fault_set("dispenser", "commit_then_drop")


def ready(prescription: Prescription) -> None:
    services.refill_ready(submit(prescription), access=STAFF)


def decide(decision: str) -> Do:
    def act(prescription: Prescription) -> None:
        row = of(prescription)
        if row.outcome is None:
            services.refill_decide(row, decision, access=STAFF, role="pharmacist")

    return act


def sweep(_: Prescription) -> None:
    refills_sweep()


SCENARIOS: dict[str, tuple[Do, Do]] = {
    "dispensed": (nothing, submit),
    "escalated": (unhealthy, submit),
    "approved": (waiting, decide("approve")),
    "denied": (waiting, decide("deny")),
    "answer_lost": (dropping, submit),
    "swept": (unknown, sweep),
    "found_by_sweep": (lost, sweep),
    "cancelled": (submit, lambda one: services.refill_cancel(of(one), access=STAFF)),
    "returned": (ready, lambda one: services.refill_returned(of(one), access=STAFF)),
}


# -- Dying -------------------------------------------------------------------------------------------------------
class Places:
    """Counts the places that a process passes, and ends it at one of them."""

    def __init__(self, last: int) -> None:
        self.last, self.passed = last, 0

    def passes(self, name: str) -> None:
        self.passed += 1
        if self.passed == self.last:
            os.write(1, f"{name}\n".encode())
            os._exit(DEAD)

    def watch(self, owner: Any, name: str) -> None:
        original = getattr(owner, name)

        @wraps(original)
        def watched(*args: Any, **more: Any) -> Any:
            self.passes(f"before {owner.__name__}.{name}")
            result = original(*args, **more)
            self.passes(f"after {owner.__name__}.{name}")
            return result

        setattr(owner, name, watched)

    def watch_all(self) -> None:
        self.watch(BaseDatabaseWrapper, "commit")
        self.watch(SimulatedEHR, "record")
        for name in ("submit", "status", "cancel", "accepted_keys"):
            self.watch(SimulatedDispenser, name)


def forked(work: Callable[[], None]) -> tuple[int, str]:
    """Run work in a child process; its exit status and what it wrote."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writing, 1)
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.strip()


def child(work: Callable[[], None]) -> str:
    """Run work in a child process that must survive, and return what it wrote."""
    status, text = forked(work)
    if status:
        raise SystemExit(f"a child ended with {status}: {text}")
    return text


# -- Time, people, and the verdict -----------------------------------------------------------------------------------
def pass_time(minutes: int = 1) -> None:
    """Let all that is stored be so much older, as if this process had slept, and the systems have recovered."""
    then = timezone.now() - timedelta(minutes=minutes)
    RefillRequest.objects.update(updated_at=then)
    RefillRequest.objects.filter(order_at__isnull=False).update(order_at=then)
    SimulatedFault.objects.all().delete()
    connectors.cache_clear()


def person(number: int) -> Prescription:
    """A new patient, with a prescription like David's of metformin."""
    today = timezone.localdate()
    row = Prescription.objects.get(pk=2)
    patient = Patient.objects.create(
        mrn=f"3{number:07}",
        name_en="Test Person",
        email=f"person{number}@example.com",
        born="1980-01-01",
        allergy_status="none_known",
        allergies_recorded_on=today,
    )
    SimulatedLab.objects.create(mrn=patient.mrn, code="egfr", value=90, taken_on=today)
    row.pk, row.patient, row.refills_left, row.status = None, patient, REFILLS, "active"
    row.save(force_insert=True)
    return row


def played(name: str, most: int) -> dict[str, Any]:
    """Play a scenario until its child survives; what was seen, and what is wrong after the sweep."""
    numbers = range(1 + 100_000 * list(SCENARIOS).index(name), 1_000_000)
    places: dict[int, str] = {}
    states: set[str] = set()
    wrong: list[str] = []
    for last in range(1, most):
        begun = json.loads(child(lambda number=numbers[last]: begin(name, number)))
        status, place = forked(lambda pk=begun["pk"], last=last: die(name, pk, last))
        places[begun["pk"]] = place or "nowhere"
        if status not in {0, DEAD}:
            wrong.append(f"{name} {last}: ended with {status}")
        # A sweep also takes up what others left: here each needs its own.
        if status != DEAD or SCENARIOS[name][1] is sweep:
            seen, found = json.loads(child(lambda packs=begun["packs"]: settle(name, list(places), packs)))
            states.update(seen)
            wrong += [f"{name}, died {places}: {what}" for what in found]
        if status != DEAD or wrong:
            break
    else:
        wrong.append(f"{name}: more places than {most}")
    return {
        "places": [place for place in places.values() if place != "nowhere"],
        "states": sorted(states),
        "wrong": wrong,
    }


def begin(name: str, number: int) -> None:
    """What happens undisturbed, to a new patient."""
    StockLevel.objects.filter(store_id=1, medication_id=4, quantity__lt=1_000).update(quantity=10_000)
    row = person(number)
    SCENARIOS[name][0](row)
    live = sum(StockReservation.objects.exclude(state="released").values_list("packs", flat=True))
    os.write(1, json.dumps({"pk": row.pk, "packs": all_packs() + live}).encode())


def die(name: str, pk: int, last: int) -> None:
    """Do the scenario's work, and end at its `last` place."""
    connectors.cache_clear()
    Places(last).watch_all()
    SCENARIOS[name][1](Prescription.objects.select_related("patient").get(pk=pk))


def settle(name: str, pks: list[int], packs: int) -> None:
    """Let the sweep take up what the dead left, and write what is wrong then, and after everybody asked again."""
    rows = RefillRequest.objects.filter(prescription__in=pks)
    seen = list(rows.values_list("state", flat=True))
    cache.clear()  # flushes Redis, where it is the cache
    for _ in range(2):
        pass_time()
        refills_sweep()
    handed_over = Handoff.objects.filter(run_key__startswith="reconcile:")
    told = {row.run_key.removeprefix("reconcile:") for row in handed_over}
    # A cancellation that died after the dispenser's: a person was told of the difference, which is no fault.
    known = {f"{row}: dispensed, but its order is cancelled" for row in rows.filter(order_key__in=told)}
    refills = dict.fromkeys(pks, REFILLS)
    found = [what for what in [*broken(refills, packs), *stuck(), *audit_broken()] if what not in known]
    for pk in pks:
        try:
            SCENARIOS[name][1](Prescription.objects.select_related("patient").get(pk=pk))
        except RefillRefused as refusal:
            found.append(f"refused: {refusal.code}")
        found += ended(name, pk)
    found += [*broken(refills, packs), *stuck()]
    os.write(1, json.dumps([seen, found]).encode())


def ended(name: str, pk: int) -> list[str]:
    """Whether the scenario came to its one end."""
    rows = list(RefillRequest.objects.filter(prescription=pk))
    outcomes = [row.outcome or "waiting" for row in rows]
    wanted = {"escalated": "waiting", "denied": "denied", "cancelled": "cancelled"}.get(name, "dispensed")
    found = [] if outcomes == [wanted] else [f"{outcomes} instead of {wanted}"]
    orders = SimulatedOrder.objects.filter(key__in=[row.order_key for row in rows], state="accepted").count()
    if orders != (wanted == "dispensed"):
        found.append(f"{orders} orders")
    if Handoff.objects.filter(run_key__in=[f"refill:{row.number}:1" for row in rows]).count() > 1:
        found.append("two hand-offs")
    return found


def main() -> None:
    # Load once what each child would load anew.
    import agent.llm.routing  # noqa: F401
    from prescriptions.refill.graph import graph

    graph()
    reverse("admin:index")
    settings.CONNECTOR_TIMEOUT = 0.01
    names = sys.argv[1:] or list(SCENARIOS)
    sys.stdout.write(json.dumps({name: played(name, most=60) for name in names}))


if __name__ == "__main__":
    main()

"""A refill from its submission to a dispensed order: with the graph and the record, and the same table walked without them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any
from unittest.mock import patch

from benchmarks.databases import Databases
from benchmarks.measure import percentile, ratio

TITLE = "A refill, from its submission to a dispensed order: one after the other, one process"
NOTES = (
    "All do the same work: safety checks, health record and dispenser (simulated in the same database), packs, refill, e-mail.",
    "Ours: LangGraph walks, and each step writes its transition and its audit line in one transaction with the change.",
    "Without LangGraph: a loop over the same table. Without graph and record: that loop, and each step is only the",
    "conditional update. × bare: wall time against that, the median of alternating pairs. Added: milliseconds of wall time",
    "for each of the four steps (confirmed, safe, order sent, dispensed), against the same.",
)
OURS, LOOP, BARE = "ours", "without LangGraph", "without graph and record"
ROUNDS, REFILLS, WARM = 7, 30, 10
STEPS = 4


def measure(own: Databases) -> list[dict[str, Any]]:
    """Return a row for each way to walk."""
    import django

    django.setup()
    people = prescriptions(3 * (ROUNDS * REFILLS + WARM))
    for way in WAYS.values():
        taken(way, people, WARM)
    wall: dict[str, list[float]] = {name: [] for name in WAYS}
    cpu: dict[str, list[float]] = {name: [] for name in WAYS}
    every: dict[str, list[float]] = {name: [] for name in WAYS}
    for turn in range(ROUNDS):
        for name, way in list(WAYS.items())[:: 1 if turn % 2 == 0 else -1]:
            walls, used = taken(way, people, REFILLS)
            wall[name].append(median(walls))
            cpu[name].append(used)
            every[name] += walls
    return [
        {
            "database": own.vendor,
            "what": name,
            "refills/s": 1000 * len(every[name]) / sum(every[name]),
            "p50 ms": percentile(every[name], 0.5),
            "p99 ms": percentile(every[name], 0.99),
            "CPU ms": median(cpu[name]),
            "× bare": ratio(wall[name], wall[BARE]),
            "added ms": median(
                (mine - bare) / STEPS for mine, bare in zip(wall[name], wall[BARE], strict=True)
            ),
        }
        for name in WAYS
    ]


def prescriptions(count: int) -> Iterator[Any]:
    """Yield prescriptions like David's of metformin, each of a new patient, which are made at once."""
    from django.utils import timezone

    from inventory.models import StockLevel
    from prescriptions.models import Patient, Prescription, SimulatedLab

    today = timezone.localdate()
    StockLevel.objects.filter(store_id=1, medication_id=4).update(quantity=count)
    like = {
        name: value
        for name, value in Prescription.objects.filter(pk=2).values()[0].items()
        if name not in {"id", "patient_id"}
    }
    numbers = [str(50_000_000 + number) for number in range(count)]
    patients = Patient.objects.bulk_create(
        Patient(
            mrn=mrn, name_en="Test Person", email=f"p{mrn}@example.com", phone=f"+9725{mrn}", born="1980-01-01",
            allergy_status="none_known", allergies_recorded_on=today,
        )
        for mrn in numbers
    )  # fmt: skip
    SimulatedLab.objects.bulk_create(
        SimulatedLab(mrn=mrn, code="egfr", value=90, taken_on=today) for mrn in numbers
    )
    yield from Prescription.objects.bulk_create(Prescription(patient=one, **like) for one in patients)


def taken(way: Callable[[], Any], people: Iterator[Any], count: int) -> tuple[list[float], float]:
    """Submit so many refills; the wall milliseconds of each, and the CPU milliseconds of one."""
    from prescriptions.audit import Access
    from prescriptions.refill.services import refill_submit
    from stores.models import Store

    access, store, walls = Access(who="key:0", where="benchmark"), Store.objects.get(pk=1), []
    with way():
        used = time.process_time()
        for _ in range(count):
            row = next(people)
            began = time.perf_counter()
            request = refill_submit(
                patient=row.patient, prescription_id=row.pk, store=store, access=access, language="en"
            )
            walls.append((time.perf_counter() - began) * 1000)
            if request.outcome != "dispensed":
                raise SystemExit(f"a refill was not dispensed: {request.reason}")
        used = time.process_time() - used
    return walls, used * 1000 / count


@contextmanager
def _ours() -> Iterator[None]:
    yield


@contextmanager
def _loop() -> Iterator[None]:
    """Walk the same steps in a loop."""
    from prescriptions.models import RefillRequest
    from prescriptions.refill.steps import step

    def walk(pk: int) -> str:
        moved = True
        while moved:
            request = RefillRequest.objects.select_related(
                "patient", "prescription__medication", "store"
            ).get(pk=pk)
            moved = step(request)
        return str(request.state)

    with patch("prescriptions.refill.graph.walk", walk):
        yield


@contextmanager
def _bare() -> Iterator[None]:
    """Walk in a loop, and let each step be its conditional update and its effect alone."""
    from django.db.models import F

    from prescriptions.models import RefillRequest

    def apply(request: Any, _event: Any, target: Any, *rest: Any) -> None:
        fields, effect = rest[-2:]
        rows = RefillRequest.objects.filter(pk=request.pk, state=request.state, version=request.version)
        if not rows.update(state=str(target), version=F("version") + 1, **(fields or {})):
            raise SystemExit("somebody else changed the request")
        request.refresh_from_db()
        if effect:
            effect(request)

    with _loop(), patch("prescriptions.refill.transitions._apply", apply):
        yield


WAYS: dict[str, Callable[[], Any]] = {OURS: _ours, LOOP: _loop, BARE: _bare}

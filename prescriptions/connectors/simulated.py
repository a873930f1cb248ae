"""Simulate the health record and the dispenser in process, with faults that a test or a demo can switch on.

They keep their own tables (`prescriptions.models.simulator`), as the real systems would. Faults: "down", "slow" (the
time-out passes), "refuse", "commit_then_drop" (the order is carried out, the answer lost) and "garbage".
"""

import time
from collections.abc import Callable
from typing import Final

from django.db.models import F

from prescriptions.connectors.protocols import (
    ConnectorDown,
    ConnectorGarbage,
    ConnectorTimeout,
    HealthRecord,
    LabValue,
    Order,
    OrderRefused,
    OrderState,
)
from prescriptions.models import SimulatedAllergy, SimulatedFault, SimulatedLab, SimulatedOrder

FAULTS: Final = ("down", "slow", "refuse", "commit_then_drop", "garbage")


def fault_set(target: str, mode: str, count: int = 1) -> None:
    """Let the next `count` calls of "ehr" or "dispenser" fail so; "none" ends the fault."""
    if target not in {"ehr", "dispenser"} or mode not in {*FAULTS, "none"}:
        raise ValueError(f"no such fault: {target} {mode}")
    SimulatedFault.objects.filter(target=target).delete()
    if mode != "none":
        SimulatedFault.objects.create(target=target, mode=mode, count=count)


class _Simulated:
    """Counts down the faults of one simulated system."""

    target: str

    def __init__(self, *, timeout: float, sleep: Callable[[float], None] = time.sleep) -> None:
        self._timeout, self._sleep = timeout, sleep

    def _fault(self) -> str:
        """Use up one fault and return its name, "" for none. Raises the faults that lose the request itself."""
        fault = SimulatedFault.objects.filter(target=self.target, count__gt=0).first()
        if fault is None or not SimulatedFault.objects.filter(pk=fault.pk, count__gt=0).update(
            count=F("count") - 1
        ):
            return ""
        if fault.mode == "down":
            raise ConnectorDown(f"{self.target} is down")
        if fault.mode == "slow":
            self._wait()
        if fault.mode == "garbage":
            raise ConnectorGarbage(f"{self.target} answered nonsense")
        return fault.mode

    def _wait(self) -> None:
        self._sleep(self._timeout)
        raise ConnectorTimeout(f"{self.target} did not answer")


class SimulatedEHR(_Simulated):
    """A health record with laboratory values and allergies."""

    target = "ehr"

    def record(self, mrn: str) -> HealthRecord:
        """Return what the tables have of this patient."""
        if self._fault() == "commit_then_drop":
            self._wait()
        labs = {row.code: LabValue(row.value, row.taken_on) for row in SimulatedLab.objects.filter(mrn=mrn)}
        allergies = list(SimulatedAllergy.objects.filter(mrn=mrn))
        return HealthRecord(
            labs=labs,
            allergy_classes=tuple(row.drug_class for row in allergies if row.drug_class),
            allergy_ingredients=tuple(row.ingredient_key for row in allergies if row.ingredient_key),
        )


class SimulatedDispenser(_Simulated):
    """A dispensing cabinet that carries out an order once per key."""

    target = "dispenser"

    def submit(self, order: Order) -> None:
        """Carry the order out, unless its key was seen before."""
        fault = self._fault()
        if fault == "refuse":
            raise OrderRefused("refused")
        row, _ = SimulatedOrder.objects.get_or_create(
            key=order.key, defaults={"medication_id": order.medication_id, "units": order.units}
        )
        if row.state == "cancelled":
            raise OrderRefused("cancelled before")
        if fault == "commit_then_drop":
            self._wait()

    def status(self, key: str) -> OrderState:
        """Return what became of the order."""
        self._fault()
        row = SimulatedOrder.objects.filter(key=key).first()
        if row is None:
            return "absent"
        return "cancelled" if row.state == "cancelled" else "accepted"

    def cancel(self, key: str) -> None:
        """Take the order back; a key that comes later is refused by being there already."""
        self._fault()
        SimulatedOrder.objects.update_or_create(
            key=key,
            defaults={"state": "cancelled"},
            create_defaults={"state": "cancelled", "medication_id": 0, "units": 0},
        )

    def accepted_keys(self) -> set[str]:
        """Return the keys of all orders carried out."""
        self._fault()
        return set(SimulatedOrder.objects.filter(state="accepted").values_list("key", flat=True))

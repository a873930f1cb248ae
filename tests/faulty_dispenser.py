"""A dispenser whose answers get lost (safety.md, B4), for processes that run with `faulty_settings`.

Which fault an order meets is told by the last digit of its units: 0 to 2, it is carried out and the answer is dropped; 3 to
5, it is carried out seconds later; 6 and 7, it is carried out and answered with an error; 8 and 9, it arrives twice, the
second time late. In each process the first look at an order gets no answer either.
"""

import threading
from typing import Any

from django.apps import AppConfig
from django.db import connections

LATE_SECONDS = 3.0


class FaultyDispenser(AppConfig):
    """Wraps the simulated dispenser when the process starts."""

    name = "faulty_dispenser"

    def ready(self) -> None:
        from prescriptions.connectors.protocols import ConnectorTimeout, Order, OrderState
        from prescriptions.connectors.simulated import SimulatedDispenser

        submit, status = SimulatedDispenser.submit, SimulatedDispenser.status
        looked_up: set[str] = set()

        def later(cabinet: Any, order: Order) -> None:
            def carry_out() -> None:
                try:
                    submit(cabinet, order)
                finally:
                    connections.close_all()

            timer = threading.Timer(LATE_SECONDS, carry_out)
            timer.daemon = True
            timer.start()

        def faulty_submit(cabinet: Any, order: Order) -> None:
            fault = order.units % 10
            if fault in {3, 4, 5}:
                later(cabinet, order)
                raise ConnectorTimeout("late")
            submit(cabinet, order)
            if fault in {0, 1, 2}:
                raise ConnectorTimeout("dropped")
            if fault in {6, 7}:
                raise ValueError("500 after it was carried out")
            later(cabinet, order)

        def faulty_status(cabinet: Any, key: str) -> OrderState:
            if key not in looked_up:
                looked_up.add(key)
                raise ConnectorTimeout("slow")
            return status(cabinet, key)

        SimulatedDispenser.submit = faulty_submit  # type: ignore[method-assign]
        SimulatedDispenser.status = faulty_status  # type: ignore[method-assign]

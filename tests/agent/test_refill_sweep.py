"""The web process sweeps when there is no broker, and beside beat what must not be late."""

import asyncio
from typing import Any

import pytest

from agent.chat import process as chat_process


class Closed:
    def close_all(self) -> None:
        """The thread has used no connection here."""


@pytest.mark.parametrize(
    ("broker", "beside_beat", "expected"),
    [("", None, True), ("redis://127.0.0.1:1/0", None, False), ("redis://127.0.0.1:1/0", 0.01, True)],
)
async def test_a_web_process_sweeps_without_a_broker_and_beside_beat(
    settings: Any, monkeypatch: pytest.MonkeyPatch, broker: str, beside_beat: float | None, expected: bool
) -> None:
    swept = asyncio.Event()
    loop = asyncio.get_running_loop()
    calls = 0

    def sweep() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError  # the next round comes all the same
        loop.call_soon_threadsafe(swept.set)

    settings.CELERY_BROKER_URL = broker
    monkeypatch.setattr(chat_process, "refills_sweep", sweep)
    monkeypatch.setattr(chat_process, "connections", Closed())
    sweeping = asyncio.create_task(chat_process.sweep(chat_process.refills_sweep, 0.01, beside_beat))
    try:
        if expected:
            await asyncio.wait_for(swept.wait(), 10)
        else:
            await asyncio.sleep(0.1)
            assert calls == 0
    finally:
        sweeping.cancel()

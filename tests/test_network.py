"""The network is off in tests, but for this machine."""

import asyncio
import socket
from pathlib import Path

import openai
import pytest
from network import NetworkIsOff
from openai import AsyncOpenAI
from request_samples import ASK


async def _by_asyncio() -> None:
    await asyncio.open_connection("192.0.2.1", 80)


def test_the_network_is_off(network: list[str]) -> None:
    with socket.socket() as probe, pytest.raises(NetworkIsOff, match=r"192\.0\.2\.1"):
        probe.connect(("192.0.2.1", 80))
    with socket.socket() as probe, pytest.raises(NetworkIsOff):
        probe.connect_ex(("192.0.2.1", 80))
    with socket.socket(type=socket.SOCK_DGRAM) as probe, pytest.raises(NetworkIsOff):
        probe.sendto(b"x", ("192.0.2.1", 53))
    with socket.socket(socket.AF_INET6) as probe, pytest.raises(NetworkIsOff):
        probe.connect(("2001:db8::1", 80))
    with pytest.raises(NetworkIsOff, match="example"):
        socket.create_connection(("api.example.com", 443))
    with pytest.raises(NetworkIsOff):
        asyncio.run(_by_asyncio())
    assert len(network) == 6
    network.clear()


async def test_the_network_is_off_for_the_sdk(network: list[str]) -> None:
    async with AsyncOpenAI(api_key="sk-scripted", max_retries=0) as client:
        with pytest.raises((NetworkIsOff, openai.APIConnectionError)):
            await client.chat.completions.create(model="m", messages=ASK)
    assert network == ["api.openai.com"]
    network.clear()


def test_this_machine_is_reached(network: list[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, server.getsockname()[1])).close()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as probe:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        probe.connect(str(tmp_path / "socket"))
    assert network == []

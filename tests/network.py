"""The network is off in tests: connections go to this machine only.

Playwright, served sites and PostgreSQL's own library are outside Python's sockets, and stay here by their settings.
"""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class NetworkIsOff(RuntimeError):
    """A test tried to leave this machine; no OSError, so that nobody takes it for a network that is down."""


def _check(host: str, refused: list[str]) -> None:
    if host == "localhost" or _is_loopback(host):
        return
    refused.append(host)
    raise NetworkIsOff(f"the network is off in tests, and this went to {host!r}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


@contextmanager
def switched_off() -> Iterator[list[str]]:
    """Refuses what leaves this machine, look-ups of names too, and yields the list of what was refused."""
    refused: list[str] = []

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *arguments: Any) -> Any:
            target = arguments[-1]
            if self.family in {socket.AF_INET, socket.AF_INET6} and isinstance(target, tuple):
                _check(str(target[0]), refused)
            return original(self, *arguments)

        return call

    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name and not _is_address(name):
            _check(name, refused)
        return look_up(host, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, method, guarded(getattr(socket.socket, method)))
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield refused

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


def _is_away(host: str) -> bool:
    """Whether a name or an address may be another machine's."""
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host != "localhost"


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


@contextmanager
def switched_off() -> Iterator[list[str]]:
    """Refuses what leaves this machine, look-ups of names too, and yields the list of what was refused."""
    refused: list[str] = []

    def refusal(host: str) -> NetworkIsOff:
        refused.append(host)
        return NetworkIsOff(f"the network is off in tests, and this went to {host!r}")

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *arguments: Any) -> Any:
            target = arguments[-1]
            if self.family in {socket.AF_INET, socket.AF_INET6} and _is_away(str(target[0])):
                self.close()  # its owner would close it on an OSError only
                raise refusal(str(target[0]))
            return original(self, *arguments)

        return call

    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name and _is_away(name) and not _is_address(name):
            raise refusal(name)
        return look_up(host, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, method, guarded(getattr(socket.socket, method)))
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield refused

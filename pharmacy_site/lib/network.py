"""Which site a request's Origin names, and the network address that limits are counted by."""

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

_LOOPBACK: Final = {"localhost", "127.0.0.1", "[::1]"}


def origin_is_ours(origin: str, host: str) -> bool:
    """Return whether an Origin header names the very site that this Host header names, under the scheme it is served by.

    A site behind a proxy that ends TLS (`HTTPS`) is https only, any other one http only.
    """
    origin = origin.lower()
    try:
        parts = urlsplit(origin)
        scheme, domain, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return False
    if scheme != ("https" if settings.HTTPS else "http") or not domain:
        return False
    domain = f"[{domain}]" if ":" in domain else domain
    # Refuses user names, paths, and brackets with something behind them.
    if origin not in (f"{scheme}://{domain}", f"{scheme}://{domain}:{port}"):
        return False
    host, host_port = split_domain_port(host.lower())
    if not host or not validate_host(host, settings.ALLOWED_HOSTS):
        return False
    default = "443" if scheme == "https" else "80"
    same_host = domain == host or (settings.DEBUG and {domain, host} <= _LOOPBACK)
    return same_host and str(port or default) == (host_port or default)


def client_address(peer: str, forwarded: Sequence[str]) -> str:
    """Return a client's network address (of IPv6: its /64), from the connection's peer and the X-Forwarded-For headers.

    Behind proxies it is the address that the outermost trusted proxy saw.
    """
    if settings.TRUSTED_PROXIES:
        hops = [hop.strip() for value in forwarded for hop in value.split(",")]
        if len(hops) >= settings.TRUSTED_PROXIES:
            peer = hops[-settings.TRUSTED_PROXIES][:64]
    return _network(peer)


def request_address(request: HttpRequest) -> str:
    """Return a request's network address: the same as that of a socket of the same client."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR")
    return client_address(request.META.get("REMOTE_ADDR") or "unknown", [forwarded] if forwarded else [])


def _network(text: str) -> str:
    """Return the part of an address that limits count: of IPv6 the first half, since one client has all that is behind it."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if not isinstance(address, IPv6Address):
        return text
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((int(address), 64), strict=False))

"""Whether the endpoint takes connections: its name is resolved and a connection opened and closed, and nothing is sent.

It must not know a run. What can hurt: where a proxy stands between, the proxy is what can be reached or not, and the
endpoint's own name may not resolve here at all; so with a proxy the proxy is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio

LIMIT = 5.0  # seconds for the name and the connection; a slower network is as good as none
PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Address:
    """A name (or a number) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def address_of(base_url: str, environ: Mapping[str, str]) -> Address | None:
    """What must be reached for requests to `base_url`: its host, or the proxy that the environment names for it.

    None where nothing can be known: the base URL is no URL (another provider's name).
    """
    url = urlsplit(base_url)
    target = _address(base_url)
    if target is None:
        return None
    proxy = _variable(environ, f"{url.scheme}_proxy") or _variable(environ, "all_proxy")
    if not proxy or _is_direct(target, _variable(environ, "no_proxy")):
        return target
    return _address(proxy if "://" in proxy else f"http://{proxy}") or target


async def answers(address: Address) -> bool:
    """Whether it takes a connection within some seconds."""
    try:
        with anyio.fail_after(LIMIT):
            stream = await anyio.connect_tcp(address.host, address.port)
            await stream.aclose()
    except (OSError, TimeoutError, UnicodeError):  # a name that cannot be one is a UnicodeError
        return False
    return True


def _address(url: str) -> Address | None:
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    return Address(parts.hostname, port) if parts.hostname and port else None


def _variable(environ: Mapping[str, str], name: str) -> str:
    """A proxy variable: programs read it in lower case first."""
    return environ.get(name) or environ.get(name.upper()) or ""


def _is_direct(target: Address, excepted: str) -> bool:
    """Whether NO_PROXY names the host, a domain above it, or all."""
    for each in excepted.split(","):
        name, _, port = each.strip().lower().rpartition(":") if each.count(":") == 1 else (each.strip().lower(), "", "")
        name = name.removeprefix("*").strip("[]")
        if port and port != str(target.port):
            continue
        if each.strip() == "*" or (name and (target.host == name or target.host.endswith(f".{name.lstrip('.')}"))):
            return True
    return False

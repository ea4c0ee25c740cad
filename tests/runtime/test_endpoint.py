"""What is looked at to know whether the endpoint can be reached: a name and a port, and nothing is sent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping

import pytest

from flower_mcp.runtime.endpoint import Address, address_of, answers
from flower_mcp.workbench.windows import endpoint_of

PROXY = {"HTTPS_PROXY": "http://user:secret@proxy.example:3128"}
API = "https://api.anthropic.com"


@pytest.mark.parametrize(
    ("url", "environ", "address"),
    [
        (API, {}, "api.anthropic.com:443"),
        ("http://127.0.0.1:8080/v1", {}, "127.0.0.1:8080"),
        ("http://[::1]:8080", {}, "[::1]:8080"),
        (API, PROXY, "proxy.example:3128"),
        (API, {"https_proxy": "proxy.example:3128"}, "proxy.example:3128"),
        (API, {"ALL_PROXY": "https://proxy.example"}, "proxy.example:443"),
        (API, {**PROXY, "NO_PROXY": "localhost, .anthropic.com"}, "api.anthropic.com:443"),
        (API, {**PROXY, "no_proxy": "anthropic.com:443"}, "api.anthropic.com:443"),
        (API, {**PROXY, "NO_PROXY": "anthropic.com:80,thropic.com"}, "proxy.example:3128"),
        (API, {**PROXY, "NO_PROXY": "*"}, "api.anthropic.com:443"),
        ("http://gateway.example", PROXY, "gateway.example:80"),  # the proxy is for the other scheme
        ("http://gateway.example", {"HTTP_PROXY": "http://proxy.example:99999"}, "gateway.example:80"),
        ("bedrock:eu-west-1", PROXY, None),
        ("unreadable-url", {}, None),
    ],
)
def test_the_proxy_is_looked_at_where_there_is_one_else_the_endpoint(
    url: str, environ: Mapping[str, str], address: str | None
) -> None:
    found = address_of(url, environ)
    assert (None if found is None else str(found)) == address


def test_another_providers_address_is_looked_at_when_it_is_given() -> None:
    cloud = {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "https://bedrock.example/x"}
    assert str(address_of(endpoint_of(cloud), cloud)) == "bedrock.example:443"


@pytest.mark.anyio
async def test_it_is_connected_to_and_nothing_is_sent() -> None:
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def accept() -> None:
            connection, _ = server.accept()
            with connection:
                received.append(connection.recv(100))

        thread = threading.Thread(target=accept)
        thread.start()
        assert await answers(Address("127.0.0.1", port))
        thread.join(5)
    assert received == [b""]
    assert not await answers(Address("127.0.0.1", port))
    assert not await answers(Address("no-such-host.invalid", 443))
    assert not await answers(Address("a" * 70 + ".example", 443))

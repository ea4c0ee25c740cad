"""`flower doctor`: the Claude Code CLI, how it would log in, and whether its endpoint can be reached.

No request to the model is made and no credential is ever shown: the kind, and four characters at the most. The CLI
itself says whether it can log in (`claude auth status`), since only it knows its logins. What can hurt: a user who has
never used Claude Code would get its files by that, so it is then given a folder of the doctor's own; and a settings
file of the workspace may name a program that gives a key, so it is asked from that folder, too.
"""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment

from flower_mcp.cli.account import PROVIDERS, TOKENS, masked_token
from flower_mcp.cli.doctor_finding import Examined, Finding, has_run_part, output_of
from flower_mcp.cli.phrases import home_path
from flower_mcp.core.errors import CliMissing, NoCredentials
from flower_mcp.workbench.windows import endpoint_of

CLI_LIMIT, CONNECT_LIMIT = 10.0, 4.0  # seconds; a CLI starts in one, and whoever answers a connection does so in less
_QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
_KINDS = {"api_key": "api key", "oauth_token": "auth token", "api_key_helper": "key helper", "claude.ai": "login"}


def cli_check(examined: Examined) -> Iterator[Finding]:
    """The CLI that sessions run, and its version."""
    words = examined.words
    if not has_run_part():
        return
    cli = _cli()
    if cli is None:
        yield Finding(words("doctor no cli"), ok=False, do=(CliMissing.INSTALL,))
        return
    version = (output_of([str(cli), "--version"], examined, CLI_LIMIT) or "").strip()
    if version:
        yield Finding(words("doctor cli", version=version, path=home_path(cli)))
    else:
        text = words("doctor cli silent", path=home_path(cli), seconds=f"{CLI_LIMIT:g}")
        yield Finding(text, ok=False, do=(words("doctor cli try", command=f"'{cli}' --version"),))


def credentials_check(examined: Examined) -> Iterator[Finding]:
    """The kind of credentials that sessions would use, by the CLI's own word; else by the variables."""
    words = examined.words
    if not has_run_part():
        return
    said = _said_by(examined)
    by = words("doctor by cli") if said else words("doctor by variables")
    kind = _kind(examined, said) if said else _kind_of_variables(examined)
    if kind:
        yield Finding(words("doctor credentials", kind=kind, by=by))
    else:
        yield Finding(words("doctor no credentials", by=by), ok=False, do=(NoCredentials.WAYS,))


def endpoint_check(examined: Examined) -> Iterator[Finding]:
    """Whether somebody listens where sessions would send their requests, through the proxy if one is set."""
    words = examined.words
    if not has_run_part():
        return
    url = endpoint_of(examined.environ)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        if ":" in url and not parts.netloc and parts.scheme in ("bedrock", "vertex", "foundry"):
            yield Finding(words("doctor endpoint provider", endpoint=url))
        else:
            yield Finding(words("doctor endpoint bad"), ok=False, do=(words("doctor endpoint set"),))
        return
    name, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    try:
        proxy = _proxy(examined.environ, parts.scheme, name)
        way = words("doctor through", proxy=_place(proxy)) if proxy else ""
    except ValueError:  # what it says may hold a part of a password
        variable = f"{parts.scheme.upper()}_PROXY"
        yield Finding(words("doctor proxy bad", name=variable), ok=False, do=(words("doctor proxy set"),))
        return
    try:
        _reach(name, port, proxy, tunnel=parts.scheme == "https")
    except (OSError, ValueError) as error:
        why = "timed out" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or str(error)
        text = words("doctor unreachable", place=f"{name}:{port}", way=way, why=why)
        yield Finding(text, ok=False, do=(words("doctor network proxy" if proxy else "doctor network"),))
    else:
        yield Finding(words("doctor reachable", place=f"{name}:{port}", way=way))


def _cli() -> Path | None:
    from flower_mcp.runtime.keeping import bundled_cli

    with suppress(CliMissing):
        return bundled_cli()
    return None


def _said_by(examined: Examined) -> Mapping[str, Any]:
    """What the CLI says of its login; empty when it says nothing, or would mend a broken file of its own by it."""
    cli = _cli()
    config, home = examined.environ.get("CLAUDE_CONFIG_DIR"), examined.environ.get("HOME")
    folder = Path(config or home or examined.scratch)
    kept = (folder / ".claude.json", (folder if config else folder / ".claude") / ".credentials.json")
    if cli is None or not _is_json(kept[0]):
        return {}
    more = dict(_QUIET)
    if not any(_is_file(path) for path in kept):  # there is no login, and there are to be no files by this
        more["CLAUDE_CONFIG_DIR"] = str(examined.scratch / "claude")
    with suppress(ValueError, RecursionError):
        value = json.loads(output_of([str(cli), "auth", "status", "--json"], examined, CLI_LIMIT, **more) or "")
        if isinstance(value, dict) and isinstance(value.get("loggedIn"), bool):
            return value
    return {}


def _is_file(path: Path) -> bool:
    with suppress(OSError):
        return path.is_file()
    return False


def _is_json(path: Path) -> bool:
    """Whether the file holds an object; one that is not there is well, too."""
    try:
        return not _is_file(path) or isinstance(json.loads(path.read_bytes()), dict)
    except (ValueError, RecursionError, OSError):
        return False


def _kind(examined: Examined, said: Mapping[str, Any]) -> str:
    """The kind by the CLI's word; "" for none."""
    words, method, provider = examined.words, str(said.get("authMethod")), str(said.get("apiProvider"))
    if not said["loggedIn"]:
        return ""
    if method == "third_party":
        return words("doctor kind provider", name=provider)
    kind = words(f"doctor kind {_KINDS[method]}") if method in _KINDS else method[:40]
    return f"{kind}{_beginning(examined, method)}"


def _kind_of_variables(examined: Examined) -> str:
    provider = next((name for variable, name in PROVIDERS.items() if examined.environ.get(variable)), None)
    if provider:
        return examined.words("doctor kind provider", name=provider)
    found = next((name for name in TOKENS if examined.environ.get(name)), None)
    if found is None:
        return ""
    method = "api_key" if found == "ANTHROPIC_API_KEY" else "oauth_token"
    return f"{examined.words(f'doctor kind {_KINDS[method]}')}{_beginning(examined, method)}"


def _beginning(examined: Examined, method: str) -> str:
    """The variable, and the first characters of what it holds; "" where the credentials are not in a variable."""
    if method not in ("api_key", "oauth_token"):
        return ""
    names = [name for name in TOKENS if (name == "ANTHROPIC_API_KEY") == (method == "api_key")]
    found = next((name for name in names if examined.environ.get(name)), None)
    return f", {found}={masked_token(examined.environ[found])}" if found else ""


def _proxy(environ: Mapping[str, str], scheme: str, name: str) -> SplitResult | None:
    """The proxy that would be used; None for none."""
    known = {key.lower()[: -len("_proxy")]: value for key, value in environ.items() if key.lower().endswith("_proxy")}
    proxies = {key: value for key, value in (known or getproxies_environment()).items() if value}
    url = proxies.get(scheme) or proxies.get("all")
    if not url or _is_direct(name, proxies.get("no", "")):
        return None
    return urlsplit(url if "://" in url else f"http://{url}")


def _is_direct(name: str, without: str) -> bool:
    """Whether NO_PROXY names the host, or a domain that it lies in."""
    listed = [each.strip().lower().lstrip("*").lstrip(".").partition(":")[0] for each in without.split(",")]
    return "*" in without.split(",") or any(each and f".{name}".endswith(f".{each}") for each in listed)


def _place(proxy: SplitResult) -> str:
    """Name and port alone: a proxy's URL may hold a password."""
    return f"{proxy.hostname}:{proxy.port or 80}"


def _reach(name: str, port: int, proxy: SplitResult | None, *, tunnel: bool) -> None:
    """Connect, and go again. Raises OSError, ValueError."""
    host, at = (name, port) if proxy is None else (proxy.hostname or "", proxy.port or 80)
    with socket.create_connection((host, at), timeout=CONNECT_LIMIT) as connection:
        if proxy is None or not tunnel or proxy.scheme != "http":
            return
        lines = [f"CONNECT {name}:{port} HTTP/1.1", f"Host: {name}:{port}"]
        if proxy.username:
            login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(login).decode()}")
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = connection.recv(200).decode("latin-1").split("\r\n")[0]
        if answer.split(" ")[1:2] != ["200"]:
            raise ValueError(f"the proxy answers: {answer[:60] or 'nothing'}")

"""`flower doctor`: Python, its text encoding, and which parts of flower-mcp are installed. It starts nothing."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator

from flower_mcp.cli.doctor_finding import Examined, Finding, has_run_part, is_installed

OLDEST = (3, 11)  # pyproject's requires-python
BASE = ("anyio", "click", "mcp", "platformdirs", "pydantic", "starlette", "uvicorn", "watchfiles")
UTF_8 = "export PYTHONUTF8=1"


def python_check(examined: Examined) -> Iterator[Finding]:
    """Version, width, and whether files with Chinese names can be named."""
    words = examined.words
    bits = 64 if sys.maxsize > 2**32 else 32
    encoding = sys.getfilesystemencoding()
    text = words("doctor python", version=platform.python_version(), bits=bits, encoding=encoding)
    if sys.version_info < OLDEST or bits < 64:  # a person may have installed with the check off
        yield Finding(text, ok=False, do=(words("doctor python new", oldest=".".join(map(str, OLDEST))),))
    elif encoding.lower().replace("-", "") != "utf8":
        yield Finding(text, ok=False, do=(words("doctor utf", command=UTF_8),))
    else:
        yield Finding(text)


def parts_check(examined: Examined) -> Iterator[Finding]:
    """What is installed: the base, the supervisor's part, the charts' part."""
    words = examined.words
    lacking = [name for name in BASE if not is_installed(name)]
    if lacking:
        again = words("doctor install", command="pip install --force-reinstall flower-mcp")
        yield Finding(words("doctor base lacks", names=", ".join(lacking)), ok=False, do=(again,))
    has_run, has_chart = has_run_part(), is_installed("matplotlib")
    do = []
    if not has_run:
        do.append(words("doctor no run", command="pip install 'flower-mcp[run]'"))
    if not has_chart:
        do.append(words("doctor no chart", command="pip install 'flower-mcp[chart]'"))
    if sys.platform == "win32":
        do.append(words("doctor windows"))
    parts = ["flower-mcp", *(["run"] if has_run else []), *(["chart"] if has_chart else [])]
    yield Finding(words("doctor parts", parts=", ".join(parts)), do=tuple(do))

"""What the JSON files of the workbench have in common: masked bytes, and setting aside what cannot be read.

It must not know what is in the files. Secrets are masked here, at the edge to the disk, so no writer can forget it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.exchange import move_new
from flower_mcp.workbench.files import read_whole, telling
from flower_mcp.workbench.names import timestamp

if TYPE_CHECKING:
    from flower_mcp.core.masking import Masked

LARGEST = 64 * 2**20  # bytes; thousands of rows, and little enough to be read again at every change
_NAMES = frozenset(
    ("run", "step", "session_id", "retired", "path", "revision")
)  # what these say is looked up by, so it stays


def mask(text: str) -> Masked:
    """The text without its secrets; core/masking.py, imported when used, since its many patterns take time to make."""
    from flower_mcp.core import masking

    return masking.mask(text)


def masked(value: Any) -> Any:
    """The JSON value with the secrets in all its texts masked; keys and names are left alone."""
    if isinstance(value, str):
        return mask(value).text
    if isinstance(value, Mapping):
        return {key: inner if key in _NAMES else masked(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked(inner) for inner in value]
    return value


def dump(value: Any, *, indent: int | None = None) -> str:
    """JSON text, Chinese readable, one line unless `indent` is given; with lone surrogates in it, ASCII alone."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return text if text.isascii() or _encodable(text) else json.dumps(value, indent=indent, default=str)


def dump_masked(value: Any) -> str:
    """JSON text on one line as `dump` makes it, with the secrets in all its texts masked.

    Mostly there is none, which one look at the whole text tells in a tenth of the time that each of its texts takes.
    """
    from flower_mcp.core import masking

    text = json.dumps(value, ensure_ascii=False, default=str)
    return dump(masked(value)) if masking.may_hold_secrets(text) or not _encodable(text) else text


def read_json_file(path: Path) -> bytes | None:
    """The file's bytes, None when there is none. Raises ValueError for what cannot be such a file.

    That is a folder, a link, what the system will not read, and what is larger than LARGEST bytes.
    """
    try:
        size = path.lstat().st_size
        data = read_whole(path) if size <= LARGEST else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error
    except FilesError as error:
        raise ValueError(error.what) from error
    if size > LARGEST:
        raise ValueError(f"it has {size:,} bytes, and {LARGEST:,} are the most")
    return data


def set_aside(path: Path) -> Path | None:
    """Rename a file that cannot be read to `<name>.broken-<time>`; None when it is gone already."""
    base = time.time()
    with telling(path, "set aside"):
        try:
            return next(
                target
                for step in count()
                if move_new(path, target := path.with_name(f"{path.name}.broken-{timestamp(base + step / 1e6)}"))
            )
        except FileNotFoundError:
            return None


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

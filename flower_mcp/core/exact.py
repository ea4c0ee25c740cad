"""Our own values from the JSON that we wrote of them, without a library that takes longer to start than all the rest.

It takes what is exactly as `as_json` writes it, and nothing else: no other type, no key that is unknown or missing
without a default. What it does not take is for pydantic to judge, which says what is wrong; so a reader that asks here
first accepts not one file more or less. It must not know what a value means. What can hurt: an annotation of a form
that is new here; its value is taken by nobody but pydantic, and a test reads every value of core/books.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # what may be half a character, which is none to pydantic
_KINDS = (str, int, bool, float)
_Reader = Callable[[Any], Any]


class _Other(Exception):
    """The JSON is not exactly what was asked for."""


def exact(kind: type, data: bytes) -> Any:
    """The value of this dataclass that a JSON text says, None when the text is not exactly one. Raises nothing."""
    if _HALF.search(data):
        return None
    try:
        return _reader(kind)(json.loads(data.decode("utf-8")))
    except (_Other, ValueError, OverflowError, RecursionError):
        return None


@cache
def _reader(kind: Any) -> _Reader:
    """What makes a value of such an annotation from its JSON, or raises _Other."""
    inner = get_args(kind)
    if is_dataclass(kind):
        return _of_fields(kind)
    if isinstance(kind, UnionType):
        return _of_either(inner)
    if get_origin(kind) is tuple and inner[1:] == (...,):
        return _of_many(inner[0])
    if get_origin(kind) is Mapping and inner[0] is str:
        return _of_keys(inner[1])
    return partial(_of_one, kind)


def _of_one(kind: Any, value: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(_plain(value, str))
    if kind is float and type(value) is int:
        return float(value)
    return _plain(value, kind if kind in _KINDS else _Other)


def _plain(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise _Other
    return value


def _of_fields(kind: Any) -> _Reader:
    hints = get_type_hints(kind)
    readers = {each.name: _reader(hints[each.name]) for each in fields(kind)}
    needed = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}

    def read(value: Any) -> Any:
        if not needed <= _plain(value, dict).keys() <= readers.keys():
            raise _Other
        return kind(**{name: readers[name](inner) for name, inner in value.items()})

    return read


def _of_either(kinds: tuple[Any, ...]) -> _Reader:
    """One kind, or None: no annotation of ours leaves more to choose."""
    (other,) = (_reader(kind) for kind in kinds if kind is not NoneType)
    return lambda value: None if value is None else other(value)


def _of_many(kind: Any) -> _Reader:
    one = _reader(kind)
    return lambda value: tuple([one(inner) for inner in _plain(value, list)])


def _of_keys(kind: Any) -> _Reader:
    one = _reader(kind)
    return lambda value: {key: one(inner) for key, inner in _plain(value, dict).items()}

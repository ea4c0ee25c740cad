"""A document that is wrapped in something: a code fence with talk around it, a quotation, an indented block.

It must not know sections. What can hurt: a wrapper taken off that was content. So these views are only tried on a
document in which no heading surely names a section as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flower_mcp.core.marks import fence, heading
from flower_mcp.core.names import read_name

_MARKDOWN = frozenset({"", "markdown", "md", "text", "txt", "mdx", "gfm"})


@dataclass(frozen=True, slots=True)
class View:
    """Lines of a document, the number of the first one in the whole, and what stands before each line there."""

    lines: list[str]
    first: int = 0
    prefix: str = ""


def unwrapped(lines: Sequence[str]) -> Iterator[View]:
    """Yield the views of a document that are worth a look: out of its fence, its quotation, its indentation."""
    for view in (_out_of_fence(lines), _out_of_quotation(lines), _out_of_indentation(lines)):
        if view is not None:
            yield view


def _out_of_fence(lines: Sequence[str]) -> View | None:
    """Return what stands in the fence that encloses the known headings.

    The fence is often as long as the ones inside it, so it is closed by the last bare fence line that no inner fence
    needs: bare ones pair up, and the odd one out is ours.
    """
    opener = None
    for at, line in enumerate(lines):
        found = fence(line)
        if found and found[2].lower() in _MARKDOWN:
            opener = at
        elif opener is not None and line.lstrip(" ")[:1] in {"#", "＃"}:
            known = heading(line)
            if known and read_name(known[1]).claims:
                return View(list(lines[opener + 1 : _fence_end(lines, opener)]), opener + 1)
    return None


def _fence_end(lines: Sequence[str], opener: int) -> int:
    """Return the line that closes the outer fence, the number of lines when none does."""
    outer = fence(lines[opener])
    inner = 0
    bare: list[int] = []
    for at in range(opener + 1, len(lines)):
        found = fence(lines[at])
        if not outer or not found or found[0] != outer[0]:
            continue
        length = found[1]
        if found[2]:
            inner = inner or length
        elif inner:
            inner = 0 if length >= inner else inner
        elif length >= outer[1]:
            bare.append(at)
    return bare[-1] if len(bare) % 2 else len(lines)


def _out_of_quotation(lines: Sequence[str]) -> View | None:
    """Return the quotation that holds known headings, its marks taken off."""
    quoted = [at for at, line in enumerate(lines) if line.lstrip(" ")[:1] == ">"]
    if not quoted:
        return None
    inside = list(lines[quoted[0] : quoted[-1] + 1])
    for at, line in enumerate(inside):
        stripped = line.lstrip(" ")
        if stripped[:1] == ">":
            inside[at] = stripped[2:] if stripped[1:2] == " " else stripped[1:]
    return View(inside, quoted[0], "> ")


def _out_of_indentation(lines: Sequence[str]) -> View | None:
    """Return a document that is indented as a whole, its common indentation taken off."""
    filled = [line for line in lines if line.strip()]
    depth = min((len(line) - len(line.lstrip(" \t")) for line in filled), default=0)
    if not depth or any(line[:depth] != filled[0][:depth] for line in filled):
        return None
    return View([line[depth:] if line.strip() else "" for line in lines], 0, filled[0][:depth])

"""Random bodies of each tool bring a result or a tool error, and nothing leaves the workbench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client

from flower_mcp import Workbench
from flower_mcp.server.app import build
from tests.examples import examples
from tests.server.helpers import HANDOFF, TOOLS

NAMES = {
    "handoff_status": ["step"],
    "write_handoff": ["doing", "next", "decided", "deadends", "scene", "step", "expected_revision"],
    "read_handoff": ["step", "generation", "offset"],
    "edit_section": ["section", "text", "mode", "step", "expected_revision"],
}
BODIES = examples(300, 10_000)
BATCH = 50  # bodies for one client: connecting is what takes the time

texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "",
            "work",
            "new",
            "0" * 12,
            "doing",
            "next",
            "Dead ends",
            "replace",
            "append",
            "1",
            "0",
            "-1",
            "..",
            "/x",
            "a\0b",
        ]
    ),
    st.text("#`~<>!-\\ \n·空下一步Next:*", max_size=60),
)
values = st.one_of(
    texts, texts, texts, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False),
    st.lists(texts, max_size=2), st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)  # fmt: skip


def bodies(tool: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Batches of arguments, mostly with the right names."""
    names = st.one_of(*[st.just(name) for name in NAMES[tool]] * 3, st.text(max_size=8))
    likely = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES[tool], texts))
    return st.lists(st.one_of(likely, st.dictionaries(names, values, max_size=6)), min_size=BATCH, max_size=BATCH)


@pytest.mark.parametrize("tool", TOOLS)
def test_any_body_brings_a_result_or_a_tool_error(tool: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    workbench = Workbench(workspace)
    workbench.freeze("work", HANDOFF)
    tried = 0

    @settings(
        max_examples=BODIES // BATCH,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
    @given(batch=bodies(tool))
    def try_batch(batch: list[dict[str, Any]]) -> None:
        nonlocal tried
        tried += len(batch)
        anyio.run(call_all, workbench, tool, batch)

    try_batch()
    assert tried >= BODIES
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("claude", "state")] == ["workspace"]
    assert [path.name for path in workspace.iterdir()] == [".flower"]
    allowed = {".gitignore", "notes", "live"}
    assert {path.name for path in workbench.folder.iterdir()} <= allowed


async def call_all(workbench: Workbench, tool: str, batch: list[dict[str, Any]]) -> None:
    """Call with each body; the server answers every one of them, and a good call after them."""
    async with Client(build(workbench, watch=False)) as connected:
        for body in batch:
            result = await connected.call_tool(tool, body)
            assert result.content
        assert not (await connected.call_tool("handoff_status", {})).is_error

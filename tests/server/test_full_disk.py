"""The writing tools on a full disk: an error that says what to do, nothing lost, and the same call works later."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp import Workbench
from tests.disks import files, fill, small_disk
from tests.server.helpers import HANDOFF, answer, client, complaint, live_step

pytestmark = pytest.mark.anyio

LONG = "words " * 2_000


@pytest.mark.parametrize("running", [False, True])
async def test_a_full_disk_is_told_to_the_model_and_costs_nothing(running: bool, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        (disk / "workspace").mkdir()
        workbench = Workbench(disk / "workspace")
        workbench.freeze("work", HANDOFF)
        lock = workbench.run_lock("work")
        if running:
            workbench.lives.write(live_step("work"))
            assert lock.acquire()
        calls = (
            ("write_handoff", {"doing": LONG, "next": "b", "step": "work"}),
            ("edit_section", {"section": "next", "text": LONG, "step": "work"}),
        )
        async with client(workbench) as connected:
            before, filler = files(disk), fill(disk)
            for tool, arguments in calls:
                told = await complaint(connected, tool, **arguments)
                assert "No space left on device" in told
                assert "Free some space" in told
                assert "Traceback" not in told
            assert files(disk) == before
            filler.unlink()
            for tool, arguments in calls:
                await answer(connected, tool, **arguments)
        lock.release()
        document = workbench.read("work")
        assert document is not None
        assert document.handoff.next.strip() == LONG.strip()

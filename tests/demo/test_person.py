"""The demo's scripted person: the edit arrives in the second session's first prompt, or the demo fails.

The whole demo with him is in tests/cli/test_demo.py.
"""

from __future__ import annotations

from pathlib import Path

from flower_mcp import Handoff
from flower_mcp.demo.documents import FIRST
from flower_mcp.demo.model import Request
from flower_mcp.demo.person import LINE, Person
from flower_mcp.demo.reply import Reply
from flower_mcp.demo.script import Script
from flower_mcp.demo.story import DemoWorld, script


def test_an_edit_that_does_not_arrive_makes_the_demo_fail(world: DemoWorld) -> None:
    """The script refuses, as it does where the dead end is missing; test_story shows that the demo then fails."""
    for given, status in ((FIRST, 400), (f"{FIRST}\n{LINE}", 0)):
        person = Person()
        told = script(world.workspace, pace=0, person=person)
        assert reply_to(told, "a", world.task).status == 0
        person.has_edited = True
        reply = reply_to(told, "b", given)
        assert reply.status == status
        assert status == 0 or "session 2 should have been told" in reply.error[1]


def reply_to(told: Script, session: str, prompt: str) -> Reply:
    """The story's answer to the first request of a session."""
    body = {"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": prompt}]}
    reply = told(Request(1, "/v1/messages", {"x-claude-code-session-id": session}, body, b"", 0.0))
    assert isinstance(reply, Reply)
    return reply


def test_the_person_adds_one_line_once_and_changes_nothing_else(tmp_path: Path) -> None:
    path, person = tmp_path / "doc.md", Person()
    path.write_text(FIRST, encoding="utf-8")
    assert person.edit(path) is True
    assert person.edit(path) is False
    after = Handoff.from_markdown(path.read_text(encoding="utf-8"))
    before = Handoff.from_markdown(FIRST)
    assert after.next == f"{before.next}\n\n{LINE}"
    assert (after.doing, after.decided, after.deadends, after.scene) == (
        before.doing,
        before.decided,
        before.deadends,
        before.scene,
    )

"""The demo's story: its script by itself, and all of it told through the real supervisor and CLI."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower_mcp import AgentSpec, Event, Handoff, HandoffPolicy, Runtime, StepResult, Workbench
from flower_mcp.core.texts import render
from flower_mcp.demo.documents import DEAD_END, FIRST, SECOND
from flower_mcp.demo.model import Request, ScriptedModel
from flower_mcp.demo.reply import Reply, Text
from flower_mcp.demo.script import Script
from flower_mcp.demo.sessions import sessions
from flower_mcp.demo.story import FIRST_LINE, DemoWorld, prepare, script, verify
from tests.demo.checking import check
from tests.demo.conftest import ODD
from tests.e2e.harness import marked


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the package runs on."""
    return "asyncio"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model in a thread; a script that raises fails the test."""
    with ScriptedModel("Nothing.").in_thread() as started:
        yield started
        assert started.errors == []


async def tell(
    world: DemoWorld, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, on_event: Callable[[Event], object]
) -> StepResult:
    """Run the story with the real supervisor, the way a caller is told to."""
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    model.script = script(world.workspace, pace=0)
    spec = AgentSpec(model=world.model, permission_mode="bypassPermissions", env=world.environment)
    policy = HandoffPolicy(window=world.window, edit_window=0.2)
    async with Runtime(workspace=world.workspace, run_dir=world.run_dir, handoff=policy) as runtime:
        return await runtime.run(spec, world.task, step=world.step, on_event=on_event)


# The whole story


@pytest.mark.e2e
@pytest.mark.anyio
async def test_the_story_ends_well_after_three_sessions_and_two_handoffs_whatever_a_person_adds(
    tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = prepare(tmp_path / ODD, model.url)
    events: list[Event] = []

    def remark(event: Event) -> None:
        events.append(event)
        if event.kind == "edit" and event.payload.get("phase") == "open":
            with Path(str(event.payload["path"])).open("a", encoding="utf-8") as file:
                file.write("\nThe roses are my favourites.\n")

    result = await tell(world, model, monkeypatch, remark)
    assert (result.ok, result.error, result.errors, result.attempts) == (True, None, (), 1)
    assert verify(world) == []
    phases = [event.payload["phase"] for event in events if event.kind == "handoff"]
    assert phases == ["near", "writing", "done"] * 2
    assert [each.n for each in result.generations] == [1, 2, 3]
    assert len({each.session_id for each in result.generations}) == 3

    firsts = first_requests(model)
    assert ["favourites" in first.last_text() for first in firsts] == [False, True, True]
    workbench = Workbench(world.workspace)
    current = workbench.read(world.step)
    assert current is not None
    edited = next(version for version in workbench.history(world.step) if b"favourites" in version.data())
    documents = [edited.data().decode(), current.text]
    assert [text.rstrip() in first.last_text() for text, first in zip(documents, firsts[1:], strict=True)] == [True] * 2
    assert [Handoff.from_markdown(text).deadends for text in documents] == [
        Handoff.from_markdown(text).deadends for text in (FIRST, SECOND)
    ]
    assert DEAD_END not in firsts[0].last_text()
    assert marked(f"FLOWER_RUN={result.run}") == []


@pytest.mark.e2e
@pytest.mark.anyio
async def test_a_document_without_the_dead_end_makes_the_demo_fail(
    tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = prepare(tmp_path / ODD, model.url)

    def forget(event: Event) -> None:
        if event.kind == "edit" and event.payload.get("phase") == "open":
            path = Path(str(event.payload["path"]))
            path.write_text(path.read_text(encoding="utf-8").replace(DEAD_END, "It failed."), encoding="utf-8")

    result = await tell(world, model, monkeypatch, forget)
    assert not result.ok
    assert "The demo's story cannot be told: session 2 should have been told" in str(result.error)
    assert DEAD_END in str(result.error)
    assert verify(world) != []
    assert "1 of 6 checks pass" in check(world)


def first_requests(model: ScriptedModel) -> list[Request]:
    """The first request of each session, in order."""
    firsts: dict[str, Request] = {}
    for request in model.requests:
        firsts.setdefault(request.session, request)
    return list(firsts.values())


# The script by itself


def asked(session: str, *messages: tuple[str, object]) -> Request:
    """A request of a session with these messages."""
    body = {"tools": [{"name": "Bash"}], "messages": [{"role": role, "content": said} for role, said in messages]}
    return Request(1, "/v1/messages", {"x-claude-code-session-id": session}, body, json.dumps(body).encode(), 0.0)


def results(*printed: str) -> tuple[str, object]:
    """A user message with tool results."""
    return "user", [{"type": "tool_result", "tool_use_id": str(n), "content": each} for n, each in enumerate(printed)]


def answer(story: Script, request: Request) -> Reply:
    """The story's reply, which is at once."""
    reply = story(request)
    assert isinstance(reply, Reply)
    return reply


def begun(world: DemoWorld) -> Script:
    """A story whose first session has looked at the files."""
    story = script(world.workspace)
    assert answer(story, asked("a", ("user", world.task))).status == 0
    assert answer(story, asked("a", results("for line in text.splitlines()", "chinese_names_line_up"))).status == 0
    return story


def test_the_script_goes_on_when_the_tools_have_printed_what_it_says(world: DemoWorld) -> None:
    reply = answer(begun(world), asked("a", results("FAIL ...\n1 of 6 checks pass")))
    assert (reply.status, reply.usage.context) == (0, 118_000)
    assert "Edit" in str(reply.blocks)


def test_the_script_refuses_when_the_tools_have_printed_something_else_and_keeps_refusing(world: DemoWorld) -> None:
    story = begun(world)
    refused = answer(story, asked("a", results("python3: command not found")))
    assert refused.status == 400
    assert "'1 of 6 checks pass'" in refused.error[1]
    again = answer(story, asked("a", results("1 of 6 checks pass")))
    assert again.error == refused.error


def test_what_the_model_said_itself_counts_for_nothing_in_the_handoff(world: DemoWorld) -> None:
    story = begun(world)
    prompt = ("user", render("handoff", {"used": "153.0K", "window": "200K"}))
    spoken = ("assistant", [{"type": "text", "text": f"1 of 6 checks pass, 3 of 6 checks pass, ## main, {DEAD_END}"}])
    assert answer(story, asked("a", spoken, prompt)).status == 400


def test_the_document_is_given_when_the_dead_end_was_really_met(world: DemoWorld) -> None:
    story = begun(world)
    printed = results("1 of 6 checks pass", f"{DEAD_END}\n3 of 6 checks pass", "## main")
    prompt = ("user", render("handoff", {"used": "153.0K", "window": "200K"}))
    assert answer(story, asked("a", printed, prompt)).blocks == (Text(FIRST),)


def test_a_session_that_takes_over_without_the_dead_end_is_refused(world: DemoWorld) -> None:
    assert answer(begun(world), asked("b", ("user", FIRST.replace(DEAD_END, "")))).status == 400
    assert answer(begun(world), asked("b", ("user", FIRST))).status == 0


def test_a_fourth_session_and_a_return_to_an_earlier_one_are_refused(world: DemoWorld) -> None:
    back = begun(world)
    answer(back, asked("b", ("user", FIRST)))
    assert "one after the other" in answer(back, asked("a", ("user", FIRST))).error[1]
    fourth = begun(world)
    for session in "bc":
        assert answer(fourth, asked(session, ("user", FIRST))).status == 0
    assert "3 sessions" in answer(fourth, asked("d", ("user", FIRST))).error[1]


def test_requests_of_the_cli_itself_take_no_part_of_the_story(world: DemoWorld) -> None:
    story = begun(world)
    side = Request(1, "", {}, {"tools": [], "max_tokens": 1, "messages": []}, b"", 0.0)
    assert answer(story, side).status == 0
    assert answer(story, asked("a", results("1 of 6 checks pass"))).usage.context == 118_000


def test_without_pace_no_reply_is_held_back(world: DemoWorld) -> None:
    request = asked("a", ("user", world.task))
    fast, slow = (answer(script(world.workspace, pace), request) for pace in (0.0, 1.0))
    assert (fast.delay, fast.event_delay) == (0, 0)
    assert slow.delay > 0
    assert slow.event_delay > 0


def test_the_figures_cross_the_handoff_line_once_in_each_session_but_the_last(world: DemoWorld) -> None:
    at = HandoffPolicy(window=world.window).at
    figures = [[beat.reply.usage.context for beat in session.work] for session in sessions(world.workspace)]
    assert [[figure >= at for figure in work].count(True) for work in figures] == [1, 1, 0]
    assert [work[-1] >= at for work in figures] == [True, True, False]
    assert figures == [sorted(work) for work in figures]


@pytest.mark.parametrize("document", [FIRST, SECOND], ids=["first", "second"])
def test_the_documents_are_whole_and_short_enough(document: str) -> None:
    handoff = Handoff.from_markdown(document)
    assert all(handoff.sections().values())
    assert handoff.extra == ()
    assert DEAD_END in handoff.deadends
    assert len(document) <= 6_000


def test_the_first_line_says_what_is_scripted_and_that_all_else_is_real() -> None:
    assert "\n" not in FIRST_LINE
    assert "scripted" in FIRST_LINE
    assert "Everything else is real" in FIRST_LINE

"""The prompts and completion."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextContent

from flower_mcp import Workbench
from flower_mcp.core.books import Generation, State
from flower_mcp.core.texts import render
from flower_mcp.server.app import build
from flower_mcp.workbench.transcripts import project_key
from tests.server.helpers import ERAS, HANDOFF, client, live_step
from tests.server.test_caller import line

UNKNOWN = "an unknown part of its 1000K tokens"

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]


async def prompt(connected: Client, name: str, **arguments: str) -> str:
    """The text of a prompt's only message."""
    (message,) = (await connected.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def test_there_are_two_and_no_argument_is_required(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        prompts = {each.name: each for each in (await connected.list_prompts()).prompts}
    assert {name: [argument.name for argument in each.arguments or ()] for name, each in prompts.items()} == {
        "HANDOFF_PROMPT": ["used", "window"],
        "TAKEOVER_PROMPT": ["step"],
    }
    assert not any(argument.required for each in prompts.values() for argument in each.arguments or ())


@pytest.mark.parametrize(
    ("used", "window"), [("152000", "200000"), ("152,000", "200K"), ("152k", "0.2M"), (" 152.0K ", "200_000")]
)
async def test_the_request_is_the_file_with_the_figures(workbench: Workbench, era: str, used: str, window: str) -> None:
    async with client(workbench, era) as connected:
        text = await prompt(connected, "HANDOFF_PROMPT", used=used, window=window)
    assert text == render("handoff", {"used": "152.0K", "window": "200K"})


async def test_figures_left_out_come_from_the_step_s_state(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step("work", State.WORKING, context=152_000, window=200_000))
    async with client(workbench, era) as connected:
        with workbench.run_lock("work"):
            assert "holds 152.0K of its 200K tokens" in await prompt(connected, "HANDOFF_PROMPT")
            assert "holds 1.0K of its 200K tokens" in await prompt(connected, "HANDOFF_PROMPT", used="1000", window="")
            workbench.lives.write(live_step("other", State.WORKING, context=99_000, window=200_000))
            with workbench.run_lock("other"):
                assert UNKNOWN in await prompt(connected, "HANDOFF_PROMPT"), "which of two is asked cannot be told"


@pytest.mark.parametrize("step", ["", "work"])
@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.WORKING])
async def test_a_step_that_does_not_run_says_nothing_of_the_session_that_asks(
    workbench: Workbench, era: str, step: str, state: State
) -> None:
    workbench.lives.write(live_step("work", state, context=152_000, window=200_000))
    async with client(workbench, era, step=step) as connected:
        assert UNKNOWN in await prompt(connected, "HANDOFF_PROMPT")


@pytest.mark.parametrize("step", ["", "work"])
async def test_figures_left_out_come_from_the_session_that_claude_code_runs(
    workspace: Path, workbench: Workbench, tmp_path: Path, era: str, step: str
) -> None:
    folder = tmp_path / "claude" / "projects" / project_key(workspace)
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_text(line("toolu_1", 81_000, "claude-haiku-4-5"))
    environ = {"CLAUDECODE": "1", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    workbench.lives.write(live_step("work", State.DONE, context=152_000, window=200_000))
    server = build(workbench, watch=False, environ=environ, step=step)
    async with Client(server, mode=era) as connected:
        assert "holds 81.0K of its 200K tokens" in await prompt(connected, "HANDOFF_PROMPT")


async def test_figures_that_nobody_knows_are_said_to_be_unknown(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        assert UNKNOWN in await prompt(connected, "HANDOFF_PROMPT")


@pytest.mark.parametrize(("name", "value"), [("used", "abc"), ("used", "-1"), ("window", "0"), ("window", "9" * 40)])
async def test_figures_that_are_none_are_refused_in_words(
    workbench: Workbench, era: str, name: str, value: str
) -> None:
    async with client(workbench, era) as connected:
        with pytest.raises(MCPError, match="must be a number of tokens") as caught:
            await prompt(connected, "HANDOFF_PROMPT", **{name: value})
    assert caught.value.code == -32602


async def test_taking_over_is_the_successor_s_prompt(workbench: Workbench, era: str) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    workbench.tasks.start("work", "Port the test suite.")
    async with client(workbench, era) as connected:
        text = await prompt(connected, "TAKEOVER_PROMPT")
        assert text == await prompt(connected, "TAKEOVER_PROMPT", step="work")
    document = workbench.read("work")
    assert document is not None
    assert text == HANDOFF.prompt_block(document.text, path=str(frozen.path), task="Port the test suite.")
    assert workbench.taken.read("work") == frozen.revision  # no hook gives it to another session


async def test_taking_over_from_nothing_is_refused_in_words(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        with pytest.raises(MCPError, match="no steps yet"):
            await prompt(connected, "TAKEOVER_PROMPT", step="")
        workbench.lives.write(live_step())
        with pytest.raises(MCPError, match="no document"):
            await prompt(connected, "TAKEOVER_PROMPT")
        workbench.freeze("a", HANDOFF)
        with pytest.raises(MCPError, match="There are 2 steps"):
            await prompt(connected, "TAKEOVER_PROMPT")


async def test_steps_and_generations_are_completed(workbench: Workbench, era: str) -> None:
    for step in ("port", "plan", "write"):
        workbench.freeze(step, HANDOFF)
    workbench.lives.write(live_step("port", State.DONE, *(Generation(n, f"s{n}", frozen="a" * 12) for n in (1, 2, 11))))
    document = ResourceTemplateReference(uri="handoff://{step}")
    generation = ResourceTemplateReference(uri="handoff://{step}/{generation}")
    async with client(workbench, era) as connected:
        for reference in (PromptReference(name="TAKEOVER_PROMPT"), document, generation):
            found = await connected.complete(reference, {"name": "step", "value": "p"})
            assert sorted(found.completion.values) == ["plan", "port"]
        found = await connected.complete(
            generation, {"name": "generation", "value": "1"}, context_arguments={"step": "port"}
        )
        assert found.completion.values == ["1", "11"]
        found = await connected.complete(PromptReference(name="HANDOFF_PROMPT"), {"name": "window", "value": "2"})
        assert found.completion.values == ["200000"]
        found = await connected.complete(PromptReference(name="HANDOFF_PROMPT"), {"name": "used", "value": ""})
        assert found.completion.values == []

"""The public names: what they are, what their signatures promise, and that importing the package costs nothing."""

from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flower_mcp

ROOT = Path(__file__).parents[1]
NAMES = [
    "Runtime", "AgentSpec", "HandoffPolicy", "CompactPolicy", "RetryPolicy", "StepResult", "Event", "Handoff",
    "HANDOFF_PROMPT", "DEGRADED", "degraded", "default_window", "is_overflow", "Workbench",
]  # fmt: skip
HEAVY = ("mcp", "claude_agent_sdk", "pydantic", "anyio", "click", "rich", "watchfiles", "uvicorn", "starlette")
# The names that must work without any of the packages that only the supervisor or the server needs.
LIGHT = [
    "AgentSpec", "HandoffPolicy", "CompactPolicy", "RetryPolicy", "StepResult", "Event", "Handoff", "HANDOFF_PROMPT",
    "DEGRADED", "degraded", "default_window", "is_overflow",
]  # fmt: skip


def modules_after(code: str) -> set[str]:
    """The top-level modules, and all of our own, that a fresh process has imported after running `code`."""
    script = f"import sys\n{code}\nimport json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    names = set(json.loads(done.stdout))
    return {name.partition(".")[0] for name in names} | {name for name in names if name.startswith("flower_mcp.")}


def shape(value: Any) -> dict[str, Any]:
    """The parameters of a callable with their defaults; `...` where there is none."""
    parameters = inspect.signature(value).parameters.values()
    return {each.name: ... if each.default is each.empty else each.default for each in parameters}


def defaults(kind: Any) -> dict[str, Any]:
    """The fields that a dataclass takes, in order, with what they read as when not given; `...` when they must be."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        if field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        else:
            found[field.name] = ... if field.default is dataclasses.MISSING else field.default
    return found


def test_the_public_names_are_these_and_no_others() -> None:
    assert sorted(flower_mcp.__all__) == sorted(NAMES)
    assert set(NAMES) <= set(dir(flower_mcp))


@pytest.mark.parametrize("name", NAMES)
def test_each_public_name_is_there_and_is_the_one_of_its_home(name: str) -> None:
    value = getattr(flower_mcp, name)
    assert value is not None
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__name__ == name
        assert value.__doc__


def test_a_name_that_is_not_public_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"'flower_mcp' has no attribute 'Flower'"):
        _ = flower_mcp.Flower
    assert not hasattr(flower_mcp, "StepRun")


def test_a_star_import_brings_all_of_them() -> None:
    modules = modules_after(f"from flower_mcp import *\nassert all(name in globals() for name in {NAMES})")
    assert "flower_mcp" in modules


def test_importing_the_package_imports_nothing_of_weight() -> None:
    new = modules_after("import flower_mcp") - modules_after("")
    assert new - sys.stdlib_module_names == {"flower_mcp"}
    assert new & {"asyncio", "subprocess", "json", "re", "pathlib", "importlib.metadata"} == set()


@pytest.mark.parametrize("name", LIGHT)
def test_a_value_needs_none_of_the_heavy_packages(name: str) -> None:
    assert modules_after(f"from flower_mcp import {name}") & set(HEAVY) == set()


def test_the_workbench_needs_neither_the_sdk_nor_mcp() -> None:
    modules = modules_after("import flower_mcp, tempfile; flower_mcp.Workbench(tempfile.gettempdir())")
    assert modules & {"claude_agent_sdk", "mcp", "anyio", "rich"} == set()


def test_the_runtime_does_not_need_mcps_server() -> None:
    modules = modules_after("import flower_mcp; flower_mcp.Runtime")
    assert "claude_agent_sdk" in modules
    assert not [name for name in modules if name.startswith(("flower_mcp.server", "flower_mcp.cli"))]


def test_the_version_is_that_of_the_distribution() -> None:
    assert f'\nversion = "{flower_mcp.__version__}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_handoff_has_five_sections_a_step_and_what_else_stood_there() -> None:
    assert defaults(flower_mcp.Handoff) == {
        "step": "", "doing": "", "decided": "", "deadends": "", "next": "", "scene": "", "extra": (),
    }  # fmt: skip
    assert shape(flower_mcp.Handoff.prompt_block) == {"self": ..., "text": None, "path": None, "task": None}
    assert shape(flower_mcp.degraded) == {"step": ..., "prompt": ..., "why": ""}
    assert flower_mcp.DEGRADED == "[降级:交接没写成]"
    assert flower_mcp.DEGRADED in flower_mcp.degraded("work", "task").doing
    assert {"{used}", "{window}"} <= {word.strip(".,") for word in flower_mcp.HANDOFF_PROMPT.replace("/", " ").split()}


def test_an_agent_is_left_to_the_cli_wherever_nothing_is_said() -> None:
    assert defaults(flower_mcp.AgentSpec) == {
        "name": "work", "instructions": "", "model": None, "effort": None, "permission_mode": "default",
        "allowed_tools": (), "disallowed_tools": (), "max_turns": None, "max_budget_usd": None, "mcp_servers": {},
        "agents": {}, "env": {}, "compact": None, "setting_sources": ("user", "project", "local"),
    }  # fmt: skip


def test_the_policies_have_the_documented_defaults() -> None:
    given = [
        "enabled",
        "window",
        "headroom",
        "max_generations",
        "write_timeout",
        "drain_timeout",
        "edit_window",
        "edit_limit",
    ]
    assert list(defaults(flower_mcp.HandoffPolicy)) == given
    policy = flower_mcp.HandoffPolicy()
    assert [getattr(policy, name) for name in given] == [True, 1_000_000, 50_000, 8, 600.0, 900.0, 5.0, 900.0]
    assert defaults(flower_mcp.CompactPolicy) == {"mode": "no_summary"}
    assert defaults(flower_mcp.RetryPolicy) == {
        "max_attempts": 6, "base": 2.0, "cap": 120.0, "offline": 3600.0, "stall": 420.0,
    }  # fmt: skip


def test_a_runtime_takes_keywords_alone_and_needs_a_workspace() -> None:
    parameters = inspect.signature(flower_mcp.Runtime).parameters
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())
    documented = {
        "workspace": ..., "run_dir": "runs", "workbench": True, "handoff": True, "retry": True, "mcp_server": None,
    }  # fmt: skip
    assert documented.items() <= shape(flower_mcp.Runtime).items()
    assert {name for name, default in shape(flower_mcp.Runtime).items() if default is ...} == {"workspace"}
    assert hasattr(flower_mcp.Runtime, "__aenter__")


def test_a_run_takes_an_agent_and_a_prompt_and_the_rest_by_name() -> None:
    parameters = inspect.signature(flower_mcp.Runtime.run).parameters
    assert list(parameters)[:3] == ["self", "spec", "prompt"]
    by_name = {name: each.default for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert by_name == {"step": None, "fresh": False, "on_event": None}
    assert inspect.iscoroutinefunction(flower_mcp.Runtime.run)


def test_an_event_is_a_kind_a_text_and_a_payload() -> None:
    assert defaults(flower_mcp.Event) == {"kind": ..., "text": "", "payload": {}}


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("read", {"step": ...}),
        ("freeze", {"step": ..., "handoff": ..., "expected": None}),
        ("edit", {"step": ..., "section": ..., "text": ..., "mode": "replace", "expected": None}),
        ("history", {"step": ...}),
        ("live", {"step": ...}),
    ],
)
def test_the_workbench_has_the_documented_methods(method: str, parameters: dict[str, Any]) -> None:
    assert shape(getattr(flower_mcp.Workbench, method)) == {"self": ..., **parameters}


def test_the_window_of_the_environment_and_the_verdict_on_a_text_are_functions() -> None:
    assert shape(flower_mcp.default_window) == {"environ": None}
    assert flower_mcp.default_window({"ANTHROPIC_MODEL": "claude-haiku-4-5"}) == 200_000
    (texts,) = inspect.signature(flower_mcp.is_overflow).parameters.values()
    assert texts.kind is texts.VAR_POSITIONAL
    assert flower_mcp.is_overflow("fine", "Prompt is too long")

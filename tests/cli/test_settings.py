"""The config files: what counts before what, what a workspace may not say, and sentences for what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from flower_mcp.cli import settings
from flower_mcp.cli.commands import flower as group
from flower_mcp.cli.options import RunOptions
from flower_mcp.core.errors import Usage
from tests.cli.processes import contents, flower
from tests.cli.steps import begun


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's config file, which is not there yet."""
    file = tmp_path / "config" / "config.toml"
    file.parent.mkdir()
    monkeypatch.setenv("FLOWER_CONFIG", str(file))
    return file


def chosen(workspace: Path, *arguments: str) -> tuple[RunOptions, tuple[str, ...]]:
    """The options of a run with these arguments, as the command gets them."""
    defaults = settings.defaults_of(settings.user_file(os.environ), group.commands)
    run = group.commands["run"]
    ctx = run.make_context("run", ["-w", str(workspace), *arguments], default_map=defaults["run"])
    given: dict[str, Any] = {name: value for name, value in ctx.params.items() if name != "task"}
    return settings.in_workspace(settings.without_weaker(RunOptions(**given), ctx), ctx)


def test_the_command_line_beats_the_variable_beats_the_workspace_beats_the_person(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".flower.toml"
    seen = [chosen(tmp_path)[0].model]
    home.write_text('model = "theirs"\n')
    seen.append(chosen(tmp_path)[0].model)
    file.write_text('model = "the workspace\'s"\n')
    seen.append(chosen(tmp_path)[0].model)
    monkeypatch.setenv("FLOWER_MODEL", "the variable's")
    seen.append(chosen(tmp_path)[0].model)
    seen.append(chosen(tmp_path, "--model", "typed")[0].model)
    assert seen == [None, "theirs", "the workspace's", "the variable's", "typed"]


def test_a_workspace_may_set_these_and_is_told_to(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".flower.toml").write_text(
        'model = "haiku"\neffort = "low"\nwindow = "200K"\nat = 120_000\nmax-generations = 3\nedit-window = 0.5\n'
        "plain = true\nbudget = 2\n"
    )
    options, names = chosen(tmp_path)
    assert (options.model, options.effort, options.window, options.at) == ("haiku", "low", 200_000, 120_000)
    assert (options.max_generations, options.edit_window, options.plain, options.budget) == (3, 0.5, True, 2.0)
    assert set(names) == set(settings.IN_WORKSPACE) - {"headroom"}


@pytest.mark.parametrize(("person", "workspace", "counts"), [(None, 5, 5), (10, 5, 5), (5, 10, 5), (5, 5, 5)], ids=str)
def test_a_workspace_can_only_lower_the_budget(
    person: int | None, workspace: int, counts: int, home: Path, tmp_path: Path
) -> None:
    (tmp_path / ".flower.toml").write_text(f"budget = {workspace}\n")
    arguments = () if person is None else ("--budget", str(person))
    assert chosen(tmp_path, *arguments)[0].budget == counts


@pytest.mark.parametrize(
    ("person", "workspace", "typed", "counts"),
    [
        ("", "max-generations = 1000\nedit-window = 100000", (), (8, 5.0)),
        ("", "max-generations = 3\nedit-window = 0", (), (3, 0.0)),
        ("max-generations = 20\nedit-window = 60", "max-generations = 12\nedit-window = 30", (), (12, 30.0)),
        ("max-generations = 4\nedit-window = 1", "max-generations = 8\nedit-window = 5", (), (4, 1.0)),
        ("", "max-generations = 3\nedit-window = 1", ("--max-generations", "6", "--edit-window", "9"), (6, 9.0)),
    ],
)
def test_a_workspace_can_only_lower_how_often_it_hands_off_and_how_long_it_waits(
    person: str, workspace: str, typed: tuple[str, ...], counts: tuple[int, float], *, home: Path, tmp_path: Path
) -> None:
    home.write_text(person)
    (tmp_path / ".flower.toml").write_text(workspace)
    options, _ = chosen(tmp_path, *typed)
    assert (options.max_generations, options.edit_window) == counts


@pytest.mark.parametrize(
    "key",
    sorted(
        max(option.opts, key=len).lstrip("-")
        for option in group.commands["run"].params
        if isinstance(option, click.Option) and max(option.opts, key=len).lstrip("-") not in settings.IN_WORKSPACE
    ),
)
def test_everything_else_in_a_workspace_is_refused_by_name(key: str, home: Path, tmp_path: Path) -> None:
    (tmp_path / ".flower.toml").write_text(f'{key} = "touch made"\n')
    with pytest.raises(Usage, match=rf"'{key}', which a workspace may not") as error:
        chosen(tmp_path)
    assert str(home) in str(error.value)


@pytest.mark.parametrize(
    ("person", "workspace", "arguments", "counts"),
    [
        ("at = 200000", "", ["--headroom", "30000"], (None, 30_000)),
        ("headroom = 30000", "", ["--at", "200000"], (200_000, None)),
        ("headroom = 30000", "at = 150000", [], (150_000, None)),
        ("at = 200000", "at = 150000", ["--headroom", "9000"], (None, 9_000)),
        ("at = 200000", "", [], (200_000, None)),
    ],
)
def test_of_at_and_headroom_the_stronger_source_counts(
    person: str,
    workspace: str,
    arguments: list[str],
    counts: tuple[int | None, int | None],
    *,
    home: Path,
    tmp_path: Path,
) -> None:
    home.write_text(person)
    (tmp_path / ".flower.toml").write_text(workspace)
    options, _ = chosen(tmp_path, *arguments)
    assert (options.at, options.headroom) == counts


def test_a_file_in_nobodys_home_is_told_in_a_sentence(workspace: Path, environment: dict[str, str]) -> None:
    nobodys = {**environment, "FLOWER_CONFIG": "~nobody-of-this-name/config.toml"}
    done = flower("list", cwd=workspace, environment=nobodys)
    assert (done.code, done.out) == (2, "")
    assert "'~nobody-of-this-name/config.toml' begins with a home folder that there is not" in done.err
    assert "mistake" not in done.err
    doctor = flower("doctor", cwd=workspace, environment=nobodys)
    assert doctor.code == 1
    assert "a home folder that there is not" in doctor.out


@pytest.mark.parametrize(
    ("person", "workspace", "variables", "says", "named"),
    [
        ("at = 150000\nheadroom = 9000", "", {}, "say the same thing", ["config.toml"]),
        ("at = 150000\nwindow = 100000", "", {}, "not below the window", ["config.toml"]),
        ("at = 150000", "", {"FLOWER_WINDOW": "100K"}, "not below the window", ["config.toml"]),
        ("", "at = 150000\nheadroom = 9000", {}, "say the same thing", [".flower.toml"]),
        ("window = 100000", "at = 150000", {}, "not below the window", ["config.toml", ".flower.toml"]),
        ("", "", {"FLOWER_WINDOW": "100K", "FLOWER_AT": "150K"}, "not below the window", []),
    ],
)
def test_options_that_contradict_each_other_are_told_with_their_file_and_do_not_stop_the_doctor(
    person: str,
    workspace: str,
    variables: dict[str, str],
    says: str,
    named: list[str],
    *,
    tmp_path: Path,
    environment: dict[str, str],
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "config.toml").write_text(person)
    (tmp_path / "here" / ".flower.toml").write_text(workspace)
    variables = {**environment, "FLOWER_CONFIG": str(tmp_path / "config.toml"), **variables}
    run = flower("run", "Go on.", cwd=tmp_path / "here", environment=variables)
    assert (run.code, run.out) == (2, "")
    doctor = flower("doctor", cwd=tmp_path / "here", environment=variables)
    assert doctor.code == 1, doctor.err
    (finding,) = (line for line in doctor.out.splitlines() if line.startswith("!") and says in line)
    for told in (run.err, finding):
        assert says in told
        for name in ("config.toml", ".flower.toml"):
            assert (name in told) == (name in named)


def test_every_option_of_every_command_can_stand_in_the_persons_file(home: Path) -> None:
    for name, command in group.commands.items():
        for option in command.params:
            if isinstance(option, click.Option) and option.name != "help":
                key = max(option.opts, key=len).lstrip("-")
                home.write_text(f"[{name}]\n{key} = 7\n")
                assert settings.defaults_of(home, group.commands)[name] == {option.name: 7}


def test_a_key_at_the_top_counts_for_each_command_that_has_it(home: Path, tmp_path: Path) -> None:
    home.write_text('notify = ["say", "it is over"]\njson = true\n[run]\njson = false\n')
    defaults = settings.defaults_of(home, group.commands)
    assert defaults["status"] == defaults["demo"] == {"as_json": True}
    assert defaults["run"]["as_json"] is False
    assert chosen(tmp_path)[0].notify == ("say", "it is over")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("modle = 'x'", "Did you mean 'model'?"),
        ("[run]\nmodle = 'x'", "'run.modle'"),
        ("[rum]\nmodel = 'x'", "'rum'"),
        ("model = ", "is not TOML"),
        ("window = 'many'", "--window: 'many' is not a number of tokens"),
        ("permission-mode = 'all'", "--permission-mode"),
        ("\ud800", "is not TOML"),
        ("#" * 70_000, "larger than 64 kB"),
    ],
    ids=["like a name", "in a table", "no command", "broken", "no number", "no mode", "no UTF-8", "huge"],
)
@pytest.mark.parametrize("whose", ["person", "workspace"])
def test_what_is_wrong_in_a_file_is_one_sentence_that_names_the_file(
    whose: str, text: str, says: str, *, workspace: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    file = tmp_path / "config.toml" if whose == "person" else workspace / ".flower.toml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    before = contents(workspace)
    done = flower(
        "run", "Go on.", cwd=workspace, environment={**environment, "FLOWER_CONFIG": str(tmp_path / "config.toml")}
    )
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert file.name in done.err
    if whose == "person":
        assert says in done.err
    assert contents(workspace) == before


def test_bash_completes_commands_options_and_steps(workspace: Path, environment: dict[str, str]) -> None:
    begun(workspace, "设计")
    bin_folder = Path(sys.executable).parent
    script = (
        'eval "$(flower completion bash)"\n'
        'complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _flower_completion flower; '
        'echo "${COMPREPLY[*]}"; }\n'
        'compopt() { echo -n "$2"; }\n'  # what bash is asked to complete by itself
        "complete_it flower sta; complete_it flower --max-g; complete_it flower show '';"
        "complete_it flower --effort h; complete_it flower --step 设; "
        "complete_it flower diff 设; complete_it flower say 设; complete_it flower -w su"
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=workspace, capture_output=True, text=True, check=True,
        env={**environment, "PATH": f"{bin_folder}:{environment['PATH']}"},
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "status",
        "--max-generations",
        "设计",
        "high",
        "设计",
        "设计",
        "设计",
        "dirnames",
    ]
    assert done.stderr == ""


def test_the_script_for_zsh_defines_the_completion(workspace: Path, environment: dict[str, str]) -> None:
    done = flower("completion", "zsh", cwd=workspace, environment=environment)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("#compdef flower\n")
    assert "compdef _flower_completion flower" in done.out

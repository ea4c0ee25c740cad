"""Options become a policy and an agent; what excludes each other is refused."""

from __future__ import annotations

import os

import click
import pytest

from flower_mcp.cli.options import Amount, Arguments, Count, Folder, RunOptions, Tokens
from flower_mcp.core.errors import Usage


@pytest.mark.parametrize(
    ("text", "tokens"), [("200000", 200_000), ("200_000", 200_000), ("200K", 200_000), ("1m", 1_000_000)]
)
def test_tokens_are_written_in_several_ways(text: str, tokens: int) -> None:
    assert Tokens().convert(text, None, None) == tokens


@pytest.mark.parametrize("text", ["", "abc", "-1", "1.5", "K", "nan", "٣", "2e5"])
def test_what_is_no_number_of_tokens_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Tokens().convert(text, None, None)


@pytest.mark.parametrize("text", ["", "abc", "nan", "inf", "-1", "0"])
def test_a_budget_is_a_finite_number_above_zero(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Amount("USD", above=True).convert(text, None, None)


def test_an_edit_window_may_be_zero() -> None:
    assert Amount("seconds").convert("0", None, None) == 0.0


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", ""])
def test_a_count_is_a_whole_number_above_zero(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Count().convert(text, None, None)


def test_an_empty_folder_name_is_refused_since_it_would_mean_this_folder() -> None:
    with pytest.raises(click.BadParameter):
        Folder().convert(" ", None, None)


def test_at_makes_the_headroom_of_a_given_window() -> None:
    policy = RunOptions(window=200_000, at=120_000).policy()

    assert (policy.window, policy.headroom, policy.at) == (200_000, 80_000, 120_000)
    assert policy.window_given


@pytest.mark.parametrize(
    ("window", "at"), [(1_000_000, 200_000), (250_000, 200_000), (200_000, 150_000), (100_000, 75_000)]
)
def test_at_stays_where_it_was_put_when_the_window_becomes_known(window: int, at: int) -> None:
    guessed = RunOptions(at=200_000).policy().with_window(1_000_000)

    reported = guessed.with_window(window)

    assert guessed.at == 200_000
    assert reported.at == at
    assert reported.window == window
    assert not reported.window_given


def test_at_keeps_the_rest_of_the_policy() -> None:
    policy = RunOptions(at=200_000, max_generations=3, edit_window=1.5, no_handoff=True).policy().with_window(500_000)

    assert (policy.max_generations, policy.edit_window, policy.enabled) == (3, 1.5, False)


@pytest.mark.parametrize("options", [RunOptions(at=1, headroom=1), RunOptions(at=200_000, window=200_000)])
def test_a_line_that_cannot_be_is_refused(options: RunOptions) -> None:
    with pytest.raises(Usage):
        options.policy()


def test_the_agent_gets_what_was_asked_for() -> None:
    spec = RunOptions(step="docs", model="sonnet", permission_mode="plan", budget=2.5, max_turns=7).spec()

    assert (spec.name, spec.model, spec.permission_mode, spec.max_budget_usd, spec.max_turns) == (
        "docs", "sonnet", "plan", 2.5, 7,
    )  # fmt: skip


def test_the_command_that_goes_on_names_only_what_is_unusual() -> None:
    assert RunOptions().go_on() == "flower"
    assert RunOptions(step="my docs", workspace="../x", run_dir="r").go_on() == "flower --step 'my docs' -w ../x -r r"


def test_the_command_that_releases_names_only_what_is_unusual() -> None:
    assert RunOptions().release() == "flower release work"
    assert RunOptions(step="my docs", workspace="../x").release() == "flower release 'my docs' -w ../x"


def test_a_command_to_run_is_taken_apart_as_a_shell_would_and_read_by_none() -> None:
    assert Arguments().convert("notify-send 'all done' $HOME;", None, None) == ("notify-send", "all done", "$HOME;")


def test_the_agent_need_not_ask_for_its_own_servers_tools() -> None:
    assert RunOptions().spec().allowed_tools == ("mcp__flower",)


def test_root_may_bypass_permissions_only_in_what_says_that_it_is_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    options = RunOptions(permission_mode="bypassPermissions")

    options.check_user({"IS_SANDBOX": "1"})
    RunOptions().check_user({})
    for environ in ({}, {"IS_SANDBOX": "yes"}):
        with pytest.raises(Usage, match="root"):
            options.check_user(environ)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    options.check_user({})


@pytest.mark.parametrize(
    ("options", "window", "told"),
    [
        (RunOptions(at=0), 1_000_000, "--at 0 pushes the handoff line to its floor of 10,000; use --at 950000"),
        (RunOptions(at=195_000), 200_000, "--at 195000 leaves little room to write the handoff in; use --at 150000"),
        (RunOptions(at=195_000, window=200_000), 200_000, "--at 195000 leaves little room to write the handoff in"),
        (RunOptions(at=150_000), 200_000, None),
        (RunOptions(at=300_000), 200_000, None),
        (RunOptions(headroom=5_000), 200_000, "a headroom of 5,000 tokens leaves little room"),
    ],
    ids=["floor", "late", "late, window given", "well", "above the window", "headroom"],
)
def test_advice_names_the_option_that_was_typed(options: RunOptions, window: int, told: str | None) -> None:
    advice = options.policy().with_window(window).advice()

    assert advice == told if told is None else advice is not None and advice.startswith(told)

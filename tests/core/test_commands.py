"""The commands that sentences tell a person to type mean what they say, whatever the step is called."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.commands import command_line


@pytest.mark.parametrize(
    ("parts", "workspace", "typed"),
    [
        (("status",), "", "flower status"),
        (("status",), ".", "flower status"),
        (("show", "docs"), "../site", "flower show docs -w ../site"),
        (("release", "my docs", "--as-is"), "/a b", "flower release 'my docs' --as-is -w '/a b'"),
        (("trust", "-rf"), "", "flower trust -- -rf"),
    ],
    ids=str,
)
def test_a_command_has_its_step_and_its_folder(parts: tuple[str, ...], workspace: str, typed: str) -> None:
    assert command_line(*parts, workspace=workspace) == typed


@given(step=st.text(min_size=1), workspace=st.text(min_size=1))
def test_a_shell_takes_the_names_out_as_they_are(step: str, workspace: str) -> None:
    words = shlex.split(command_line("edit", step, workspace=workspace))
    assert step in words
    assert workspace == "." or words[words.index("-w") + 1] == workspace

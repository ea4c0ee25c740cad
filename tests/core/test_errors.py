"""Errors: whose fault it is, the exit code, and a sentence that says what to do next."""

from __future__ import annotations

import pytest

from flower_mcp.core import errors
from flower_mcp.core.errors import (
    Busy,
    CallersError,
    ChartPartMissing,
    CliMissing,
    Conflict,
    FilesError,
    FlowerError,
    LockTimeout,
    NoCredentials,
    NothingThere,
    OurError,
    RunPartMissing,
    Usage,
    WorldsError,
)

RAISED: list[tuple[FlowerError, type[FlowerError], int]] = [
    (Usage("bad"), CallersError, 2),
    (Busy("work", "pid 7 on host"), CallersError, 3),
    (NothingThere("no document"), CallersError, 5),
    (RunPartMissing("rich"), CallersError, 2),
    (ChartPartMissing(), CallersError, 2),
    (Conflict("work", "0123456789ab", "ba9876543210"), FilesError, 1),
    (LockTimeout("held"), FilesError, 1),
    (NoCredentials("Not logged in."), WorldsError, 4),
    (CliMissing(), WorldsError, 1),
    (OurError("illegal"), FlowerError, 1),
]


@pytest.mark.parametrize(("error", "fault", "code"), RAISED, ids=lambda value: type(value).__name__)
def test_each_error_has_its_place_in_the_tree_and_its_exit_code(
    error: FlowerError, fault: type[FlowerError], code: int
) -> None:
    assert isinstance(error, fault)
    assert error.exit_code == code


def test_every_error_of_the_tree_is_looked_at_here() -> None:
    classes = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FlowerError)}
    assert classes == {type(error) for error, _, _ in RAISED} | {FlowerError, CallersError, FilesError, WorldsError}


def test_the_exit_codes_are_told_apart() -> None:
    assert {error.exit_code for error, _, _ in RAISED} == {1, 2, 3, 4, 5}


def test_an_error_reads_as_what_happened_what_was_kept_and_what_to_do_next() -> None:
    error = FlowerError("It broke.", kept="All is on disk.", next="Try again.")
    assert str(error) == "It broke. All is on disk. Try again."
    assert (error.what, error.kept, error.next) == ("It broke.", "All is on disk.", "Try again.")
    assert str(FlowerError("It broke.", next="Try again.")) == "It broke. Try again."
    assert str(FlowerError("It broke.")) == "It broke."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Busy("work", "pid 7 on host"), ["'work'", "pid 7 on host", "Nothing was started.", "--step work-2"]),
        (Busy("my docs", "pid 7 on host"), ["--step 'my docs-2'"]),
        (Conflict("work", "old", "new"), ["'old'", "new", "Nothing was written.", "Read it again"]),
        (Conflict("work", "old", ""), ["there is no document"]),
        (NoCredentials("Not logged in."), ["ANTHROPIC_API_KEY", "/login", "ANTHROPIC_BASE_URL", "flower demo"]),
        (CliMissing(), ["pip install 'flower-mcp[run]'"]),
        (RunPartMissing("rich"), ["rich", "pip install 'flower-mcp[run]'"]),
        (ChartPartMissing(), ["pip install 'flower-mcp[chart]'"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_says_what_to_do_next(error: FlowerError, words: list[str]) -> None:
    assert [word for word in words if word not in str(error)] == []
    assert error.what


def test_what_a_program_needs_of_an_error_are_fields() -> None:
    busy, conflict = Busy("work", "pid 7"), Conflict("work", "old", "new")
    assert (busy.step, busy.holder) == ("work", "pid 7")
    assert (conflict.step, conflict.expected, conflict.current) == ("work", "old", "new")


def test_a_value_that_cannot_be_used_is_a_value_error_too() -> None:
    assert isinstance(Usage("bad"), ValueError)

"""Drawing: events and rows to lines. The handoff's lines are those of the seed's sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.cli.account import account_lines, masked_token
from flower_mcp.cli.phrases import cost_text, home_path
from flower_mcp.cli.show import End, Facts, Log, last_lines
from flower_mcp.cli.show_edits import EditFacts
from flower_mcp.cli.words import Language, Words
from flower_mcp.core.books import Generation, State, StepResult
from flower_mcp.core.events import Event
from flower_mcp.core.policy import HandoffPolicy

ENGLISH, CHINESE = Words(), Words(Language.CHINESE)
SECTIONS = {"doing": "Porting.", "decided": "A,\nbecause B.", "deadends": "", "next": "Run x.", "scene": "file.py"}
HANDOFF = [
    Event("handoff", "", {"phase": "near", "context": 130_000, "window": 200_000, "left": 20_000}),
    Event("handoff", "", {"phase": "writing", "context": 152_000, "window": 200_000}),
    Event("handoff", "", {
        "phase": "done", "context": 154_000, "window": 200_000, "sections": SECTIONS, "path": "/p/交接-work.md",
        "degraded": False, "cost_usd": 0.42,
    }),
    Event("edit", "", {"phase": "open", "seconds": 5.0}),
    Event("edit", "", {"phase": "seen", "sections": ("next",)}),
    Event("edit", "", {"phase": "held", "since": "not a time", "by": "ann@home"}),
    Event("edit", "", {"phase": "released", "as_is": False}),
    Event("edit", "", {"phase": "closed"}),
    Event("session", "", {"phase": "retired"}),
    Event("session", "work: session 2 launched", {"phase": "launched"}),
]  # fmt: skip


def begun(words: Words = ENGLISH, facts: Facts | None = None, **payload: Any) -> tuple[Log, list[str]]:
    """A log whose run has begun, and the lines for that."""
    log = Log(words, facts or Facts("work"))
    values = {
        "phase": "started",
        "window": 200_000,
        "window_source": "reported",
        "handoff_at": 150_000,
        "model": "m",
        **payload,
    }
    return log, log.lines(Event("session", "", values), 1)


def test_the_lines_of_a_handoff_in_english() -> None:
    log, _ = begun()

    assert [line for event in HANDOFF for line in log.lines(event, 1)] == [
        "",
        "# context 130.0K/200K · about 20K to the handoff",
        "",
        "# context 152.0K/200K —— writing the handoff",
        "  - doing      Porting.",
        "  - decided    A, because B.",
        "  - next       Run x.",
        "<- handoff written to /p/交接-work.md · $0.42 so far",
        "<- edit it now if you like, 5 s",
        "<- edited by a person: next",
        "<- held since not a time by ann@home; to go on: flower release",
        "<- released",
        "<- a new session takes over, the context starts again from 152.0K",
    ]


def test_the_lines_of_a_handoff_in_the_seeds_chinese() -> None:
    log, _ = begun(CHINESE)

    lines = [line for event in HANDOFF for line in log.lines(event, 1)]

    assert lines[1] == "# 上下文 130.0K/200K · 还有约 20K 到换代"
    assert lines[3] == "# 上下文 152.0K/200K —— 写交接准备换代"
    assert lines[4:8] == [
        "  - 现在在做  Porting.",
        "  - 已定的事  A, because B.",
        "  - 下一步    Run x.",
        "<- 交接写在 /p/交接-work.md · 到现在 $0.42",
    ]
    assert lines[-1] == "<- 新会话接手,上下文从 152.0K 重新开始"


@pytest.mark.parametrize(
    ("written_by", "said"),
    [
        ("rewound", "<- too full to write, so it wrote from earlier: "),
        ("predecessor", "<- it could do nothing, so it hands on what it was given: "),
    ],
)
def test_a_document_that_is_not_its_sessions_own_says_so_and_why(written_by: str, said: str) -> None:
    why = "Prompt is too long; rewound by 1 request"
    done = {"phase": "done", "context": 1, "degraded": False, "written_by": written_by, "why": why, "sections": {}}
    log, _ = begun()
    assert log.lines(Event("handoff", "", done), 1)[0] == f"{said}{why}"


def test_a_degraded_document_says_so_and_an_unknown_cost_too() -> None:
    log, _ = begun()
    done = {"phase": "done", "context": 1, "degraded": True, "why": "it died", "path": None, "sections": {}}

    assert log.lines(Event("handoff", "", done), 1) == [
        "<- degraded, the session could not write it: it died",
        "<- handoff written to memory alone: there is no file · cost unknown so far",
    ]


def test_a_run_begins_with_four_lines() -> None:
    facts = Facts(
        "docs", "default", asks=False, budget=5.0, document=Path("/w/交接-docs.md"), go_on="flower --step docs"
    )

    _, lines = begun(facts=facts)

    assert lines == [
        "step docs: new",
        "model m, window 200K (reported by the CLI), hands off at 150.0K",
        "permission mode default: nobody is here to ask; "
        "what the settings do not allow is refused and listed at the end",
        "budget 5.00 USD; document /w/交接-docs.md; stop: Ctrl-C, go on: flower --step docs",
    ]


@pytest.mark.parametrize("asks", [True, False])
def test_a_mode_in_which_nothing_is_asked_promises_no_question(asks: bool) -> None:
    facts = Facts("docs", "dontAsk", asks=asks, budget=None, document=Path("/w/交接-docs.md"), go_on="flower")

    assert begun(facts=facts)[1][2] == (
        "permission mode dontAsk: nothing is asked; what the settings do not allow is refused and listed at the end"
    )


@pytest.mark.parametrize(
    ("payload", "facts", "expected"),
    [
        (
            {"phase": "open", "seconds": 5.0},
            EditFacts(keys=True),
            ["<- edit it now if you like, 5 s: h holds, e edits, Enter launches, q stops"],
        ),
        ({"phase": "open", "seconds": 0}, EditFacts(), ["<- edit it now if you like"]),
        ({"phase": "seen", "sections": []}, EditFacts(), ["<- edited by a person: outside the sections"]),
        (
            {"phase": "broken", "faults": [{"what": "it is gone", "line": None}, {"what": "a\nmark", "line": 3}]},
            EditFacts(release="flower release docs"),
            [
                "! the document is broken, so the next session waits:",
                "  it is gone",
                "  line 3: a mark",
                "  mend it, or launch it as it stands: flower release docs --as-is",
            ],
        ),
        ({"phase": "released", "as_is": True}, EditFacts(), ["<- launched as it stands"]),
        ({"phase": "late", "section": "next", "delivered": True}, EditFacts(),
         ["<- late edit of next: the session was told"]),
        ({"phase": "late", "section": "", "delivered": False}, EditFacts(),
         ["! late edit of outside the sections: the session has ended, nobody was told"]),
        ({"phase": "of a later version"}, EditFacts(), []),
    ],
)  # fmt: skip
def test_what_happens_to_a_document_is_drawn(payload: dict[str, Any], facts: EditFacts, expected: list[str]) -> None:
    log = Log(ENGLISH, Facts("work", edits=facts))

    assert log.lines(Event("edit", "", payload), 1) == expected


@pytest.mark.parametrize(
    ("payload", "facts", "expected"),
    [
        ({"handoff_at": 950_000, "window": 1_000_000}, {}, "hands off at 950.0K; earlier is cheaper: --at 200000"),
        ({"handoff_at": 300_000, "window": 350_000}, {}, "hands off at 300.0K"),
        ({"handoff_at": 150_000}, {"line": 300_000}, "; --at 300000 is not below the window, so it does not count"),
        ({"handoff_at": 950_000}, {"handoff": False}, "no handoff: the CLI compacts as it likes"),
        ({"window_source": "guessed"}, {}, "window 200K (guessed from the name), hands off at 150.0K"),
        ({"model": None, "handoff_at": 9}, {}, "Code's choice, window 200K (reported by the CLI), hands off at 0.0K"),
    ],
)  # fmt: skip
def test_the_second_line_tells_the_model_and_the_line(
    payload: dict[str, Any], facts: dict[str, Any], expected: str
) -> None:
    _, lines = begun(facts=Facts("work", **facts), **payload)

    assert lines[1].endswith(expected)


def test_a_remark_on_the_headroom_stands_in_the_second_line() -> None:
    lines = Log(ENGLISH, Facts("work")).lines(Event("session", "", {"phase": "started"}), 1, "use --headroom 50000")

    assert len(lines) == 4
    assert lines[1].endswith("; use --headroom 50000")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (
            {"phase": "resumed", "context": 152_000},
            "resumed, session 3, which reads 152.0K of context again; --new starts afresh",
        ),
        ({"phase": "resumed"}, "resumed, session 3; --new starts afresh"),
        ({"phase": "launched"}, "resumed, session 3 takes over from the document"),
    ],
)  # fmt: skip
def test_the_first_line_says_what_is_gone_on_with(payload: dict[str, Any], expected: str) -> None:
    lines = Log(ENGLISH, Facts("work")).lines(Event("session", "", payload), 3)

    assert lines[0] == f"step work: {expected}"


@pytest.mark.parametrize(
    ("mode", "asks", "expected"),
    [("bypassPermissions", True, "nothing is asked"), ("default", True, "you are asked"), ("plan", False, "nobody")],
)
def test_the_third_line_says_what_the_permission_mode_means_here(mode: str, asks: bool, expected: str) -> None:
    _, lines = begun(facts=Facts("work", mode, asks=asks))

    assert f"permission mode {mode}: {expected}" in lines[2]


def test_a_session_that_is_opened_again_does_not_begin_the_run_again() -> None:
    log, _ = begun()

    assert log.lines(Event("session", "work: session 1 resumed", {"phase": "resumed"}), 1) == [
        "  … work: session 1 resumed"
    ]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event("text", "two\nlines"), ["two\nlines"]),
        (Event("tool", f"Bash: {'x' * 300}", {}), ["  · Bash: " + "x" * 193 + "…"]),
        (Event("tool", "Read: a", {"by_agent": True}), ["    · Read: a"]),
        (
            Event("permission", "Bash: rm", {"tool": "Bash", "asked": False}),
            ["! Bash: rm: refused, nobody is here to allow it"],
        ),
        (Event("permission", "Bash: rm", {"tool": "Bash", "asked": True}), []),
        (
            Event("permission", "", {"tool": "AskUserQuestion"}),
            ["! a question was answered with: nobody is here, decide and note it"],
        ),
        (Event("retry", "again in 2 s"), ["  … again in 2 s"]),
        (Event("drain", "waiting for 1 agent"), ["  … waiting for 1 agent"]),
        (Event("error", "something"), ["! something"]),
        (Event("error", "at the end", {"final": True}), []),
        (Event("error", "no", {"failure": "credentials refused"}), []),
        (Event("context", "", {"context": 1_000, "window": 200_000}), []),
        (Event("result", "done"), []),
        (Event("something new", "x"), []),
    ],
)  # fmt: skip
def test_other_events_are_drawn_on_a_line_or_not_at_all(event: Event, expected: list[str]) -> None:
    log, _ = begun()

    assert log.lines(event, 1) == expected


def test_the_context_is_drawn_when_asked_for() -> None:
    event = Event("context", "", {"context": 41_000, "window": 200_000})

    assert Log(ENGLISH, Facts("work"), verbose=True).lines(event, 1) == ["  context 41.0K/200K"]


def test_an_estimated_context_has_a_sign_before_it_wherever_it_is_shown() -> None:
    log, _ = begun()
    figures = {"context": 131_000, "window": 200_000, "left": 19_000, "estimated": True}
    near = log.lines(Event("handoff", "", {"phase": "near", **figures}), 1)
    writing = log.lines(Event("handoff", "", {"phase": "writing", **figures}), 1)
    done = log.lines(Event("handoff", "", {"phase": "done", **figures}), 1)
    launched = log.lines(Event("session", "", {"phase": "launched"}), 2)
    assert "~131.0K/200K" in near[1]
    assert "~131.0K/200K" in writing[1]
    assert done
    assert "from ~131.0K" in launched[0]
    log.lines(Event("context", "", figures), 1)
    log.lines(Event("context", "", {**figures, "estimated": False}), 2)
    assert log.estimated == {1: True, 2: False}
    ends = last_lines(ENGLISH, ROW, End(Path("/r/m"), "flower", estimated=frozenset({1})))
    assert [line for line in ends if "session 1  context ~152.0K" in line]
    assert [line for line in ends if "session 2  context 42.0K" in line]
    resumed = {"phase": "resumed", "context": 60_000, "estimated": True}
    assert (
        "which reads ~60.0K of context again" in Log(ENGLISH, Facts("work")).lines(Event("session", "", resumed), 1)[0]
    )


ROW = StepResult(
    run="r",
    step="work",
    ok=True,
    state=State.DONE,
    generations=(
        Generation(1, "s1", context=152_000, cost_usd=0.3, frozen="aaa", launched="bbb", edited=True),
        Generation(2, "s2", context=42_000),
    ),
    cost_usd=0.42,
    num_turns=34,
    text="All done.",
    duration_s=3725.2,
)


def test_a_run_ends_with_what_it_did() -> None:
    end = End(Path("/r/manifest.json"), "flower", Path("/w/d.md"), ("Bash: rm",), ("12: sleep 1000",))

    assert last_lines(ENGLISH, ROW, end) == [
        "All done.",
        "",
        "done in 1h 2m 5s: 2 sessions, 34 turns, $0.42",
        "  session 1  context 152.0K, $0.30, s1",
        "    document  bbb, edited by a person",
        "  session 2  context 42.0K, cost unknown, s2",
        "  document  /w/d.md",
        "  refused   Bash: rm",
        "            to allow it: --permission-mode acceptEdits for edits, or a rule in Claude Code's settings",
        "  ended     process 12: sleep 1000",
        "  books     /r/manifest.json",
    ]


def test_one_is_one_and_a_sessions_line_fits_into_80_columns() -> None:
    session = Generation(12, "0a0a0a0a-1111-2222-3333-444444444444", 1_000_000, 12.345, frozen="0123456789ab")
    lines = last_lines(ENGLISH, replace(ROW, generations=(session,), num_turns=1), End(Path("/r/m"), "flower"))
    assert "done in 1h 2m 5s: 1 session, 1 turn, $0.42" in lines
    assert max(len(line) for line in lines) < 80
    assert "    document  0123456789ab" in lines


def test_a_text_that_was_drawn_last_is_not_drawn_again() -> None:
    assert last_lines(ENGLISH, ROW, End(Path("/r/m"), "flower", said="All done."))[0] == ""


def test_a_run_that_is_not_done_says_why_and_how_to_go_on() -> None:
    row = StepResult(run="r", step="work", state=State.STOPPED, error="Stopped as asked.", duration_s=0.2)

    lines = last_lines(ENGLISH, row, End(Path("/r/m"), "flower --step work"))

    assert lines[1].startswith("stopped after 0s")
    assert "  why       Stopped as asked." in lines
    assert lines[-1] == "  go on     flower --step work"


@pytest.mark.parametrize(
    ("cost", "text"), [(None, "cost unknown"), (0.0, "$0.00"), (0.0123, "$0.0123"), (12.345, "$12.35")]
)
def test_a_cost_is_told_as_exactly_as_it_matters(cost: float | None, text: str) -> None:
    assert cost_text(ENGLISH, cost) == text


def test_a_path_below_home_begins_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")

    assert home_path("/home/somebody/proj/x.md") == "~/proj/x.md"
    assert home_path("/home/somebody2/x.md") == "/home/somebody2/x.md"


def test_a_token_is_known_by_its_first_four_characters_alone() -> None:
    assert masked_token("sk-ant-api03-secret") == "sk-a****"
    assert masked_token("short") == "****"


def test_verbose_tells_endpoint_model_window_and_token() -> None:
    environ = {"ANTHROPIC_BASE_URL": "https://gate.example", "ANTHROPIC_AUTH_TOKEN": "abcdefghijklmnop"}

    lines = account_lines(ENGLISH, environ, "claude-haiku-4-5", HandoffPolicy())

    assert lines == [
        "endpoint  https://gate.example",
        "model     claude-haiku-4-5",
        "window    200K (guessed from the name; the CLI is asked at connect)",
        "token     abcd**** (ANTHROPIC_AUTH_TOKEN)",
    ]


def test_verbose_without_a_token_judges_nothing() -> None:
    lines = account_lines(ENGLISH, {"CLAUDE_CODE_USE_BEDROCK": "1"}, None, HandoffPolicy(window=300_000))

    assert lines[0] == "endpoint  Amazon Bedrock"
    assert lines[2] == "window    300K (set)"
    assert "may have a login" in lines[3]

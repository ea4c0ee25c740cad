"""Random bytes through the reader, and mutated streams through the four tables.

Seeded, so a failure comes back. FLOWER_SOAK=1 takes the full numbers; CI takes a part of them, from the same seed.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from flower_mcp.core.books import State, WrittenBy
from flower_mcp.core.decide import TABLE, Ending, Guard, IllegalMove, Move, decide
from flower_mcp.core.decode import decode, encode
from flower_mcp.core.failures import RULES, Action, Failure, Outcome, failure_of
from flower_mcp.core.faults import FaultKind
from flower_mcp.core.handoff import FIELDS, Handoff
from flower_mcp.core.markdown import canonical, from_markdown, to_markdown
from flower_mcp.core.review import Choice, Window, review
from flower_mcp.core.takeover import prompt_block
from flower_mcp.core.writing import ASKS, TurnEnd, Written, judge
from tests.core.nasty import PIECES

SOAK = bool(os.environ.get("FLOWER_SOAK"))
BYTES = 100_000 if SOAK else 6_000  # byte strings
STREAMS = 100_000 if SOAK else 5_000  # of each table
SEED = 20_261_130
CODECS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030", "latin-1")
LONGEST = 400  # steps of a stream; those that go on by chance alone


def byte_strings(number: int) -> Iterator[bytes]:
    """Noise, pieces of markdown in every encoding, and such pieces with bytes changed, dropped and doubled."""
    chance = random.Random(SEED)
    for _ in range(number):
        kind = chance.randrange(4)
        if kind == 0:
            yield chance.randbytes(chance.randrange(64))
            continue
        text = "\n".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 12)))
        data = bytearray(text.encode(chance.choice(CODECS), "replace"))
        for _ in range(chance.randrange(6) if kind > 1 else 0):
            at = chance.randrange(len(data) + 1)
            change = chance.randrange(3)
            if change == 0:
                data[at:at] = chance.randbytes(chance.randrange(1, 4))
            elif change == 1:
                del data[at : at + chance.randrange(1, 8)]
            else:
                data[at:at] = data[at // 2 : at]
        yield bytes(data)


@pytest.mark.timeout(1_200)
def test_random_bytes_are_read_and_what_was_read_is_written_and_read_alike() -> None:
    for data in byte_strings(BYTES):
        decoded = decode(data)
        if decoded.exact:
            assert encode(decoded.text, decoded) == data, data
        handoff = from_markdown(decoded.text, "work")
        assert set(handoff.missing()) <= {"doing", "next"}, data
        assert from_markdown(to_markdown(handoff), "work") == canonical(handoff), data


@pytest.mark.timeout(1_200)
def test_no_random_text_closes_the_fence_that_it_stands_in() -> None:
    for data in byte_strings(BYTES // 4):
        text = decode(data).text
        prompt = prompt_block(text, path="x.md", task=text)
        for tag in set(re.findall(r"^<(\w+-[0-9a-f]+)>$", prompt, re.M)):
            assert prompt.count(f"</{tag}>") == 1, data


# decide.py

ENDINGS, GUARDS = [*Ending], [*Guard]


def legal(state: State) -> list[tuple[Ending, Guard]]:
    return [(row.ending, row.guard) for row in TABLE.values() if row.state is state]


def shortest_ends() -> dict[State, int]:
    """How many moves away the nearest end is, of every state that can end at all."""
    distance = {state: 0 for state in State if state.ended}
    while True:
        nearer = {
            row.state: distance[row.next] + 1
            for row in TABLE.values()
            if row.next in distance and distance[row.next] + 1 < distance.get(row.state, math.inf)
        }
        if not nearer:
            return distance
        distance |= nearer


def test_a_mutated_stream_of_endings_raises_where_it_is_illegal_and_changes_nothing() -> None:
    chance, before = random.Random(SEED), dict(TABLE)
    distance, illegal, ended = shortest_ends(), 0, 0
    for _ in range(STREAMS):
        state = State.IDLE
        for _ in range(LONGEST):
            if state.ended:
                ended += 1
                break
            given = chance.choice(legal(state))
            if chance.random() < 0.3:  # mutated
                given = (chance.choice(ENDINGS), chance.choice(GUARDS))
            is_known = (state, *given) in TABLE or (state, given[0], Guard.ANY) in TABLE
            try:
                row = decide(state, *given)
            except IllegalMove:
                assert not is_known
                illegal += 1
                continue
            assert is_known
            assert (row.state, row.ending) == (state, given[0])
            state = row.next
            assert state in distance, f"{state} cannot end"
    assert before == TABLE
    assert illegal > STREAMS / 2
    assert ended > STREAMS * 0.9
    for state in State:
        if state.ended:
            for ending in ENDINGS:
                with pytest.raises(IllegalMove):
                    decide(state, ending)


def test_from_wherever_a_run_has_come_it_can_end_within_a_few_moves() -> None:
    distance = shortest_ends()
    running = {row.state for row in TABLE.values()}
    assert running <= set(distance)
    assert max(distance[state] for state in running) <= 2
    assert {row.move for row in TABLE.values() if row.next.ended} == {Move.FINISH, Move.FAIL, Move.STOP}


# failures.py

REASONS = (None, "", "completed", "prompt_too_long", "hook_stopped", "aborted_streaming", "budget_exhausted", "no such")
WORDS = (
    "", "Prompt is too long", "Credit balance is too low", "overloaded", "Connection error", "/login", "429", "\0",
    "extra usage is required", "must have non-empty content", "No conversation found", "is already in use", "墙" * 99,
)  # fmt: skip


def outcomes(number: int) -> Iterator[Outcome]:
    chance = random.Random(SEED + 1)
    for _ in range(number):
        yield Outcome(
            is_error=chance.random() < 0.7,
            terminal_reason=chance.choice(REASONS),
            status=chance.choice((None, 0, 200, 400, 401, 402, 403, 404, 413, 429, 500, 503, 529, 999, -1)),
            error=chance.choice((None, "rate_limit", "server_error", "unknown", "authentication_failed", "no such")),
            text=" ".join(chance.choices(WORDS, k=chance.randrange(3))),
            stop_reason=chance.choice((None, "end_turn", "max_tokens", "refusal", "no such")),
            exited=chance.random() < 0.2,
            exit_code=chance.choice((None, 0, 1, -9, 137)),
            stderr=chance.choice(WORDS),
            silent=chance.random() < 0.05,
        )


def test_every_outcome_has_one_kind_a_rule_and_an_end_to_its_retries() -> None:
    seen = set()
    for outcome in outcomes(STREAMS):
        kind = failure_of(outcome)
        assert failure_of(outcome) is kind, outcome
        rule = RULES[kind]
        seen.add(kind)
        assert outcome.words
        if not (outcome.is_error or outcome.exited or outcome.silent or outcome.terminal_reason or outcome.error):
            assert kind is Failure.NONE, outcome
        is_answered = outcome.is_error and not outcome.exited  # a process that has ended has words, and no status
        if outcome.status == 529 and is_answered and rule.action is Action.HAND_OFF:
            assert outcome.terminal_reason == "prompt_too_long", outcome  # overload is no overflow
        if rule.action is Action.STOP and kind not in (Failure.CREDENTIALS, Failure.REFUSED_START):
            assert rule.next, kind  # whoever is stopped is told what to do
    assert len(seen) > 15


# writing.py


def test_every_handoff_turn_is_judged_and_asking_ends() -> None:
    chance, texts = random.Random(SEED + 2), ("", " ", "a", "## Next\n\nb", "\0", "(空)")

    def handoff() -> Handoff | None:
        if chance.random() < 0.2:
            return None
        doing, decided, deadends, following, scene = (chance.choice(texts) for _ in FIELDS)
        return Handoff("", doing, decided, deadends, following, scene)

    for _ in range(STREAMS):
        asks, partial, ending = 1, None, None
        while ending is None or ending is Ending.INCOMPLETE:
            assert asks <= ASKS
            text, draft = handoff(), handoff()
            verdict = judge(Written(chance.choice([*TurnEnd]), text or partial, draft, asks))
            ending, partial, asks = verdict.ending, text, asks + 1
            if ending is Ending.WRITTEN:
                assert verdict.handoff is not None
                assert verdict.handoff.complete()
                assert verdict.written_by in (WrittenBy.SESSION, WrittenBy.DRAFT)
            elif ending is Ending.UNWRITTEN:
                assert verdict.why
                assert verdict.written_by is WrittenBy.CODE
            else:
                assert verdict.missing
            assert (State.WRITING, ending, Guard.ANY) in TABLE


# review.py


def test_every_stream_of_saves_holds_and_faults_closes_the_window() -> None:
    chance = random.Random(SEED + 3)
    for _ in range(STREAMS // 4):
        window = Window(100.0, chance.choice((0.0, 5.0, 60.0)), chance.choice((0.0, 10.0, 900.0)))
        now, answers = 100.0, []
        for _ in range(LONGEST):
            answer = review(now, window)
            answers.append((now, answer))
            if answer.choice is not Choice.KEEP_OPEN:
                break
            assert answer.until is not None
            assert answer.until > now
            now = min(answer.until, now + chance.uniform(0.1, 40.0))
            if window.held:
                if chance.random() < 0.4:  # somebody releases it
                    window = Window(
                        100.0, window.edit_window, window.edit_limit, window.saved_at, released_at=now,
                        fault=window.fault,
                    )  # fmt: skip
                continue
            is_held = window.released_at is None and chance.random() < 0.05
            window = Window(
                100.0, window.edit_window, window.edit_limit, now if chance.random() < 0.5 else window.saved_at,
                unsaved=chance.random() < 0.3, held=is_held, released_at=window.released_at,
                fault=chance.choice((None, None, *FaultKind)),
            )  # fmt: skip
        assert answers[-1][1].choice is not Choice.KEEP_OPEN
        assert all(earlier < later for (earlier, _), (later, _) in pairwise(answers))
        if answers[-1][1].choice is Choice.LAUNCH_FILE:
            assert window.fault is None

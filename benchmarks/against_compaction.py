"""What a long task costs with handoffs, with the CLI's own compaction, and in one window that never fills.

    python -m benchmarks.against_compaction

The same task (`survey.py`: pieces of real text that the real CLI reads from disk, five windows of them) is done

- with handoff, at its own line in a window of 200,000 tokens: 150,000;
- with auto-compact, the window set to 200,000 by CLAUDE_CODE_AUTO_COMPACT_WINDOW: its line is 167,000;
- in one window of 1,000,000 tokens.

Pieces have 4,000 tokens, so that the CLI puts the five files that were read last back behind its summary. What it does
with larger ones is name them. So handoff is held a second time against auto-compact with pieces of 7,000 tokens, and
with the same line for both (CLAUDE_AUTOCOMPACT_PCT_OVERRIDE): what then differs is the machinery alone.

All run under the same supervisor, with Sonnet 5, a model of 1,000,000 tokens of which all but the third use a part.
Input is counted from the bodies that the CLI sends, by kind, as a provider with a prompt cache bills it
(`flower_mcp/demo/cache.py`), output from what the script answers; the replies say so, and the CLI's own sum of dollars
is held against ours. Prices: `prices.py`. The document and the summary are equally long: 8,000 characters.

A scripted model shows what the machinery costs: requests, tokens, dollars, time beside the model's. It cannot show
whether a document or a summary keeps what matters, whether a model does work twice or reads files again afterwards, how
long a model writes at one or the other, or how well it works with 600,000 tokens in front of it.

Promises: a handoff is one request, like a compaction, and there are as many of one as of the other, give or take what
the lines differ: at most 1.1 x the requests. A successor starts with the document and no files: with no more than what
follows a compaction. So handoff must not be dearer, and at the same line and with no files put back only by 5 %, for
where exactly within a piece the line is crossed. One window promises nothing: it depends on how long the task is.

What can hurt: many small pieces of work make reading the cache dearer, few large ones writing it, so these figures are
of pieces of this size. And time is that of an instant model on a machine with other things to do.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from statistics import median

import anyio

from benchmarks.first_request import TAKING_OVER, Start, start_of
from benchmarks.measure import Line, Size, check, run
from benchmarks.metered import Meter, Paid
from benchmarks.prices import SONNET_5
from benchmarks.survey import CONTINUED, Survey, is_compaction, is_handoff
from flower_mcp import AgentSpec, HandoffPolicy, Runtime, StepResult
from flower_mcp.core.books import WrittenBy
from flower_mcp.demo.model import Request, ScriptedModel
from flower_mcp.demo.world import DemoWorld, prepare

LIMIT = 300.0  # seconds for one way; a machine that needs longer measures nothing
SAME = 0.01  # part of a sum of dollars that rounding may take
BOUNDARY = '"subtype":"compact_boundary"'


class Way(StrEnum):
    """How a task goes on when a window is nearly full."""

    HANDOFF = "handoff"
    COMPACT = "auto-compact"
    SAME_LINE = "auto-compact at the same line"
    ONE = "one window"


@dataclass(frozen=True, slots=True)
class Task:
    """How much is done: pieces of `characters` each; windows in tokens; `percent` of a compaction at the same line."""

    count: int
    characters: int
    window: int
    compact_window: int
    percent: float
    changes: int


# Five windows of work. The CLI takes 20,000 off a window and the percentage of the rest: 83.3 % of 180,000.
# A window below 100,000 counts as 100,000 to it.
FULL = Task(count=150, characters=16_000, window=200_000, compact_window=200_000, percent=83.3, changes=4)
LARGE = replace(FULL, count=88, characters=28_000)
SMALL = Task(count=28, characters=6_000, window=60_000, compact_window=100_000, percent=83.3, changes=1)


@dataclass(frozen=True, slots=True)
class Ran:
    """What one way took: what was paid, the seconds and USD that the CLI told, and for each time that it went on in an
    emptier window, what that starts with and the tokens that had been reached.
    """

    way: Way
    paid: list[Paid]
    seconds: float
    told: float | None
    starts: list[Start]
    lines: list[int]

    @property
    def dollars(self) -> float:
        """USD of all requests."""
        return sum(SONNET_5.of(each.usage, each.output) for each in self.paid)

    @property
    def fresh(self) -> int:
        """Input tokens that the cache had no part in."""
        return sum(each.usage.input for each in self.paid)

    @property
    def written(self) -> int:
        """Input tokens written to the cache."""
        return sum(each.usage.cache_creation for each in self.paid)

    @property
    def read(self) -> int:
        """Input tokens read from the cache."""
        return sum(each.usage.cache_read for each in self.paid)

    @property
    def output(self) -> int:
        """Output tokens."""
        return sum(each.output for each in self.paid)

    @property
    def requests_told(self) -> str:
        """Requests, how often it went on in an emptier window, and when, as text."""
        more = f" ({len(self.lines)} x {self.way} at about {thousands(int(median(self.lines)))})" if self.lines else ""
        return f"{len(self.paid)}{more}"

    @property
    def start(self) -> Start:
        """What the last of them starts with: the first one may find less in the cache, not less to carry."""
        return self.starts[-1]


async def work(world: DemoWorld, way: Way, task: Task) -> StepResult:
    """Do the task one way."""
    environment = dict(world.environment)
    if way in (Way.COMPACT, Way.SAME_LINE):
        environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(task.compact_window)
    if way is Way.SAME_LINE:
        environment["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] = str(task.percent)
    handoff = HandoffPolicy(window=task.window, edit_window=0) if way is Way.HANDOFF else False
    spec = AgentSpec(model=world.model, permission_mode="bypassPermissions", env=environment)
    with anyio.fail_after(LIMIT):
        async with Runtime(workspace=world.workspace, run_dir=world.run_dir, handoff=handoff) as runtime:
            return await runtime.run(spec, "Look at every piece in this folder, in order.")


def ran(way: Way, task: Task) -> Ran:
    """Do the task one way in a world of its own, and see that all was done and handed on."""
    with (
        tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True) as folder,
        ScriptedModel("").in_thread() as model,
    ):
        world = replace(prepare(Path(folder), model.url), model=SONNET_5.model)
        os.environ.update(world.environment)
        survey = Survey(world.workspace, task.count, task.characters)
        survey.write()
        model.script = meter = Meter(survey)
        began = time.perf_counter()
        result = anyio.run(work, world, way, task)
        seconds = time.perf_counter() - began
        check(result.ok and model.errors == [], f"the step did not go well: {result}, {model.errors}")
        survey.check(model.requests)
        starts = began_again(way, result, survey, model.requests, world)
    check(way is Way.ONE or len(starts) >= task.changes, f"{way}: went on only {len(starts)} times")
    asked = [each for each in meter.paid if is_handoff(each.request) or is_compaction(each.request)]
    return Ran(way, meter.paid, seconds, result.cost_usd, starts, [each.usage.context for each in asked])


def began_again(way: Way, result: StepResult, survey: Survey, requests: list[Request], world: DemoWorld) -> list[Start]:
    """The first requests after each handoff or compaction, and nothing of the other."""
    handoffs, compactions = (sum(map(asked, requests)) for asked in (is_handoff, is_compaction))
    boundaries = sum(path.read_text("utf-8").count(BOUNDARY) for path in transcripts(world))
    retired = len(result.generations) - 1
    expected = {Way.HANDOFF: (retired, 0, 0), Way.ONE: (0, 0, 0)}.get(way, (0, boundaries, compactions))
    check((handoffs, compactions, boundaries) == expected, f"{way}: {handoffs=}, {compactions=}, {boundaries=}")
    check(way is Way.HANDOFF or retired == 0, f"{way}: {retired} sessions were retired")
    check(len(survey.handed_on) == handoffs + compactions, "something was asked for and not handed on")
    if way is Way.HANDOFF:
        written = [each.written_by for each in result.generations[:-1]]
        check(written == [WrittenBy.SESSION] * handoffs, f"the documents were written by {written}")
    firsts = [
        first_with(words, requests, TAKING_OVER if way is Way.HANDOFF else CONTINUED) for words in survey.handed_on
    ]
    return [start_of(first) for first in firsts]


def first_with(words: str, requests: list[Request], opening: str) -> Request:
    """The first request that delivers these words to whoever goes on."""
    parts = [part.strip() for part in words.split("##") if part]
    texts = [(each, each.all_text()) for each in requests]
    found = [each for each, sent in texts if opening in sent and all(body_of(part) in sent for part in parts)]
    check(found, "what was handed on was not delivered")
    return found[0]


def body_of(section: str) -> str:
    """A section without its heading, which a document has in two languages."""
    return section.partition("\n")[2].strip()


def transcripts(world: DemoWorld) -> list[Path]:
    """All sessions' files."""
    return list(Path(world.environment["CLAUDE_CONFIG_DIR"]).rglob("*.jsonl"))


def measure(size: Size) -> Iterator[Line]:
    """All ways, one after the other."""
    task = FULL if size is Size.FULL else SMALL
    ran(Way.ONE, replace(task, count=2))  # fills caches, and is not counted
    yield from lines({way: ran(way, task) for way in (Way.HANDOFF, Way.COMPACT, Way.ONE)})
    if size is Size.FULL:
        large = {way: ran(way, LARGE) for way in (Way.HANDOFF, Way.SAME_LINE)}
        yield dollars_beside(large, Way.SAME_LINE, ", no file put back", most=1.05)


def lines(by_way: dict[Way, Ran]) -> Iterator[Line]:
    """Handoff beside the other ways."""
    handoff, compact, one = by_way[Way.HANDOFF], by_way[Way.COMPACT], by_way[Way.ONE]

    def beside(
        name: str, figure: Callable[[Ran], float], words: Callable[[Ran], str], most: float | None = None
    ) -> Line:
        shown = f"{words(handoff)} beside {words(compact)}, one window {words(one)}"
        return Line(f"{name} beside {Way.COMPACT}", figure(handoff) / figure(compact), most=most, shown=shown)

    dollars = dollars_beside(by_way, Way.COMPACT, most=1)
    yield replace(dollars, shown=f"{dollars.shown} ({SONNET_5.told})")
    yield dollars_beside(by_way, Way.ONE)
    yield beside("requests", lambda each: len(each.paid), lambda each: each.requests_told, most=1.1)
    yield beside("tokens read from the cache", lambda each: each.read, lambda each: thousands(each.read))
    yield beside(
        "tokens written to the cache or fresh",
        lambda each: each.written + each.fresh,
        lambda each: f"{thousands(each.written)} + {thousands(each.fresh)}",
    )
    yield beside("output tokens", lambda each: each.output, lambda each: f"{each.output:,}")
    yield beside("wall time, instant model,", lambda each: each.seconds, lambda each: f"{each.seconds:.1f} s")
    shown = f"{handoff.start.told} beside {compact.start.told} tokens"
    ratio = handoff.start.total / compact.start.total
    yield Line(f"what the next session starts with beside {Way.COMPACT}", ratio, most=1, shown=shown)


def dollars_beside(by_way: dict[Way, Ran], way: Way, more: str = "", most: float | None = None) -> Line:
    """Dollars of handoff beside another way's; the CLI's own sums must be the same."""
    handoff, other = by_way[Way.HANDOFF], by_way[way]
    for each in (handoff, other):
        check(each.told is not None and abs(each.told / each.dollars - 1) < SAME, f"{each.told=}, {each.dollars=}")
    shown = f"${handoff.dollars:.2f} beside ${other.dollars:.2f}"
    return Line(f"dollars beside {way}{more}", handoff.dollars / other.dollars, most=most, shown=shown)


def thousands(tokens: int) -> str:
    """Tokens in thousands."""
    return f"{tokens / 1000:,.0f}K"


if __name__ == "__main__":
    run("Handoff beside auto-compact", measure)

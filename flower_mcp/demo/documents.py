"""The two handoff documents of the demo's story, as its sessions write them.

Also the first examples of a handoff that most people read. What they claim is true when they are written: the script
gives each only after the tools have printed what it reports (see story.py).
"""

from __future__ import annotations

DEAD_END = "FAIL  a line break inside quotes: 3 rows instead of 2"
"""What the check really prints after the first approach. The dead end is known by it from generation to generation."""

TRACE = "OUTSIDE_QUOTES"
"""The name that the first approach brings into the code; none of it may be left."""

FIRST_SUBJECT = "Read quoted cells with the csv module"
SECOND_SUBJECT = "Draw wide characters and line breaks in their columns"

FIRST = f"""## 现在在做 · Doing now

The task has two halves: reading quoted cells (`columns/read.py`) and drawing them (`columns/draw.py`). I worked on \
reading. One approach was tried, did not work and was taken back with git, so no file is changed and \
`python3 check.py` stands where it began: "1 of 6 checks pass". Drawing is not begun.

## 已定的事 · Decided

- Reading first, drawing second (mine): three of the five failing checks need `rows()` alone, and a table of wrong \
cells says nothing about the drawing.
- Cells are to be read with `csv` of the standard library (mine). It reads all that the task names, and the user wants \
"nothing that has to be installed".
- `check.py` and `data/` stay as they are (the user: "Do not change check.py or anything in data/").
- Each half gets its own commit once its checks pass (mine), so that one half cannot be lost with the other.

## 走不通的 · Dead ends

- Splitting each line at the commas outside quotes, with a regular expression (`{TRACE}` in `columns/read.py`). Commas \
and doubled quotes came out right, 3 of 6 checks passed, but:
  `{DEAD_END}`
  No pattern can mend that: `text.splitlines()` has cut the cell in two before the pattern sees it. One would first \
have to put the lines together again by counting quotes, and that is a CSV reader written by hand; `csv` is one.

## 下一步 · Next

1. In `columns/read.py` let `rows()` return `list(csv.reader(io.StringIO(text, newline="")))`. Give it the whole text, \
not `text.splitlines()`.
2. Run `python3 check.py`. If it prints "4 of 6 checks pass", commit `columns/read.py`. If "a line break inside \
quotes" still fails, something splits the text before `csv` gets it: see that nothing but `csv` looks for line ends.
3. Then `columns/draw.py`: `table()` measures cells with `len()`, which is too narrow for Chinese, and writes line \
breaks as they are.

Finished when `python3 check.py` prints "6 of 6 checks pass" and both halves are committed.

## 现场 · Scene

- `columns/read.py`: `rows(text)`. `columns/draw.py`: `table(rows)`. `columns/__main__.py`: the command line.
- `check.py`: the six checks; exits 1 while one fails.
- `data/plants.csv`: a list with every difficulty in it; `python3 -m columns data/plants.csv` shows it.
"""

SECOND = f"""## 现在在做 · Doing now

Reading is done and committed: `rows()` in `columns/read.py` uses `csv`, and `python3 check.py` prints \
"4 of 6 checks pass". Drawing is half done: `columns/draw.py` has a new function `width(text)`, which counts two \
columns for a wide character, but `table()` does not use it yet. Nothing was run since that edit, and it is not \
committed.

## 已定的事 · Decided

- Cells are read with `csv` of the standard library (the first session's decision): it reads all that the task names, \
and the user wants "nothing that has to be installed".
- `csv.reader` gets the whole text through `io.StringIO(text, newline="")` (mine): a list of lines would lose the line \
breaks inside cells, and newline="" is what the documentation of `csv` asks for.
- Widths come from `unicodedata.east_asian_width` (mine): standard library, and W and F are exactly the characters \
that take two columns.
- `check.py` and `data/` stay as they are (the user: "Do not change check.py or anything in data/").
- Each half gets its own commit. The one for reading is made; do not make it again.

## 走不通的 · Dead ends

- From the first session: splitting each line at the commas outside quotes, with a regular expression (`{TRACE}`). \
3 of 6 checks passed, but:
  `{DEAD_END}`
  No pattern can mend that: the line break inside the cell has cut it in two before the pattern sees it. It holds for \
anything that goes through the text line by line.

## 下一步 · Next

1. In `table()` of `columns/draw.py`: replace line breaks in every cell by " / " first, then use `width()` in both \
places where `len()` measures a cell.
2. Run `python3 check.py`. If "chinese names line up" still fails, a `len()` is left; if "a row stays on one line" \
fails, the cells were replaced after they had been measured.
3. Look at `python3 -m columns data/plants.csv` with your own eyes, then commit `columns/draw.py`.

Finished when `python3 check.py` prints "6 of 6 checks pass" and `git status` is clean.

## 现场 · Scene

- `columns/draw.py`: `width(text)` is new, `table(rows)` is to be changed. `columns/read.py`: done.
- `check.py`: the six checks; exits 1 while one fails.
- `data/plants.csv`: a list with every difficulty in it.
"""

"""windows.json: its shape, whoever writes at once, what is broken, and no secret in it."""

from __future__ import annotations

import json
import multiprocessing
import stat
import time
from pathlib import Path

import pytest

from flower_mcp.core.books import iso
from flower_mcp.core.errors import FilesError
from flower_mcp.core.windows import Learned
from flower_mcp.workbench.learned import LearnedWindows
from flower_mcp.workbench.locks import is_held

KEY = "https://api.example.com claude-opus-5-5"
OTHER = "https://other.example.com claude-opus-5-5"
SAID = "prompt is too long: 61050 tokens > 60000 maximum"


def learned(window: int = 60_000, *, age: float = 0.0, said: str = SAID) -> Learned:
    """A window that was learned so many seconds ago."""
    return Learned(window, iso(time.time() - age), said)


def test_the_file_has_exactly_the_shape_of_the_design(tmp_path: Path) -> None:
    store, one = LearnedWindows(tmp_path / "state"), learned()

    assert store.read().entries == {}
    assert not (tmp_path / "state").exists()
    assert store.learn(KEY, one) == (one, ())
    assert json.loads(store.path.read_text()) == {KEY: {"window": 60_000, "at": one.at, "from": SAID}}
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert store.find(KEY) == (one, ())


def test_an_endpoint_keeps_its_own_window_and_the_smallest_wins(tmp_path: Path) -> None:
    store, small, large = LearnedWindows(tmp_path), learned(60_000), learned(128_000)
    store.learn(KEY, small)
    store.learn(OTHER, large)

    assert store.learn(KEY, large)[0] == small
    assert store.learn(OTHER, small)[0] == small
    store.forget(OTHER)
    assert store.read().entries == {KEY: small}


def test_what_is_older_than_thirty_days_does_not_count_and_goes_with_the_next_change(tmp_path: Path) -> None:
    store, old = LearnedWindows(tmp_path), learned(30_000, age=31 * 86_400)
    store.path.write_text(json.dumps({KEY: {"window": old.window, "at": old.at, "from": old.said}}))

    assert store.find(KEY) == (None, ())
    assert store.learn(KEY, one := learned())[0] == one
    assert store.read().entries == {KEY: one}


def test_only_a_window_below_an_accepted_context_is_forgotten(tmp_path: Path) -> None:
    store = LearnedWindows(tmp_path)
    store.learn(KEY, learned(60_000))

    store.forget(KEY, below=60_000)
    assert KEY in store.read().entries
    store.forget(KEY, below=60_001)
    assert store.read().entries == {}


def test_forgetting_answers_what_was_removed(tmp_path: Path) -> None:
    store, one = LearnedWindows(tmp_path), learned()
    store.learn(KEY, one)
    store.learn(OTHER, one)

    assert store.forget_all(lambda key: key == OTHER).entries == {OTHER: one}
    assert store.forget_all(lambda key: True).entries == {KEY: one}
    assert store.forget_all(lambda key: True).entries == {}
    assert json.loads(store.path.read_text()) == {}


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "null", '"x"', f'{{"{KEY}": 60000}}', f'{{"{KEY}": {{"window": "60000", "at": "a", "from": ""}}}}',
     f'{{"{KEY}": {{"window": 0, "at": "a", "from": ""}}}}', f'{{"{KEY}": {{"window": true, "at": "a", "from": ""}}}}',
     "[" * 100_000, "\ud800"],
    ids=range(11),
)  # fmt: skip
def test_a_broken_file_is_set_aside_and_said(text: str, tmp_path: Path) -> None:
    store = LearnedWindows(tmp_path)
    store.path.write_bytes(content := text.encode("utf-8", "surrogatepass"))

    kept = store.read()
    aside = next(tmp_path.glob("windows.json.broken-*"))
    assert aside.read_bytes() == content
    assert [aside.name in note and "could not be read" in note for note in kept.notes] == [True]
    assert store.read().notes == ()
    store.path.write_bytes(content)
    assert [note.startswith(str(store.path)) for note in store.learn(KEY, learned())[1]] == [True]
    assert KEY in store.read().entries


def test_no_secret_gets_into_the_file(tmp_path: Path) -> None:
    store, secret = LearnedWindows(tmp_path), "sk-ant-api03-Zx81kQpLm29vRtYw77bN"
    key = f"https://user:hunter2-9x@api.example.com/{secret} a-model"
    store.learn(key, learned(said=f"{SAID} for key {secret}"))

    text = store.path.read_text()
    assert secret not in text
    assert "hunter2-9x" not in text
    found = store.find(key)[0]
    assert found is not None
    store.forget(key)
    assert store.find(key)[0] is None


def test_a_folder_in_its_place_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "windows.json").mkdir()

    with pytest.raises(FilesError, match=r"windows\.json is not a file"):
        LearnedWindows(tmp_path).read()


def _learn(folder: Path, name: str) -> None:
    for number in range(15):
        LearnedWindows(folder).learn(f"https://{name}.example.com model-{number}", learned(60_000 + number))


def test_processes_that_learn_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_learn, args=(tmp_path, f"p{number}")) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(LearnedWindows(tmp_path).read().entries) == 45
    assert not is_held(tmp_path / "windows.json.lock")

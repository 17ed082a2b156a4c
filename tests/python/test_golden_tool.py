"""`tools/golden` in a small tree with a stand-in for the simulator, and the versions of the model that follow from it:
which records of publications stay when a run is added, and which do not when a result changes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from school import model

ROOT = Path(__file__).resolve().parents[2]
#: Its cycles are those of the file `cycles`, or of its option.
CHIP = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
out = pathlib.Path(words[words.index("--out") + 1]); out.mkdir()
cycles = int(pathlib.Path({cycles!r}).read_text()) + len(words)
(out / "stats.json").write_text(json.dumps({{"roi": {{"chip.cycles": cycles}}}}))
"""
RUN = '[[run]]\nname = "{name}"\noptions = [{options}]\narguments = ["paths", "1"]\n'


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.golden = root / "tests/golden"
        for part in ("tools/golden", "tests/golden/golden.py", "bench/school/__init__.py", "bench/school/model.py"):
            (root / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, root / part)
        chip = root / "build/release/bin/rubato-chip"
        chip.parent.mkdir(parents=True)
        chip.write_text(CHIP.format(python=sys.executable, cycles=str(root / "cycles")))
        chip.chmod(0o755)
        (self.golden / "programs").mkdir()
        (self.golden / "programs/kernels.xz").write_bytes(lzma.compress(b"no program"))
        (self.golden / "HISTORY.md").write_text("# Changes\n\n- The first runs.\n")
        self.take(100)
        self.list("plain")
        assert self("--update", "The first runs ever")[0] == 0

    def take(self, cycles: int) -> None:
        (self.root / "cycles").write_text(str(cycles))

    def list(self, *names: str) -> None:
        runs = (RUN.format(name=name, options='"--warm"' if name != "plain" else "") for name in names)
        (self.golden / "runs.toml").write_text("\n".join(runs))

    def __call__(self, *words: str) -> tuple[int, str, str]:
        done = subprocess.run([sys.executable, self.root / "tools/golden", *words], capture_output=True, text=True,
                              check=False)  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    @property
    def versions(self) -> tuple[str, ...]:
        return model.versions(self.root)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_an_added_run_gives_the_same_model_another_name(tree: Tree):
    (first,) = tree.versions
    tree.list("plain", "warm")
    code, out, _ = tree("--add", "Warm caches were not covered")
    assert code == 0 and out == "warm: new\n1 added\n"
    assert "- Warm caches were not covered\n- The first runs ever" in (tree.golden / "HISTORY.md").read_text()
    assert len(tree.versions) == 2 and tree.versions[1] == first
    tree.list("plain", "warm", "warmer", "warmest")
    assert tree("--add", "Two more that are warm")[0] == 0
    assert len(set(tree.versions)) == 3 and tree.versions[2] == first
    assert tree()[1] == "4 as committed, 0 different\n"


def test_a_changed_result_is_another_model_whatever_was_added(tree: Tree):
    tree.list("plain", "warm")
    assert tree("--add", "Warm caches were not covered")[0] == 0
    before = tree.versions
    expected = tree.golden / "expected/warm.txt"
    expected.write_text(expected.read_text().replace("chip.cycles 1", "chip.cycles 2"))
    assert len(tree.versions) == 1 and not set(tree.versions) & set(before), "of the added run, too"
    tree.take(200)
    assert tree("--update", "The model is another one")[0] == 0
    (second,) = tree.versions
    tree.list("plain", "warm", "later")
    assert tree("--add", "Warm caches once more")[0] == 0
    assert tree.versions[1:] == (second,), "earlier additions are of an earlier model"
    assert len(model.noted(tree.root)) == 1


def test_a_run_is_added_only_while_all_others_are_as_committed(tree: Tree):
    before = tree.versions
    tree.list("plain", "warm")
    tree.take(200)
    code, out, err = tree("--add", "Warm caches were not covered")
    assert code == 1 and "plain: differs" in out
    assert err == "tools/golden: nothing was added, since runs that are there differ\n"
    assert tree.versions == before and not (tree.golden / "expected/warm.txt").exists()


def test_a_call_that_cannot_add_says_why(tree: Tree):
    code, _, err = tree("--add", "There is no new run")
    assert (code, err) == (2, "tools/golden: nothing to add, since every run of runs.toml has its statistics\n")
    code, _, err = tree("--add", "Only some of them", "plain")
    assert code == 2 and "--add compares all runs: leave their names out" in err
    code, _, err = tree("--add", "why")
    assert code == 2 and "--add needs a reason that a reader understands" in err


def test_the_notes_of_this_tree_name_runs_that_are_there():
    there = {file.stem for file in (ROOT / model.EXPECTED).glob("*.txt")}
    assert all(set(addition.runs) <= there for addition in model.noted(ROOT))

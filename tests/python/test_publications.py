"""`bench/publications` on made-up studies, with a stand-in for the simulator: points, records, verdicts, documents."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import targets
from harness.targets import Target
from helpers import heed_interrupts
from rubato import report
from rubato.errors import UsageError
from rubato.results import publication
from rubato.results.intervals import Interval
from rubato.results.publication import Curve, Figure, Mark, Publication, Record, Row
from school import documents, study
from school.conclusions import conclude
from school.estimates import Estimates
from school.points import Measured, Simulated
from school.samples import Samples
from school.verdicts import Bar, verdict

ROOT = Path(__file__).resolve().parents[2]

#: A simulator whose cycles are a function of cores and seed. Programs that are named so fail, hang or fail their check.
CHIP = """#!{python}
import json, pathlib, sys, time
words = sys.argv[1:]
out = pathlib.Path(words[words.index("--out") + 1]); out.mkdir()
keys = dict(w.split("=") for before, w in zip(words, words[1:]) if before == "--set")
program = pathlib.Path(words[-1]).name
if program == "hangs":
    pathlib.Path({folder!r}, "hanging").touch()
    while not pathlib.Path({folder!r}, "released").exists():
        time.sleep(0.01)
if program == "fails":
    sys.exit("no such thing")
cores, seed = int(keys["chip.cores"]), int(keys["chip.seed"])
cycles = 6400 // cores + seed
summary = {{"program": program, "cores": cores, "seed": seed, "cycles": cycles, "seconds": cycles / 2e9,
           "check": "failed" if program == "wrong" else "passed"}}
(out / "summary.json").write_text(json.dumps(summary))
(out / "run.toml").write_text('arguments = []\\n[config.chip]\\ncores = %d\\n' % cores)
noise = pathlib.Path({folder!r}, "noise")
(out / "stats.json").write_text(json.dumps({{"cycles": cycles, "noise": noise.exists()}}))
"""

STUDY = """
from rubato.results.publication import Mark
from school.points import Measured, Simulated
from school.study import Curve, Figure, Row, Study
from school.verdicts import Bar

def point(program, cores, size):
    return Simulated(name=f"{{program}} {{cores}}", program=program, settings=(("chip.cores", str(cores)),), size=size)

def figures(size):
    points = {{c: point("{program}", c, size) for c in (1, 4, 16)}}
    curve = Curve("ours", tuple(points.values()),
                  lambda found: [Mark(x=c, y=found.ratio(points[1], p).mean) for c, p in points.items()])
    row = Row("speed-up", (points[1], points[16]), lambda found: found.ratio(points[1], points[16]), Bar(least=10),
              counts_at=("quick", "sampled", "full"))
    turns = [Measured(f"peer {{n}}", "peers", ("{python}", "-c", "print('{{{{\\"seconds\\": %d}}}}')" % n), size=size)
             for n in (2, 4)]
    peers = Row("peers", tuple(turns), lambda found: found.ratio(turns[1], turns[0], "seconds"), Bar(most=1.5), "Slow.",
                counts_at=("quick", "sampled", "full"))
    return [Figure("1", "Speed-up", "lines", "cores", "speed-up", (curve,), (row,)),
            Figure("2", "Peers", rows=(peers,)), Figure("3", "Power", reason="There is no meter.")]

STUDY = Study(name="made", title="Made up", source="Nowhere", figures=figures, seeds=dict(quick=2, sampled=1, full=1),
              measures=lambda run: {{"cycles": float(run.summary.cycles)}},
              optional={{"-rare": "`make rare` builds it"}})
"""
PUBLISHED = [
    {"key": "speed-up", "figure": "1", "section": "II", "what": "16 cores over one", "value": 16, "unit": "x",
     "curve": "ours", "x": 16},
    {"key": "peers", "figure": "2", "section": "II", "what": "peer 4 over peer 2", "value": 1.2, "unit": "x"},
    {"key": "power", "figure": "3", "section": "II", "what": "power", "value": 3, "unit": "W"},
]  # fmt: skip


class Bench:
    """A folder with a study, a simulator and a program; the command is run in processes of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("build/bin", "build/guest", "studies/made", "docs"):
            (folder / name).mkdir(parents=True)
        chip = folder / "build/bin/rubato-chip"
        chip.write_text(CHIP.format(python=sys.executable, folder=str(folder)))
        chip.chmod(0o755)
        self.study("plain")

    def study(self, program: str, published: list[dict[str, object]] = PUBLISHED) -> None:
        (self.folder / "build/guest" / program).write_text(program)
        (self.folder / "studies/made/study.py").write_text(STUDY.format(program=program, python=sys.executable))
        (self.folder / "studies/made/published.json").write_text(json.dumps(published))

    def start(self, *words: object) -> subprocess.Popen[str]:
        command = [ROOT / "bench/publications", "--studies", self.folder / "studies", "--docs", self.folder / "docs",
                   "--jobs", "2", *words]  # fmt: skip
        environment = os.environ | {"RUBATO_BUILD": str(self.folder / "build"), "COLUMNS": "120"}
        return subprocess.Popen([sys.executable, *map(str, command)], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=heed_interrupts)  # fmt: skip

    def __call__(self, *words: object) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate()
        return process.returncode, out, err

    @property
    def records(self) -> Publication:
        return publication.load(self.folder / "docs/publications/made.json")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# ---- points and records ----


def test_a_point_is_run_once_a_seed_and_the_next_call_runs_nothing(bench: Bench):
    code, out, err = bench("made", "--only", "simulated", "--json")
    assert code == 0 and "6 points to run" in err, err
    answer = json.loads(out)
    row = answer[0]["figures"][0]["rows"][0]
    # Cycles of 6401 and 6402 over 401 and 402: the means of two seeds.
    assert row["ours"] == pytest.approx(6401.5 / 401.5) and row["samples"] == 2 and row["verdict"] == "reproduced"
    records = bench.records.records
    assert len(records) == 6 and {r.seed for r in records.values()} == {1, 2}
    assert all(len(r.stats) == 64 and r.model and r.program for r in records.values())
    text = (bench.folder / "docs/publications/made.json").read_text()
    code, out, err = bench("made", "--only", "simulated", "--json")
    assert code == 0 and "0 points to run; all is there" in err and json.loads(out) == answer
    assert (bench.folder / "docs/publications/made.json").read_text() == text, "not a byte changes"
    assert "2 points to run" not in bench("made", "--only", "simulated", "--seeds", 1)[2]
    assert "3 points to run" in bench("made", "--only", "simulated", "--seeds", 3)[2]


def test_a_point_that_needs_more_seeds_has_them_after_the_first_of_all_points(bench: Bench):
    file = bench.folder / "studies/made/study.py"
    file.write_text(file.read_text().replace("size=size)\n\n", "size=size, seeds=4 * (cores == 16))\n\n"))
    _, out, err = bench("made", "--only", "simulated", "--jobs", 1, "--json")
    assert "8 points to run" in err
    seeds = [line.partition(" of 8: plain ")[2].partition(";")[0] for line in err.splitlines()[1:]]
    assert seeds == [f"{n}, seed {k}" for k in (1, 2) for n in (1, 16, 4)] + ["16, seed 3", "16, seed 4"]
    row = json.loads(out)[0]["figures"][0]["rows"][0]
    assert row["ours"] == pytest.approx(6401.5 / 402.5) and row["samples"] == 2
    assert "3 points to run" in bench("made", "--only", "simulated", "--size", "full", "--seeds", 1, "--dry-run")[2]


def test_points_of_an_optional_program_that_is_not_built_are_left_out(bench: Bench):
    bench.study("with-rare")
    (bench.folder / "build/guest/with-rare").unlink()
    code, _, err = bench("made", "--only", "simulated")
    assert code == 0
    assert "points left out, since with-rare is not built: 3; `make rare` builds it." in err
    assert "0 points to run" in err
    bench.study("with-rare")
    assert "6 points to run" in bench("made", "--only", "simulated", "--dry-run")[2]


def test_points_of_rows_are_run_before_those_of_curves_alone(bench: Bench):
    _, _, err = bench("made", "--only", "simulated", "--seeds", 1, "--jobs", 1)
    ends = [line.split(",")[0].partition(": ")[2] for line in err.splitlines()[1:]]
    assert ends == ["plain 1", "plain 16", "plain 4"]


def test_another_program_makes_records_stale_and_they_are_renewed(bench: Bench):
    bench("made", "--only", "simulated")
    (bench.folder / "build/guest/plain").write_text("compiled anew")
    code, out, _ = bench("--json")
    assert code == 0 and json.loads(out)[0]["made"]["state"] == "0 of 6 points of the present model"
    code, _, err = bench("made", "--verify", 2)
    assert code == 2 and "6 are of another model or program." in err
    assert "6 points to run, 6 of them stale" in bench("made", "--only", "simulated")[2]
    assert json.loads(bench("--json")[1])[0]["made"]["state"] == "6 of 6 points of the present model"


def test_points_of_a_program_that_is_not_built_are_not_verified_and_counted_apart(bench: Bench):
    bench("made", "--only", "simulated")
    (bench.folder / "build/guest/plain").unlink()
    code, _, err = bench("made", "--verify", 2)
    assert code == 2 and "6 are of a program that is not built." in err


def test_other_measures_make_records_stale_and_take_them_out_of_figures(bench: Bench):
    bench("made", "--only", "simulated")
    code = bench.folder / "studies/made/study.py"
    code.write_text(code.read_text().replace('optional={', 'measures_version=2, optional={'))
    answer = json.loads(bench("made", "--only", "simulated", "--dry-run", "--json")[1])
    assert answer[0]["figures"][0]["rows"][0].get("ours") is None, "a value that was measured in another way"
    assert "6 points to run, 6 of them stale" in bench("made", "--only", "simulated")[2]
    assert {r.measures for r in bench.records.records.values()} == {2}


def test_a_measured_program_that_is_not_built_is_named(bench: Bench):
    code = bench.folder / "studies/made/study.py"
    code.write_text(code.read_text().replace(f'"{sys.executable}", "-c"', '"{build}/bin/peer", "-c"'))
    end, _, err = bench("made", "--only", "measured")
    assert end == 2 and "bin/peer does not exist; `cmake --build " in err and "--target peer`" in err, err
    assert "Traceback" not in err


def test_an_interrupted_call_keeps_what_was_run_and_the_next_one_goes_on(bench: Bench):
    bench("made", "--only", "simulated")
    bench.study("hangs")
    process = bench.start("made", "--only", "simulated")
    while not (bench.folder / "hanging").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130 and "interrupted; what was run is kept" in err, err
    assert len(bench.records.records) == 6
    (bench.folder / "released").touch()
    code, _, err = bench("made", "--only", "simulated")
    assert code == 0 and "6 points to run" in err and "6 of 6: hangs" in err
    assert len(bench.records.records) == 12


def test_hours_that_are_over_leave_the_rest_to_the_next_call(bench: Bench):
    code, _, err = bench("made", "--hours", "1e-9")
    assert code == 0 and "6 points are left for the next call" in err and "peers is left for the next call" in err
    assert bench.records.records == {}
    assert "8 points to run" in bench("made")[2]
    assert len(bench.records.records) == 8


def test_a_point_that_fails_is_named_and_the_others_are_run(bench: Bench):
    for program, words in (("fails", "no such thing"), ("wrong", "the program's check failed")):
        bench.study(program)
        code, _, err = bench("made", "--only", "simulated", "--seeds", 1)
        assert code == 1 and f"{program} 4, seed 1: " in err and words in err
        assert bench.records.records == {}


def test_peers_take_turns_and_a_missed_bar_has_its_reason(bench: Bench):
    code, out, err = bench("made", "--only", "measured", "--json")
    assert code == 0 and "round 3 of 3" in err, err
    row = json.loads(out)[0]["figures"][1]["rows"][0]
    assert (row["ours"], row["samples"], row["verdict"], row["why"]) == (2.0, 3, "missed", "Slow.")
    (first, second) = bench.records.records.values()
    assert sorted([first.samples["seconds"], second.samples["seconds"]]) == [[2.0] * 3, [4.0] * 3]
    assert first.machine and not first.stats


PEER = """
class Other:
    title, remedy = "Other", "apt-get install other"
    def is_installed(self):
        return {installed}
    def make(self):
        if {broken}:
            raise UsageError("Other: make failed: no such header")
from rubato.errors import UsageError
STUDY = replace(STUDY, peers={{"other": Other()}})
"""


def with_peer(bench: Bench, *, installed: bool = True, broken: bool = False) -> None:
    """The peer 4 is the program of another library."""
    bench.study("plain")
    file = bench.folder / "studies/made/study.py"
    turns = "% n), size=size"
    text = file.read_text().replace(turns, turns + ", needs='other' if n == 4 else ''")
    assert "needs=" in text
    text = "from dataclasses import replace\n" + text + PEER.format(installed=installed, broken=broken)
    file.write_text(text)


def test_a_peer_that_is_not_installed_is_left_out_and_its_row_says_what_it_needs(bench: Bench):
    with_peer(bench, installed=False)
    code, out, err = bench("made", "--only", "measured", "--json")
    assert code == 0 and "points left out: 1, since Other is not installed; apt-get install other" in err, err
    assert [r.name for r in bench.records.records.values()] == ["peer 2"]
    row = json.loads(out)[0]["figures"][1]["rows"][0]
    assert row["verdict"] == "not measured" and row["why"] == (
        "Not run yet: `bench/publications made --figures 2 --size quick`. It needs other: `apt-get install other`.")
    assert "all is there" in bench("made", "--only", "measured")[2], "the rest is not run again"
    with_peer(bench)
    assert bench("made", "--only", "measured")[0] == 0
    assert len(bench.records.records) == 2, "both took turns again"


def test_a_peer_that_cannot_be_built_is_said_and_the_others_are_run(bench: Bench):
    with_peer(bench, broken=True)
    assert bench("made", "--only", "measured", "--dry-run")[0] == 0, "nothing is built"
    code, _, err = bench("made", "--only", "measured")
    assert code == 1 and "points left out: 1, since Other: make failed: no such header" in err
    assert [r.name for r in bench.records.records.values()] == ["peer 2"]


def test_a_target_that_make_build_leaves_out_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    build = tmp_path / "tools/build"
    build.parent.mkdir()
    build.write_text('#!/bin/sh\necho "$@" >>calls\n'
                     '[ "$2" = good ] || { echo no such target; exit 1; }\ntouch bin/good\n')
    build.chmod(0o755)
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(targets, "ROOT", tmp_path)
    monkeypatch.setattr(targets, "BUILD", tmp_path)
    for _ in range(2):
        Target("good").make()
    assert (tmp_path / "calls").read_text() == "release good\n"
    with pytest.raises(UsageError, match=r"`tools/build release bad` failed: no such target"):
        Target("bad").make()


def test_a_point_of_an_unknown_peer_is_refused(bench: Bench):
    with_peer(bench)
    file = bench.folder / "studies/made/study.py"
    file.write_text(file.read_text().replace('peers={"other"', 'peers={"another"'))
    code, _, err = bench("made")
    assert code == 2 and "made: peer 4 needs other, which is none of its peers." in err


# ---- verification ----


def test_recorded_points_are_run_again_and_a_difference_is_named(bench: Bench):
    bench("made", "--only", "simulated")
    code, out, err = bench("made", "--verify", 4, "--choose", 7, "--json")
    (answer,) = json.loads(out)
    assert code == 0 and len(answer["same"]) == 4 and "--choose 7" in err
    again = json.loads(bench("made", "--verify", 4, "--choose", 7, "--json")[1])
    assert again == [answer], "the same seed, the same points"
    (bench.folder / "noise").touch()
    code, _, err = bench("made", "--verify", 1)
    assert code == 1 and "the statistics have another hash than recorded" in err and "0 of 1 points" in err


def test_nothing_recorded_cannot_be_verified(bench: Bench):
    code, _, err = bench("made", "--verify", 1)
    assert code == 2 and "no recorded point that can be verified: there is none." in err


def test_records_of_points_that_no_size_has_stay_until_they_are_pruned(bench: Bench):
    bench("made", "--only", "simulated")
    bench("made", "--only", "simulated", "--size", "sampled", "--seeds", 1)
    study_file = bench.folder / "studies/made/study.py"
    study_file.write_text(study_file.read_text().replace("for c in (1, 4, 16)}", "for c in (1, 16)}"))
    assert "made: 3 records of points that no size has, to be dropped." in bench("made", "--prune", "--dry-run")[2]
    assert len(bench.records.records) == 9
    said = "made: 3 records of points that no size has, dropped.\n"
    assert bench("made", "--prune", "--update-docs") == (0, "", said)
    assert {(r.name, r.size, r.seed) for r in bench.records.records.values()} == {
        *((f"plain {cores}", "quick", seed) for cores in (1, 16) for seed in (1, 2)),
        *((f"plain {cores}", "sampled", 1) for cores in (1, 16))}  # fmt: skip
    assert "6 points recorded" in (bench.folder / "docs/publications.md").read_text()
    code, out, err = bench("made", "--prune", "--json")
    assert (code, json.loads(out)) == (0, [{"name": "made", "pruned": 0}]) and "made: 0 records" in err


# ---- usage ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mode"], "there is no publication mode. Did you mean made?"),
        (["made", "--figures", "1,9"], "made has no figure 9; it has 1, 2, 3."),
        (["made", "--size", "huge"], "invalid choice: 'huge'"),
        (["made", "--seeds", "0"], "--seeds is at least 1"),
        (["made", "--hours", "0"], "--hours is above 0"),
        (["--verify", "2"], "--verify, --figures and --prune need a publication"),
        (["--prune"], "--verify, --figures and --prune need a publication"),
        (["made", "--verify", "2", "--prune"], "--verify and --prune are two calls"),
    ],
)
def test_wrong_usage_is_a_sentence_and_exit_code_2(words: list[str], said: str, bench: Bench):
    code, out, err = bench(*words)
    assert code == 2 and said in err and "Traceback" not in err and not out
    assert not (bench.folder / "docs/publications").exists()


def test_a_program_that_is_not_built_is_named(bench: Bench):
    (bench.folder / "build/guest/plain").unlink()
    code, _, err = bench("made", "--only", "simulated")
    assert code == 2 and "guest/plain does not exist; `cmake --build " in err and "--target guest_plain`" in err


def test_a_published_value_without_an_answer_is_refused(bench: Bench):
    bench.study("plain", [*PUBLISHED, {**PUBLISHED[0], "key": "other"}])
    code, _, err = bench("made")
    assert code == 2 and "study.py has neither a row nor a reason for other." in err
    bench.study("plain", PUBLISHED[1:])
    code, _, err = bench("made")
    assert code == 2 and "speed-up is answered twice, or is not in published.json." in err


# ---- verdicts ----


@pytest.mark.parametrize(
    ("ours", "bar", "published", "expected"),
    [
        (Interval(80, 79, 81, 5), Bar(least=79), 162, "reproduced"),
        (Interval(80, 79, 81, 5), Bar(least=79.5), 162, "missed"),  # the mean would do, the worse end does not
        (Interval(120, 119, 121, 5), Bar(least=130), 162, "near"),  # within 30 %
        (Interval(113, 112, 114, 5), Bar(least=130), 162, "missed"),
        (Interval(50, None, None, 1), Bar(most=60), None, "reproduced"),  # one sample stands for itself
        (Interval(50, 45, 61, 3), Bar(10, 60), None, "missed"),
        (Interval(50, 45, 55, 3), Bar(10, 60), None, "reproduced"),
        (Interval(0.5, 0.5, 0.5, 3), Bar(most=0), 0, "missed"),
    ],
)
def test_a_bar_is_held_against_the_worse_end(ours: Interval, bar: Bar, published: float | None, expected: str):
    assert verdict(ours, bar, published) == expected


def test_records_of_the_present_model_go_before_stale_ones():
    point = Simulated("x", "x")
    common = {"kind": "simulated", "name": "x", "size": "quick", "point": point.identity}
    old = Record(**common, seed=1, values={"cycles": 10}, model="old")
    new = Record(**common, seed=2, values={"cycles": 20}, model="new")
    assert Samples([old, new], ["newer", "new"]).values(point) == [20]
    assert Samples([old], ["new"]).values(point) == [10]


def test_the_identity_of_a_point_is_what_is_run():
    first = Simulated("a name", "sssp", ("--verify",), estimate=3)
    assert first.identity == Simulated("another", "sssp", ("--verify",)).identity
    assert first.identity != Simulated("a name", "sssp").identity
    assert first.identity == Simulated("a name", "sssp", ("--verify",), seeds=5).identity == "15717560756d2294"
    assert first.of_seed(1) != first.of_seed(2) != first.identity
    measured = Measured("a", "f", ("x",))
    assert measured.identity != Measured("a", "g", ("x",)).identity
    assert measured.identity == Measured("b", "f", ("x",), rounds=9, estimate=3, needs="another").identity
    # Of the first version: else all that was measured were lost.
    assert measured.identity == "771f0b526452a825"


# ---- documents and drawings ----


def test_tables_are_written_between_marks_and_prose_stays(bench: Bench):
    bench("made", "--only", "simulated")
    bench("made", "--update-docs")
    page = bench.folder / "docs/publications/made.md"
    text = page.read_text()
    row = "| 16 cores over one | II | 16× | 15.9× (12.0 to 21.2) | quick | ≥ 10 | **reproduced** |"
    assert row.split(" (")[0] in text and "**reproduced**" in text and "Not measured: There is no meter." in text
    text = text.replace("| 16 cores over one", "| written by hand")
    page.write_text(text.replace("# Made up", "# Made up\n\nProse."))
    bench("made", "--update-docs")
    assert "Prose." in page.read_text() and "written by hand" not in page.read_text()
    assert page.read_text().count("16 cores over one") == 1
    overview = (bench.folder / "docs/publications.md").read_text()
    assert "| 3 | Power | **not measured** |" in overview and "1 reproduced, 2 not measured" in overview
    page.write_text(text.replace("publications: figure 1", "publications: figure 12"))
    code, _, err = bench("made", "--update-docs")
    assert code == 2 and "marks figure 12, which the study does not have" in err


def test_pages_are_drawn_of_the_records_and_nothing_is_run_or_needed(bench: Bench):
    bench("made")
    bench("made", "--update-docs")
    recorded = bench.records
    page, overview = bench.folder / "docs/publications/made.md", bench.folder / "docs/publications.md"
    drawn = page.read_text(), overview.read_text()
    (bench.folder / "build/guest/plain").unlink()
    (bench.folder / "build/bin/rubato-chip").unlink()
    for words, said in ((["made"], "all is there"), (["made", "--seeds", 3], "3 points to run")):
        page.write_text(drawn[0].replace("**reproduced**", "**not measured**"))
        code, _, err = bench(*words, "--update-docs")
        assert code == 0 and said in err, err
        assert (page.read_text(), overview.read_text(), bench.records) == (*drawn, recorded)
    code, _, err = bench("made", "--seeds", 3)
    assert code == 2 and "rubato-chip does not exist; `cmake --build " in err and "--target rubato-chip`" in err, err


def test_a_row_that_loses_its_records_is_named(bench: Bench):
    bench("made", "--only", "simulated")
    bench("made", "--update-docs")
    bench.study("other")
    said = bench("made", "--update-docs")[2]
    assert "rows without a record, since study.py has other points now: speed-up." in said, said


def test_a_figure_without_rows_is_a_table_of_its_curves():
    tasks = Curve(name="tasks", marks=[Mark(x=1, y=7.8), Mark(x=2, y=15.1)])
    locks = Curve(name="locks", marks=[Mark(x=2, y=7000)])
    published = Curve(name="as published", marks=[Mark(x=1, y=9)], is_published=True)
    figure = Figure(key="12", title="By workers", kind="lines", x="workers", y="M/s", curves=[tasks, locks, published])
    assert figure.verdict == "drawn"
    assert documents.table_of(figure).splitlines() == [
        "| workers | tasks, M/s | locks, M/s |", "| ---: | ---: | ---: |", "| 1 | 7.8 |  |", "| 2 | 15.1 | 7,000 |"]
    assert figure.model_copy(update={"curves": [published]}).verdict == "not measured"


def test_a_curve_is_drawn_of_the_points_that_a_machine_has_run():
    points = {n: Measured(f"{n} workers", "f", ("x", str(n)), processors=n) for n in (1, 2, 64)}

    def marks(found: Samples) -> list[Mark]:
        return [Mark(x=n, y=found.mean(p, "seconds")) for n, p in points.items() if found.has(p)]

    curve = study.Curve("ours", tuple(points.values()), marks, needed=(points[1],))
    made = study.Study("made", "Made up", "Nowhere", lambda _: [study.Figure("1", "Rate", "lines", curves=(curve,))],
                       lambda _: {}, {})  # fmt: skip

    def drawn(*workers: int) -> list[float | None]:
        records = [Record(kind="measured", name="x", size="quick", point=points[n].identity, values={},
                          samples={"seconds": [1.0 / n]}) for n in workers]  # fmt: skip
        (figure,) = conclude(made, Samples(records, ["model"]))
        return [mark.x for of in figure.curves for mark in of.marks]

    assert drawn(1, 2) == [1, 2] and drawn(1, 2, 64) == [1, 2, 64] and drawn(2, 64) == []
    assert points[2].identity == Measured("a", "f", ("x", "2")).identity, "the same point on every machine"


def test_points_for_more_processors_than_the_machine_has_are_not_run(bench: Bench):
    study_file = bench.folder / "studies/made/study.py"
    study_file.write_text(study_file.read_text().replace(
        "size=size)\n             for n in (2, 4)]", "size=size, processors=100_000 * (n - 2) + 1)\n"
        "             for n in (2, 4)]"))  # fmt: skip
    assert "1 points to run" in bench("made", "--only", "measured", "--dry-run")[2]


# ---- estimates ----


def test_a_point_takes_as_long_as_it_took_and_others_as_recorded_ones_let_expect():
    first, second, other = (Measured(name, "f", (name,), estimate=2.0) for name in "abc")
    large = Measured("d", "f", ("d",), size="full", estimate=60.0)

    def record(point: Measured, seconds: float, rounds: int) -> Record:
        return Record(kind="measured", name=point.name, size=point.size, point=point.identity, values={},
                      seconds=seconds, samples={"seconds": [1.0] * rounds})  # fmt: skip

    # 0.5 and 0.2 seconds a round, where the study says 2: a quarter and a tenth, of which the median is 0.175.
    estimates = Estimates([record(first, 1.5, 3), record(second, 1.0, 5)], [first, second, other, large])
    assert estimates.of(first) == 0.5 and estimates.of(second) == 0.2
    assert estimates.of(other) == pytest.approx(2.0 * 0.175) and estimates.of(large) == 60.0
    point = Simulated("s", "s", estimate=10.0)
    seeds = [Record(kind="simulated", name="s", size="quick", point=point.identity, seed=n, values={}, seconds=n)
             for n in (1, 2)]  # fmt: skip
    assert Estimates(seeds, [point]).of(point) == 1.5


def test_the_plan_and_the_overview_say_how_long_the_rest_takes(bench: Bench):
    assert "2 points to run; about 12 s" in bench("made", "--only", "measured", "--dry-run")[2]  # 2 s, 3 rounds
    assert "quick: 8 points to run; about" in bench()[1]
    bench("made", "--only", "measured")
    file = bench.folder / "docs/publications/made.json"
    document = json.loads(file.read_text())
    records = {key: record | {"seconds": 30.0} for key, record in document["records"].items()}
    records.popitem()  # 30 seconds a point, of three rounds: 10 a round
    file.write_text(json.dumps(document | {"records": records}))
    assert "2 points to run; about 1 min 00 s" in bench("made", "--only", "measured", "--dry-run")[2]


def test_a_report_draws_published_values_as_hollow_marks_beside_ours(tmp_path: Path):
    row = Row(key="a", figure="1", what="speed <up>", section="II", unit="x", published=20, ours=15, low=14, high=16,
              samples=3, least=18, verdict="near", why="Small inputs.")  # fmt: skip
    lines = [
        Curve(name="ours", marks=[Mark(x=1, y=1), Mark(x=16, y=15, low=14, high=16)]),
        Curve(name="ours", marks=[Mark(x=16, y=20)], is_published=True),
    ]
    bars = [Curve(name="ideal", marks=[Mark(label="des", y=1)]), Curve(name="plain", marks=[Mark(label="des", y=2)])]
    figures = [
        Figure(key="1", title="Speed", kind="lines", x="cores", y="speed-up", curves=lines, rows=[row], size="quick"),
        Figure(key="2", title="Time", kind="bars", y="time", curves=bars),
        Figure(key="3", title="Parts", kind="stacks", y="time", curves=bars),
        Figure(key="4", title="Power", reason="There is no meter."),
        Figure(key="5", title="Choices", x="choice", y="over ours", curves=[
            Curve(name="time", marks=[Mark(label="wide <links>", y=0.9), Mark(label="64 tiles", y=1.5)]),
            Curve(name="energy", marks=[Mark(label="64 tiles", y=4000)]),
        ]),
    ]  # fmt: skip
    file = tmp_path / "made.json"
    Publication(name="made", title="Made up", source="Nowhere", figures=figures).save(file)
    assert publication.load(file).figures == figures
    report.write([file], tmp_path / "made.html")
    page = (tmp_path / "made.html").read_text()
    assert "<title>published: ours, 16 cores: 20; ours 15 (-25 %)</title>" in page and 'fill="none"' in page
    assert "ours, 16 cores: 15 (14 to 16)" in page and "speed &lt;up&gt;" in page and "-25 %" in page
    assert page.count("<rect") == 2 and "plain: 2" in page and "There is no meter." in page
    assert "<th class=n>energy, over ours</th>" in page
    assert "<td>wide &lt;links&gt;</td><td class=n>0.9</td><td class=n></td>" in page
    assert "<td>64 tiles</td><td class=n>1.5</td><td class=n>4,000</td>" in page
    assert "<script src" not in page and "https:" not in page


def test_a_file_that_holds_no_records_is_refused(tmp_path: Path):
    file = tmp_path / "made.json"
    file.write_text('{"records": {}, "figures": [{"key": 1}]}')
    with pytest.raises(UsageError, match=r"made.json: "):
        report.write([file], tmp_path / "made.html")

"""`rubato sweep`: combinations, failures as rows, resuming, memory, and a real Dask cluster of two workers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rubato
from helpers import call, is_alive, start, wait_for
from rubato.running import memory
from rubato.running.spec import RunSpec
from rubato.sweeping.plan import Plan, make_plan
from rubato.sweeping.pool import LocalPool


def test_a_plan_is_every_combination_with_names_made_of_what_varies():
    plan = Plan(program="sssp", cores=[4, 1], mode=["nonspec", "mayspec"], seeds=2, set={"l2.size": ["1KiB", "2KiB"]},
                baseline=False)  # fmt: skip
    names = [p.name for p in plan.points()]
    assert len(names) == len(set(names)) == 2 * 2 * 2 * 2
    assert names[0] == "sssp-c1-nonspec-l2.size=1KiB-s1"
    assert names[-1] == "sssp-c4-mayspec-l2.size=2KiB-s2"
    assert [p.spec.seed for p in plan.points()[:2]] == [1, 2]


def test_a_plan_file_says_the_same_as_options(home, capsys):
    Path("plan.toml").write_text(
        'program = "sssp"\ncores = [1, 4]\nmode = "nonspec"\nseeds = 2\narguments = "--source 3"\n'
        '[set]\n"l2.size" = [1024, 2048]\n'
    )
    assert call("sweep", "plan.toml", "--dry-run", "--json") == 0
    from_file = json.loads(capsys.readouterr().out)["points"]
    options = ["--program", "sssp", "--cores", "1,4", "--mode", "nonspec", "--seeds", "2", "--set", "l2.size=1024,2048"]
    assert call("sweep", *options, "--dry-run", "--json", "--", "--source", "3") == 0
    from_options = json.loads(capsys.readouterr().out)["points"]
    assert [p["name"] for p in from_file] == [p["name"] for p in from_options]
    assert from_file[0]["spec"]["arguments"] == from_options[0]["spec"]["arguments"] == ["--source", "3"]


def test_programs_are_a_list_as_other_values_are(home, capsys):
    shutil.copy(home / "guest/sssp", "own")
    assert call("sweep", "--program", "sssp, ./own", "--cores", "1,4", "--out", "s", "--source", "5") == 0
    assert [p["name"] for p in rubato.Sweep("s").points] == ["sssp-c1", "own-c1", "sssp-c4", "own-c4"]
    capsys.readouterr()
    assert call("sweep", "--program", "sssp,ssp", "--source", "5") == 2
    assert capsys.readouterr().err == "rubato: there is no application and no file ssp. Did you mean sssp?\n"


@pytest.mark.parametrize("words", [["--source", "5", "--verify"], ["--", "--source", "5", "--verify"],
                                   ["--source", "5", "--", "--verify"]])  # fmt: skip
def test_options_of_the_program_go_to_it_with_and_without_dashes(home, capsys, words):
    assert call("sweep", "--cores", "4", "--program", "sssp", "--dry-run", "--json", *words) == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    assert point["spec"]["arguments"] == ["--source", "5", "--verify"]


def test_what_a_run_may_be_told_a_sweep_passes_on(home, capsys):
    given = {"interval": 100, "series": ["core.*"], "commit_order": True, "roi": "main", "sandbox": "box",
             "env": ["A=1", "B=x y"]}  # fmt: skip
    options = ["--interval", "100", "--series", "core.*", "--commit-order", "--roi", "main", "--sandbox", "box",
               "--env", "A=1", "--env", "B=x y"]  # fmt: skip
    assert call("sweep", "--program", "sssp", *options, "--dry-run", "--json") == 0
    spec = json.loads(capsys.readouterr().out)["points"][0]["spec"]
    assert {key: spec[key] for key in given} == given and spec["fast_forward"]
    assert call("sweep", "--program", "sssp", "--no-ff", "--dry-run", "--json") == 0
    assert not json.loads(capsys.readouterr().out)["points"][0]["spec"]["fast_forward"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("program = 'sssp'\ncore = 4", "unknown field core. Did you mean cores"),
        ("program = 'sssp'\nseeds = 0", "seeds: is at least 1"),
        ("program = 'sssp'\ncores = []", "cores: needs at least one value"),
        ("program = 'sssp'\nseeds = []", "seeds: needs at least one value"),
        ("program = 'sssp'\nset = 5", "set: is a table of configuration keys"),
        ("program = 'sssp'\nset = ['l2.size']", "set: is a table of configuration keys"),
        ("program = 'sssp'\n[set]\n'l2.size' = []", "set: l2.size needs at least one value"),
        ("program = 'sssp'\narguments = 5", "arguments: is a list of words"),
        ("program = 'sssp'\ntimeout = 'soon'", "plan.toml: timeout: a time is a number"),
        ("program = 'sssp'\ntimeout = nan", "plan.toml: timeout: is a number of seconds, not nan"),
        ("program = 'sssp'\nseeds = 1000000000", "seeds: is at most 100000"),
        ("cores = 4", "program"),
        ("program = ", "Invalid value"),
    ],
)
def test_a_wrong_plan_is_one_sentence_that_names_the_field(home, capsys, text, words):
    Path("plan.toml").write_text(text)
    assert call("sweep", "plan.toml") == 2
    err = capsys.readouterr().err
    assert words in err and "plan.toml" in err and err.count("\n") == 1


def test_failed_points_are_rows_with_reasons_and_the_rest_is_done(home, capsys):
    assert call("sweep", "--program", "sssp", "--cores", "3,4", "--set", "chip.cores_per_tile=1,3", "--out", "s") == 1
    text = capsys.readouterr().out
    assert "sssp-c4-chip.cores_per_tile=3" in text and "a multiple of 3" in text
    result = rubato.Sweep("s")
    assert len(result.runs) == 3
    assert [(f["name"], f["exit_code"]) for f in result.failures] == [("sssp-c4-chip.cores_per_tile=3", 2)]
    assert result.frame()["cores"].to_list() == [3, 3, 4]


def test_resume_skips_finished_runs_and_repeats_incomplete_and_failed_ones(home, capsys):
    plan = {"program": "sssp", "cores": [1, 4], "mode": "mayspec", "seeds": 2}
    rubato.sweep(plan, out="s")
    kept = Path("s/sssp-c1-mayspec-s1/summary.json")
    lost = Path("s/sssp-c4-mayspec-s2")
    before = kept.stat().st_mtime_ns
    (lost / "incomplete").write_text("interrupted\n")
    (lost / "summary.json").unlink()
    assert call("sweep", "--out", "s", "--program", "sssp") == 2, "without --resume nothing is touched"
    assert "--resume" in capsys.readouterr().err
    result = rubato.sweep(plan, out="s", resume=True)
    assert kept.stat().st_mtime_ns == before
    assert rubato.load(lost).complete and len(result.runs) == 4
    assert call("sweep", "--out", "s", "--resume") == 0, "the plan is in the directory"


def test_resume_with_more_points_runs_only_the_new_ones(home):
    rubato.sweep({"program": "sssp", "cores": [1]}, out="s")
    before = Path("s/sssp-c1/summary.json").stat().st_mtime_ns
    result = rubato.sweep({"program": "sssp", "cores": [1, 4]}, out="s", resume=True)
    assert len(result.runs) == 2 and Path("s/sssp-c1/summary.json").stat().st_mtime_ns == before


def test_resume_with_fewer_points_forgets_no_finished_run(home):
    rubato.sweep({"program": "sssp", "cores": [1, 4]}, out="s")
    before = Path("s/sssp-c1/summary.json").stat().st_mtime_ns
    for cores, runs in (([4], 1), ([4], 1), ([1, 4, 16], 3)):
        assert len(rubato.sweep({"program": "sssp", "cores": cores}, out="s", resume=True).runs) == runs
        assert Path("s/sssp-c1/summary.json").stat().st_mtime_ns == before
    with pytest.warns(UserWarning, match="parameters of finished runs have changed"):
        rubato.sweep({"program": "sssp", "cores": [16], "set": {"l2.size": "64KiB"}}, out="s", resume=True)


@pytest.mark.parametrize("file", ["guest/sssp", "bin/rubato-chip"])
def test_results_of_two_programs_are_neither_mixed_nor_lost(own_home, file):
    rubato.sweep({"program": "sssp", "cores": [1]}, out="s")
    with (own_home / file).open("ab") as changed:
        changed.write(b"\n# another\n")
    with pytest.warns(UserWarning, match="s.before-1"):
        result = rubato.sweep({"program": "sssp", "cores": [1, 4]}, out="s", resume=True)
    assert len(result.runs) == 2
    assert rubato.load("s.before-1/sssp-c1").complete


@pytest.mark.parametrize("file", ["chip.toml", "graph.gr"])
def test_results_of_two_chips_or_inputs_are_neither_mixed_nor_lost(home, file):
    Path("chip.toml").write_text("[l2]\nsize = 65536\n")
    Path("graph.gr").write_text("p sp 1 0\n")
    plan = {"program": "sssp", "cores": [1], "config": "chip.toml", "arguments": ["--graph=graph.gr"]}
    rubato.sweep(plan, out="s")
    assert len(rubato.sweep(plan | {"cores": [1, 4]}, out="s", resume=True).runs) == 2
    Path(file).write_text(Path(file).read_text() + "\n")
    with pytest.warns(UserWarning, match="an input file has changed.*s.before-1"):
        rubato.sweep(plan, out="s", resume=True)


def test_what_the_runs_write_themselves_is_no_input(home):
    Path("waves.vcd").write_text("old")
    plan = {"program": "sssp", "cores": [1], "arguments": ["--write", "waves.vcd"]}
    rubato.sweep(plan, out="s")
    assert Path("waves.vcd").read_text() == "new"
    Path("waves.vcd").write_text("of another run")
    assert len(rubato.sweep(plan | {"cores": [1, 4]}, out="s", resume=True).runs) == 2


def test_the_same_programs_in_another_place_are_the_same(own_home, tmp_path, monkeypatch):
    rubato.sweep({"program": "sssp", "cores": [1]}, out="s")
    shutil.copytree(own_home, tmp_path / "moved")
    monkeypatch.setenv("RUBATO_HOME", str(tmp_path / "moved"))
    assert len(rubato.sweep({"program": "sssp", "cores": [1, 4]}, out="s", resume=True).runs) == 2
    with (tmp_path / "moved/guest/sssp").open("ab") as changed:
        changed.write(b"\n# another\n")
    with pytest.warns(UserWarning, match="s.before-1"):
        rubato.sweep({"program": "sssp", "cores": [1]}, out="s", resume=True)


def test_a_longer_time_limit_repeats_only_what_did_not_finish(home, capsys):
    arguments = ["sweep", "--program", "sssp", "--cores", "1,4", "--out", "s"]
    assert call(*arguments, "--timeout", "10m") == 0
    before = Path("s/sssp-c1/summary.json").stat().st_mtime_ns
    assert call(*arguments, "--timeout", "1h", "--resume") == 0
    assert call("sweep", "--resume", "--out", "s", "--cores", "1,4,16") == 0, "options go on top of the sweep's plan"
    assert Path("s/sssp-c1/summary.json").stat().st_mtime_ns == before and "note" not in capsys.readouterr().err
    assert len(rubato.Sweep("s").runs) == 3


def test_without_a_name_the_sweep_of_this_plan_is_resumed(home, capsys):
    for cores in ("1", "1,4"):
        assert call("sweep", "--program", "sssp", "--cores", cores) == 0
    capsys.readouterr()
    assert call("sweep", "--program", "sssp", "--cores", "1,4", "--resume") == 0
    assert "runs/sweep-sssp.2: 2 runs" in capsys.readouterr().out
    assert call("sweep", "--program", "sssp", "--cores", "16", "--resume") == 2
    assert "runs/sweep-sssp, runs/sweep-sssp.2 is of this plan; say with --out" in capsys.readouterr().err


def test_chips_are_not_averaged(home, capsys):
    Path("big.toml").write_text("[l2]\nsize = 131072\n")
    assert call("sweep", "--program", "sssp", "--cores", "4", "--config", "small,big.toml", "--out", "s") == 0
    out = capsys.readouterr().out
    assert "small" in out and "big.toml" in out
    assert rubato.Sweep("s").frame()["config"].to_list() == ["small", "big.toml"]


def test_a_run_that_somebody_stopped_is_a_failure(home):
    process = start("sweep", "--program", "sssp", "--cores", "1", "--out", "s", "--", "--sleep", "20")
    wait_for(lambda: Path("s/sssp-c1/progress.json").exists())
    os.kill(next(_children()), signal.SIGTERM)
    process.communicate()
    assert process.returncode == 1
    assert [f["reason"] for f in rubato.Sweep("s").failures] == ["somebody stopped its process."]


def test_no_run_of_a_sweep_outlives_it(home):
    process = start("sweep", "--program", "sssp", "--cores", "1,4", "--jobs", "2", "--out", "s", "--", "--sleep", "60")
    wait_for(lambda: all(Path(f"s/sssp-c{cores}/progress.json").exists() for cores in (1, 4)))
    runs = list(_children())
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(is_alive, runs)))
    assert len(runs) == 2


@pytest.mark.parametrize("content", ['{"plan": {"programme": "x"}, "points": []}', '{"plan": {}, "points": []}'])
def test_a_sweep_of_another_version_is_refused_in_a_sentence(home, capsys, content):
    Path("s").mkdir()
    Path("s/sweep.json").write_text(content)
    assert call("sweep", "--resume", "--out", "s") == 2
    assert "this version of Rubato did not write it" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"set": {"l2.size": "64KiB"}}, {"arguments": ["--sleep", "0"]}])
def test_results_with_other_parameters_are_neither_mixed_nor_lost(home, change):
    rubato.sweep({"program": "sssp", "cores": [1, 4]}, out="s")
    with pytest.warns(UserWarning, match="parameters of finished runs have changed.*s.before-1"):
        rubato.sweep({"program": "sssp", "cores": [4], **change}, out="s", resume=True)
    assert rubato.load("s.before-1/sssp-c1").complete and rubato.load("s.before-1/sssp-c4").complete
    assert not Path("s/sssp-c1").exists()


def test_more_runs_than_memory_holds_are_refused(home, capsys):
    sizes = ",".join(map(str, range(64, 164)))
    assert call("sweep", "--program", "sssp", "--seeds", "1001", "--set", f"l2.size={sizes}", "--dry-run") == 2
    assert capsys.readouterr().err == "rubato: the plan has 100,100 combinations; at most 100,000 are possible.\n"


def test_names_say_what_is_said_on_the_command_line():
    plan = Plan(program="sssp", set={"net.contention": [True, False]})
    assert [p.name for p in plan.points()] == ["sssp-net.contention=true", "sssp-net.contention=false"]


@pytest.mark.parametrize(
    "content",
    ["[]", "{}", '{"plan": {}}', '{"pl', "\xff", '{"plan": {}, "points": [3]}', '{"plan": {}, "points": [{}]}'],
)
def test_a_damaged_list_of_points_is_refused_in_a_sentence(home, capsys, content):
    rubato.sweep({"program": "sssp", "cores": [1]}, out="s")
    Path("s/sweep.json").write_bytes(content.encode("latin-1"))
    for command in (["report", "s"], ["sweep", "--resume", "--out", "s"]):
        assert call(*command) == 2
        assert "s/sweep.json cannot be read" in capsys.readouterr().err


def test_an_interrupt_keeps_what_finished_and_resume_completes(home):
    arguments = ["sweep", "--program", "sssp", "--cores", "1,4,16", "--jobs", "1", "--out", "s"]
    process = start(*arguments, "--", "--sleep", "1")
    wait_for(lambda: Path("s/sssp-c4/progress.json").exists())
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130 and "--resume" in err and "Traceback" not in err
    states = {p["name"]: p["state"] for p in rubato.Sweep("s").points}
    assert states == {"sssp-c1": "finished", "sssp-c4": "waiting", "sssp-c16": "waiting"}
    assert Path("s/sssp-c4/incomplete").exists()
    before = Path("s/sssp-c1/summary.json").stat().st_mtime_ns
    assert call(*arguments, "--resume", "--", "--sleep", "1") == 0
    assert Path("s/sssp-c1/summary.json").stat().st_mtime_ns == before
    assert len(rubato.Sweep("s").runs) == 3


def test_no_more_runs_start_than_memory_holds(home, tmp_path):
    points = Plan(program="sssp", cores=[4], seeds=4, arguments=["--sleep", "0.2"]).points()
    estimator = memory.Estimator()
    one = estimator.mb(points[0].spec)

    def most_at_once(budget: float) -> int:
        pool = LocalPool(4, estimator, budget_mb=budget)
        return max(len(pool.running) for _ in pool.run(points, tmp_path / f"m{budget}"))

    assert most_at_once(one * 1.5) == 1
    assert most_at_once(one * 100) == 4
    assert most_at_once(1) == 1, "one run always goes, or nothing ever would"


def test_estimates_learn_from_finished_runs():
    estimator = memory.Estimator()
    spec = RunSpec(program="sssp", cores=64)
    first = estimator.mb(spec)
    estimator.measured(RunSpec(program="sssp", cores=16), 5000)
    assert first < 5000 <= estimator.mb(spec), "a larger chip takes no less than a smaller one was seen to"
    estimator.measured(spec, 300)
    assert estimator.mb(spec) == pytest.approx(330)


def test_make_plan_accepts_mappings_plans_and_files(tmp_path):
    plan = make_plan({"program": "sssp", "timeout": "2m"})
    assert plan.timeout == 120 and make_plan(plan) is plan


@pytest.fixture
def cluster(home, tmp_path):
    """A scheduler and two worker processes on this machine, as a user would start them."""
    address = tmp_path / "scheduler.json"
    common = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(address)], **common)  # fmt: skip
    wait_for(lambda: address.exists() and address.stat().st_size > 0)
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                "--scheduler-file",
                str(address),
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
                "--name",
                f"w{i}",
            ],
            **common,
        )  # fmt: skip
        for i in range(2)
    ]
    where = json.loads(address.read_text())["address"]
    import distributed

    with distributed.Client(where, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=600)
    yield where
    for process in [*workers, scheduler]:
        process.kill()  # asked politely, a worker first looks for its scheduler for half a minute
    for process in [*workers, scheduler]:
        process.wait(20)


def test_a_sweep_runs_on_the_workers_of_a_dask_scheduler(cluster, capsys):
    varied = ["--cores", "3,4", "--set", "chip.cores_per_tile=1,3"]
    arguments = ["sweep", "--program", "sssp", *varied, "--cluster", cluster]
    assert call(*arguments, "--out", "remote", "--jobs", "2") == 1
    result = rubato.Sweep("remote")
    (failure,) = result.failures
    assert len(result.runs) == 3 and failure["name"] == "sssp-c4-chip.cores_per_tile=3"
    assert failure["exit_code"] == 2 and "a multiple of 3" in failure["reason"]
    rubato.sweep({"program": "sssp", "cores": [3], "set": {"chip.cores_per_tile": [1, 3]}}, out="local")
    for name in ("sssp-c3-chip.cores_per_tile=1", "sssp-c3-chip.cores_per_tile=3"):
        here, there = Path("local", name), Path("remote", name)
        assert (here / "stats.json").read_bytes() == (there / "stats.json").read_bytes()
        assert not (there / "incomplete").exists()

    process = start(
        "sweep", "--program", "sssp", "--cores", "1,4,16", "--cluster", cluster, "--out", "cut", "--", "--sleep", "20"
    )
    wait_for(lambda: Path("cut/sweep.json").exists())
    wait_for(lambda: _sleeping() >= 2)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130 and "Traceback" not in err, err
    assert all(Path("cut", f"sssp-c{c}", "incomplete").exists() for c in (1, 4))
    wait_for(lambda: _sleeping() == 0)


def _sleeping() -> int:
    """Stand-in simulators of the interrupted sweep that are still there, on any worker."""
    return sum(1 for _ in _children())


def _children() -> Iterator[int]:
    """Not those of tests in other files, which may run at the same time."""
    chip = os.fsencode(Path(os.environ["RUBATO_HOME"]).resolve() / "bin/rubato-chip")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--sleep" in words and chip in words[:2]:
                yield int(entry.name)


def test_a_silent_cluster_address_is_one_sentence(home, capsys):
    assert call("sweep", "--program", "sssp", "--cluster", "tcp://127.0.0.1:9", "--out", "s") == 2
    assert "no Dask scheduler answers" in capsys.readouterr().err


def test_tables_that_are_piped_are_never_cut(home: Path) -> None:
    """Also where the environment says how wide a terminal was (defect 13 of a newcomer)."""
    settings = ["--set", "task.task_queue=64,128", "--set", "task.commit_queue=16,64"]
    command = [sys.executable, "-m", "rubato", "sweep", "--program", "sssp", "--cores", "4", *settings]
    done = subprocess.run(command, env=os.environ | {"COLUMNS": "40"}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("sssp ")]
    assert [row[3:5] for row in rows] == [[f"task.task_queue={size}", f"task.commit_queue={queue}"]
                                          for size in (64, 128) for queue in (16, 64)]


def test_a_key_that_is_repeated_has_the_values_of_all(home, capsys):
    repeated = ["--set", "l2.size=64KiB", "--set", "l2.size=128KiB,64KiB"]
    assert call("sweep", "--program", "sssp", "--cores", "4", *repeated, "--dry-run", "--json") == 0
    sizes = [p["spec"]["set"]["l2.size"] for p in json.loads(capsys.readouterr().out)["points"]]
    assert sizes == ["64KiB", "128KiB"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cores", "4", "--set", "chip.cores=16"], "--cores 4 and --set chip.cores=16 contradict"),
        (["--seed", "2", "--set", "chip.seed=3"], "--seed 2 and --set chip.seed=3 contradict"),
    ],
)
def test_an_option_and_the_key_that_it_sets_do_not_contradict(home, capsys, options, said):
    assert call("run", "sssp", *options) == 2
    assert said in capsys.readouterr().err


def test_an_option_may_say_what_its_key_says(home):
    assert call("run", "sssp", "--cores", "4", "--set", "chip.cores=4", "--out", "r") == 0


def test_swept_values_are_numbers_in_frames(home):
    import polars as pl

    sweep = rubato.sweep({"program": "sssp", "cores": 4, "set": {"l2.size": [131072, 65536]}}, out="s")
    frame = sweep.frame()
    assert frame.schema["l2.size"] == pl.Int64
    assert sorted(frame["l2.size"].to_list()) == [65536, 131072]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cores": [1]}, "the plan has no program"),
        ({"program": "sssp", "cores": "1,4"}, "the plan: cores: takes whole numbers, not '1,4'"),
        ({"program": "sssp", "trace": "maybe"}, "the plan: trace: takes true or false, not 'maybe'"),
    ],
)
def test_a_wrong_plan_is_told_in_words_of_plans(home, fields, said):
    with pytest.raises(rubato.UsageError) as refused:
        rubato.sweep(fields)
    assert said in str(refused.value)


def test_a_program_that_is_not_there_is_looked_for_in_the_current_folder(home):
    with pytest.raises(rubato.UsageError, match="looked for in the current folder, .*work"):
        rubato.sweep({"program": "bin/nothing"})

"""`rubato run`, `sweep`, `report` and `compare` with --engine native, on a stand-in for the program."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import rubato
from helpers import call, files, start, wait_for
from rubato.running import native
from test_run import one_sentence


def test_json_has_the_same_keys_and_null_for_what_only_a_simulator_knows(home, capsys):
    assert call("run", "sssp", "--engine", "native", "--cores", "2", "--json") == 0
    out = capsys.readouterr()
    native = json.loads(out.out)
    assert out.out.count("\n") == 1 and out.err == ""
    assert call("run", "sssp", "--json") == 0
    chip = json.loads(capsys.readouterr().out)
    assert native.keys() == chip.keys()
    assert native["tasks"].keys() == chip["tasks"].keys()
    assert [native[k] for k in ("cycles", "instructions", "cycle_breakdown", "network_bytes")] == [None] * 4
    assert (native["engine"], native["cores"], native["seconds"]) == ("native", 2, 0.25)
    assert native["tasks"]["created"] == native["tasks"]["committed"] == 100
    assert native["check"] == "passed" and native["host"]["peak_mb"] == 12.5


def test_a_run_directory_can_be_loaded_and_repeated(home):
    run = rubato.run("sssp", engine="native", cores=2, mode="spec", arguments=["--source", "5"], seed=3, out="r")
    assert files(Path("r")) == {"summary.json", "stats.json", "run.toml", "output.txt", "log.txt", "counters.json"}
    assert run.complete and run.summary.mode == "spec" and run.summary.seed == 3
    assert run.arguments == ["--source", "5", "--verify", "--type", "spec"]
    assert run.stats["native.tasks_run"] == 100
    assert "RUBATO_WORKERS=2" in run.manifest["environment"]
    assert "arguments: --source 5" in run.output


def test_a_variable_of_the_environment_reaches_the_program(home, capsys):
    run = rubato.run("sssp", engine="native", cores=2, env=["RUBATO_HELLO=a=b c", "RUBATO_WORKERS=7"], out="r")
    assert "RUBATO_HELLO=a=b c" in run.manifest["environment"]
    assert "RUBATO_WORKERS=2" in run.manifest["environment"], "what cores=2 says"
    for wrong in ["HELLO", "=1", ""]:
        assert call("run", "sssp", "--env", wrong) == 2
        assert "--env takes NAME=VALUE" in capsys.readouterr().err


def test_a_run_replaces_all_that_one_of_the_chip_has_left(home):
    rubato.run("sssp", trace=True, interval=100, out="r")
    before = files(Path("r"))
    rubato.run("sssp", engine="native", out="r", force=True)
    assert {"trace.json.gz", "series.json"} <= before and not {"trace.json.gz", "series.json"} & files(Path("r"))
    rubato.run("sssp", engine="native", trace=True, out="n")
    rubato.run("sssp", engine="native", out="n", force=True)
    assert "trace.json" not in files(Path("n"))


def test_the_mode_becomes_an_argument_unless_it_is_there(home):
    assert rubato.run("sssp", engine="native").summary.mode == "mayspec"
    run = rubato.run("sssp", engine="native", mode="spec", arguments=["--type=spec"])
    assert run.arguments == ["--type=spec", "--verify"] and run.summary.mode == "spec"
    assert rubato.run("sssp", engine="native", arguments=["--type", "nonspec"]).summary.mode == "nonspec"


def test_the_check_is_found_in_a_program_s_json_too(home):
    assert rubato.run("sssp", engine="native", arguments=["--json"]).summary.check == "passed"
    failed = rubato.run("sssp", engine="native", arguments=["--json", "--fail-check"], check=False)
    assert failed.summary.check == "failed" and failed.summary.exit_code == 1


def test_a_program_by_path_runs_too(home):
    run = rubato.run(str(home / "bin/sssp-native"), engine="native", cores=1)
    assert run.summary.check == "none" and run.summary.seconds == 0.5


def test_a_program_that_types_its_tasks_itself_has_no_mode(home, capsys):
    own = str(home / "bin/sssp-native")
    assert call("run", own, "--engine", "native", "--cores", "1", "--out", "s/a") == 0
    assert "1 worker of this machine\n" in capsys.readouterr().out
    assert json.loads(Path("s/a/summary.json").read_text())["mode"] is None
    rubato.run(own, engine="native", cores=2, trace=True, out="s/b")
    assert call("report", "s", "--out", "s.html") == 0
    page = Path("s.html").read_text()
    assert "None" not in page.partition("<main>")[0] and "1 to 2 cores." in page
    assert "all tasks on 1 core" in page, "the reference of the speed-up"


def test_the_summary_for_people_shows_time_and_tasks(home, capsys):
    assert call("run", "sssp", "--engine", "native", "--cores", "2", "--out", "r") == 0
    text = capsys.readouterr().out
    for words in ("2 workers of this machine", "250 ms in run()", "100", "passed", "7 reads repeated, 3 run alone"):
        assert words in text
    assert "cycles" not in text and "simulated" not in text and "long tasks" not in text


def test_long_tasks_are_counted_and_named(home, capsys):
    assert call("run", "sssp", "--engine", "native", "--cores", "2", "--out", "r", "--", "--long-tasks") == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("long tasks"))
    assert line.split(maxsplit=2)[2] == (
        "7 of over 10 ms: visit (2, the longest 1.25 s), load (14.1 ms), f0 (11 ms), others (3)"
    )
    found = rubato.load("r").summary.long_tasks
    assert found.count == 7 and len(found.functions) == 6
    assert found.functions[0].function == "void app::(anonymous namespace)::visit<2>(Vertex*)"
    assert call("run", "sssp", "--engine", "native", "--json") == 0
    assert json.loads(capsys.readouterr().out)["long_tasks"] == {"count": 0, "functions": []}
    assert call("run", "sssp", "--json") == 0
    assert json.loads(capsys.readouterr().out)["long_tasks"] is None
    assert call("report", "r", "--out", "r.html") == 0
    assert ">over 10 ms</th>" in Path("r.html").read_text()


def test_what_lagging_came_to_is_one_line(home, capsys):
    assert call("run", "sssp", "--engine", "native", "--cores", "2", "--out", "r", "--", "--lagging") == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("lagging"))
    # 15 of 40 waits found something; 5 of 500 ms of both workers.
    said = line.split(maxsplit=1)[1]
    assert said == "1.0 % of the workers' time, 38 % hits, C 21.4 us of a sleep and 1.5 us of a turn"
    assert rubato.load("r").summary.lagging.turn_waits == 20
    assert call("run", "sssp", "--engine", "native", "--out", "n") == 0
    assert "lagging" not in capsys.readouterr().out
    assert rubato.load("n").summary.lagging is None


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["--set", "l2.size=1MiB"], 2, "--set is for the simulated chip"),
        (["--config", "small"], 2, "--config is for the simulated chip"),
        (["--max-cycles", "5"], 2, "--max-cycles is for the simulated chip"),
        (["--interval", "5"], 2, "--interval is for the simulated chip"),
        (["--mode", "spec", "--", "--type", "nonspec"], 2, "--mode spec and --type nonspec contradict"),
        (["--cores", "0"], 2, "1 to 1024"),
        (["--", "--fail-check"], 1, "check failed"),
        (["--", "--wrong-input"], 2, "graph.gr:17: negative length -4"),
        (["--", "--crash"], 3, "ended by SIGSEGV. something went wrong"),
        (["--", "--no-engine"], 2, "is not a program of the native engine"),
    ],
)
def test_errors_are_one_sentence_with_the_right_exit_code(home, capsys, arguments, code, words):
    assert call("run", "sssp", "--engine", "native", "--out", "r", *arguments) == code
    err = capsys.readouterr().err
    assert words in err and one_sentence(err)
    assert not (Path("r/summary.json").exists() and code != 1)


def test_the_reason_is_what_is_wrong_and_not_what_stands_around_it(home, capsys):
    assert call("run", "sssp", "--engine", "native", "--json", "--", "--throw", "too many") == 3
    assert json.loads(capsys.readouterr().out)["error"] == "sssp was ended by SIGABRT. too many"
    assert call("run", "sssp", "--engine", "native", "--json", "--", "--wrong-usage") == 2
    assert json.loads(capsys.readouterr().out)["error"] == "--source: 'x' is not a whole number"


def test_a_choice_that_the_engine_cannot_have_is_wrong_usage_in_a_program_that_does_not_catch_it(home, capsys):
    own = str(home / "bin/sssp-native")
    said = "99 workers were asked for, but this process may use only 2 CPUs: ask for fewer, or "
    thrown = f"{said}set oversubscribe (RUBATO_OVERSUBSCRIBE=1)"
    assert call("run", own, "--engine", "native", "--out", "r", "--", "--throw", thrown) == 2
    assert capsys.readouterr().err == f"rubato: {said}give --oversubscribe.\n" and not Path("r").exists()


def test_what_the_cpp_library_says_of_other_exceptions_is_passed_on(home, capsys):
    assert call("run", "sssp", "--engine", "native", "--", "--throw", "too many") == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["terminate called after throwing an instance of 'X'", "  what():  too many"]


def test_the_last_line_is_passed_on_though_the_next_one_might_have_told_more():
    lines: list[str] = []
    shown = native._Shown(lines.append)
    for text in ("a", "terminate called after throwing an instance of 'int'"):
        shown.line(text)
    assert lines == ["a"]
    shown.end()
    assert lines == ["a", "terminate called after throwing an instance of 'int'"]


def test_wrong_usage_leaves_nothing_behind(home):
    assert call("run", "sssp", "--engine", "native", "--out", "r", "--", "--wrong-input") == 2
    assert not Path("r").exists()


def test_oversubscription_is_passed_on_and_is_not_for_the_chip(home, capsys):
    run = rubato.run("sssp", engine="native", cores=8, oversubscribe=True)
    assert run.output.startswith("workers: 8 oversubscribed")
    assert call("run", "sssp", "--oversubscribe") == 2
    assert "native" in capsys.readouterr().err


def test_an_application_of_one_engine_says_so_on_the_other(own_home, capsys):
    (own_home / "apps/hashjoin").mkdir()
    (own_home / "apps/hashjoin/app.toml").write_text('name = "hashjoin"\nsummary = "Join"\nengines = ["native"]\n')
    assert call("run", "hashjoin") == 2
    assert "hashjoin runs on the native engine only (--engine native)." in capsys.readouterr().err
    assert call("run", "hashjoin", "--engine", "native") == 2
    assert "hashjoin is not built for this machine" in capsys.readouterr().err
    (own_home / "bin/hashjoin-native").symlink_to(own_home / "bin/sssp-native")
    assert call("run", "hashjoin", "--engine", "native", "--mode", "spec") == 2
    assert "leave out --mode" in capsys.readouterr().err
    assert call("apps") == 0
    assert "chip, native" in capsys.readouterr().out


def test_a_time_limit_ends_the_run_with_4(home, capsys):
    assert call("run", "sssp", "--engine", "native", "--timeout", "300ms", "--out", "r", "--", "--sleep", "30") == 4
    assert "--timeout" in capsys.readouterr().err and not rubato.load("r").complete


def test_an_interrupt_marks_the_run_incomplete(home):
    process = start("run", "sssp", "--engine", "native", "--out", "r", "--", "--sleep", "30")
    wait_for(lambda: Path("r/run.toml").exists())
    wait_for(lambda: Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130 and "Traceback" not in err
    assert not rubato.load("r").complete


def test_a_trace_goes_into_the_run_directory(home):
    rubato.run("sssp", engine="native", trace=True, out="r")
    assert Path("r/trace.json").exists() and rubato.load("r").trace == Path("r/trace.json")


def test_sweeps_and_reports_take_native_runs_alone_and_beside_simulated_ones(home, capsys):
    plan = {"program": "sssp", "cores": [1, 2], "mode": ["nonspec", "spec"], "seeds": 3, "engine": "native"}
    sweep = rubato.sweep(plan, out="native")
    assert len(sweep.runs) == 12 and sweep.frame()["seconds"].to_list()[0] == 0.5
    assert call("sweep", "--program", "sssp", "--engine", "native", "--cores", "1,2", "--out", "again") == 0
    assert "time" in capsys.readouterr().out
    assert call("report", "native", "--out", "native.html") == 0
    page = Path("native.html").read_text()
    assert "on this machine" in page and "simulated chips" not in page and "2.00×" in page
    rubato.sweep({"program": "sssp", "cores": [1, 4]}, out="chip")
    assert call("report", "native", "chip", "--out", "both.html") == 0
    page = Path("both.html").read_text()
    assert "simulated chips and this machine" in page and "sssp --verify (native)" in page


def test_native_runs_can_be_compared(home, capsys):
    rubato.run("sssp", engine="native", cores=1, out="a")
    rubato.run("sssp", engine="native", cores=2, out="b")
    assert call("compare", "a", "b") == 0
    assert "seconds" in capsys.readouterr().out


def test_what_only_the_chip_has_is_no_difference_to_a_native_run(home, capsys):
    rubato.run("sssp", engine="native", cores=2, out="native")
    rubato.run("sssp", cores=4, out="chip")
    assert call("compare", "chip", "native", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert "engine" in json.dumps(found) and "chip.cores" not in json.dumps(found)
    assert "cycle" not in json.dumps(found) and "instructions" not in json.dumps(found)


def test_a_report_draws_the_trace_of_a_native_run(home):
    rubato.run("sssp", engine="native", cores=2, out="a")
    slice_ = {"ph": "X", "cat": "task", "name": "visit", "pid": 0, "tid": 1, "ts": 1.0, "dur": 2.0, "args": {}}
    Path("a/trace.json").write_text('{"traceEvents":[\n' + json.dumps(slice_, separators=(",", ":")) + "\n]}\n")
    assert call("report", "a", "--out", "a.html") == 0
    assert '"names": ["visit"]' in Path("a.html").read_text() or '"names":["visit"]' in Path("a.html").read_text()

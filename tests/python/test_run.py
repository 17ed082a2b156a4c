"""`rubato run` and `rubato.run`: summaries, exit codes, errors of one sentence, interrupts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rubato
from helpers import COMMAND, call, heed_interrupts, start, wait_for
from helpers import rubato as rubato_process
from rubato.cli import terminal
from rubato.cli.ending import ended
from rubato.home import locate
from rubato.results.summary import CycleBreakdown


def one_sentence(text: str) -> bool:
    return text.startswith("rubato: ") and text.count("\n") == 1 and "Traceback" not in text


def test_json_is_one_object_with_the_stable_keys_and_nothing_else(home, capsys):
    assert call("run", "sssp", "--cores", "16", "--mode", "nonspec", "--seed", "7", "--json") == 0
    out = capsys.readouterr()
    summary = json.loads(out.out)
    assert out.out.count("\n") == 1 and out.err == ""
    stable = {
        "program", "engine", "cores", "mode", "seed", "cycles", "seconds", "instructions", "tasks", "cycle_breakdown",
        "network_bytes", "check", "host", "output",
    }  # fmt: skip
    assert stable <= summary.keys()
    assert (summary["cores"], summary["mode"], summary["seed"]) == (16, "nonspec", 7)
    assert set(summary["tasks"]) >= {"created", "committed", "aborted", "nonspeculative", "spilled", "promoted"}
    assert sum(summary["cycle_breakdown"].values()) == pytest.approx(1)


def test_the_summary_for_people_shows_check_cycles_and_where_cycles_went(home, capsys):
    assert call("run", "sssp", "--cores", "64") == 0
    text = capsys.readouterr().out
    for words in ("nodes: 90000", "64 simulated cores", "passed", "non-speculative", "no task", "runs/sssp-64"):
        assert words in text


def test_a_run_with_nothing_in_detail_has_no_heading_without_bars(home, capsys):
    run = rubato.run("sssp", cores=4).summary
    terminal.out.print(terminal.summary(run, "r"))
    assert "core cycles" in capsys.readouterr().out
    terminal.out.print(terminal.summary(run.model_copy(update={"cycle_breakdown": CycleBreakdown()}), "r"))
    assert "core cycles" not in capsys.readouterr().out


def test_a_closed_pipe_ends_quietly_as_it_does_for_other_tools(home):
    for arguments in (["apps"], ["config", "explain", "l2.latency"], ["run", "sssp", "--json"], ["run", "sssp"]):
        process = start(*arguments)
        process.stdout.close()
        assert (process.stderr.read(), process.wait(30)) == ("", 141), arguments


def test_a_directory_may_be_named_like_markup(home, capsys):
    assert call("run", "sssp", "--out", "r[red]") == call("run", "sssp", "--out", "r[/x]") == 0
    out = capsys.readouterr().out
    assert "r[red]" in out and "r[/x]" in out


def test_applications_are_asked_to_verify_unless_told_not_to(home):
    assert rubato.run("sssp", cores=4).summary.check == "passed"
    assert rubato.run("sssp", cores=4, verify=False).summary.check == "none"
    assert "--verify" in rubato.run("sssp", cores=4, arguments=["--verify"]).arguments


def test_options_of_the_program_go_to_it_with_and_without_dashes(home):
    assert call("run", "sssp", "--source", "5", "--cores", "4", "--out", "a") == 0
    assert call("run", "sssp", "--cores", "4", "--out", "b", "--", "--source", "5") == 0
    assert call("run", "--cores", "4", "--out", "c", "--", "sssp", "--source", "5") == 0
    for name in "abc":
        assert rubato.load(name).arguments == ["--source", "5", "--verify"]


def test_help_tells_the_seed_of_the_chip_from_the_program_s(home, capsys):
    for command, words in (("run", "One of the input is the program's, behind `--`."), ("sweep", "`-- --seed N`")):
        assert call(command, "--help") == 0
        assert words in " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["run", "ssp"], 2, "Did you mean sssp?"),
        (["run", ""], 2, "the program's name is empty"),
        (["run", "sssp", "--cors", "4"], 2, "Did you mean --cores?"),
        (["run", "sssp", "--", "--graf", "x"], 2, "Did you mean --graph?"),
        (["run", "sssp", "--set", "l2.sise=1MiB"], 2, "Did you mean l2.size"),
        (["run", "sssp", "--set", "l2.size"], 2, "KEY=VALUE"),
        (["run", "sssp", "--cores", "0"], 2, "1 to 1024"),
        (["run", "sssp", "--cores", "1025"], 2, "1 to 1024"),
        (["run", "sssp", "--cores", "many"], 2, "many"),
        (["run", "sssp", "--seed", "1.5"], 2, "1.5"),
        (["run", "sssp", "--max-cycles", "1e9"], 2, "1e9"),
        (["run", "sssp", "--timeout", "0s"], 2, "longer than 0, not 0 s"),
        (["compare", "a", "b", "--limit", "few"], 2, "few"),
        (["sweep", "--program", "sssp", "--seeds", "some"], 2, "some"),
        (["sweep", "--program", "sssp", "--seeds", "-2"], 2, "at least 1, not -2"),
        (["sweep", "--program", "sssp", "--jobs", "0"], 2, "at least 1, not 0"),
        (["run", "sssp", "--mode", "fast"], 2, "spec, nonspec, mayspec"),
        (["run", "sssp", "--engine", "fpga"], 2, "chip, native or serial"),
        (["run", "sssp", "--timeout", "soon"], 2, "90s or 10m"),
        (["run", "sssp", "--config", "espreso"], 2, "does not exist"),
        (["run", "sssp", "--config", "."], 2, "configuration file . is a directory"),
        (["run", "sssp", "--config", "/dev/null"], 2, "/dev/null is no regular file"),
        (["run", "sssp", "--config", ""], 2, "--config takes"),
        (["sweep", "--program", "sssp", "--seed", "4"], 2, "the chip's seeds 1 to N; the program's own follows `--`"),
        (["run", "--generate", "x", "sssp"], 2, "no option --generate. Options of the program follow PROGRAM, or `--`"),
        (["sweep", "--generate", "x"], 2, "no option --generate. Options of the program follow PLAN.toml or --program"),
        (["sweep", "--jops", "4"], 2, "no option --jops. Did you mean --jobs?"),
        (["sweep", "--program", "sssp", "--jops", "4"], 2, "nor sssp has an option --jops. Did you mean --jobs?"),
        (["sweep", "--program", "sssp", "--jops", "4"], 2, "Options of the program can always follow `--`"),
        (["sweep", "."], 2, ". cannot be read: Is a directory.\n"),
        (["run", "sssp", "--cores", "4", "--set", "chip.cores_per_tile=3"], 2, "a multiple of 3"),
        (["run", "sssp", "--set", "l2.latency=0"], 2, "1 to 1000"),
        (["run"], 2, "which program"),
        (["run", "."], 2, "is a directory"),
        (["run", "sssp", "--", "--fail-check"], 1, "check failed"),
        (["run", "sssp", "--", "--refuse"], 2, "bad.gr:1: a number was expected"),
        (["run", "sssp", "--", "--fault"], 3, "visit()"),
        (["run", "sssp", "--", "--deadlock"], 4, "nothing can proceed"),
        (["run", "sssp", "--", "--crash"], 70, "SIGSEGV"),
        (["rn"], 2, "Did you mean run?"),
        (["run", "sssp", "--jsn"], 2, "Did you mean --json?"),
        (["load"], 2, "no command load"),
    ],
)
def test_errors_are_one_sentence_with_the_right_exit_code(home, capsys, arguments, code, words):
    assert call(*arguments) == code
    err = capsys.readouterr().err
    assert words in err and one_sentence(err)


def test_json_failures_are_an_object_too(home, capsys):
    assert call("run", "sssp", "--json", "--", "--fault") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == 3 and "visit()" in document["error"]
    assert call("run", "ssp", "--json") == 2
    assert json.loads(capsys.readouterr().out)["exit_code"] == 2


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["run", "sssp", "--cores", "many"], 2, "not many"),
        (["run", "sssp", "--out", "file/sub"], 2, "file/sub: Not a directory"),
        (["run", "sssp", "--seed"], 2, "requires an argument; see `rubato run --help`"),
        (["sweep", "--program", "ssp"], 2, "Did you mean sssp?"),
        (["compare", "a", "b"], 2, "a is not a directory"),
        (["apps", "ssp"], 2, "no application ssp"),
    ],
)
def test_with_json_every_error_is_one_object(home, capsys, arguments, code, words):
    Path("file").write_text("")
    assert call(*arguments[:1], "--json", *arguments[1:]) == code
    out = capsys.readouterr()
    document = json.loads(out.out)
    assert words in document["error"] and document["exit_code"] == code and one_sentence(out.err)


INTERRUPTED_AT_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
def hook(event, arguments):
    if event == "import" and arguments[0] == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
from rubato.cli import main
main()
"""


@pytest.mark.parametrize(
    "module", ["rubato.running.engines", "rubato.running.spec", "subprocess", "rubato.running.chip"]
)
@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_an_interrupt_while_modules_are_loaded_is_one_sentence(home, module, json_):
    command = [sys.executable, "-c", INTERRUPTED_AT_IMPORT.format(module=module), "run", "sssp", *json_, "--", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, "rubato: interrupted.\n")
    if json_:
        assert json.loads(ended.stdout) == {"error": "interrupted.", "exit_code": 130}
    else:
        assert ended.stdout == ""


def test_an_interrupt_while_python_starts_is_no_traceback(home):
    script = Path(__file__).parents[2] / "python/scripts/rubato"
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for milliseconds in range(0, 80, 4):
        process = subprocess.Popen([script, "run", "sssp", "--out", "r", "--force", "--", "--sleep", "30"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=os.environ | path, preexec_fn=heed_interrupts)  # fmt: skip
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        # By the signal itself only until the shell has read the script's first lines, and when it passes on.
        assert process.returncode == 130 or (process.returncode == -signal.SIGINT and not said), (milliseconds, said)
        assert said in ("", "rubato: interrupted.\n"), milliseconds


def test_a_run_loads_nothing_that_only_other_commands_need(home):
    program = "import sys; from rubato.cli import call; call(sys.argv[1:]); print(*sys.modules)"
    arguments = ["run", "sssp", "--cores", "4", "--json"]
    ran = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60)
    assert '"check": "passed"' in ran.stdout
    others = {"rubato.report", "rubato.sweeping.sweep", "rubato.home.doctor", "rubato.results.compare",
              "rubato.running.native", "polars"}  # fmt: skip
    assert not others & set(ran.stdout.split()), others & set(ran.stdout.split())


def test_the_command_is_the_package_run_as_a_module(home):
    ran = subprocess.run([sys.executable, "-m", "rubato", "--version"], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, f"rubato {rubato.__version__}\n")


def test_an_interrupted_run_leaves_one_object_too(home):
    process = start("run", "sssp", "--json", "--out", "r", "--", "--sleep", "30")
    wait_for(lambda: Path("r/progress.json").exists())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert json.loads(out) == {"error": "interrupted.", "exit_code": 130} and process.returncode == 130


@pytest.mark.parametrize("engine", ["chip", "native"])
def test_json_prints_what_summary_json_holds(home, capsys, engine):
    Path("own").write_bytes((home / ("guest/sssp" if engine == "chip" else "bin/sssp-native")).read_bytes())
    Path("own").chmod(0o755)
    for program in ("sssp", "./own"):
        assert call("run", program, "--engine", engine, "--out", "r", "--force", "--cores", "1", "--json") == 0
        printed = json.loads(capsys.readouterr().out)
        kept = json.loads(Path("r/summary.json").read_text())
        assert printed.pop("directory") == "r" and printed["program"] == Path(program).name
        assert kept == {key: printed[key] for key in kept}
        others = [value for key, value in printed.items() if key not in kept]
        assert not any(any(value.values()) if isinstance(value, dict) else value for value in others)  # defaults


def test_where_nothing_ran_json_names_no_directory(home, capsys):
    assert call("run", "sssp", "--json", "--out", "r", "--", "--refuse") == 2
    out = capsys.readouterr()
    assert json.loads(out.out) == {"error": "bad.gr:1: a number was expected", "exit_code": 2}
    assert one_sentence(out.err)


@pytest.mark.parametrize("arguments", [["run", "sssp"], ["apps"], ["apps", "sssp"], ["sweep", "--program", "sssp"]])
def test_a_home_without_rubato_is_said(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.setenv("RUBATO_HOME", str(tmp_path))
    assert call(*arguments) == 2
    said = capsys.readouterr()
    assert one_sentence(said.err) and said.out == ""
    assert str(tmp_path) in said.err and "RUBATO_HOME" in said.err and "make build" in said.err
    monkeypatch.delenv("RUBATO_HOME")
    monkeypatch.setattr(locate, "homes", lambda: [tmp_path])  # an installed package
    assert call(*arguments) == 2
    said = capsys.readouterr().err
    assert one_sentence(said) and "RUBATO_HOME" in said and "make build" in said


def test_an_error_that_nobody_can_be_told_has_its_exit_code(home):
    with open("/dev/full", "w") as full:
        assert subprocess.run([*COMMAND, "run", "ssp"], stderr=full).returncode == 2


def test_output_that_nothing_takes_is_said(home):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "apps"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "rubato: the output cannot be written: No space left on device.\n"


def test_a_failed_check_raises_with_the_run_inside(home):
    with pytest.raises(rubato.RunFailed) as failure:
        rubato.run("sssp", arguments=["--fail-check"])
    assert failure.value.exit_code == 1
    assert failure.value.run.summary.check == "failed"
    assert rubato.run("sssp", arguments=["--fail-check"], check=False).summary.check == "failed"


def test_an_input_that_an_application_refuses_is_wrong_usage_and_leaves_no_run(home, capsys):
    with pytest.raises(rubato.UsageError, match="^bad.gr:1: a number was expected$"):
        rubato.run("sssp", out="r", arguments=["--refuse"])
    assert not Path("r").exists()
    Path("own").write_bytes(Path(home / "guest/sssp").read_bytes())  # who knows what another program means by 2
    assert call("run", "./own", "--", "--refuse") == 1
    assert capsys.readouterr().err.endswith("rubato: the program exited with status 2\n")


def test_unknown_python_arguments_get_a_hint(home):
    with pytest.raises(rubato.UsageError, match="Did you mean interval"):
        rubato.run("sssp", intervall=3)
    with pytest.raises(rubato.UsageError, match="cores: input should be a valid integer.*not 'many'"):
        rubato.run("sssp", cores="many")


def test_runs_get_directories_of_their_own_and_finished_ones_are_kept(home, capsys):
    first, second = rubato.run("sssp", cores=4), rubato.run("sssp", cores=4)
    assert first.directory == Path("runs/sssp-4") and second.directory == Path("runs/sssp-4.2")
    assert call("run", "sssp", "--out", "runs/sssp-4") == 2
    assert "--force" in capsys.readouterr().err
    assert call("run", "sssp", "--out", "runs/sssp-4", "--force") == 0
    Path("precious").mkdir()
    Path("precious/thesis.tex").write_text("")
    assert call("run", "sssp", "--out", "precious", "--force") == 2
    assert Path("precious/thesis.tex").exists()


@pytest.mark.parametrize("command", [["run", "sssp"], ["sweep", "--program", "sssp"]])
def test_one_directory_takes_one_run_at_a_time(home, capsys, command):
    again = [*command, "--force" if "run" in command else "--resume", "--out", "r"]
    first = start(*command, "--out", "r", "--", "--sleep", "30")
    wait_for(lambda: any(Path("r").rglob("progress.json")))
    assert call(*again) == 2
    assert capsys.readouterr().err == "rubato: r is being written by another run; choose another --out.\n"
    first.terminate()
    first.communicate()
    assert call(*again) == 0


def test_a_time_limit_ends_the_run_with_4_and_marks_it_incomplete(home, capsys):
    assert call("run", "sssp", "--timeout", "300ms", "--out", "r", "--", "--sleep", "30") == 4
    assert "--timeout" in capsys.readouterr().err
    assert not rubato.load("r").complete
    assert "--timeout" in Path("r/incomplete").read_text()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_the_simulator_and_marks_the_run_incomplete(home, sign):
    process = start("run", "sssp", "--out", "r", "--", "--sleep", "30")
    wait_for(lambda: Path("r/progress.json").exists())
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(process.pid, sign)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in err and "Traceback" not in err
    assert Path("r/incomplete").exists() and not rubato.load("r").complete
    assert children and not any(Path(f"/proc/{c}/cmdline").exists() for c in children)


def test_a_run_under_nohup_goes_on_when_the_terminal_is_gone(home):
    process = subprocess.Popen(["nohup", *COMMAND, "run", "sssp", "--out", "r", "--", "--sleep", "2"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    wait_for(lambda: Path("r/progress.json").exists())
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in (process.pid, *map(int, children)):  # the simulator's, and its watcher's
        os.kill(pid, signal.SIGHUP)
    process.communicate()
    assert process.returncode == 0 and len(children) == 2 and rubato.load("r").complete


@pytest.mark.parametrize("engine", ["chip", "native"])
def test_names_that_the_terminal_does_not_have_do_no_harm(home, engine):
    plain = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = rubato_process("run", "sssp", "--engine", engine, "--out", "Zürich", env=plain)
    assert (done.returncode, done.stderr) == (0, "") and "Z?rich" in done.stdout
    done = rubato_process("report", "Zürich", "--out", "ü.html", env=plain)
    assert (done.returncode, done.stderr) == (0, "") and Path("ü.html").exists()


def test_bars_are_of_characters_that_the_terminal_has(home):
    plain = os.environ | {"PYTHONIOENCODING": "ascii"}
    ascii_ = rubato_process("run", "sssp", "--cores", "16", "--out", "a", env=plain)
    assert "#####" in ascii_.stdout and "?" not in ascii_.stdout
    utf = rubato_process("run", "sssp", "--cores", "16", "--out", "u", env=os.environ | {"PYTHONIOENCODING": "utf-8"})
    assert "█████" in utf.stdout and "#" not in utf.stdout


def test_files_are_utf_8_whatever_the_locale(home):
    Path("plan.toml").write_text('program = "sssp"\narguments = ["Zürich"]\n', encoding="utf-8")
    locale = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = rubato_process("sweep", "plan.toml", "--dry-run", "--json", env=locale)
    assert json.loads(done.stdout)["points"][0]["spec"]["arguments"] == ["Zürich"], done.stderr


def test_without_the_simulator_the_remedy_is_named(own_home, capsys):
    (own_home / "bin/rubato-chip").unlink()
    assert call("run", "sssp") == 2
    assert "make build" in capsys.readouterr().err
    (own_home / "guest/sssp").unlink()
    assert call("doctor") == 2
    out = capsys.readouterr()
    assert "one thing that is needed is missing; run: make build." in out.err
    assert "make build" in out.out and "rubato-chip" in out.out


def test_a_shipped_configuration_is_found_by_name(home):
    run = rubato.run("sssp", cores=4, config="small")
    assert any(a.endswith("configs/small.toml") for a in run.manifest["command_line"])


def test_doctor_finds_an_application_that_is_built_for_one_engine(own_home, capsys):
    def found() -> str:
        call("doctor", "--json")
        return next(f["found"] for f in json.loads(capsys.readouterr().out) if f["name"] == "application sssp")

    assert found() == str(own_home / "guest/sssp")
    (own_home / "bin/sssp-native").unlink()
    assert found() == f"{own_home / 'guest/sssp'} (not for native)"
    (own_home / "guest/sssp").unlink()
    assert found() == ""


def test_doctor_derives_the_number_of_native_workers(own_home, capsys):
    info = own_home / "bin/rubato-native-info"
    info.write_text("""#!/bin/sh
test "$*" = --json || exit 2
echo '{"derivation": ["affinity allows 8 CPUs: 0-7", "/cpu.max allows 1.5 CPUs", "2 workers, not pinned"]}'
""")
    info.chmod(0o755)
    call("doctor", "--json")
    native = next(f for f in json.loads(capsys.readouterr().out) if f["name"] == "native engine")
    assert native["found"] == "2 workers, not pinned"
    assert native["details"] == ["affinity allows 8 CPUs: 0-7", "/cpu.max allows 1.5 CPUs"]
    call("doctor")
    out = " ".join(capsys.readouterr().out.split())
    assert "native engine: affinity allows 8 CPUs: 0-7; /cpu.max allows 1.5 CPUs" in out


@pytest.mark.parametrize("command", [["run", "sssp"], ["sweep", "--program", "sssp"]])
def test_a_directory_that_cannot_be_made_is_the_users_to_mend(home, capsys, command):
    Path("file").write_text("")
    assert call(*command, "--out", "file/sub") == 2
    assert capsys.readouterr().err == "rubato: file/sub: Not a directory.\n"


def test_a_program_that_exits_non_zero_says_why_where_nobody_reads_it(home):
    from rubato.running.chip import _last_words

    errors = ["sssp: cannot open nope.gr", "rubato-chip: the program exited with status 2"]
    assert _last_words(errors, is_read=True) == "the program exited with status 2"
    assert _last_words(errors, is_read=False) == "the program exited with status 2: sssp: cannot open nope.gr"
    assert _last_words(errors[1:], is_read=False) == "the program exited with status 2"


def test_a_simulator_that_cannot_be_started_is_named(own_home, capsys):
    chip = own_home / "bin" / "rubato-chip"
    chip.unlink()
    chip.write_text("#!/bin/sh\nexit 127\n")
    chip.chmod(0o755)
    assert call("run", "sssp", "--cores", "4") == 127
    assert f"rubato: {chip} exited with 127: it cannot run here, or a library that" in capsys.readouterr().err


@pytest.mark.parametrize(("folder", "hint"), [("runs", "; name another folder by --out"), ("elsewhere", "")])
def test_a_folder_that_may_not_be_made_is_told_with_the_way_out(capsys, folder, hint):
    def make() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    assert ended(make, wants_json=False) == 2
    assert f"rubato: {folder}: Permission denied{hint}.\n" in capsys.readouterr().err

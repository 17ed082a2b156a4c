"""des on the chip: every type of task and of log, made and real circuits, with its own check passed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

DATA = Path(os.environ.get("RUBATO_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def des(rubato_chip: Path, guests: Path, cores: int, *arguments: str) -> str:
    command = [rubato_chip, "--cores", str(cores), "--check-replay", guests / "des", *arguments, "--verify"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("kind", ["mayspec", "spec", "nonspec"])
@pytest.mark.parametrize("cores", [1, 4, 16, 64])
def test_a_multiplier_passes_its_check(cores: int, kind: str, rubato_chip: Path, guests: Path) -> None:
    out = des(rubato_chip, guests, cores, "--generate", "csa:8", "--vectors", "2", "--type", kind)
    assert "check: passed" in out


@pytest.mark.parametrize("log_type", ["nonspec", "spec", "spec-at-log"])
@pytest.mark.parametrize("cores", [1, 16, 64])
def test_every_change_is_logged(cores: int, log_type: str, rubato_chip: Path, guests: Path) -> None:
    out = des(rubato_chip, guests, cores, "--generate", "csa:4", "--vectors", "3", "--log-type", log_type)
    assert "check: passed" in out
    lines = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
    assert lines["logged"] == lines["net changes"]


@pytest.mark.parametrize("kind", ["mayspec", "spec", "nonspec"])
@pytest.mark.parametrize("cores", [1, 4, 16])
@pytest.mark.parametrize("circuit", ["counter:12", "lfsr:23"])
def test_a_sequential_circuit_passes_its_check(
    circuit: str, cores: int, kind: str, rubato_chip: Path, guests: Path
) -> None:
    out = des(rubato_chip, guests, cores, "--generate", circuit, "--vectors", "12", "--type", kind, "--events", "heap")
    assert " flip-flops, 1 inputs" in out and "check: passed" in out


# ISCAS-89's style: flip-flops before what drives them. Two bits that count up, or down where `down` is 1.
UP_DOWN = """
INPUT(down)
OUTPUT(q0)
OUTPUT(q1)
q0 = DFF(n0)
q1 = DFF(d1)
n0 = NOT(q0)
same = XNOR(q0, down)
d1 = XNOR(same, q1)
"""


@pytest.mark.parametrize("variant", ["tasks", "threads"])
@pytest.mark.parametrize("engine", ["serial", "native", "chip"])
def test_flip_flops_of_a_netlist_begin_where_the_option_says(
    engine: str, variant: str, rubato_chip: Path, guests: Path, build: Path, tmp_path: Path
) -> None:
    netlist = tmp_path / "up_down.bench"
    netlist.write_text(UP_DOWN)
    on_chip = [rubato_chip, "--quiet", "--cores", "4", guests / "des"]
    command = on_chip if engine == "chip" else [build / "bin" / f"des-{engine}"]
    printed = set()
    for state in ("0", "1", "random"):
        done = subprocess.run([*command, "--netlist", netlist, "--vectors", "20", "--variant", variant, "--verify",
                               "--initial-state", state], capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode, "check: passed" in done.stdout) == (0, True), done.stdout + done.stderr[-2000:]
        assert "circuit: 3 gates, 2 flip-flops, 1 inputs, 2 outputs" in done.stdout
        printed.add(done.stdout)
    assert len(printed) >= 2, "another state has other waveforms"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--generate", "lfsr:8"], "--generate lfsr:8: csa:WIDTH with a width of 2 to 1024 bits (csa:32), counter"),
        (["--generate", "counter:4", "--initial-state", "1"], "--initial-state requires --netlist"),
        (["--generate", "counter:4", "--period", "9"], "--period 9 is too short"),
    ],
)
def test_what_a_sequential_circuit_cannot_be_is_refused(
    arguments: list[str], sentence: str, build: Path
) -> None:
    done = subprocess.run([build / "bin" / "des-serial", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and sentence in done.stderr, done.stderr


@pytest.mark.parametrize(("name", "cores"), [("c432", 1), ("c432", 4), ("c432", 16), ("c6288", 16)])
def test_a_real_circuit_passes_its_check(name: str, cores: int, rubato_chip: Path, guests: Path) -> None:
    netlist = DATA / "iscas85" / f"{name}.bench"
    if not netlist.exists():
        pytest.skip(f"{netlist} is not here")
    out = des(rubato_chip, guests, cores, "--netlist", str(netlist), "--vectors", "1")
    assert "check: passed" in out


@pytest.mark.parametrize("where", ["absent/x.vcd", "."])
def test_waveforms_that_cannot_be_written_are_refused_before_the_simulation(
    where: str, rubato_chip: Path, guests: Path, build: Path, tmp_path: Path
) -> None:
    for command in ([rubato_chip, "--quiet", "--cores", "1", guests / "des"], [build / "bin" / "des-serial"]):
        done = subprocess.run([*command, "--vcd", where], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2) and done.stdout == "", "nothing was simulated"
        assert done.stderr.startswith(f"des: cannot write {where}: ")


def test_waveforms_are_replaced_only_when_the_simulation_is_done(build: Path, tmp_path: Path) -> None:
    waveforms = tmp_path / "x.vcd"
    command = [build / "bin" / "des-serial", "--vcd", waveforms, "--netlist", tmp_path / "absent.bench"]
    for before in (None, "of an earlier run"):
        if before is not None:
            waveforms.write_text(before)
        assert subprocess.run(command, capture_output=True, check=False).returncode == 2
        assert (waveforms.read_text() if waveforms.exists() else None) == before


@pytest.fixture(params=["serial", "native", "chip"])
def small_des(request: pytest.FixtureRequest, rubato_chip: Path, guests: Path, build: Path) -> list[str | Path]:
    """A short simulation on every engine."""
    on_chip = [rubato_chip, "--quiet", "--cores", "1", guests / "des"]
    command = on_chip if request.param == "chip" else [build / "bin" / f"des-{request.param}"]
    return [*command, "--generate", "csa:4"]


def a_full_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("before", [None, "of an earlier run"])
def test_waveforms_that_the_disk_does_not_take_leave_what_was_there(
    before: str | None, small_des: list[str | Path], tmp_path: Path
) -> None:
    waveforms = tmp_path / "x.vcd"
    if before is not None:
        waveforms.write_text(before)
    done = subprocess.run([*small_des, "--vcd", "x.vcd"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          preexec_fn=a_full_disk)  # fmt: skip
    assert done.returncode in (1, 2) and "net changes" in done.stdout
    assert done.stderr.splitlines()[0] == "des: cannot write x.vcd: File too large"
    assert [f.read_text() for f in tmp_path.iterdir()] == ([] if before is None else [before])


def test_waveforms_go_to_pipes_and_behind_links_and_into_standard_output(
    small_des: list[str | Path], tmp_path: Path
) -> None:
    def written_to(where: str, output: int) -> None:
        subprocess.run([*small_des, "--vcd", where], cwd=tmp_path, stdout=output, check=True)

    written_to("x.vcd", subprocess.DEVNULL)
    waveforms = (tmp_path / "x.vcd").read_text()
    (tmp_path / "link.vcd").symlink_to("target.vcd")
    for _ in range(2):  # made, replaced
        written_to("link.vcd", subprocess.DEVNULL)
        assert (tmp_path / "link.vcd").is_symlink() and (tmp_path / "target.vcd").read_text() == waveforms
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        written_to("pipe", subprocess.DEVNULL)
        assert reader.communicate()[0] == waveforms
    assert (tmp_path / "pipe").is_fifo()
    with open(tmp_path / "all.txt", "w") as output:
        written_to("/dev/stdout", output.fileno())
    printed = (tmp_path / "all.txt").read_text()
    assert printed.startswith("circuit: ") and printed.endswith(waveforms)
    assert {f.name for f in tmp_path.iterdir()} == {"x.vcd", "link.vcd", "target.vcd", "pipe", "all.txt"}


def test_a_malformed_netlist_is_refused_with_file_and_line(build: Path, tmp_path: Path) -> None:
    netlist = tmp_path / "bad.bench"
    netlist.write_text("INPUT(a)\nOUTPUT(y)\ny = AND(a, b)\n")
    done = subprocess.run(
        [build / "bin" / "des-serial", "--netlist", netlist], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"{netlist}:3: nothing drives net 'b'" in done.stderr

"""apps/kvstore on the chip (P81 to P86): whatever the variant, the chip and what is aborted, it ends with the
tuples of a serial execution, and with all frames and buffers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

CHIPS = {
    "1 core": ["--cores", "1"],
    "4 cores": ["--cores", "4"],
    "16 cores": ["--cores", "16"],
    "16 cores stalling": ["--cores", "16", "--set", "conflict.forwarding=stall"],
    "no worker to spare": ["--cores", "4", "--set", "task.spare_workers=0"],
    "small queues": ["--cores", "4", "--set", "task.task_queue=4", "--set", "task.commit_queue=1"],
    "few records": ["--cores", "4", "--set", "task.handler_records=64"],
    "capsules without rights": ["--cores", "4", "--set", "task.capsules=false"],
    "one request at a time": ["--cores", "16", "--set", "disk.queue_depth=1"],
}
#: Few tuples, many writes, and few frames: misses of the same tuples at once, and dirty victims.
CROWDED = ["--queries", "200", "--tuples", "60", "--frames", "40", "--free", "8", "--writes", "50"]


def run(*command: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)


@pytest.mark.parametrize("variant", ["capsule", "promote", "memory"])
@pytest.mark.parametrize("chip", CHIPS)
def test_the_tuples_are_those_of_a_serial_execution(
    chip: str, variant: str, build: Path, guests: Path, rubato_chip: Path
) -> None:
    arguments = [*CROWDED, "--variant", variant, "--verify"]
    expected = run(build / "bin" / "kvstore-serial", *arguments).stdout
    assert expected.endswith("check: passed\n")
    # Evictions are no atomic tasks: beside them there is no serial order to replay.
    replay = [] if variant == "capsule" else ["--check-replay"]
    for more in ([], ["--ordered"]):
        done = run(rubato_chip, "--quiet", *CHIPS[chip], *replay, guests / "kvstore", *arguments, *more)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr[-2000:]


@pytest.mark.parametrize("free", ["1", "2"])
def test_queries_that_find_no_frame_serve_themselves(free: str, guests: Path, rubato_chip: Path) -> None:
    arguments = ["--queries", "150", "--tuples", "60", "--frames", "12", "--free", free, "--writes", "50", "--verify"]
    done = run(rubato_chip, "--quiet", "--cores", "16", guests / "kvstore", *arguments)
    assert done.returncode == 0 and "check: passed" in done.stdout, done.stdout + done.stderr[-2000:]


def test_capsules_wait_for_the_disk_at_once(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    cycles = {}
    for variant in ("capsule", "promote"):
        arguments = ["--queries", "300", "--tuples", "256", "--frames", "230", "--free", "30", "--variant", variant]
        done = run(rubato_chip, "--quiet", "--cores", "16", "--out", tmp_path / variant, guests / "kvstore", *arguments)
        assert done.returncode == 0, done.stderr[-2000:]
        summary = json.loads((tmp_path / variant / "summary.json").read_text())
        cycles[variant] = summary["cycles"]
        assert summary["disk"]["reads"] > 30
        assert (summary["suspended_attempts"]["count"] > 20) == (variant == "capsule")
    assert cycles["promote"] > 4 * cycles["capsule"]


def test_its_capsule_breaks_no_rule_of_capsules(guests: Path, rubato_chip: Path) -> None:
    options = ["--quiet", "--cores", "4", "--set", "run.check_capsules=true"]
    done = run(rubato_chip, *options, guests / "kvstore", *CROWDED, "--verify")
    assert done.returncode == 0 and "check: passed" in done.stdout, done.stderr[-2000:]


def aborted_in_capsules(build: Path, plan: str, *options: str) -> int:
    """Runs it with `plan`; how many attempts were aborted in a capsule."""
    chip = ["--quiet", "--cores", "4", "--set", "run.lookahead_cycles=0", *options]
    done = run(build / "bin" / "faulty-chip", plan, *chip, build / "guest" / "kvstore", *CROWDED, "--verify")
    assert done.returncode == 0 and "check: passed" in done.stdout, f"{plan}: {done.stdout}{done.stderr[-1500:]}"
    aborted = re.search(r"faulty-chip: (\d+) attempts were aborted in a capsule", done.stderr)
    assert aborted is not None, done.stderr
    return int(aborted[1])


#: A quick device: else nearly all cycles of a capsule are those of its wait.
QUICK = ["--set", "disk.read_latency=1", "--set", "disk.read_iops=10000000", "--set", "core.syscall=20"]


def test_an_abort_at_any_instruction_of_its_capsule_changes_nothing(build: Path) -> None:
    with ThreadPoolExecutor(max_workers=2) as pool:
        counts = list(pool.map(lambda n: aborted_in_capsules(build, f"doom_at={n},1", *QUICK), range(0, 5000, 499)))
    assert counts[0] > 0 and sum(1 for count in counts if count > 0) > 5


@pytest.mark.long
@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("part", range(10))
def test_aborts_at_all_instructions_of_its_capsule_change_nothing(part: int, attempts: int, build: Path) -> None:
    plans = [f"doom_at={n},{attempts}" for n in range(part * 600, part * 600 + 600)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        assert sum(pool.map(lambda plan: aborted_in_capsules(build, plan, *QUICK), plans)) > 0


def test_a_file_that_cannot_be_made_is_named(build: Path, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    sentence = "kvstore: cannot write no/such/folder: No such file or directory"
    for command in ([build / "bin" / "kvstore-serial"], [build / "bin" / "kvstore-native"],
                    [rubato_chip, "--quiet", guests / "kvstore"]):  # fmt: skip
        done = run(*command, "--file", "no/such/folder", cwd=tmp_path)
        assert done.returncode == (2 if len(command) == 1 else 1)
        assert (done.stdout, done.stderr.splitlines()[0]) == ("", sentence)


def limit_files() -> None:
    """No file grows beyond a megabyte, as on a device that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def test_a_full_device_is_named(build: Path, tmp_path: Path) -> None:
    command = [build / "bin" / "kvstore-serial", "--tuples", "1024", "--file", "tuples"]
    done = run(*command, cwd=tmp_path, preexec_fn=limit_files, restore_signals=False)
    sentence = "kvstore: tuples: cannot write tuple 256: File too large\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_a_file_on_this_machine_serves_both_engines(build: Path, tmp_path: Path) -> None:
    arguments = [*CROWDED, "--file", "tuples", "--verify"]
    for engine in ("serial", "native"):
        done = run(build / "bin" / f"kvstore-{engine}", *arguments, cwd=tmp_path)
        assert done.returncode == 0 and "check: passed" in done.stdout, done.stderr
        assert (tmp_path / "tuples").stat().st_size == 60 * 4096

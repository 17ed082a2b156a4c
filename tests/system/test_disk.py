"""The simulated disk (P78 to P80; docs/disk.md): files opened with O_DIRECT take the device's time, and all
others take none. Times are those of the default device: a page read alone takes 70 us, one written 20 us."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

# With tasks the clock goes on in fast-forward, too: as a sleep's.
MODES = {"detail": ["--no-ff", "--cores", "16"], "fast-forward": ["--roi", "@markers"]}
# Two pages take 2273 ns more than one. Times are whole tens of microseconds: a call takes some itself.
REQUESTS = """pread: 4096, 70 us
b
preadv: 8192, 70 us
ab
pwrite: 4096, 20 us
fsync after it: 0, 0 us
read: 8192, 70 us
xd
read at the end: 0, 0 us
pread of 512 bytes: 512, 70 us
pread of an odd length: -1 Invalid argument, 0 us
pread at an odd offset: -1 Invalid argument, 0 us
pread to an odd address: -1 Invalid argument, 0 us
pread to nowhere: -1 Bad address, 0 us
pread without O_DIRECT: 100, 0 us
pread with O_DIRECT by fcntl: 4096, 70 us
1
"""


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def printed(rubato_chip: Path, guests: Path, where: Path, what: str, *options: str) -> str:
    done = run(rubato_chip, "--quiet", *options, guests / "direct_io", what, "file", cwd=where)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("mode", MODES)
def test_requests_take_the_time_of_the_device(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    assert printed(rubato_chip, guests, tmp_path, "requests", *MODES[mode]) == REQUESTS


def test_keys_change_the_device(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    keys = ["--set", "disk.read_latency=500", "--set", "disk.read_iops=1000", "--set", "disk.write_latency=0"]
    lines = printed(rubato_chip, guests, tmp_path, "requests", *MODES["detail"], *keys).splitlines()
    # A page occupies the device for a millisecond: two begin 500 us after they were asked for, and take one more.
    assert lines[0] == "pread: 4096, 500 us"
    assert lines[2] in ("preadv: 8192, 1970 us", "preadv: 8192, 1980 us", "preadv: 8192, 1990 us")


@pytest.mark.parametrize("mode", MODES)
def test_threads_wait_for_the_disk_at_once(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    assert printed(rubato_chip, guests, tmp_path, "at_once", *MODES[mode]) == "abcdabcd, at once\n"
    one = ["--set", "disk.queue_depth=1"]
    seen = "abcdabcd, one after the other\n"
    assert printed(rubato_chip, guests, tmp_path, "at_once", *MODES[mode], *one) == seen


@pytest.mark.parametrize("mode", MODES)
def test_a_write_is_what_it_was_when_it_was_made(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    assert printed(rubato_chip, guests, tmp_path, "sync_others", *MODES[mode]) == "y\n"


@pytest.mark.parametrize("mode", MODES)
def test_no_signal_ends_a_wait_for_the_disk(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    assert printed(rubato_chip, guests, tmp_path, "signals", *MODES[mode]) == "pread: 4096, 70 us\na, 1 alarms\n"


@pytest.mark.parametrize("mode", MODES)
def test_a_program_that_ends_loses_no_write(mode: str, guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    assert printed(rubato_chip, guests, tmp_path, "leave", *MODES[mode]) == ""
    assert (tmp_path / "file").read_bytes()[:4096] == b"y" * 4096


def test_what_the_disk_did_is_counted_where_it_was_used(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    options = ["--no-ff", "--out", str(tmp_path / "run")]
    printed(rubato_chip, guests, tmp_path, "requests", *options)
    disk = json.loads((tmp_path / "run" / "summary.json").read_text())["disk"]
    counts = {"reads": 5, "writes": 1, "read_bytes": 6 * 4096 + 512, "written_bytes": 4096}
    assert {key: disk[key] for key in counts} == counts
    # 2273 ns a page read, seven of them, and 2778 for one written; at 2 GHz.
    assert disk["busy_cycles"] == pytest.approx(2 * (7 * 2272.727 + 2777.777), abs=1)
    stats = json.loads((tmp_path / "run" / "stats.json").read_text())["run"]
    assert {name for name in stats if name.startswith("disk.")} == {
        f"disk.{name}" for name in [*counts, "busy_cycles", "depth", "latency"]
    }
    run(rubato_chip, "--quiet", "--out", tmp_path / "other", guests / "hello")
    assert "disk" not in json.loads((tmp_path / "other" / "summary.json").read_text())
    assert "disk." not in (tmp_path / "other" / "stats.json").read_text()


@pytest.mark.parametrize(("key", "sentence"), [
    ("disk.read_iops=0", "--set disk.read_iops=0: disk.read_iops is 0, expected 1 to 1000000000 requests/s"),
    ("disk.queue=4", "--set disk.queue=4: there is no key 'disk.queue'"),
])  # fmt: skip
def test_a_bad_key_is_named(key: str, sentence: str, guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, "--set", key, guests / "hello")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and sentence in done.stderr, done.stderr

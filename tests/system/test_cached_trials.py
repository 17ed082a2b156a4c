"""`bench/memcached_trial`: trials of the publication on a transactional memcached, in their smallest size."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cached_fuzz import first_difference
from cached_server import Running, run_discipline


def trial(root: Path, build: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    if not (build / "bin" / "rubato-cached").exists() or not (build / "tm" / "lib").exists():
        pytest.skip("rubato-cached is built without transactions")
    if not shutil.which("memcslap"):
        pytest.skip("libmemcached-tools is not installed")
    return subprocess.run([root / "bench/memcached_trial", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("curve", ["Baseline", "IP-onCommit", "IT-NoLock", "NOrec"])
def test_a_trial_is_the_time_of_the_requests(curve: str, root: Path, build: Path) -> None:
    done = trial(root, build, curve, "--threads", "2", "--operations", "200")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == {"seconds"} and json.loads(done.stdout)["seconds"] > 0


def test_each_stage_serializes_less_than_the_one_before(root: Path, build: Path) -> None:
    """Tables 1 to 4: the claims that are no matter of speed."""
    for branch in ("IP", "IT"):

        def counted(stage: str, of: str = branch) -> dict[str, float]:
            done = trial(root, build, of + stage, "--counts", "--threads", "2", "--operations", "1000")
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        first, callable_, most, lib, last = map(counted, ("", "-Callable", "-Max", "-Lib", "-onCommit"))
        for stage in (first, callable_):  # each operation, some in their midst and some from their start
            assert stage["start_serial"] >= stage["operations"] == 2000
            assert stage["in_flight_switch"] > 0
        assert callable_["start_serial"] == pytest.approx(first["start_serial"], rel=0.1)
        # Variables are transactional: a transaction starts as one, and then meets libc or the semaphore.
        assert most["start_serial"] == 0
        assert most["in_flight_switch"] > 0
        assert most["committed"] > callable_["committed"]
        # Only waking the maintainer is left, which happens once for each growth.
        assert 0 < lib["in_flight_switch"] < most["in_flight_switch"]
        assert lib["start_serial"] == 0
        assert last["in_flight_switch"] == last["start_serial"] == 0


@pytest.mark.parametrize("name", ["tm-relaxed", "tm-callable", "tm-max", "tm-lib"])
@pytest.mark.parametrize("branch", ["ip", "it"])
def test_stages_answer_as_locks_do(build: Path, branch: str, name: str) -> None:
    program = build / "bin" / "rubato-cached-stages"
    if not program.exists():
        pytest.skip("rubato-cached is built without transactions")
    servers: list[Running] = []
    try:
        for discipline in (name if branch == "ip" else name.replace("tm", "tm-it"), "locks"):
            servers.append(run_discipline(program, discipline))
            assert servers[-1].stat("discipline", "settings") == discipline
        assert first_difference(servers[0], servers[1], range(1, 21), "text", wild=True) is None
        assert servers[0].stop() == 0  # its maintainer waits for a semaphore
    finally:
        for server in servers:
            server.stop()


@pytest.mark.parametrize("discipline", ["locks14-condition", "locks14-semaphore"])
def test_woken_locks_answer_as_locks_do(build: Path, discipline: str) -> None:
    program = build / "bin" / "rubato-cached-stages"
    if not program.exists():
        pytest.skip("rubato-cached is built without transactions")
    servers: list[Running] = []
    try:
        for name in (discipline, "locks"):
            servers.append(run_discipline(program, name))
            assert servers[-1].stat("discipline", "settings") == name
        assert first_difference(servers[0], servers[1], range(1, 21), "text", wild=True) is None
        assert servers[0].stop() == 0  # its maintainer waits for the waker
    finally:
        for server in servers:
            server.stop()


@pytest.mark.parametrize("wrong", [["IQ"], ["IP", "--threads", "0"], ["IP", "--operations", "0"]])
def test_wrong_usage_is_refused(wrong: list[str], root: Path, build: Path) -> None:
    done = trial(root, build, *wrong)
    assert done.returncode == 2 and "memcached_trial: error: " in done.stderr and not done.stdout

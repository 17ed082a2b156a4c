"""`bench/tm_paper`: the publication's figures and tables by one command, in its smallest size."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cached_fuzz import first_difference
from cached_server import Running, run_discipline
from rubato.results.measurements import load


def bench(root: Path, build: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if not (build / "bin" / "rubato-cached").exists() or not (build / "tm" / "lib").exists():
        pytest.skip("rubato-cached is built without transactions")
    if not shutil.which("memcslap"):
        pytest.skip("libmemcached-tools is not installed")
    return subprocess.run([root / "bench" / "tm_paper", *arguments], capture_output=True, text=True, check=False)


def test_figures_and_tables_stand_beside_the_published_numbers(root: Path, build: Path, tmp_path: Path) -> None:
    for trials in (1, 2):  # the second call continues
        options = ["--quick", "--figures", "10", "--threads", "2", "--trials", str(trials)]
        done = bench(root, build, *options, "--out", tmp_path, "--json")
        assert done.returncode in (0, 1), done.stderr
    result = json.loads(done.stdout)
    assert [group["title"][:7] for group in result["groups"]] == ["Fig. 10"]
    curves = {"Baseline", "IP-onCommit", "IT-onCommit", "IP-NoLock", "IT-NoLock"}
    assert {bar["name"] for bar in result["groups"][0]["bars"]} == {f"{name}/2" for name in curves}
    assert all(bar["samples"] == 2 and bar["mean"] > 0 for bar in result["groups"][0]["bars"])
    rows = {row["name"]: row for row in result["rows"]}
    samples = load(tmp_path).samples
    times = [a / b for a, b in zip(samples["IP-NoLock/2"], samples["Baseline/2"], strict=True)]
    assert rows["fig-10-IP-NoLock-2"]["mean"] == pytest.approx((times[0] * times[1]) ** 0.5)


def test_each_stage_serializes_less_than_the_one_before(root: Path, build: Path, tmp_path: Path) -> None:
    """Tables 1 to 4: the claims that are no matter of speed."""
    options = ["--quick", "--figures", "4,6,8,9", "--threads", "2", "--trials", "1", "--out", tmp_path, "--json"]
    done = bench(root, build, *options)
    assert done.returncode in (0, 1), done.stderr
    result = json.loads(done.stdout)
    assert len(result["groups"]) == 4 and all(bar["mean"] > 0 for group in result["groups"] for bar in group["bars"])
    samples = load(tmp_path).samples
    for branch in ("IP", "IT"):

        def counted(stage: str, what: str, of: str = branch) -> float:
            return samples[f"counts/{of}{stage}/2/{what}"][0] or 0.0

        operations = counted("", "operations")
        for stage in ("", "-Callable"):  # each operation, some in their midst and some from their start
            assert counted(stage, "start_serial") >= operations
            assert counted(stage, "in_flight_switch") > 0
        assert counted("-Callable", "start_serial") == pytest.approx(counted("", "start_serial"), rel=0.1)
        # Variables are transactional: what started serial starts as a transaction, and meets libc or the semaphore.
        assert counted("-Max", "start_serial") == 0
        assert counted("-Max", "in_flight_switch") > 0
        assert counted("-Max", "committed") > counted("-Callable", "committed")
        # Only waking the maintainer is left, which happens once for each growth.
        assert 0 < counted("-Lib", "in_flight_switch") < counted("-Max", "in_flight_switch")
        assert counted("-Lib", "start_serial") == 0
        assert counted("-onCommit", "in_flight_switch") == counted("-onCommit", "start_serial") == 0
    published, here = result["tables"][0], result["tables"][1]
    assert published[3] == "11,201,538" and int(here[3].replace(",", "")) > 4_000
    assert {line[0] for line in result["tables"]} == {"Tab. 1", "Tab. 2", "Tab. 3", "Tab. 4", ""}


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


@pytest.mark.parametrize("wrong", [["--figures", "5"], ["--threads", "0"], ["--trials", "0"], ["--quick", "--full"]])
def test_wrong_usage_is_refused(wrong: list[str], root: Path, build: Path, tmp_path: Path) -> None:
    done = bench(root, build, *wrong, "--out", tmp_path)
    assert done.returncode == 2 and not (tmp_path / "measurements.json").exists()


def test_other_sizes_do_not_mix(root: Path, build: Path, tmp_path: Path) -> None:
    options = ["--figures", "11", "--threads", "1", "--trials", "1", "--out", tmp_path]
    assert bench(root, build, "--quick", *options).returncode in (0, 1)
    done = bench(root, build, *options)
    assert done.returncode == 2 and "other sizes" in done.stderr

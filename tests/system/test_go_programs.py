"""Go programs with timers and pipes on the chip: their runtime waits in epoll."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
OUTPUT = """woke 1 2 3
slept long enough true
timeout
deadline true
through the poller EOF
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if GO is None:
        pytest.skip("there is no Go compiler here")
    built = tmp_path_factory.mktemp("go") / "timers"
    source = Path(__file__).resolve().parents[1] / "guest" / "go_timers.go"
    # The cache of compiled packages is kept beside the compiler's own, in the user's folder, if there is one.
    environment = os.environ | {"GOOS": "linux", "GOARCH": "riscv64", "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod",
                                "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    done = subprocess.run([GO, "build", "-o", built, source], env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return built


@pytest.mark.parametrize("cores", [1, 4])
def test_timers_and_pipes_of_go_work(cores: int, program: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """As `rubato run` starts it. Twice the same, to the byte."""
    stats = []
    for name in ("a", "b"):
        command = [rubato_chip, "--quiet", "--cores", str(cores), "--out", tmp_path / name, program]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == OUTPUT
        assert "not implemented" not in done.stderr
        stats.append((tmp_path / name / "stats.json").read_bytes())
    assert stats[0] == stats[1]

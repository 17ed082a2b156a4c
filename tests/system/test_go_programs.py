"""Go programs on the chip, whose runtime waits in epoll: timers and pipes; servers and clients on loopback."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
OUTPUTS = {
    "go_timers": """woke 1 2 3
slept long enough true
timeout
deadline true
through the poller EOF
""",
    "go_net": """POST /page0 0
POST /page1 10000
POST /page2 20000
POST /page3 30000
Get "http://127.0.0.1:9/": dial tcp 127.0.0.1:9: connect: connection refused
datagram true <nil>
timeout true
echoed 300000 <nil>
""",
}


@pytest.fixture(scope="module", params=OUTPUTS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if GO is None:
        pytest.skip("there is no Go compiler here")
    name = request.param
    built = tmp_path_factory.mktemp("go") / name
    source = Path(__file__).resolve().parents[1] / "guest" / f"{name}.go"
    # The cache of compiled packages is kept beside the compiler's own, in the user's folder, if there is one.
    environment = os.environ | {"GOOS": "linux", "GOARCH": "riscv64", "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod",
                                "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    done = subprocess.run([GO, "build", "-o", built, source], env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return built


@pytest.mark.parametrize("cores", [1, 4])
def test_programs_of_go_work(cores: int, program: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """As `rubato run` starts it. Twice the same, to the byte."""
    stats = []
    for name in ("a", "b"):
        command = [rubato_chip, "--quiet", "--cores", str(cores), "--out", tmp_path / name, program]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == OUTPUTS[program.name]
        assert "not implemented" not in done.stderr
        stats.append((tmp_path / name / "stats.json").read_bytes())
    assert stats[0] == stats[1]


@pytest.mark.parametrize("program", ["go_net"], indirect=True)
def test_the_network_of_go_works_in_fast_forward(program: Path, rubato_chip: Path, tmp_path: Path) -> None:
    command = [rubato_chip, "--quiet", "--roi", "@markers", "--out", tmp_path / "run", program]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == OUTPUTS["go_net"]

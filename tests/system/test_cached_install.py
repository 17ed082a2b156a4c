"""The cache server as it is installed: what is where, and that it starts there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from cached_server import run_on_free_port


def call(*command: str | Path, **variables: str) -> str:
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                            env={**os.environ, **variables})
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def prefix(build: Path, cached_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert cached_program.exists()
    folder = tmp_path_factory.mktemp("prefix")
    for component in ("cached", "transactions"):
        call("cmake", "--install", build, "--prefix", folder, "--component", component)
    # As on a system without the build folder: what was installed is elsewhere now.
    return folder.rename(folder.with_name("moved"))


def test_the_installed_server_starts_with_every_discipline(prefix: Path, build: Path) -> None:
    program = prefix / "bin/rubato-cached"
    names = re.findall(r"[\w-]+", call(program, "-h").splitlines()[-1].partition(":")[2].partition("(")[0])
    assert "locks" in names
    for name in names:
        server = run_on_free_port(program, "-o", f"discipline={name}")
        try:
            assert server.ask(b"set a 0 0 1\r\nx\r\nget a\r\nquit\r\n") == b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n"
            maps = Path(f"/proc/{server.process.pid}/maps").read_text()
        finally:
            assert server.stop() == 0
        assert str(build.resolve()) not in maps, "it has taken a library of the build folder"


def test_the_load_generator_asks_the_installed_server(prefix: Path) -> None:
    server = run_on_free_port(prefix / "bin/rubato-cached")
    try:
        options = ["--requests", "2000", "--keys", "100", "--connections", "2"]
        assert "0 wrong, 0 errors" in call(prefix / "bin/rubato-load", f"127.0.0.1:{server.port}", *options)
    finally:
        server.stop()


def test_the_unit_starts_the_installed_program(build: Path, cached_program: Path, tmp_path: Path) -> None:
    assert cached_program.exists()
    call("cmake", "--install", build, "--prefix", tmp_path / "here", "--component", "cached")
    unit = (tmp_path / "here/lib/systemd/system/rubato-cached.service").read_text()
    [command] = re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE)
    assert command == str(tmp_path / "here/bin/rubato-cached") and Path(command).exists()
    # A stop keeps the items of -e, and a stop during the start is no failure.
    assert {"KillSignal=SIGUSR1", "SuccessExitStatus=SIGUSR1", "StateDirectory=rubato-cached"} <= set(unit.splitlines())

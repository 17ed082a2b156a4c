"""/tmp and /dev/shm: what a program makes there is its run's own; what the host has there stays as it is."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

PROGRAM = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void said(const char* what, int result) {
  printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
}
int main(int argc, char** argv) {
  char text[8] = "", path[256];
  int fd = open(argv[1], O_RDONLY);
  read(fd, text, 4);
  printf("read %s\n", text);
  said("write", open(argv[1], O_WRONLY));
  said("truncate", truncate(argv[1], 0));
  said("unlink", unlink(argv[1]));
  snprintf(path, sizeof path, "%s/new", argv[2]);
  said("beside", open(path, O_WRONLY | O_CREAT, 0600));
  said("rename over", open("/tmp/rubato-mine", O_CREAT | O_RDWR, 0600) < 0 ? -1 : rename("/tmp/rubato-mine", argv[1]));
  said("link", symlink(argv[1], "/tmp/rubato-link"));
  said("through", open("/tmp/rubato-link", O_WRONLY));
  said("the folder", chmod("/tmp", 0777) < 0 && rmdir("/dev/shm") < 0 ? -1 : 0);
}
"""


def test_what_the_host_has_there_is_not_changed(rubato_chip: Path, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    subprocess.run(
        ["riscv64-linux-gnu-gcc", "-O1", "-static", "-w", "-o", program, tmp_path / "program.c"], check=True
    )
    # A folder in the host's /tmp, where the working directory does not lie.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, tempfile.TemporaryDirectory(dir="/var/tmp") as here:
        precious = Path(folder) / "precious"
        precious.write_text("precious")
        mode = os.stat("/tmp").st_mode
        command = [rubato_chip, "--quiet", "--cores", "1", program, precious, folder]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
        denied = "Permission denied"
        assert done.stdout.splitlines() == [
            "read prec", f"write: {denied}", f"truncate: {denied}", f"unlink: {denied}", f"beside: {denied}",
            f"rename over: {denied}", "link: done", f"through: {denied}", f"the folder: {denied}",
        ], done.stderr  # fmt: skip
        assert precious.read_text() == "precious"
        assert os.listdir(folder) == ["precious"]
        assert os.stat("/tmp").st_mode == mode
    left = [name for name in os.listdir("/tmp") if name.startswith(("rubato-mine", "rubato-link"))]
    assert left == []


def test_nothing_is_left(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path / "place")}
    (tmp_path / "place").mkdir()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as here:
        command = [rubato_chip, "--quiet", "--cores", "2", guests / "temporary_files"]
        done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count(": yes\n")) == (0, 14), done.stdout + done.stderr
    assert list((tmp_path / "place").iterdir()) == []

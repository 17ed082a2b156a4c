"""Files are written whole or not at all, and what is no file stays what it is."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import rubato
from helpers import call
from rubato import files
from rubato.running import native


def test_a_device_is_not_replaced(home, capsys):
    os.mkfifo("pipe")
    rubato.run("sssp", cores=4, out="r")
    assert call("report", "r", "--out", "pipe") == 2
    assert capsys.readouterr().err == "rubato: pipe is not a regular file; choose another name.\n"
    assert stat.S_ISFIFO(os.stat("pipe").st_mode) and not Path("pipe.part").exists()


def test_a_link_leads_to_the_file_that_is_replaced(tmp_path):
    (tmp_path / "file").write_text("before")
    (tmp_path / "link").symlink_to("file")
    files.write_whole(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "after"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_cannot_be_written_leaves_nothing_and_what_was_there(tmp_path, monkeypatch, error):
    file = tmp_path / "file"
    file.write_text("before")

    def full(self, *_, **__):
        raise error

    monkeypatch.setattr(Path, "replace", full)
    wanted = rubato.UsageError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(wanted) as raised:
        files.write_whole(file, "after")
    if wanted is rubato.UsageError:
        assert str(raised.value) == f"{file} cannot be written: No space left on device."
    assert {f.name: f.read_text() for f in tmp_path.iterdir()} == {"file": "before"}


@pytest.mark.parametrize("name, arguments", [("output.txt", []), ("log.txt", ["--", "--crash"])])
def test_a_native_run_on_a_full_disk_blames_the_disk_and_leaves_nothing(home, monkeypatch, capsys, name, arguments):
    lines = native._lines
    monkeypatch.setattr(native, "_lines", lambda file: lines(Path("/dev/full") if file.name == name else file))
    assert call("run", "sssp", "--engine", "native", "--trace", "--out", "r", *arguments) == 2
    err = capsys.readouterr().err
    assert err.endswith("rubato: r: the results cannot be written: No space left on device.\n")
    assert not Path("r").exists()

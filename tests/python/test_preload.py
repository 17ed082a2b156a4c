"""Libraries that LD_PRELOAD cannot name as they are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from rubato.errors import UsageError
from rubato.process.preload import preloadable


def library_in(folder: Path) -> Path:
    folder.mkdir()
    (folder / "libitm.so.1.0.0").write_text("a library")
    (folder / "librubato_itm.so").symlink_to("libitm.so.1.0.0")
    return folder / "librubato_itm.so"


def test_a_path_without_separators_is_the_librarys_own(tmp_path: Path) -> None:
    library = library_in(tmp_path / "lib")
    with preloadable(library) as path:
        assert path == library.resolve()


@pytest.mark.parametrize("name", ["my lib", "a:b", "$LIB"])
def test_other_paths_get_a_link_that_ends_with_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    library, temporary = library_in(tmp_path / name), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def use() -> None:
        with preloadable(library) as path:
            assert path.read_text() == "a library"
            assert not set(" :$") & set(str(path))
            assert path.name == "libitm.so.1.0.0"  # programs and reports see whose it is
            assert path.parent.stat().st_mode & 0o777 == 0o700
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use()
    assert os.listdir(temporary) == []


def test_a_folder_of_libraries_may_have_such_a_name_itself(tmp_path: Path) -> None:
    library = library_in(tmp_path / "my lib")
    with preloadable(library.parent) as folder:
        assert " " not in str(folder)
        assert (folder / "librubato_itm.so").read_text() == "a library"


def test_if_the_temporary_folder_has_such_a_path_too_a_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, temporary = library_in(tmp_path / "my lib"), tmp_path / "my temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with pytest.raises(UsageError, match="let TMPDIR name a folder"), preloadable(library):
        pass
    assert os.listdir(temporary) == []

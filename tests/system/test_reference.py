"""The API reference: each public symbol of the public headers has a sentence."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("doxygen") is None, reason="doxygen is not installed (tools/bootstrap)")


def check(root: Path, *headers: Path) -> tuple[int, str]:
    done = subprocess.run([root / "tools" / "reference", "--check", *headers], capture_output=True, text=True,
                          check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


def test_every_public_symbol_has_a_sentence(root: Path) -> None:
    assert check(root) == (0, "")


def test_one_without_a_sentence_is_found(root: Path, tmp_path: Path) -> None:
    """In a namespace and outside, members too; what is not public is left out."""
    (tmp_path / "some.hpp").write_text(
        "// A header.\n// SPDX-License-Identifier: MIT\n"
        "namespace rubato::inline v0 {\n/// Said.\nstruct A {\n  int b;\n};\nvoid c();\n"
        "namespace engine {\nvoid hidden();\n}\n}\n/// @namespace rubato\n/// Said.\nvoid d();\n")
    code, said = check(root, tmp_path)
    assert code == 1
    assert {line.rpartition("Member ")[2].split("(")[0].strip() for line in said.splitlines()} == {"b", "c", "d"}


def test_the_pages_name_what_programs_call(root: Path, tmp_path: Path) -> None:
    subprocess.run([root / "tools" / "reference"], check=True, capture_output=True)
    pages = root / "build" / "reference" / "html"
    assert "Annotations" in (pages / "annotated.html").read_text()
    text = (pages / "namespacerubato.html").read_text()
    for name in ("create", "on_commit", "parallel_for", "make_resource"):
        assert name in text
    assert not list(pages.glob("namespacerubato_1_1engine*"))


def test_a_header_has_a_page_with_its_introduction(root: Path) -> None:
    subprocess.run([root / "tools" / "reference"], check=True, capture_output=True)
    pages = root / "build" / "reference" / "html"
    assert 'href="native__options_8hpp.html"' in (pages / "index.html").read_text()
    page = (pages / "algorithms_8hpp.html").read_text()
    assert "Several threads may call algorithms at once" in page
    assert "#include" not in page and "SPDX" not in page

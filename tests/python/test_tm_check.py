"""`rubato tm check` on code that GCC compiles here: with and without the flags of rule T16."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import call
from rubato.tm import check as tm_check

FLAGS = ["-fno-tree-loop-distribute-patterns", "-fno-tree-vectorize", "-fno-thread-jumps"]
COPY = """struct S { long a[64], b[64]; } s;
long total;
void copy(int n) {
  __transaction_atomic {
    for (int i = 0; i < n; ++i) s.a[i] = s.b[i];
    ++total;
  }
}
"""


def has_transactions() -> bool:
    if shutil.which("gcc") is None:
        return False
    command = ["gcc", "-fgnu-tm", "-x", "c", "-c", "-o", "/dev/null", "-"]
    source = "int x; void f(void) { __transaction_atomic { ++x; } }"
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not has_transactions(), reason="gcc does not compile -fgnu-tm")


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def compile_it(source: str, *flags: str, name: str = "t") -> Path:
        Path(f"{name}.c").write_text(source)
        subprocess.run(["gcc", "-O2", "-g", "-fgnu-tm", *flags, "-c", f"{name}.c", "-o", f"{name}.o"], check=True)
        return Path(f"{name}.o")

    return compile_it


def found(file: Path, **more) -> list[tuple[str, str, str]]:
    return [(Path(f.place).name, f.function, f.what) for f in tm_check.check(file, **more).findings]


def test_a_copy_in_the_instrumented_path_is_named_by_its_line_and_the_flags_cure_it(compiled):
    file = compiled(COPY)
    assert found(file) == [("t.c:5", "copy", "plain memmove without a barrier")]
    assert tm_check.check(file).transactions == 1
    assert found(compiled(COPY, *FLAGS)) == []


def test_a_copy_in_code_without_instrumentation_alone_is_right(compiled):
    # The same loop outside, in a function of its own, and in a block that runs alone.
    source = """struct S { long a[64], b[64]; } s;
extern int puts(const char *);
void outside(int n) { for (int i = 0; i < n; ++i) s.a[i] = s.b[i]; }
void alone(int n) {
  __transaction_relaxed { puts("x"); for (int i = 0; i < n; ++i) s.a[i] = s.b[i]; }
}
"""
    file = compiled(source)
    listing = subprocess.run(["objdump", "-dr", file], capture_output=True, text=True, check=True).stdout
    assert listing.count("memmove") + listing.count("memcpy") >= 2
    assert found(file) == []
    assert found(file, relaxed=True) == [("t.c:5", "alone", "relaxed transaction")]


def test_code_after_the_commit_and_after_a_cancel_is_outside(compiled):
    source = """struct S { long a[64], b[64]; } s;
long total;
void f(int n) {
  __transaction_atomic { if (++total == 7) __transaction_cancel; }
  for (int i = 0; i < n; ++i) s.a[i] = s.b[i];
}
"""
    file = compiled(source)
    listing = subprocess.run(["objdump", "-dr", file], capture_output=True, text=True, check=True).stdout
    assert "memmove" in listing or "memcpy" in listing
    assert found(file) == []


def test_a_clone_is_instrumented_as_a_whole_and_its_original_is_not(compiled):
    source = """__attribute__((transaction_safe)) void clear(long *p, int n) {
  for (int i = 0; i < n; ++i) p[i] = 0;
}
"""
    (place, function, what), *more = found(compiled(source))
    assert (place, what, more) == ("t.c:2", "plain memset without a barrier", [])
    assert function in ("transaction clone for clear", "_ZGTt5clear")
    assert found(compiled(source, *FLAGS)) == []


def test_a_copy_inside_a_nested_transaction_is_found(compiled):
    nested = COPY.replace("for (", "__transaction_atomic { for (")
    source = nested.replace("s.b[i];", "s.b[i]; if (n < 0) __transaction_cancel; }")
    assert ("t.c:5", "copy", "plain memmove without a barrier") in found(compiled(source))


def test_a_masked_store_is_found(compiled):
    source = """long a[256], b[256];
void f(void) {
  __transaction_atomic { for (int i = 0; i < 256; ++i) if (b[i] > 3) a[i] = b[i] + 1; }
}
"""
    file = compiled(source, "-O3", "-mavx2")
    listing = subprocess.run(["objdump", "-d", file], capture_output=True, text=True, check=True).stdout
    if "maskmov" not in listing:
        pytest.skip("this compiler makes no masked store of it")
    assert found(file) == [("t.c:3", "f", "masked access without a barrier (vpmaskmovq)")]
    assert found(compiled(source, "-O3", "-mavx2", *FLAGS)) == []


def test_programs_are_checked_as_objects_are(compiled):
    main = compiled("void copy(int); int main(void) { copy(3); return 0; }", name="main")
    subprocess.run(["gcc", "-fgnu-tm", compiled(COPY), main, "-o", "program"], check=True)
    assert found(Path("program")) == [("t.c:5", "copy", "plain memmove without a barrier")]


def test_the_command_says_what_to_do_and_exits_1(compiled, capsys):
    bad = compiled(COPY, name="bad")
    good = compiled(COPY, *FLAGS, name="good")
    assert call("tm", "check", str(good)) == 0
    assert capsys.readouterr() == ("", "")
    assert call("tm", "check", str(good), str(bad)) == 1
    out, err = capsys.readouterr()
    assert out.endswith("bad.c:5: plain memmove without a barrier, in copy\n") and out.count("\n") == 1
    assert err == f"rubato: compile transactional code with {' '.join(FLAGS)}.\n"
    assert call("tm", "check", "--json", str(bad)) == 1
    (finding,) = json.loads(capsys.readouterr().out)["bad.o"]["findings"]
    assert finding["function"] == "copy"


def test_what_cannot_be_checked_is_said(compiled, capsys):
    assert call("tm", "check", "nothing.o") == 2
    assert capsys.readouterr().err == "rubato: there is no file nothing.o.\n"
    Path("text").write_text("no object")
    assert call("tm", "check", "text") == 2
    assert capsys.readouterr().err == "rubato: text is no object file or program that objdump can read.\n"
    assert call("tm", "check", str(compiled("int x;"))) == 0
    assert capsys.readouterr().out == "t.o: no transactional code\n"
    source = """long v[9]; void f(int n) { __transaction_atomic { switch (n) {
case 0: v[0] = 1; break; case 1: v[3] += 2; break; case 2: v[1] = v[2]; break; case 3: v[8] -= n; break;
case 4: v[7] = 6; break; case 5: v[2] ^= 1; break; case 6: v[5] = v[6] * v[4]; } } }
"""
    assert call("tm", "check", str(compiled(source, *FLAGS))) == 0
    assert "t.o: 1 jumps through a table are not followed" in capsys.readouterr().out
    assert call("tm", "check", str(compiled(source, *FLAGS, "-fno-jump-tables"))) == 0
    assert capsys.readouterr().out == ""

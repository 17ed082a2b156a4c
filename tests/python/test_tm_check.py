"""`rubato tm check` on code that GCC compiles here: with and without the flags of T16."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import call
from rubato.tm import check as tm_check

FLAGS = ["-fno-tree-loop-distribute-patterns", "-fno-tree-vectorize", "-fno-tree-pre", "-fno-thread-jumps"]
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


def test_binutils_are_asked_in_english(compiled, tmp_path, monkeypatch):
    # Their translations say "format de fichier" and "Numéro d'abréviation".
    file = compiled(COPY + "struct B { int x : 3, y : 5; } b; void g(int v) { __transaction_atomic { b.y = v; } }\n")
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("objdump", "readelf"):
        tool = folder / name
        tool.write_text(f'#!/bin/sh\n[ "$LC_ALL" = C ] || exit 1\nexec {shutil.which(name)} "$@"\n')
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    whats = [what for _, _, what in found(file)]
    assert whats == ["plain memmove without a barrier", "bit-field y written, which GCC stores to the wrong bits"]


@pytest.mark.parametrize("is_archive", [False, True])
def test_code_that_the_linker_compiles_is_refused(compiled, capsys, is_archive):
    file = compiled(COPY, "-flto", "-fno-fat-lto-objects")
    if is_archive:
        other = compiled("int other;", name="other")
        subprocess.run(["ar", "rcs", "both.a", other, file], check=True, capture_output=True)
        file = Path("both.a")
    assert call("tm", "check", str(file)) == 2
    assert f"{file} is not compiled to machine code, since -flto leaves that to the linker" in capsys.readouterr().err


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


#: Each with its findings by the flags that this page advises: GCC itself makes the plain access.
STRUCTURES = {
    "an argument by value": (
        """struct C { long *at; long n; } shared;
__attribute__((transaction_safe, noinline)) long read(struct C c) { return *c.at + c.n; }
long f(void) { long r;
  __transaction_atomic { shared.n++;
    r = read(shared); } return r; }
""",
        [("t.c:5", "f", "plain load without a barrier")],
    ),
    "an argument by value through a pointer": (
        """struct C { long *at; long n; };
__attribute__((transaction_safe, noinline)) long read(struct C c) { return *c.at + c.n; }
long f(struct C *p) { long r;
  __transaction_atomic { p->n++;
    r = read(*p); } return r; }
""",
        [("t.c:5", "f", "plain load without a barrier")],
    ),
    "a small structure returned": (
        """struct P { long a, b; } shared; long n;
__attribute__((transaction_safe, noinline)) struct P make(long k) { struct P p = {k, k + 1}; return p; }
void f(long k) {
  __transaction_atomic { n++;
    shared = make(k); } }
""",
        [("t.c:5", "f", "plain store without a barrier")],
    ),
    "a large structure returned": (
        """struct B { long v[6]; } shared; long n;
__attribute__((transaction_safe, noinline)) struct B make(long k) { struct B b = {{k, k, k, k, k, k}}; return b; }
void f(long k) {
  __transaction_atomic { n++;
    shared = make(k); } }
""",
        [("t.c:5", "f", "structure returned into shared memory without a barrier")],
    ),
    "a local copy": (
        """struct C { long *at; long n; } shared;
__attribute__((transaction_safe, noinline)) long read(struct C c) { return *c.at + c.n; }
__attribute__((transaction_safe, noinline)) struct C make(long k) { struct C c = {shared.at, k}; return c; }
long f(void) { long r;
  __transaction_atomic { struct C c = shared; r = read(c); struct C made = make(r); shared = made; } return r; }
""",
        [],
    ),
    "memory that the transaction allocated": (
        """#include <stdlib.h>
struct N { long key; struct N *next; } *head;
void f(long key) {
  __transaction_atomic {
    struct N *n = malloc(sizeof *n); n->key = key; n->next = head; head = n; } }
""",
        [],
    ),
    "a constant and a thread's own": (
        """static const long table[8] = {1, 2, 3, 5, 7, 11, 13, 17}; long sum;
void f(int n) { long v[8]; __transaction_atomic {
    for (int i = 0; i < n; ++i) v[i] = table[i & 7] + sum;
    sum += v[n - 1]; } }
""",
        [],
    ),
    "code behind a switch to serial": (
        """long x; extern void unsafe(void); __attribute__((transaction_pure)) int asks(void);
void f(void) { __transaction_relaxed { x = 1; if (asks()) { asm volatile("" ::: "memory"); ++x; } } }
""",
        [],
    ),
    "a call that does not return": (
        """long x;
__attribute__((noinline, transaction_may_cancel_outer)) void give_up(void) { __transaction_cancel [[outer]]; }
void f(void) { __transaction_atomic [[outer]] { x = 2; if (x == 7) give_up(); x = 3; } x = 5; }
""",
        [],
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_plain_loads_and_stores_of_shared_memory_are_named(name, compiled):
    source, expected = STRUCTURES[name]
    file = compiled(source, *FLAGS, "-std=gnu2x")
    assert [(p, f, w.split(" (")[0]) for p, f, w in found(file)] == expected


BEHIND_A_COMMIT = """long a[64]; __attribute__((transaction_safe, noinline)) void put(long v) { a[40] = v; }
extern _Bool is_true; long x, y;
long threaded(int k) { long e;
  __transaction_atomic { put(1);
    __transaction_atomic { put(2); if (k) __transaction_cancel; }
    e = a[40] - (k ? 1 : 2); } return e; }
void partly_redundant(void) {
  __transaction_atomic { x = 1;
    __transaction_atomic { y = 1; if (is_true) __transaction_cancel; }
    x = x + 1; } }
"""


def test_a_load_behind_a_nested_commit_is_named_and_two_flags_cure_it(compiled):
    first = [flag for flag in FLAGS if flag not in ("-fno-tree-pre", "-fno-thread-jumps")]
    places = {(place, function) for place, function, _ in found(compiled(BEHIND_A_COMMIT, *first))}
    assert places == {("t.c:6", "threaded"), ("t.c:10", "partly_redundant")}
    places = {(place, function) for place, function, _ in found(compiled(BEHIND_A_COMMIT, *first, "-fno-thread-jumps"))}
    assert places == {("t.c:10", "partly_redundant")}
    for level in ("-O1", "-O2", "-O3"):
        assert found(compiled(BEHIND_A_COMMIT, *FLAGS, level)) == []


CHANGED_IN_PLACE = """typedef unsigned long W;
extern W w[8];
struct Mixed { char c; long d; short e; double f; };
extern __attribute__((transaction_pure)) void run(void);
static __attribute__((noinline, transaction_safe)) W value(struct Mixed m) { return m.d + m.c + m.e + (W)m.f; }
W f(W seed) {
  W x1 = seed * 77, x3 = seed << 7;
  struct Mixed m = {1, w[0], 3, 4};
  __transaction_atomic {
    w[x1 % 3] = w[2];
    if (((w[6] ^ w[5]) & 3) == 1) __transaction_cancel;
    run();
    CHANGE
  }
  return x3 * 7 + x1;
}
"""


def test_a_local_variable_that_a_retry_finds_changed_is_named(compiled):
    file = compiled(CHANGED_IN_PLACE.replace("CHANGE", "x3 ^= value(m);"), "-O1", *FLAGS)
    places = [(place, function, what.split(" (")[0]) for place, function, what in found(file)]
    assert places == [("t.c:13", "f", "local variable changed in place, which a retry does not undo")]
    unchanged = compiled(CHANGED_IN_PLACE.replace("CHANGE", "w[4] ^= value(m);"), "-O1", *FLAGS)
    assert found(unchanged) == []


def test_a_bit_field_that_a_transaction_writes_is_named(compiled):
    source = """struct F { unsigned a : 3, b : 7, c : 22; unsigned whole; };
void f(struct F *p, int v) {
  p->a = v;
  __transaction_atomic { p->whole = p->a;
    p->b = v; } }
void g(struct F *p) {
  __transaction_atomic {
    p->c += 1; } }
"""
    written = "bit-field {} written, which GCC stores to the wrong bits"
    expected = [("t.c:5", "f", written.format("b")), ("t.c:8", "g", written.format("c"))]
    assert found(compiled(source, *FLAGS)) == expected
    assert found(compiled(source, *FLAGS, "-g0")) == []  # nothing says what a bit-field is


def test_code_without_optimization_is_named(compiled):
    source = "long x; void f(void) { __transaction_atomic { ++x; } }"
    (finding,) = tm_check.check(compiled(source, *FLAGS, "-O0")).findings
    assert finding.what == "compiled with -O0, by which GCC stores structures plainly"
    assert found(compiled(source, *FLAGS, "-O1")) == []
    assert found(compiled("long x; void f(void) { ++x; }", "-O0")) == []


def test_programs_are_checked_as_objects_are(compiled):
    main = compiled("void copy(int); int main(void) { copy(3); return 0; }", name="main")
    subprocess.run(["gcc", "-fgnu-tm", compiled(COPY), main, "-o", "program"], check=True)
    assert found(Path("program")) == [("t.c:5", "copy", "plain memmove without a barrier")]
    by_value, expected = STRUCTURES["an argument by value"]
    main = compiled("long f(void); int main(void) { return f(); }", name="main")
    subprocess.run(["gcc", "-fgnu-tm", compiled(by_value, *FLAGS), main, "-o", "program"], check=True)
    assert [(p, f, w.split(" (")[0]) for p, f, w in found(Path("program"))] == expected


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

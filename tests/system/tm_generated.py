"""Random programs of transactions, compared with a serial run of the same program.

    tm_generated.py --library build/release/tm/lib --programs 200 [--seed 1] [--keep FOLDER]

compiles them at -O0 to -O3, several in a file, and runs them on each method of librubato_itm and of GCC's libitm. They
have types by value, nesting, cancels, loops, jumps out of transactions, templates and functions that are not inlined.
A program is also made without transactions: there a cancel puts back copies of all variables. What GCC is known to
break (docs/transactions.md) is left out. `tests/tm/generated` has the memory that they share, and what runs them.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rubato.process.preload import preloadable
from rubato.tm import check as tm_check
from rubato.tm.methods import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
PARTS = ROOT / "tests/tm/generated"
FLAGS = ["-std=c++20", "-fgnu-tm", "-fno-tree-loop-distribute-patterns", "-fno-tree-vectorize", "-fno-tree-pre",
         "-fno-thread-jumps", "-w", f"-I{PARTS}"]  # fmt: skip
LEVELS = ("-O0", "-O1", "-O2", "-O3")
METHODS = ("adaptive", "adaptive:1", "adaptive-all:1", *ALGORITHMS)
GCC_METHODS = ("ml_wt", "gl_wt")
LAST_RESORT = 1800

WORDS = ("x0", "x1", "x2", "x3")
#: Local variable of each type by value, and the shared array of it.
VALUES = {"pair": ("p", 3), "triple": ("t", 3), "mixed": ("m", 2), "wide": ("v", 2)}


#: A program and its serial run are the same text with other macros.
TRANSACTIONAL = """#include "shared.hpp"
#define PROGRAM(name) Word transactional_##name(Shared* s, Word seed) {
#define LOCALS \\
  Word x0 = seed, x1 = seed * 77, x2 = 3, x3 = seed << 7; Pair pair = {1, 2}; Triple triple = {3, 4, 5}; \\
  Mixed mixed = {1, 2, 3, 4}; Wide wide = {{1, 2, 3, 4, 5}}; Cursor cursor = {s->w, s->w + 12};
#define BEGIN(n) __transaction_atomic {
#define CANCEL(n) __transaction_cancel
#define END(n) }
"""
SERIAL = """#define __transaction_atomic
#include "shared.hpp"
struct Locals { Word x0, x1, x2, x3; Pair pair; Triple triple; Mixed mixed; Wide wide; Cursor cursor; };
#define PROGRAM(name) Word serial_##name(Shared* s, Word seed) {
#define LOCALS \\
  Locals l{seed, seed * 77, 3, seed << 7, {1, 2}, {3, 4, 5}, {1, 2, 3, 4}, {{1, 2, 3, 4, 5}}, {s->w, s->w + 12}}; \\
  auto& [x0, x1, x2, x3, pair, triple, mixed, wide, cursor] = l;
#define BEGIN(n) { const Shared shared##n = *s; const Locals locals##n = l; {
#define CANCEL(n) goto cancelled##n
#define END(n) } goto done##n; cancelled##n: *s = shared##n; l = locals##n; done##n:; }
"""


@dataclass
class Maker:
    """Makes the text of one program."""

    draw: random.Random
    copies_structures: bool  #: GCC breaks that at -O0
    depth: int = 0  #: of transactions
    loops: int = 0
    blocks: int = 0
    cancels_nested: bool = False
    budget: int = 40
    cancelling: list[int] = field(default_factory=list)

    def word(self, level: int = 0) -> str:
        """An expression of type Word."""
        kinds = 15 if level < 3 else 6
        kind = self.draw.randrange(kinds)
        index = self.draw.choice(WORDS)
        if kind < 2:
            return self.draw.choice(WORDS)
        if kind == 2:
            return f"{self.draw.randrange(1 << self.draw.choice([2, 8, 40]))}ul"
        if kind == 3:
            return f"s->w[{index} % 12]" if self.draw.random() < 0.5 else f"s->w[{self.draw.randrange(12)}]"
        if kind == 4:
            return self.draw.choice([f"Word(s->b[{index} % 16])", f"Word(s->h[{self.draw.randrange(8)}])"])
        if kind == 5:
            return self.draw.choice(["Word(s->p[1].b)", "Word(s->p[0].a)", "s->t[2].a", "Word(s->t[0].c)",
                                     "Word(s->m[1].d)", "Word(s->m[0].f)", f"s->v[1].v[{index} % 5]"])  # fmt: skip
        if kind <= 9:
            sign = self.draw.choice(["+", "-", "*", "^", "&", "|"])
            return f"({self.word(level + 1)} {sign} {self.word(level + 1)})"
        if kind == 10:
            return f"({self.word(level + 1)} >> {self.draw.randrange(20)})"
        if kind == 11:
            return f"value_of({self.draw.choice(list(VALUES))})"
        if kind == 12:
            return f"value_apart({self.draw.choice(list(VALUES))})"
        if kind == 13:
            return "read_by_value(cursor)"
        return f"({self.word(level + 1)} < {self.word(level + 1)} ? {self.word(level + 1)} : {self.word(level + 1)})"

    def condition(self) -> str:
        return f"({self.word(1)} & {self.draw.choice([1, 3, 3, 7])}) == {self.draw.randrange(2)}"

    def target(self) -> str:
        index = self.draw.choice(WORDS)
        return self.draw.choice([
            *WORDS, *WORDS, f"s->w[{index} % 12]", f"s->w[{index} % 12]", f"s->w[{self.draw.randrange(12)}]",
            f"s->b[{index} % 16]", f"s->h[{self.draw.randrange(8)}]", f"s->p[{index} % 3].b", "s->p[0].a", "s->t[1].a",
            "s->t[1].b", f"s->t[{index} % 3].c", "s->m[0].c", "s->m[0].d", "s->m[1].e", f"s->v[0].v[{index} % 5]",
            "pair.a", "triple.c", "mixed.d", "wide.v[3]",
        ])  # fmt: skip

    def statement(self) -> str:
        self.budget -= 1
        if self.depth and self.draw.random() < 0.1:
            return "let_other_run();"
        kind = self.draw.randrange(24)
        if kind < 8:
            sign = self.draw.choice(["=", "=", "+=", "^="])
            return f"{self.target()} {sign} {self.word()};"
        if 8 <= kind <= 12 and not self.copies_structures:
            return f"x1 ^= value_of({self.draw.choice(list(VALUES))});"
        if kind == 8:
            name = self.draw.choice(list(VALUES))
            # In a transaction GCC may leave the new structure in an older variable after a cancel.
            kept = "x2 ^= value_of(made)" if self.depth else f"{name} = made"
            return f"{{ const auto made = changed({name}, {self.word()}); {kept}; }}"
        if kind <= 10:
            name = self.draw.choice(list(VALUES))
            array, size = VALUES[name]
            index = f"{self.draw.choice(WORDS)} % {size}"
            return self.draw.choice([f"{name} = s->{array}[{index}];", f"s->{array}[{index}] = {name};"])
        if kind == 11:
            read = f"{self.draw.choice(WORDS)} += read_by_value(cursor);"
            kept = "" if self.depth else "cursor = moved; "
            return f"{{ const Cursor moved = after(cursor, {self.word(2)}); {kept}{read.replace('cursor', 'moved')} }}"
        if kind == 12:
            return f"{{ const Cursor first = {{s->w, s->w + 12}}; x2 += read_by_value(after(first, {self.word(2)})); }}"
        if kind == 13:
            where = self.draw.choice(["s->w[x0 % 12]", "s->h[2]", "s->b[x1 % 16]", "x2"])
            return f"x3 += Word(add_to({where}, {self.word(2)}));"
        if kind == 14:
            return f"{self.draw.choice(WORDS)} ^= spread(s, {self.word(2)}, {self.draw.randrange(4)});"
        if kind == 15:
            # By a variable index only shared arrays: GCC then forgets other elements of an older local array.
            return f"[&](Word k) {{ x1 += k; s->w[k % 12] = x1; wide.v[2] ^= k; }}({self.word(2)});"
        if kind == 16 and self.loops:
            return f"if ({self.condition()}) {self.draw.choice(['break', 'continue'])};"
        if kind == 17 and self.draw.random() < 0.3:
            return f"if ({self.condition()}) return x0 + 2 * x1 + {self.word(2)};"
        if kind <= 18 and self.depth:
            return self.cancel()
        if self.budget < 0:
            return f"x0 += {self.word()};"
        if kind == 19:
            return f"if ({self.condition()}) {{\n{self.block(3)}\n}}"
        if kind == 20:
            return f"if ({self.condition()}) {{\n{self.block(2)}\n}} else {{\n{self.block(2)}\n}}"
        if kind <= 22 and self.loops < 2:
            n = self.blocks = self.blocks + 1
            times = self.draw.choice(["3", f"Word(2 + {self.draw.choice(WORDS)} % 5)"])
            self.loops += 1
            body = self.block(3)
            self.loops -= 1
            return f"for (Word i{n} = 0, n{n} = {times}; i{n} < n{n}; ++i{n}) {{\nx2 += i{n};\n{body}\n}}"
        return self.transaction()

    def cancel(self) -> str:
        self.cancels_nested = self.cancels_nested or self.depth > 1
        # Without an access of shared memory before a cancel, local variables are not restored.
        word = f"(s->w[{self.draw.randrange(12)}] ^ {self.word(1)})"
        return f"if (({word} & {self.draw.choice([1, 3, 7])}) == 1) CANCEL({self.cancelling[-1]});"

    def transaction(self) -> str:
        if self.depth == 3:
            return f"x1 -= {self.word()};"
        n = self.blocks = self.blocks + 1
        loops, self.loops = self.loops, self.loops if self.draw.random() < 0.5 else 0
        self.depth += 1
        self.cancelling.append(n)
        body = self.block(5)
        self.cancelling.pop()
        self.depth -= 1
        self.loops = loops
        return f"BEGIN({n})\n{body}\nEND({n})"

    def block(self, most: int) -> str:
        return "\n".join(self.statement() for _ in range(self.draw.randrange(1, most + 1)))


@dataclass
class Text:
    name: str
    text: str
    cancels_nested: bool


def program(seed: int, level: str) -> Text:
    maker = Maker(random.Random(f"transactions {seed}"), copies_structures=level != "-O0")
    parts = []
    while maker.budget > 0:
        parts += [f"keep_other_out();\n{maker.statement()}\nlet_other_in();", maker.transaction()]
    body = "\n".join(parts)
    end = "return x0 ^ x1 * 3 ^ x2 * 5 ^ x3 * 7 ^ value_of(pair) ^ value_of(triple) ^ value_of(mixed) ^ value_of(wide);"
    return Text(f"p{seed}", f"PROGRAM(p{seed})\nLOCALS\n{body}\n{end}\n}}\n", maker.cancels_nested)


class CompilerCrash(Exception):
    """GCC's own fault: an internal error."""


def compile_one(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        crash = "internal compiler error" in done.stderr
        raise (CompilerCrash if crash else RuntimeError)(f"{' '.join(command)}:\n{done.stderr[-3000:]}")


def compile_transactional(source: Path, level: str, more: Sequence[str]) -> str:
    """The flags with which GCC compiles it. GCC 12 crashes on some in its pass tmmemopt, which can be switched off."""
    for extra in ([], ["-fdisable-tree-tmmemopt"]):
        try:
            compile_one(["g++", *FLAGS, level, *more, *extra, "-c", str(source), "-o", str(source.with_suffix(".o"))])
        except CompilerCrash as crash:
            last = crash
        else:
            return " ".join([level, *extra])
    raise last


@dataclass
class File:
    program: Path
    transactional: Path  #: the object
    flags: str
    programs: list[Text]
    named: list[str]  #: programs of which `rubato tm check` says that GCC breaks a cancel or a retry


def named_by_check(transactional: Path) -> list[str]:
    findings = tm_check.check(transactional).findings
    broken = [one for one in findings if one.what.startswith(("cancel of", "local variable"))]
    return sorted({match[1] for one in broken if (match := re.search(r"transactional_(p\d+)", one.function))})


def build_file(folder: Path, level: str, seeds: range, more: Sequence[str] = ()) -> File:
    """One program of the generated ones of these seeds. `more` are flags for its transactional half."""
    texts = [program(seed, level) for seed in seeds]
    folder.mkdir(parents=True)
    text = "\n".join(one.text for one in texts)
    rows = ",\n".join(
        f'  {{"{one.name}", transactional_{one.name}, serial_{one.name}, {str(one.cancels_nested).lower()}}}'
        for one in texts
    )
    declared = "".join(f"Word transactional_{one.name}(Shared*, Word);\n" for one in texts)
    (folder / "transactional.cpp").write_text(TRANSACTIONAL + text)
    (folder / "serial.cpp").write_text(
        f"{SERIAL}{text}{declared}extern const Program programs[] = {{\n{rows}}};\n"
        f"extern const unsigned program_count = {len(texts)};\n"
    )
    flags = compile_transactional(folder / "transactional.cpp", level, more)
    compile_one(["g++", "-std=c++20", "-O0", "-w", f"-I{PARTS}", "-fgnu-tm", "-c", str(folder / "serial.cpp"), "-o",
                 str(folder / "serial.o")])  # fmt: skip
    harness = folder.parent / "harness.o"
    if not harness.exists():
        compile_one(["g++", *FLAGS, "-O1", "-c", str(PARTS / "harness.cpp"), "-o", str(harness)])
    target = folder / "program"
    objects = [str(folder / "transactional.o"), str(folder / "serial.o")]
    compile_one(["g++", "-fgnu-tm", "-pthread", str(harness), *objects, "-o", str(target)])
    transactional = folder / "transactional.o"
    return File(target, transactional, flags, texts, named_by_check(transactional))


def build(folder: Path, programs: int, a_file: int, first: int = 1, jobs: int = 1) -> list[File]:
    folder.mkdir(parents=True, exist_ok=True)
    compile_one(["g++", *FLAGS, "-O1", "-c", str(PARTS / "harness.cpp"), "-o", str(folder / "harness.o")])
    wanted = [(folder / f"{level[1:]}-{at}", level, range(first + at, first + min(at + a_file, programs)))
              for n, at in enumerate(range(0, programs, a_file)) for level in [LEVELS[n % len(LEVELS)]]]  # fmt: skip
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda one: build_file(*one), wanted))


def run(file: File, leave_out: Sequence[str], **environment: str) -> str:
    """What its programs do otherwise than their serial run, or how it ended; empty if all is right. Programs of
    `leave_out` do not run beside another thread."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RUBATO_ITM", "ITM_"))}
    arguments = ["no-nested-cancels"] if "ITM_DEFAULT_METHOD" in environment else []
    arguments += [f"alone-{name}" for name in leave_out]
    done = subprocess.run([str(file.program), *arguments], capture_output=True, text=True, check=False,
                          env=kept | environment, timeout=LAST_RESORT)  # fmt: skip
    if done.returncode == 0 and done.stdout.endswith(" 0 differ\n"):
        return ""
    method = " ".join(f"{name}={value}" for name, value in environment.items())
    return f"{file.program.parent} ({file.flags}), {method}: exit {done.returncode}\n{done.stdout}{done.stderr}"


def run_all(files: list[File], library: Path) -> list[str]:
    """On each method of both libraries. A retry of what GCC breaks is left out. GCC's library loses what an outer
    transaction wrote if a nested one is cancelled, so such programs are left out there."""
    preload = str(library / "librubato_itm.so")
    environments = [{"LD_PRELOAD": preload, "RUBATO_ITM_METHOD": method} for method in METHODS]
    environments += [{"ITM_DEFAULT_METHOD": method} for method in GCC_METHODS]
    return [wrong for file in files for environment in environments if (wrong := run(file, file.named, **environment))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, default=ROOT / "build/release/tm/lib")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--a-file", type=int, default=5, help="programs in a file")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--keep", type=Path, help="where the programs are left")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        files = build(options.keep or Path(temporary), options.programs, options.a_file, options.seed)
        with preloadable(options.library) as library:
            wrong = run_all(files, library)
    print(f"{sum(len(file.programs) for file in files)} programs in {len(files)} files")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()

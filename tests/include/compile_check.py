#!/usr/bin/env python3
"""Compiles what must and what must not compile against include/rubato, with one compiler.

    compile_check.py headers COMPILER [FLAG ...]    every public header alone, without a warning
    compile_check.py together COMPILER [FLAG ...]   all that programs include, in one source, in two orders
    compile_check.py misuse COMPILER [FLAG ...]     every snippet of misuse.txt: refused, with its sentence
    compile_check.py flags COMPILER [FLAG ...]      flags of programs: refused with a sentence, or harmless

Run from anywhere; the include folder is found relative to this file.
"""
# SPDX-License-Identifier: MIT
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Wold-style-cast",
            "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Werror"]
#: What headers of actors say to programs of the chip.
NO_ACTORS = "actors run on the native and serial engines; on the chip write tasks"


def compile_text(compiler: list[str], text: str, output: str = "/dev/null",
                 standard: tuple[str, ...] = ("-std=c++20",)) -> subprocess.CompletedProcess:
    # -S, not -fsyntax-only: the latter leaves templates alone.
    command = [*compiler, *standard, "-O1", "-S", "-o", output, "-I", str(INCLUDE), "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def public_headers() -> list[str]:
    headers = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.glob("rubato/**/*.hpp"))
    assert headers, f"no headers below {INCLUDE}"
    return headers


def check_headers(compiler: list[str]) -> list[str]:
    is_chip = "riscv" in compiler[0]

    def check(name: str) -> str | None:
        # Twice: a header must also bear being included again.
        result = compile_text([*compiler, *WARNINGS], f'#include "{name}"\n#include "{name}"\nint main() {{}}\n')
        is_clean = result.returncode == 0 and not result.stderr
        if is_chip and "actor" in name and not is_clean:
            is_clean = NO_ACTORS in result.stderr
        return None if is_clean else f"{name} does not compile alone:\n{result.stderr}"

    with ThreadPoolExecutor(2) as pool:
        return [failure for failure in pool.map(check, public_headers()) if failure]


def check_together(compiler: list[str]) -> list[str]:
    """Headers that programs may include beside each other. One header may bring what the next lacks; hardly so in this
    order and in the other."""
    headers = [name for name in public_headers() if "/engine/" not in name]  # each program has one of them
    failures = []
    for order in (headers, headers[::-1]):
        text = "".join(f'#include "{name}"\n' for name in order) + "int main() {}\n"
        result = compile_text([*compiler, *WARNINGS], text)
        if result.returncode != 0 or result.stderr:
            failures.append(f"from {order[0]} to {order[-1]}:\n{result.stderr[:3000]}")
    return failures


def snippets() -> list[tuple[str, str, str]]:
    """(name, expected text of the compiler's message, code) of each block of misuse.txt."""
    result = []
    for block in (Path(__file__).parent / "misuse.txt").read_text().split("\n== ")[1:]:
        head, _, code = block.partition("\n")
        name, _, expected = head.partition(" -> ")
        result.append((name, expected, code))
    assert result
    return result


def precompiled(compiler: list[str], header: Path) -> list[str]:
    """Compiles a header for many sources; the flags of a source that begins with it. A compiler that does not take
    what came out reads the header itself."""
    subprocess.run([*compiler, "-std=c++20", "-O1", "-I", str(INCLUDE), "-x", "c++-header", str(header), "-o",
                    f"{header}.gch"], capture_output=True, check=False)
    return ["-include", str(header)]


def check_misuse(compiler: list[str]) -> list[str]:
    is_chip = "riscv" in compiler[0]

    def check(snippet: tuple[str, str, str], prologue: list[str]) -> str | None:
        name, expected, code = snippet
        must_compile = expected == "compiles" or (expected.startswith("chip: ") and not is_chip)
        result = compile_text([*compiler, *prologue], code)
        if must_compile:
            return None if result.returncode == 0 else f"'{name}' must compile, but:\n{result.stderr[:3000]}"
        if result.returncode == 0:
            return f"'{name}' compiles, but must not"
        expected = expected.removeprefix("chip: ")
        return None if expected in result.stderr else f"'{name}': no '{expected}' in:\n{result.stderr[:3000]}"

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        header = Path(folder, "prologue.hpp")
        header.write_text('#include "rubato/rubato.hpp"\nusing namespace rubato;\nvoid task();\nvoid takes(int);\n')
        prologue = precompiled(compiler, header)
        return [failure for failure in pool.map(lambda snippet: check(snippet, prologue), snippets()) if failure]


def check_flags(compiler: list[str]) -> list[str]:
    failures = []
    code = '#include "rubato/rubato.hpp"\nvoid task();\nvoid f() { rubato::create<rubato::nonspec>(task, {}); }\n'
    sentence = "need C++ exceptions and run-time type information"
    for flag in ("-fno-exceptions", "-fno-rtti"):
        result = compile_text([*compiler, flag], code)
        # The first of the errors: what follows from it is behind it.
        first = next((line for line in result.stderr.splitlines() if "error:" in line), "")
        if result.returncode == 0 or sentence not in first:
            failures.append(f"{flag}: no '{sentence}' first in:\n{result.stderr[:3000]}")
    older = compile_text([*compiler, "-std=c++17"], code, standard=())
    first = next((line for line in older.stderr.splitlines() if "error:" in line), "")
    if older.returncode == 0 or "Rubato needs C++20: compile with -std=c++20" not in first:
        failures.append(f"-std=c++17: no sentence first in:\n{older.stderr[:3000]}")
    # A type that the library throws must be the same type in the program.
    throws = '#include "rubato/errors.hpp"\nvoid f() { throw rubato::TaskError("wrong"); }\n'
    result = compile_text([*compiler, "-fvisibility=hidden"], throws, output="-")
    symbols = re.findall(r"\b_ZT[IS]\w*TaskError\w*", result.stdout)
    hidden = re.findall(r"\.hidden\s+(_ZT[IS]\w*TaskError\w*)", result.stdout)
    if result.returncode != 0 or not symbols or hidden:
        failures.append(f"-fvisibility=hidden hides {hidden} of {sorted(set(symbols))}\n{result.stderr[:3000]}")
    return failures


CHECKS = {"headers": check_headers, "together": check_together, "misuse": check_misuse, "flags": check_flags}


def main() -> int:
    if len(sys.argv) < 3 or sys.argv[1] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    failures = CHECKS[sys.argv[1]](sys.argv[2:])
    for failure in failures:
        print(failure)
    print(f"check: {'failed' if failures else 'passed'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

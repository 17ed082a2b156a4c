"""`rubato tm run` and `rubato tm report` on a program whose transactions run alone for reasons that are known."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FLAGS = ["-O1", "-g", "-fgnu-tm", "-fno-tree-loop-distribute-patterns", "-fno-tree-vectorize"]
TRANSFERS = 200
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
long balance[4], notes, words;
int (*compare)(const char*, const char*) __attribute__((transaction_callable));
__attribute__((noinline, noclone)) int same_word(const char* a, const char* b) { return *a == *b; }  // same_word
__attribute__((noinline)) void note(void) { asm volatile("" ::: "memory"); ++notes; }
__attribute__((noinline, transaction_callable)) void settle(int i) {
  if (balance[i % 4] >= 0) note(); }                 // switch: GCC may give it the line of the function's end
__attribute__((noinline)) void transfer(int i) {
  __transaction_relaxed {                            // transfer begins
    ++balance[i % 4];
    if (i % 2 == 0) settle(i);
  }
}
__attribute__((noinline)) void look_up(void) {
  __transaction_relaxed { words += compare("a", "a"); }
}
__attribute__((noinline)) void close_day(void) {
  __transaction_relaxed { fflush(stdout); words = words; }  // start
}
__attribute__((noinline)) void give_up(void) {
  __transaction_atomic { ++words; __transaction_cancel; }   // cancel
}
int main(int argc, char** argv) {
  compare = same_word;
  for (int i = 0; i < 200; ++i) transfer(i);
  for (int i = 0; i < 30; ++i) look_up();
  for (int i = 0; i < 7; ++i) close_day();
  for (int i = 0; i < 5; ++i) give_up();
  if (argc > 1 && argv[1][0] == 'f') {
    pid_t child = fork();
    if (child == 0) { close_day(); _exit(0); }
    waitpid(child, 0, 0);
  }
  if (argc > 1 && argv[1][0] == 'a') abort();
  _exit(argc > 1 && argv[1][0] == 'e' ? 3 : 0);
}
"""


def line_of(comment: str) -> str:
    return f"bank.c:{next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if f'// {comment}' in text)}"


@pytest.fixture(scope="module")
def bank(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (build / "tm/lib/libitm.so.1").exists() or shutil.which("gcc") is None:
        pytest.skip("librubato_itm was not built: there is no compiler for transactions")
    folder = tmp_path_factory.mktemp("bank")
    (folder / "bank.c").write_text(PROGRAM)
    subprocess.run(["gcc", *FLAGS, "bank.c", "-o", "bank"], cwd=folder, check=True)
    return folder


def rubato(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RUBATO_ITM", "ITM_"))}
    command = [sys.executable, "-m", "rubato", "tm", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=kept | environment)


def profile(folder: Path, *arguments: str, file: str = "tm.profile") -> dict:
    ran = rubato(folder, "run", *arguments)
    assert ran.returncode == 0, ran.stderr
    return json.loads(rubato(folder, "report", "--json", file).stdout)


@pytest.mark.parametrize("method", ["eager", "lazy", "norec"])
def test_each_cause_is_found_at_its_function_and_line(bank: Path, method: str) -> None:
    found = profile(bank, "--method", method, "./bank")
    assert found["committed"] == TRANSFERS + 30 + 7
    assert found["cancelled"] == 5
    assert found["serialized"]["in-flight switch"] == TRANSFERS // 2 + 30
    assert found["serialized"]["start serial"] == 7
    assert found["serialized"]["chosen serial"] == 0
    causes = {(s["cause"], s["stack"][0]["function"], s["stack"][0]["line"], s["what"]): s
              for s in found["serializations"]}  # fmt: skip
    settle = causes["in-flight switch", "settle", line_of("switch"), ""]
    assert settle["count"] == TRANSFERS // 2
    assert [f["function"] for f in settle["stack"]][:3] == ["settle", "transfer", "main"]
    assert settle["site"]["line"] == line_of("transfer begins")
    assert causes["start serial", "close_day", line_of("start"), ""]["count"] == 7
    look_up = next(s for s in found["serializations"] if s["what"] == "same_word")
    assert (look_up["count"], look_up["stack"][0]["function"]) == (30, "look_up")


def test_serial_transactions_are_said_to_be_chosen(bank: Path) -> None:
    found = profile(bank, "--method", "serial", "./bank")
    assert found["serialized"]["chosen serial"] == TRANSFERS + 30
    assert found["serialized"]["start serial"] == 7


def test_the_table_names_cause_function_and_line(bank: Path) -> None:
    shown = rubato(bank, "run", "./bank").stdout
    assert re.search(r"transactions +in-flight switch +start serial", shown)
    assert re.search(r"237 +130 \(54.9%\) +7 \(3.0%\)", shown)
    assert re.search(rf"100 +in-flight switch +{line_of('switch')} settle  <- transfer  <- main", shown)
    assert re.search(r"30 +in-flight switch +same_word +bank.c:\d+ look_up", shown)


def test_folded_stacks_and_flame_graph(bank: Path) -> None:
    rubato(bank, "run", "./bank")
    folded = rubato(bank, "report", "--folded").stdout
    assert re.search(r"^\S*main;transfer;settle;\[in-flight switch\] 100$", folded, re.MULTILINE)
    assert rubato(bank, "report", "--flame", "flame.html").returncode == 0
    page = (bank / "flame.html").read_text()
    assert "settle: 100 serializations" in page
    assert "http" not in page


def test_each_forked_process_has_a_profile_of_its_own(bank: Path) -> None:
    found = profile(bank, "--profile", "forked", "./bank", "f", file="forked")
    assert found["serialized"]["start serial"] == 7
    (own,) = bank.glob("forked.*")
    of_child = json.loads(rubato(bank, "report", "--json", own.name).stdout)
    assert (of_child["committed"], of_child["serialized"]["start serial"]) == (1, 1)


def test_a_program_that_is_killed_leaves_its_profile_and_its_exit_code(bank: Path) -> None:
    ran = rubato(bank, "run", "./bank", "a")
    assert ran.returncode == 128 + 6
    assert "settle" in ran.stdout
    assert rubato(bank, "run", "./bank", "e").returncode == 3


def test_the_summary_at_the_end(bank: Path, build: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(build / "tm/lib/libitm.so.1"), "RUBATO_ITM_METHOD": "eager"}
    source = PROGRAM.replace("_exit(argc", "exit(argc")
    (bank / "ends.c").write_text(source)
    subprocess.run(["gcc", *FLAGS, "ends.c", "-o", "ends"], cwd=bank, check=True)
    summary = bank / "summary"
    ran = subprocess.run([bank / "ends"], env=environment | {"RUBATO_ITM_STATS": str(summary)}, check=True,
                         capture_output=True, text=True)  # fmt: skip
    assert ran.stderr == ""
    assert summary.read_text().splitlines()[1].split()[:2] == ["237", "130"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--method", "fast", "./bank"], "--method is 'fast'"),
        (["run", "--manager", "backoff:3", "./bank"], "--manager is 'backoff:3'"),
        (["run", "./no-such-program"], "is not a program that can be run"),
        (["run", "--profile", "no/folder", "./bank"], "there is no such folder"),
        (["report", "bank.c"], "is not a profile of transactions"),
        (["report", "absent"], "cannot be read"),
        (["report", "short"], "is damaged"),
        (["report", "--folded", "--flame", "flame.html"], "exclude each other"),
    ],
)
def test_bad_input_is_one_sentence(bank: Path, arguments: list[str], sentence: str) -> None:
    rubato(bank, "run", "./bank")
    (bank / "short").write_bytes((bank / "tm.profile").read_bytes()[:70000])
    ran = rubato(bank, *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert sentence in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_program_without_transactions_is_said_to_have_none(bank: Path) -> None:
    ran = rubato(bank, "run", "true")
    assert ran.returncode == 1
    assert "ran no transaction" in ran.stderr

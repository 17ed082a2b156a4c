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

from rubato.tm.methods import CONCURRENT

FLAGS = [
    "-O1", "-g", "-fgnu-tm", "-fno-tree-loop-distribute-patterns", "-fno-tree-vectorize", "-fno-tree-pre",
    "-fno-thread-jumps",
]  # fmt: skip
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
__attribute__((noinline)) void give_up_half(void) {
  __transaction_atomic { ++notes; __transaction_atomic { ++words; __transaction_cancel; } }
}
int main(int argc, char** argv) {
  compare = same_word;
  for (int i = 0; i < 200; ++i) transfer(i);
  for (int i = 0; i < 30; ++i) look_up();
  for (int i = 0; i < 7; ++i) close_day();
  for (int i = 0; i < 5; ++i) give_up();
  if (argc > 1 && argv[1][0] == 'h') for (int i = 0; i < 6; ++i) give_up_half();
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


def profile(folder: Path, *arguments: str, file: str = "tm.profile", **environment: str) -> dict:
    ran = rubato(folder, "run", *arguments, **environment)
    assert ran.returncode == 0, ran.stderr
    return json.loads(rubato(folder, "report", "--json", file).stdout)


@pytest.mark.parametrize("method", CONCURRENT)
def test_each_cause_is_found_at_its_function_and_line(bank: Path, method: str) -> None:
    found = profile(bank, "--method", method, "./bank")
    assert found["committed"] == TRANSFERS + 30 + 7
    assert found["cancelled"] == 5
    assert found["serialized"]["in-flight switch"] == TRANSFERS // 2 + 30
    assert found["serialized"]["start serial"] == 7
    assert found["serialized"]["chosen serial"] == 0
    causes = {(s["cause"], s["stack"][0]["function"], s["stack"][0]["line"], s["what"]): s
              for s in found["serializations"]}  # fmt: skip
    settle = causes["in-flight switch", "settle", line_of("switch"), "note"]
    assert settle["count"] == TRANSFERS // 2
    assert [f["function"] for f in settle["stack"]][:3] == ["settle", "transfer", "main"]
    assert settle["site"]["line"] == line_of("transfer begins")
    assert causes["start serial", "close_day", line_of("start"), "fflush"]["count"] == 7
    look_up = next(s for s in found["serializations"] if s["what"] == "same_word")
    assert (look_up["count"], look_up["stack"][0]["function"]) == (30, "look_up")


def test_a_library_in_a_folder_with_a_space_is_preloaded(build: Path, bank: Path, tmp_path: Path) -> None:
    home = tmp_path / "my home"
    (home / "tm/lib").mkdir(parents=True)
    shutil.copy(build / "tm/lib/libitm.so.1", home / "tm/lib/librubato_itm.so")
    ran = rubato(bank, "run", "./bank", RUBATO_HOME=str(home))
    assert ran.returncode == 0 and ran.stderr == ""
    assert re.search(r"237 +130 \(54.9%\)", ran.stdout)


@pytest.mark.parametrize("method", ["eager", "norec"])
def test_a_nested_cancel_is_no_lost_attempt(bank: Path, method: str) -> None:
    found = profile(bank, "--method", method, "./bank", "h")
    (site,) = (site for site in found["sites"] if site["function"] == "give_up_half")
    assert (site["committed"], site["aborted"], site["cancelled"]) == (6, {"nested": 6}, 0)
    assert found["loads"][0]["aborted"] == 0
    shown = rubato(bank, "report").stdout
    assert re.search(r"aborts\n.* 0\n", shown)


def test_serial_transactions_are_said_to_be_chosen(bank: Path) -> None:
    found = profile(bank, "--method", "serial", "./bank")
    assert found["serialized"]["chosen serial"] == TRANSFERS + 30
    assert found["serialized"]["start serial"] == 7


def test_the_table_names_cause_function_and_line(bank: Path) -> None:
    shown = rubato(bank, "run", "./bank").stdout
    assert re.search(r"transactions +in-flight switch +start serial", shown)
    assert re.search(r"237 +130 \(54.9%\) +7 \(3.0%\)", shown)
    assert re.search(rf"100 +in-flight switch +note +{line_of('switch')} settle  <- transfer  <- main", shown)
    assert re.search(r"30 +in-flight switch +same_word +bank.c:\d+ look_up", shown)


def test_folded_stacks_and_flame_graph(bank: Path) -> None:
    rubato(bank, "run", "./bank")
    folded = rubato(bank, "report", "--folded").stdout
    assert re.search(r"^\S*main;transfer;settle;\[in-flight switch: note\] 100$", folded, re.MULTILINE)
    assert rubato(bank, "report", "--flame", "flame.html").returncode == 0
    page = (bank / "flame.html").read_text()
    assert "settle: 100 serializations" in page
    assert "Why transactions ran alone" in page
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)


def test_rubato_report_takes_a_profile(bank: Path) -> None:
    rubato(bank, "run", "./bank")
    command = [sys.executable, "-m", "rubato", "report", "tm.profile", "--out", "page.html"]
    subprocess.run(command, cwd=bank, check=True, capture_output=True)
    assert "in-flight switch" in (bank / "page.html").read_text()


# Nine transactions that read 20 lines and write three, of which each is undone twice; one that reads nothing. Then
# 20 rounds in which a commit waits for an older transaction that sleeps, and a begin for one that is irrevocable.
SIZES = """
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
struct line { long word; char rest[248]; } lines[64] __attribute__((aligned(256)));
void _ITM_abortTransaction(uint32_t) __attribute__((transaction_pure));
int tries, step;
__attribute__((transaction_pure, noinline)) int is_tried_twice(void) { return tries++ % 3 == 2; }
__attribute__((transaction_pure, noinline)) void go_to(int next) { __atomic_store_n(&step, next, __ATOMIC_SEQ_CST); }
__attribute__((transaction_pure, noinline)) void nap(void) { usleep(5000); }
static void wait_for(int wanted) { while (__atomic_load_n(&step, __ATOMIC_SEQ_CST) != wanted) usleep(100); }
__attribute__((noinline)) void sums(int n) {
  __transaction_atomic {
    long sum = 0;
    for (int i = 0; i < n; ++i) sum += lines[i].word;
    for (int i = 40; i < 43; ++i) lines[i].word = sum;
    if (!is_tried_twice()) _ITM_abortTransaction(2);
  }
}
__attribute__((noinline)) void clears(void) { __transaction_atomic { lines[50].word = 0; } }
__attribute__((noinline)) long reads_slowly(void) {
  long sum;
  __transaction_atomic { sum = lines[51].word; go_to(1); nap(); }
  return sum;
}
__attribute__((noinline)) void is_alone(void) { __transaction_relaxed { go_to(2); usleep(5000); } }
static void* other(void* argument) {
  for (int i = 0; i < 20; ++i) { reads_slowly(); wait_for(10); is_alone(); wait_for(11); }
  return argument;
}
int main(void) {
  pthread_t thread;
  for (int i = 0; i < 9; ++i) sums(20);
  clears();
  pthread_create(&thread, 0, other, 0);
  for (int i = 0; i < 20; ++i) {
    wait_for(1); clears(); go_to(10);
    wait_for(2); clears(); go_to(11);
  }
  pthread_join(thread, 0);
  return 0;
}
"""


NEIGHBOURS = """
#include <pthread.h>
#include <stdatomic.h>
static struct { _Alignas(64) long v[8]; } near_words, one_word;
static _Thread_local int is_holder;
static atomic_int held, tries;
__attribute__((transaction_pure, noinline)) static void begins(void) { if (!is_holder) ++tries; }
// The holder waits until the other one has begun anew, which is when it has lost.
__attribute__((transaction_pure, noinline)) static void has_stored(void) {
  if (!is_holder) return;
  held = 1;
  while (tries < 2) ;
}
#define SIDE(name, place) \\
  __attribute__((noinline)) static void name(void) { __transaction_atomic { begins(); ++place; has_stored(); } }
SIDE(left, near_words.v[0])
SIDE(right, near_words.v[1])
SIDE(first, one_word.v[2])
SIDE(second, one_word.v[2])
static void (*const sides[])(void) = {left, right, first, second};
static void* hold(void* n) { is_holder = 1; sides[(long)n](); return n; }
int main(void) {
  for (long n = 0; n < 4; ++n) {
    pthread_t thread;
    held = tries = 0;
    pthread_create(&thread, 0, hold, (void*)n);
    while (!held) ;
    sides[n ^ 1]();
    pthread_join(thread, 0);
  }
  return 0;
}
"""


def test_a_conflict_by_another_word_of_the_stripe_is_told_from_a_true_one(bank: Path) -> None:
    (bank / "neighbours.c").write_text(NEIGHBOURS)
    subprocess.run(["gcc", *FLAGS, "neighbours.c", "-o", "neighbours", "-pthread"], cwd=bank, check=True)
    found = profile(bank, "--method", "eager", "./neighbours", RUBATO_ITM_MANAGER="none")
    expected = {
        ("right", "left"): ("near_words+8", "another word: near_words"),
        ("left", "right"): ("near_words", "another word: near_words+8"),
        ("second", "first"): ("one_word+16", "same word"),
        ("first", "second"): ("one_word+16", "same word"),
    }
    # How often each side loses depends on the machine: a kind is told where both did.
    told = {(c["site"]["function"], c["other"]["function"]): (c["address"], c["kind"])
            for c in found["conflicts"] if c["site"] and c["other"] and c["kind"]}  # fmt: skip
    assert told and told.items() <= expected.items()
    shown = rubato(bank, "report").stdout
    if ("right", "left") in told:
        assert re.search(r"near_words\+8 .* with left \(neighbours.c:\d+\) +another word: near_words\n", shown)


@pytest.mark.parametrize("method", CONCURRENT)
def test_sizes_retries_and_waits_are_counted(bank: Path, method: str) -> None:
    (bank / "sizes.c").write_text(SIZES)
    subprocess.run(["gcc", *FLAGS, "-Wno-format", "sizes.c", "-o", "sizes", "-pthread"], cwd=bank, check=True)
    found = profile(bank, "--method", method, "./sizes")
    sites = {site["function"]: site for site in found["sites"]}
    sums = sites["sums"]
    assert (sums["committed"], sums["aborted"]) == (9, {"retry": 18})
    assert sums["reads"] == [[16, 9]]
    assert sums["writes"] == [[2, 9]]
    assert sums["retries"] == [[2, 9]]
    assert sum(n for _, n in sums["ns_of_committed"]) == 9
    assert sum(n for _, n in sums["ns_of_aborted"]) == 18
    clears = sites["clears"]
    assert clears["committed"] == 41
    assert (sums["loads"], sums["stores"]) == ([[16, 9]], [[2, 9]])
    assert (clears["loads"], clears["stores"]) == ([[0, 41]], [[1, 41]])
    assert (clears["reads"], clears["writes"], clears["retries"]) == ([[0, 41]], [[1, 41]], [[0, 41]])
    assert clears["ns_quiescence"] > 0
    assert clears["ns_gate"] > 0
    assert sites["is_alone"]["reads"] == []  # it kept no log
    (main, other) = found["loads"]
    assert (main["committed"], main["aborted"]) == (50, 18)
    assert (other["committed"], other["aborted"]) == (40, 0)
    assert 0 < main["ns_committed"] <= found["ns_elapsed"]
    shown = rubato(bank, "report").stdout
    assert re.search(r"\bloads +0: \d+  1: 20  16-31: 9\b", shown)
    assert re.search(r"entries read +0: \d+  1: 20  16-31: 9\b", shown)
    assert re.search(r"attempts before +0: \d+  2-3: 9\b", shown)
    rubato(bank, "report", "--flame", "flame.html")
    assert '<td class=n>16-31</td><td class=n>9</td>' in (bank / "flame.html").read_text()


# 60 places of transactions, 60 of 300 stacks, on two threads one after another.
PLACES, DEPTHS = 60, 5
MANY = """
#include <pthread.h>
long words[PLACES];
__attribute__((noinline)) void note(void) { asm volatile("" ::: "memory"); }
#define PLACE(n) \\
  __attribute__((noinline)) void place##n(int i) { __transaction_relaxed { words[n] += i; note(); } }
EACH
static void (*const places[])(int) = {NAMES};
__attribute__((noinline)) void deep(int depth, int n) {
  if (depth == 0) places[n](n); else deep(depth - 1, n);
  asm volatile("" ::: "memory");
}
static void* run(void* argument) {
  for (int round = 0; round < 2; ++round)
    for (int n = 0; n < PLACES; ++n)
      for (int depth = 0; depth < DEPTHS; ++depth) deep(depth, n);
  return argument;
}
int main(void) {
  pthread_t thread;
  run(0);
  pthread_create(&thread, 0, run, 0);
  pthread_join(thread, 0);
  return 0;
}
"""


def test_the_file_grows_with_the_places_and_keeps_all_of_them(bank: Path) -> None:
    each = "\n".join(f"PLACE({n})" for n in range(PLACES))
    text = MANY.replace("EACH", each).replace("NAMES", ", ".join(f"place{n}" for n in range(PLACES)))
    (bank / "many.c").write_text(text)
    defined = [f"-DPLACES={PLACES}", f"-DDEPTHS={DEPTHS}"]
    subprocess.run(["gcc", *FLAGS, "-fno-optimize-sibling-calls", *defined, "many.c", "-o", "many", "-pthread"],
                   cwd=bank, check=True)  # fmt: skip
    found = profile(bank, "--profile", "many.profile", "./many", file="many.profile")
    assert {site["function"]: site["committed"] for site in found["sites"]} == {
        f"place{n}": 2 * 2 * DEPTHS for n in range(PLACES)
    }
    assert [thread["committed"] for thread in found["loads"]] == [2 * PLACES * DEPTHS] * 2
    assert sum(s["count"] for s in found["serializations"]) == 2 * 2 * PLACES * DEPTHS
    assert {s["what"] for s in found["serializations"]} == {"note"}
    assert len(found["serializations"]) == 2 * PLACES * DEPTHS  # the threads' stacks differ at their ends
    assert found["lost"] == {"sites": 0, "serializations": 0, "conflicts": 0}
    few = profile(bank, "./bank")
    assert few["threads"] == 1
    assert (bank / "tm.profile").stat().st_size <= 7 * 4096  # header, modules, four pages of places, one of stacks
    assert (bank / "many.profile").stat().st_size < 800_000


def test_a_report_as_text_loads_no_module_of_the_page() -> None:
    loaded = "import sys, rubato.cli.tm; print(*(name for name in sys.modules if name.startswith('rubato.report')))"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout == "\n"


def test_each_forked_process_has_a_profile_of_its_own(bank: Path) -> None:
    found = profile(bank, "--profile", "forked", "./bank", "f", file="forked")
    assert found["serialized"]["start serial"] == 7
    (own,) = bank.glob("forked.*")
    of_child = json.loads(rubato(bank, "report", "--json", own.name).stdout)
    assert (of_child["committed"], of_child["serialized"]["start serial"]) == (1, 1)


HOLDS_THE_LOADER = r"""
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
void touch(long *word);
#ifdef LIBRARY
void touch(long *word) { __transaction_atomic { ++*word; } }
#else
static long x;
static volatile int stage; /* 1: the loader is held; 2: main and its child have run their transactions */
static int hold(struct dl_phdr_info *info, size_t size, void *unused) {
  stage = 1;
  while (stage == 1) sched_yield();
  __transaction_atomic { ++x; }
  return 1;
}
static void *iterate(void *unused) { dl_iterate_phdr(hold, 0); return 0; }
int main(void) {
  pthread_t thread;
  int status = 1;
  __transaction_atomic { ++x; }
  pthread_create(&thread, 0, iterate, 0);
  while (stage != 1) sched_yield();
  pid_t child = fork();
  touch(&x); /* of a module that the profile does not know yet */
  if (child == 0) _exit(x != 2);
  waitpid(child, &status, 0);
  stage = 2;
  pthread_join(thread, 0);
  return status != 0 || x != 3;
}
#endif
"""


def test_a_profile_waits_for_no_thread_that_holds_the_loader(bank: Path) -> None:
    """A forked child has no such thread, and in the parent that thread may wait for the profile."""
    (bank / "holds.c").write_text(HOLDS_THE_LOADER)
    for what in (["-DLIBRARY", "-shared", "-fPIC", "-o", "libholds.so"], ["-o", "holds", "./libholds.so", "-pthread"]):
        subprocess.run(["gcc", *FLAGS, "holds.c", *what], cwd=bank, check=True)
    found = profile(bank, "--profile", "holds.profile", "./holds", file="holds.profile")
    assert sorted(site["function"] for site in found["sites"]) == ["hold", "main", "touch"]


CONSTRUCTS = r"""
#include <dlfcn.h>
#include <pthread.h>
#ifdef LIBRARY
static long x;
static void *run(void *unused) { __transaction_atomic { ++x; } return 0; }
__attribute__((constructor)) static void construct(void) { /* under the loader's lock */
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  pthread_join(thread, 0);
}
#else
int main(void) { return dlopen("./libconstructs.so", RTLD_NOW) == 0; }
#endif
"""


def test_a_profile_takes_no_lock_of_the_loader_for_the_first_transaction(bank: Path) -> None:
    (bank / "constructs.c").write_text(CONSTRUCTS)
    for what in (["-DLIBRARY", "-shared", "-fPIC", "-o", "libconstructs.so"], ["-o", "constructs", "-pthread"]):
        subprocess.run(["gcc", *FLAGS, "constructs.c", *what], cwd=bank, check=True)
    found = profile(bank, "--profile", "constructs.profile", "./constructs", file="constructs.profile")
    assert found["committed"] == 1


def test_a_program_that_is_killed_leaves_its_profile_and_its_exit_code(bank: Path) -> None:
    ran = rubato(bank, "run", "./bank", "a")
    assert ran.returncode == 128 + 6
    assert "settle" in ran.stdout
    assert rubato(bank, "run", "./bank", "e").returncode == 3


def test_the_summary_at_the_end(bank: Path, itm: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(itm / "libitm.so.1"), "RUBATO_ITM_METHOD": "eager"}
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
    (bank / "short").write_bytes((bank / "tm.profile").read_bytes()[:9000])
    ran = rubato(bank, *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert sentence in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_program_without_transactions_is_said_to_have_none(bank: Path) -> None:
    ran = rubato(bank, "run", "true")
    assert ran.returncode == 1
    assert "ran no transaction" in ran.stderr

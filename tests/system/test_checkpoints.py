"""`--checkpoint` and `--restore`: a program that goes on from a checkpoint runs as one that began."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import golden  # noqa: E402
from checkpointing import chip, results  # noqa: E402

SSSP = ["--generate", "road:16x16", "--verify"]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden.program_into(tmp_path_factory.mktemp("golden"))


CHIPS = [["--cores", "1"], ["--cores", "16"], ["--cores", "64", "--set", "task.mayspec=spec", "--set", "l2.size=16KiB"],
         ["--cores", "16", "--set", "coherence.protocol=flask"], ["--cores", "4", "--set", "task.mayspec=nonspec"],
         ["--cores", "16", "--seed", "7"]]


def test_one_checkpoint_serves_every_chip(rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    file = tmp_path / "sssp.checkpoint"
    done = chip(rubato_chip, "--cores", "16", "--checkpoint", file, guests / "sssp", *SSSP)
    assert done.returncode == 0, done.stderr
    assert "before the task instruction" in done.stderr
    for options in CHIPS:
        whole = results(rubato_chip, tmp_path / "whole", *options, guests / "sssp", *SSSP)
        assert results(rubato_chip, tmp_path / "rest", *options, "--restore", file, guests / "sssp", *SSSP) == whole


@pytest.mark.parametrize("kernel", ["capsules 30", "tree 4", "threads 4", "bank 30"])
def test_what_programs_have_done_is_restored(rubato_chip: Path, kernels: Path, tmp_path: Path, kernel: str) -> None:
    """Capsule vectors, and the thread that has started no other yet."""
    words = ["--cores", "4", kernels, *kernel.split()]
    assert chip(rubato_chip, "--checkpoint", tmp_path / "file", *words).returncode == 0
    assert (results(rubato_chip, tmp_path / "rest", "--restore", tmp_path / "file", *words)
            == results(rubato_chip, tmp_path / "whole", *words))


def test_a_region_of_interest_is_where_a_checkpoint_is_taken(
        rubato_chip: Path, guests: Path, tmp_path: Path) -> None:
    words = ["--roi", "main", guests / "hello"]
    done = chip(rubato_chip, "--checkpoint", tmp_path / "file", *words)
    assert "in main before the region of interest" in done.stderr
    command = ["--quiet", "--cores", "1", "--out"]
    chip(rubato_chip, *command, tmp_path / "whole", *words)
    chip(rubato_chip, *command, tmp_path / "rest", "--restore", tmp_path / "file", *words)
    for name in ("stats.json", "output.txt"):
        assert (tmp_path / "rest" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


PROGRAM = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/socket.h>
static void take_a_port(void) {
  struct sockaddr_in own = {.sin_family = AF_INET};
  socklen_t bytes = sizeof own;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (void*)&own, bytes) != 0 || getsockname(fd, (void*)&own, &bytes) != 0) exit(3);
  printf("port %d\n", ntohs(own.sin_port));
  close(fd);
}
static void handler(int signal) { printf("signal %d\n", signal); }
static void before(const char* what, const char* file) {
  char word[8] = {0};
  if (strcmp(what, "file") == 0) {  /* half of it is read before, half behind */
    const int fd = open(file, O_RDONLY);
    if (fd < 0 || read(fd, word, 4) != 4) exit(3);
    printf("before: %s, descriptor %d\n", word, fd);
  }
  if (strcmp(what, "port") == 0) take_a_port();
  if (strcmp(what, "socket") == 0 && socket(AF_INET, SOCK_STREAM, 0) < 0) exit(3);
  if (strcmp(what, "pipe") == 0) { int ends[2]; if (pipe(ends) != 0) exit(3); }
  if (strcmp(what, "writes") == 0 && open("written", O_WRONLY | O_CREAT, 0644) < 0) exit(3);
  if (strcmp(what, "stdin") == 0 && read(0, word, 4) != 4) exit(3);
  if (strcmp(what, "closed") == 0) close(0);
  if (strcmp(what, "alarm") == 0) alarm(100);
  if (strcmp(what, "locks") == 0 && flock(open("locked", O_RDONLY | O_CREAT, 0644), LOCK_SH) != 0) exit(3);
  if (strcmp(what, "segment") == 0 && shmget(IPC_PRIVATE, 100, 0600) < 0) exit(3);
  if (strcmp(what, "range") == 0) {
    struct flock all = {.l_type = F_RDLCK};
    if (fcntl(open("locked", O_RDONLY | O_CREAT, 0644), F_SETLK, &all) != 0) exit(3);
  }
  if (strcmp(what, "unlocks") == 0) {
    const int fd = open(file, O_RDONLY);
    if (flock(fd, LOCK_EX) != 0 || close(fd) != 0) exit(3);
  }
  if (strcmp(what, "mapped") == 0) {
    const int fd = open(file, O_RDONLY);
    if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED || close(fd) != 0) exit(3);
  }
  fflush(stdout);
}
__attribute__((noinline)) void behind(const char* what) {
  char word[8] = {0};
  if (strcmp(what, "file") == 0) {
    if (read(3, word, 4) != 4) exit(3);
    printf("behind: %s\n", word);
  }
  if (strcmp(what, "port") == 0) take_a_port();
  if (strcmp(what, "signal") == 0) raise(SIGUSR1);
}
int main(int argc, char** argv) {
  signal(SIGUSR1, handler);
  /* A reserve of which little is used, a page that nobody may touch, and pages with contents. */
  char* reserve = mmap(NULL, 8ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  mprotect(reserve + (4ul << 30), 8192, PROT_READ | PROT_WRITE);
  strcpy(reserve + (4ul << 30), "kept");
  strcpy(reserve + (4ul << 30) + 4096, "hidden");
  mprotect(reserve + (4ul << 30) + 4096, 4096, PROT_NONE);
  char* heap = malloc(100000);
  memset(heap, 7, 100000);
  before(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  behind(argc > 1 ? argv[1] : "");
  uint64_t sum = 0;
  for (int i = 0; i < 100000; ++i) sum = sum * 3 + (unsigned char)heap[i];
  mprotect(reserve + (4ul << 30) + 4096, 4096, PROT_READ);
  printf("%s %s %lu\n", reserve + (4ul << 30), reserve + (4ul << 30) + 4096, sum);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["riscv64-linux-gnu-gcc", "-O1", "-static", "-o", folder / "program", folder / "program.c"],
                   check=True)
    return folder / "program"


@pytest.mark.parametrize("what", ["", "file", "signal", "port", "unlocks"])
def test_memory_files_and_signals_are_restored(rubato_chip: Path, program: Path, tmp_path: Path, what: str) -> None:
    (tmp_path / "input").write_text("abcdefgh")
    words = ["--cores", "1", "--roi", "behind", program, what, str(tmp_path / "input")]
    done = chip(rubato_chip, "--checkpoint", tmp_path / "file", *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file").stat().st_size < 2_000_000, "a reserve is not written"
    whole = results(rubato_chip, tmp_path / "whole", *words)
    assert results(rubato_chip, tmp_path / "rest", "--restore", tmp_path / "file", *words) == whole
    expected = {"": b"", "file": b"before: abcd, descriptor 3\nbehind: efgh\n", "signal": b"signal 10\n",
                "unlocks": b"", "port": b"port 32768\nport 32769\n"}[what]
    assert whole[1].startswith(expected + b"kept hidden ")


@pytest.mark.parametrize(("what", "sentence"), [
    ("pipe", "descriptor 3 is a pipe or a counter"),
    ("socket", "descriptor 3 is a socket"),
    ("writes", "/written is open for writing"),
    ("stdin", "the program has read its standard input"),
    ("closed", "the program has closed or redirected its descriptor 0"),
    ("alarm", "a timer of the program runs"),
    ("locks", "/locked is locked"),
    ("range", "/locked is locked"),
    ("segment", "the program has made shared memory"),
])  # fmt: skip
def test_what_a_checkpoint_cannot_hold_is_said(
        rubato_chip: Path, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str,
        sentence: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = chip(rubato_chip, "--roi", "behind", "--checkpoint", tmp_path / "file", program, what, stdin="words")
    assert done.returncode == 2
    assert "a checkpoint cannot be taken: " in done.stderr
    assert sentence in done.stderr
    assert list(tmp_path.glob("file*")) == [], "nothing half-written is left"


@pytest.mark.parametrize("what", ["file", "mapped"])
def test_files_of_another_length_are_refused(rubato_chip: Path, program: Path, tmp_path: Path, what: str) -> None:
    data = tmp_path / "input"
    data.write_text("abcdefgh")
    words = ["--roi", "behind", program, what, str(data)]
    assert chip(rubato_chip, "--checkpoint", tmp_path / "file", *words).returncode == 0
    data.write_text("abcdEFGH")
    assert chip(rubato_chip, "--restore", tmp_path / "file", *words).returncode == 0
    data.write_text("abcdefg")
    done = chip(rubato_chip, "--restore", tmp_path / "file", *words)
    assert done.returncode == 2
    assert f"{data} had 8 bytes when the checkpoint was taken and has 7 now: take it anew" in done.stderr


@pytest.mark.parametrize(("options", "sentence"), [
    (["--no-ff"], "leave out run.fast_forward=false (--no-ff)"),
    (["--set", "run.alloc=ideal"], "the ideal allocator (run.alloc)"),
    (["--out", "run"], "--checkpoint writes its file and ends"),
])  # fmt: skip
def test_options_that_checkpoints_exclude(
        rubato_chip: Path, kernels: Path, tmp_path: Path, options: list[str], sentence: str) -> None:
    done = chip(rubato_chip, *options, "--checkpoint", tmp_path / "file", kernels, "votes", "3")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "sentence"), [
    (["votes", "4"], 'the checkpoint was taken with arguments ["votes", "3"], this run has ["votes", "4"]'),
    (["--env", "A=B", "PROGRAM", "votes", "3"], "the checkpoint was taken with environment"),
    (["--set", "task.capsules=false", "PROGRAM", "votes", "3"], "the checkpoint was taken with task.capsules true"),
])  # fmt: skip
def test_a_checkpoint_of_another_run_is_refused(
        rubato_chip: Path, kernels: Path, tmp_path: Path, words: list[str], sentence: str) -> None:
    assert chip(rubato_chip, "--checkpoint", tmp_path / "file", kernels, "votes", "3").returncode == 0
    words = words if "PROGRAM" in words else ["PROGRAM", *words]
    done = chip(rubato_chip, "--out", tmp_path / "run", "--restore", tmp_path / "file",
                *(str(kernels) if word == "PROGRAM" else word for word in words))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not (tmp_path / "run").exists()


def test_damaged_files_are_refused(rubato_chip: Path, kernels: Path, guests: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert chip(rubato_chip, "--checkpoint", whole, kernels, "votes", "3").returncode == 0

    def restored(file: Path, program: Path = kernels) -> str:
        done = chip(rubato_chip, "--restore", file, program, "votes", "3")
        assert done.returncode == 2
        return done.stderr

    assert "the checkpoint is of another program" in restored(whole, guests / "hello")
    assert "cannot read the checkpoint" in restored(tmp_path / "absent")
    assert "not a checkpoint of this version" in restored(kernels)
    content = gzip.decompress(whole.read_bytes())
    for size in (0, 10, 40, 300, 5000, len(content) // 2, len(content) - 1):
        (tmp_path / "cut").write_bytes(gzip.compress(content[:size]))
        assert "checkpoint" in restored(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(whole.read_bytes()[:-200])
    assert "damaged or cut off" in restored(tmp_path / "cut")


@pytest.mark.parametrize(("region", "before"), [
    ("abort", "its region of interest (run.roi)"), ("@markers", "its region of interest (run.roi)"),
    ("@none", "anything in it depended on the chip")])  # fmt: skip
def test_a_program_that_never_comes_there_has_no_checkpoint(
        rubato_chip: Path, guests: Path, tmp_path: Path, region: str, before: str) -> None:
    done = chip(rubato_chip, "--roi", region, "--checkpoint", tmp_path / "file", guests / "hello")
    assert done.returncode == 2
    assert f"the program ended before {before}: there is nothing to begin from" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_command_takes_and_restores_them(tmp_path: Path) -> None:
    def rubato(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "rubato", *words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, cwd=tmp_path)

    graph = ["--", "--generate", "road:12x12"]
    assert rubato("run", "sssp", "--checkpoint", "sssp.checkpoint", *graph).returncode == 0
    plain = json.loads(rubato("run", "sssp", "--cores", "4", "--json", "--out", "plain", *graph).stdout)
    options = ["--restore", "sssp.checkpoint", "--json"]
    rest = json.loads(rubato("run", "sssp", "--cores", "4", *options, "--out", "rest", *graph).stdout)
    assert rest["cycles"] == plain["cycles"]
    swept = rubato("sweep", "--program", "sssp", "--cores", "1,4", *options, "--out", "sweep", *graph)
    assert swept.returncode == 0, swept.stderr
    stats = [path.read_bytes() for path in tmp_path.glob("sweep/**/stats.json")]
    assert (tmp_path / "plain/stats.json").read_bytes() in stats
    refused = rubato("run", "sssp", "--engine", "native", "--checkpoint", "file", *graph)
    assert refused.returncode == 2
    assert "--checkpoint is for the simulated chip" in refused.stderr

"""Programs of Debian's riscv64 port, with their loader and libraries, do on the chip what they do under qemu-riscv64:
interpreters, a data base, compressors with threads, a compiler. Programs that start others are started by a static
shell, and compared with those of this computer, or with what they must say.

The packages are fetched into the build folder. Skipped, with the reason, where that is impossible.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

import debian
import debian_chip
from debian import by_loader, libraries
from debian_chip import CHIPS

pytestmark = pytest.mark.long

PACKAGES = ["bash-static", "busybox-static", "sqlite3", "lua5.4", "python3-minimal", "perl-base", "gawk", "jq",
            "xz-utils", "zstd", "pigz", "openssl", "coreutils", "tar", "git", "make", "redis-server", "redis-tools",
            "gcc-14"]  # fmt: skip
LAST = "usr/bin/redis-server"  # of the packages that are unpacked

SQL = """create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000)
insert into t select x, hex(x * x) from c;
create index i on t(b);
begin; delete from t where a % 3 = 0; rollback;
pragma journal_mode = wal;
update t set b = b || 'x' where a < 100;
select count(*), sum(a), max(b) from t;
select a, b from t order by b desc limit 5;
vacuum; pragma integrity_check;
select printf('%.3f', avg(a)), json_object('a', 1, 'b', json_array(1, 2)) from t;
"""
LUA = """local t = {} for i = 1, 5000 do t[i] = (i * 7919) % 10007 end table.sort(t)
local s = 0 for i, v in ipairs(t) do s = s + i * v end print(s, string.format('%.3f', math.sin(1)), pcall(error, 'x'))
local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) print(co(), co(), co())
local f = io.open('o', 'w') f:write('hi\\n') f:close() for l in io.lines('o') do print(l) end
print(io.open('/none'))"""
PYTHON = """import os, time, _thread
print(sum(i * i for i in range(5000)), sorted({str(i): i for i in range(2000)})[:3], hash((1, 2, 3)))
lock = _thread.allocate_lock(); count = [0]; done = []
def work():
  for i in range(300):
    with lock: count[0] += 1
  done.append(1)
for i in range(4): _thread.start_new_thread(work, ())
while len(done) < 4: time.sleep(0.001)
r, w = os.pipe(); p = os.fork()
if p == 0: os.write(w, b'child'); os._exit(3)
print(count, os.read(r, 9), os.waitpid(p, 0)[1])
open('f', 'w').write('x' * 10000); print(os.stat('f').st_size, sorted(os.listdir('.')), 2 ** 1000 % 97)
try: os.open('/nope', 0)
except OSError as error: print(error)"""
PERL = r"""my %h; $h{$_ % 97} += $_ for 1 .. 5000;
print join(',', map {"$_=$h{$_}"} (sort {$a <=> $b} keys %h)[0 .. 4]), "\n";
my $s = 'the quick brown fox' x 50; my $n = () = $s =~ /q(u)ick\s+(\w+)/g; print "$n\n";
pipe(my $r, my $w); if (my $p = fork) { close $w; print scalar <$r>; waitpid $p, 0; print $? >> 8, "\n" }
else { print $w "kid\n"; exit 5 }
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; select undef, undef, undef, 5 }; print $@;
open my $f, '>', 'x'; print $f "a\nb\n"; close $f; open $f, '<', 'x'; my @l = <$f>; print scalar(@l), -s 'x', "\n";"""

# Program, its arguments and standard input.
PROGRAMS: dict[str, tuple[list[str], str]] = {
    "sqlite": (["sqlite3", "t.db"], SQL),
    "lua": (["lua5.4", "-e", LUA], ""),
    "python": (["python3.13", "-S", "-c", PYTHON], ""),
    "perl": (["perl", "-e", PERL], ""),
    "gawk": (["gawk", "{ n[$2 % 7] += $2; s[NR % 5] = s[NR % 5] substr($0, 6, 2) } END { for (i = 0; i < 7; ++i) "
              'printf "%d ", n[i]; print length(s[1]), gensub(/(.)b/, "\\\\1X", "g", "abab"), strftime("%Y", 0, 1) }',
              "lines"], ""),
    "jq": (["jq", "-c", "[.[] | {k: .a, v: (.b | length)}] | group_by(.v) | map({n: length, m: (map(.k) | add)})"],
           "[" + ",".join(f'{{"a":{i},"b":"{"q" * (i % 5)}"}}' for i in range(200)) + "]"),
    "sort": (["sort", "--parallel=4", "-S", "1M", "lines"], ""),
    "tar": (["tar", "cf", "-", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "big", "lines"], ""),
    "openssl": (["openssl", "dgst", "-sha3-256", "big"], ""),
    "cipher": (["openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-k", "pw", "-S", "0102030405060708", "-in", "big"], ""),
}  # fmt: skip
THREADED = {
    "xz": ["xz", "-T", "4", "-0", "--block-size=20000", "-c", "big"],
    "zstd": ["zstd", "-T4", "-c", "-B512K", "-3", "big"],
    "pigz": ["pigz", "-p", "4", "-b", "128", "-c", "-n", "big"],
}


@pytest.fixture(scope="module")
def packages(build: Path) -> Path:
    """The folder that has usr."""
    return debian_chip.unpacked(build / "debian-riscv64-programs", PACKAGES, LAST)


def environment(root: Path) -> dict[str, str]:
    return {"LC_ALL": "C.UTF-8", "HOME": "/", "PYTHONHOME": str(root / "usr"), "PYTHONDONTWRITEBYTECODE": "1",
            "PERL5LIB": str(libraries(root) / "perl-base")}  # fmt: skip


def fill(folder: Path) -> None:
    numbers = random.Random(5)
    (folder / "big").write_bytes(bytes(numbers.choice(b"abcdefgh \n") for _ in range(50000)) + b"q" * 30000)
    (folder / "lines").write_text("".join(f"line {numbers.randrange(10**6)}\n" for _ in range(1000)))


def compare(rubato_chip: Path, root: Path, options: list[str], command: list[str], given: str, place: Path) -> None:
    said, left = [], []
    started = by_loader(root, root / "usr/bin" / command[0], command[0]) + command[1:]
    variables = [part for name, value in environment(root).items() for part in ("--env", f"{name}={value}")]
    for name, before in (("qemu", ["qemu-riscv64"]), ("chip", [str(rubato_chip), "--quiet", *options, *variables])):
        (place / name).mkdir()
        fill(place / name)
        done = subprocess.run(
            [*before, *started],
            cwd=place / name,
            env={"PATH": os.environ["PATH"], **environment(root)},
            input=given.encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        said.append(done.stdout)
        # A data base has a random number in it.
        left.append({p.name: b"" if p.suffix == ".db" else p.read_bytes() for p in (place / name).iterdir()})
    assert said[1] == said[0]
    assert left[1] == left[0]


@pytest.mark.parametrize("mode", [["--fast-forward"], ["--no-ff", "--cores", "4"]], ids=["fast-forward", "detail"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_does_what_it_does_under_qemu(
    program: str, mode: list[str], packages: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    command, given = PROGRAMS[program]
    compare(rubato_chip, packages, mode, command, given, tmp_path)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("program", THREADED)
def test_threads_compute_the_same_on_every_chip(
    program: str, chip: str, packages: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    options = ["--no-ff", "--cores", "4", *CHIPS[chip]]
    compare(rubato_chip, packages, options, THREADED[program], "", tmp_path)


# --- programs that start programs


@pytest.fixture(scope="module")
def places(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with all programs of the packages."""
    compilers = packages / "usr/libexec/gcc/riscv64-linux-gnu/14"
    programs = [*(packages / "usr/bin").iterdir(), *(compilers / name for name in ("cc1", "collect2"))]
    names = {program: program.name for program in programs}
    return debian.make_places(packages, tmp_path_factory.mktemp("bin"), names)


def in_shell(rubato_chip: Path, root: Path, places: Path, script: str, place: Path, *options: str) -> str:
    variables = {**environment(root), "PATH": str(places), "HOME": str(place), "GIT_EXEC_PATH": str(places),
                 "GIT_TEMPLATE_DIR": "", **GIT}  # fmt: skip
    place.mkdir()
    return debian_chip.in_shell(rubato_chip, root, script, place, variables, *options)


GIT = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2020-01-01T00:00:00Z"))}  # fmt: skip
COMMITS = """git init -q -b m r && cd r
for i in 1 2 3 4 5; do echo "file $i" > f$i; done
git add . && git commit -q -m one
git checkout -q -b side && echo more >> f1 && git commit -qam two
git checkout -q m && echo other >> f2 && git commit -qam three && git merge -q -m merge side
git log --oneline --graph && git rev-parse HEAD && git status --short && git diff HEAD~1 --stat
git gc -q && git fsck 2>&1 && git clone -q . ../c && cd ../c && git rev-parse HEAD && git blame -s f1
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing: it says what is right")
@pytest.mark.parametrize("mode", ["--fast-forward", "--no-ff"])
def test_git_makes_the_same_commits(
    mode: str, packages: Path, places: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    (tmp_path / "host").mkdir()
    host = subprocess.run(
        ["sh", "-c", COMMITS], cwd=tmp_path / "host", capture_output=True, check=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **GIT},
    )  # fmt: skip
    assert in_shell(rubato_chip, packages, places, COMMITS, tmp_path / "chip", mode) == host.stdout


MAKE = """for i in 1 2 3 4 5 6 7 8; do echo "s $i" > $i.in; done
printf '%%.o: %%.in\\n\\t@sleep 0.0$*; tr a-z A-Z < $< > $@; echo made $@\\n' > Makefile
printf 'out: 1.o 2.o 3.o 4.o 5.o 6.o 7.o 8.o\\n\\t@cat $^ > $@\\n' >> Makefile
make -j4 2> /dev/null | sort; cat out
rm -f *.o; make -j3 --jobserver-style=pipe 2> /dev/null | sort | tail -n 1; make -j2 -O -q out 2> /dev/null; echo $?
"""


@pytest.mark.parametrize("mode", ["--fast-forward", "--no-ff"])
def test_make_runs_jobs_at_once(mode: str, packages: Path, places: Path, rubato_chip: Path, tmp_path: Path) -> None:
    made = "".join(f"made {i}.o\n" for i in range(1, 9))
    out = "".join(f"S {i}\n" for i in range(1, 9))
    assert in_shell(rubato_chip, packages, places, MAKE, tmp_path / "chip", mode) == f"{made}{out}made 8.o\n0\n"


REDIS = """redis-server --port 7777 --save '' > log 2>&1 &
until redis-cli -p 7777 ping 2> /dev/null | grep PONG; do sleep 0.1; done
redis-cli -p 7777 set a 1; redis-cli -p 7777 incr a
for i in 1 2 3; do echo "rpush l $i"; done | redis-cli -p 7777; redis-cli -p 7777 lrange l 0 -1
redis-cli -p 7777 eval 'return redis.call("incrby", KEYS[1], ARGV[1])' 1 a 40
redis-cli -p 7777 bgsave; sleep 1; redis-benchmark -p 7777 -n 100 -c 5 -q -t set,get | tr '\\r' '\\n' | grep -c second
redis-cli -p 7777 shutdown nosave; wait; ls
"""


def test_a_server_and_its_clients_run_side_by_side(
    packages: Path, places: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    said = in_shell(rubato_chip, packages, places, REDIS, tmp_path / "chip", "--fast-forward")
    assert said == "PONG\nOK\n2\n1\n2\n3\n1\n2\n3\n42\nBackground saving started\n2\ndump.rdb\nlog\n"


SOURCE = "".join(f"int f{i}(int a, int b) {{ int s = 0; for (int i = a; i < b; ++i) s += i * {i} ^ b; return s; }}\n"
                 for i in range(10))  # fmt: skip


@pytest.mark.parametrize("mode", [["--fast-forward"], ["--no-ff", "--cores", "2", "--set", "core.model=window"]])
def test_a_compiler_compiles_to_the_same_code(
    mode: list[str], packages: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    (tmp_path / "source.i").write_text(SOURCE)
    compiler = by_loader(packages, packages / "usr/libexec/gcc/riscv64-linux-gnu/14/cc1", "cc1")
    code = []
    for name, before in (("qemu", ["qemu-riscv64"]), ("chip", [str(rubato_chip), "--quiet", *mode])):
        command = [*before, *compiler, "-fpreprocessed", "-quiet", "-O2", "source.i", "-o", f"{name}.s"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        code.append((tmp_path / f"{name}.s").read_text())
    assert "f9:" in code[0]
    assert code[1] == code[0]

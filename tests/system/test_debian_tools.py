"""Shells and tools of Debian's riscv64 port, as Debian built them, do on the chip what they do under qemu-riscv64.

Shells that start processes are compared with those of this computer: qemu-riscv64 executes no RISC-V program.

busybox-static and bash-static are fetched into the build folder. Skipped, with the reason, where that is impossible.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import debian

pytestmark = pytest.mark.long

PACKAGES = {"busybox-static": "bin/busybox", "bash-static": "bin/bash-static"}


@pytest.fixture(scope="module")
def tools(build: Path) -> dict[str, Path]:
    folder = build / "debian-riscv64"
    found = {name: folder / "root" / "usr" / path for name, path in PACKAGES.items()}
    are_there = all(path.exists() for path in found.values())
    if reason := "" if are_there else debian.unpack(folder, PACKAGES):
        pytest.skip(f"Debian's riscv64 packages cannot be fetched: {reason}")
    return found


TABLE = "pear 3 0.5\napple 1 12.25\nfig 2 7\nplum 10 1\n" * 5

BUSYBOX = [
    ["sort", "-k2,2n", "table"],
    ["sort", "-u", "table"],
    ["md5sum", "table", "tool"],
    ["sha512sum", "tool"],
    ["cksum", "table"],
    ["awk", '{ n[$1] += $2; s += $3 } END { for (k in n) c += n[k]; printf "%d %.3f %s\\n", c, s / NR, toupper($1) }',
     "table"],
    ["sed", "-nE", r"s/(p+)l(.*)/<\1>\2/gp; $=", "table"],
    ["grep", "-nE", "^(fig|p.*r) ", "table"],
    ["grep", "-c", "nothing", "table"],
    ["ls", "-1", "."],
    ["find", ".", "-name", "ta*"],
    ["cut", "-d", " ", "-f", "1,3", "table"],
    ["head", "-c", "100", "table"],
    ["tail", "-n", "3", "table"],
    ["wc", "table"],
    ["od", "-A", "x", "-t", "x1z", "table"],
    ["uniq", "-c", "table"],
    ["tac", "table"],
    ["rev", "table"],
    ["gzip", "-c", "tool"],
    ["bzip2", "-c", "table"],
    ["seq", "-s", ",", "3", "7", "99"],
    ["factor", "1234567890123", "97"],
    ["dc", "-e", "2 200 ^ p"],
    ["expr", "12", "*", "(", "3", "+", "4", ")"],
    ["cal", "2", "2024"],
    ["base64", "table"],
    ["cp", "table", "copy"],
    ["test", "-f", "absent"],
    ["cat", "absent"],
    ["sh", "-c", 'for i in 1 2 3; do x=$((x * 10 + i)); done; case $x in 1*) echo "${x%3}";; esac; set -- a b; shift; '
     'echo $#$1; read -r l < table; printf "[%s]\\n" "$l"; f() { return 4; }; f; exit $?'],
]  # fmt: skip

BASH = {
    "arrays": 'a=(3 1 2); a+=(9); echo "${#a[@]} ${a[@]:1:2} ${!a[@]}"; declare -A m=([x]=1 [y]=2); echo "${m[y]}"; '
    'unset "a[1]"; echo "${a[*]}"',
    "arithmetic": "for ((i = 0, s = 0; i < 500; ++i)); do ((s += i ** 2 % 7, s ^= i << 2)); done; "
    "echo $s $((16#ff)) $((-7 / 2)) $((s > 3 ? 1 : 0)); ((0)); echo $?",
    "printf": r"printf '%05d|%-6s|%x|%.3f|%q|%b\n' 42 ab 255 3.14159 'a b' 'x\ty'; printf -v v '%s-' 1 2 3; echo $v",
    "strings": 's=hello; echo "${s^^} ${s:1:3} ${s/l/L} ${s//l/L} ${#s} ${s%l*} ${s##*l} ${t:-default}"; '
    r"[[ abc-12 =~ ([a-z]+)-([0-9]+) ]] && echo ${BASH_REMATCH[2]}; case $s in h?l*) echo match;; esac",
    "read": 'n=0; while IFS=" " read -r word count rest; do ((n += count)); w+=${word:0:1}; done < table; echo $n $w; '
    'mapfile -t lines < table; echo ${#lines[@]} "${lines[2]}"',
    "functions": "fib() { local n=$1; if ((n < 2)); then r=$n; else local a; fib $((n - 1)); a=$r; fib $((n - 2)); "
    "((r += a)); fi; }; fib 11; echo $r; trap 'echo bye' EXIT; false || echo caught; exit 3",
    "files": "echo one > f; echo two >> f; exec 5< f; read -u 5 l; echo $l; exec 5<&-; [[ -s f && ! -e g ]] && echo ok;"
    " echo *; cd /; pwd; type -t cd",
    "signals": "trap 'echo usr1' USR1; kill -USR1 $$; echo after",
}


def compare(rubato_chip: Path, tool: Path, arguments: list[str], folder: Path, cores: int = 1) -> None:
    results = []
    for name, command in (("qemu", ["qemu-riscv64"]), ("chip", [rubato_chip, "--quiet", "--cores", str(cores)])):
        (folder / name).mkdir()
        (folder / name / "table").write_text(TABLE)
        shutil.copy(tool, folder / name / "tool")
        results.append(
            subprocess.run(
                [*command, "./tool", *arguments],
                cwd=folder / name,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            )
        )
    reference, chip = results
    assert chip.stdout == reference.stdout, chip.stderr.decode(errors="replace")
    assert chip.returncode == min(reference.returncode, 1), chip.stderr.decode(errors="replace")
    files = [{p.name: p.read_bytes() for p in (folder / name).iterdir()} for name in ("qemu", "chip")]
    assert files[0] == files[1]


@pytest.mark.parametrize("arguments", BUSYBOX, ids=[f"{i}-{a[0]}" for i, a in enumerate(BUSYBOX)])
def test_busybox(arguments: list[str], tools: dict[str, Path], rubato_chip: Path, tmp_path: Path) -> None:
    compare(rubato_chip, tools["busybox-static"], arguments, tmp_path, cores=4)


@pytest.mark.parametrize("script", BASH)
def test_bash(script: str, tools: dict[str, Path], rubato_chip: Path, tmp_path: Path) -> None:
    compare(rubato_chip, tools["bash-static"], ["-c", BASH[script]], tmp_path)


# Shells that start processes. The tools in PATH are busybox's; the host's shell and its own tools say what is right.
PIPELINES = {
    "substitution": "echo $(echo inner; echo $(echo two)) `echo three`; x=$(false) || echo failed; echo ${x:-empty}",
    "pipeline": "cat table | sort -k2,2n | uniq | head -n 3 | tr a-z A-Z; echo table | cat - table | wc -l | tr -d ' '",
    "status": "(exit 3); echo $?; false | true; echo $?; ! false; echo $?; sh_missing 2> errors; echo $?; (exit 5)",
    "parallel": 'for i in 1 2 3; do (echo $i > part$i; exit $i) & pids="$pids $!"; done; '
    "for p in $pids; do wait $p; echo $?; done; cat part1 part2 part3; wait",
    "signals": "(trap 'echo term; exit 9' TERM; kill -TERM $(sh -c 'echo $PPID'); echo not here) ; echo $?; "
    "(kill -KILL $(sh -c 'echo $PPID')) 2> errors; echo $?",
    "broken": "seq 100000 | head -n 2; yes | sed 3q",
    "redirections": "{ echo out; echo err >&2; } 2>&1 | sort; cat << end | sed s/a/b/\nlate\nend\n"
    "exec 3> third; (echo kept >&3); exec 3>&-; cat third",
    "loops": "n=0; while read -r name count rest; do n=$((n + $(echo $count | cut -c 1))); done < table; echo $n; "
    "echo a b c | while read -r first others; do echo $others $first; done",
    "functions": "f() { echo $1 | sed 's/^/</;s/$/>/'; }; f one | cat; (f two; exit 1) && echo no || echo yes",
}
JOBS = r"""
set -m
sh -c 'kill -STOP $$; exit 3' &
wait %1; echo "wait: $?"
jobs
fg %1; echo "fg: $?"
sh -c 'kill -STOP $$; kill -TSTP $$; exit 5'
echo "foreground: $?"
jobs
bg %1
wait %1; echo "bg: $?"
jobs
fg %1; echo "again: $?"
sh -c 'cat | cat' <&- &
kill -STOP %1; kill -TERM %1; kill -CONT %1; wait %1; echo "ended: $?"
sleep 1000 & kill %%; wait %%; echo "killed: $?"
jobs
"""
SHELLS = {"busybox": ["busybox-static", "sh"], "bash": ["bash-static"]}


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("script", PIPELINES)
def test_a_shell_runs_processes_as_on_the_host(
    script: str, shell: str, cores: int, tools: dict[str, Path], rubato_chip: Path, tmp_path: Path
) -> None:
    places = tmp_path / "bin"
    places.mkdir()
    for name in ("sh", "cat", "sort", "uniq", "head", "tr", "wc", "sed", "cut", "seq", "yes"):
        (places / name).symlink_to(tools["busybox-static"])
    package, *applet = SHELLS[shell]
    results = []
    chip_options = ["--quiet", "--cores", str(cores), "--env", f"PATH={places}", "--env", "LC_ALL=C"]
    for where, command in (
        ("host", ["bash" if shell == "bash" else "sh"]),
        ("chip", [rubato_chip, *chip_options, tools[package], *applet]),
    ):
        (tmp_path / where).mkdir()
        (tmp_path / where / "table").write_text(TABLE)
        results.append(
            subprocess.run(
                [*command, "-c", PIPELINES[script]],
                cwd=tmp_path / where,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            )
        )
    host, chip = results
    assert chip.stdout == host.stdout, chip.stderr.decode(errors="replace")
    assert chip.returncode == min(host.returncode, 1), chip.stderr.decode(errors="replace")


@pytest.mark.parametrize("cores", [1, 4])
def test_bash_controls_jobs_as_on_the_host(
    cores: int, tools: dict[str, Path], rubato_chip: Path, tmp_path: Path
) -> None:
    places = tmp_path / "bin"
    places.mkdir()
    for name in ("sh", "cat", "sleep"):
        (places / name).symlink_to(tools["busybox-static"])
    chip = [rubato_chip, "--quiet", "--cores", str(cores), "--env", f"PATH={places}", "--env", "LC_ALL=C"]
    said = []
    for command in (["bash"], [*chip, tools["bash-static"]]):
        done = subprocess.run(
            [*command, "-c", JOBS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            start_new_session=True,
        )
        said.append(done.stdout)
    assert said[1] == said[0]

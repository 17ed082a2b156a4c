"""Servers of many processes, of Debian's riscv64 port, with their clients in the same simulated machine: a data base
whose processes share memory, and a web server with workers. The answers are those that the servers must give.

The packages are fetched into the build folder. Skipped, with the reason, where that is impossible.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import debian
import debian_chip
from debian_chip import CHIPS

pytestmark = pytest.mark.long

PACKAGES = ["bash-static", "busybox-static", "coreutils", "postgresql-17", "postgresql-client-17", "nginx", "curl",
            "apache2-utils", "memcached"]  # fmt: skip
LAST = "usr/bin/memcached"  # of the packages that are unpacked


@pytest.fixture(scope="module")
def packages(build: Path) -> Path:
    """The folder that has usr."""
    return debian_chip.unpacked(build / "debian-riscv64-servers", PACKAGES, LAST).resolve()


@pytest.fixture(scope="module")
def places(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH."""
    return debian.make_places(packages, tmp_path_factory.mktemp("bin"), debian.programs_of(packages))


def in_shell(rubato_chip: Path, root: Path, places: Path, script: str, place: Path, *options: str) -> str:
    place.mkdir(exist_ok=True)
    variables = {"PATH": places, "HOME": place, "LC_ALL": "C.UTF-8"}
    return debian_chip.in_shell(rubato_chip, root, script, place, variables, *options)


# --- PostgreSQL


@pytest.fixture(scope="module")
def cluster(packages: Path, places: Path, rubato_chip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data base, made on the chip."""
    place = tmp_path_factory.mktemp("cluster")
    script = (f"initdb -D data -U postgres -A trust --no-locale -E UTF8 --no-sync -L {packages}/usr/share/postgresql/17"
              " && echo \"listen_addresses = ''\" >> data/postgresql.conf")  # fmt: skip
    assert "Success" in in_shell(rubato_chip, packages, places, script, place, "--fast-forward")
    return place


def copy_of(cluster: Path, place: Path) -> Path:
    shutil.copytree(cluster, place)
    (place / "data").chmod(0o700)  # as postgres wants it
    return place


SINGLE = """echo 'create table s(a int); insert into s select generate_series(1, 1000);' > s
echo 'select count(*), sum(a) from s' >> s
postgres --single -D data postgres < s 2> /dev/null | grep '= "'
"""
SERVER = """postgres -D data -k "$PWD" > log 2>&1 &
ask() { psql -h "$PWD" -U postgres -At "$@"; }
until ask -c 'select 1' 2> /dev/null; do sleep 0.1; done
"""
END = """kill -INT $(head -n 1 data/postmaster.pid); wait; grep -c 'system is shut down' log"""
BENCH = """ask -c 'create table t as select i as a, md5(i::text) as b from generate_series(1, 2000) i'
ask -c 'create index on t(b)' -c 'select count(*), min(b), sum(a) from t' -c 'vacuum analyze t'
ask -c "select a from t where b = md5('77')" -c "select 1/0" 2>&1
pgbench -h "$PWD" -U postgres -i -q postgres > /dev/null 2>&1
pgbench -h "$PWD" -U postgres -c 2 -t 20 postgres 2> /dev/null | grep -E 'processed|failed'
ask -c 'select count(*) from pgbench_history' \
    -c 'select sum(abalance) = (select sum(delta) from pgbench_history) from pgbench_accounts'
"""


def test_a_data_base_works_alone(
    packages: Path, places: Path, cluster: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    place = copy_of(cluster, tmp_path / "place")
    said = in_shell(rubato_chip, packages, places, SINGLE, place, "--fast-forward")
    assert [line.split('"')[1] for line in said.splitlines()] == ["1000", "500500"]


def test_a_data_base_serves_clients(
    packages: Path, places: Path, cluster: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    place = copy_of(cluster, tmp_path / "place")
    said = in_shell(rubato_chip, packages, places, SERVER + BENCH + END, place, "--fast-forward")
    assert said == """1
SELECT 2000
CREATE INDEX
2000|0004d0b59e19461ff126e3a08a814c33|2001000
VACUUM
77
ERROR:  division by zero
number of transactions actually processed: 40/40
number of failed transactions: 0 (0.000%)
40
t
1
"""


# --- nginx

CONFIGURATION = """worker_processes 2;
error_log error.log notice;
pid nginx.pid;
events { worker_connections 64; }
http {
  access_log access.log;
  client_body_temp_path tmp/a; proxy_temp_path tmp/b; fastcgi_temp_path tmp/c; uwsgi_temp_path tmp/d;
  scgi_temp_path tmp/e;
  sendfile on;
  server { listen 127.0.0.1:8080; root html; location /again/ { proxy_pass http://127.0.0.1:8080/; } }
}
"""
NGINX = """server() { nginx -p "$PWD/" -e error.log -c nginx.conf "$@"; }
get() { curl -s "$@"; }
server
get http://127.0.0.1:8080/ http://127.0.0.1:8080/again/index.html
get http://127.0.0.1:8080/big | md5sum; get -o answer -w '%{http_code}\\n' http://127.0.0.1:8080/none
"""
LOAD = """ab -q -n 40 -c 4 http://127.0.0.1:8080/index.html | grep -E 'Complete|Failed'
"""
RELOAD = """server -s reload; sleep 0.5; get http://127.0.0.1:8080/
"""
QUIT = """server -s quit; until ! test -e nginx.pid; do sleep 0.01; done
wc -l < access.log; grep -c 'exited with code 0' error.log
"""


def fill(place: Path) -> None:
    for folder in ("html", "tmp"):
        (place / folder).mkdir(parents=True)
    (place / "nginx.conf").write_text(CONFIGURATION)
    (place / "html/index.html").write_text("hello\n")
    (place / "html/big").write_bytes(b"0123456789" * 20000)


def test_a_web_server_and_its_workers_serve_clients(
    packages: Path, places: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    fill(tmp_path / "place")
    script = NGINX + LOAD + RELOAD + QUIT
    said = in_shell(rubato_chip, packages, places, script, tmp_path / "place", "--fast-forward")
    assert said.split("\n") == [
        "hello", "hello", "bcc4bfca43786497d970f7d3e2fdd455  -", "404", "Complete requests:      40",
        "Failed requests:        0", "hello", "46", "4", "",
    ]  # fmt: skip


MARK = """#include "rubato/markers.h"
int main(int count, char** words) { return (int)rubato_mark(count > 1 && words[1][0] == 'e', "served"); }
"""


@pytest.fixture(scope="module")
def mark(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that begins or ends the region in detail."""
    folder = tmp_path_factory.mktemp("mark")
    (folder / "mark.c").write_text(MARK)
    compiler = ["riscv64-linux-gnu-gcc", "-O1", "-static", "-I", root / "include"]
    subprocess.run([*compiler, folder / "mark.c", "-o", folder / "mark"], check=True)
    return folder / "mark"


def in_region(rubato_chip: Path, root: Path, places: Path, script: str, place: Path, options: list[str]) -> str:
    """Runs the script, the part between two marks in detail, and looks whether there was one."""
    options = ["--roi", "@markers", "--out", str(place / "run"), *options]
    said = in_shell(rubato_chip, root, places, script, place, *options)
    (region,) = json.loads((place / "run/stats.json").read_text())["regions"]
    assert region["name"] == "served"
    assert region["values"]["chip.instructions"] > 100_000
    return said


@pytest.mark.parametrize("chip", CHIPS)
def test_a_web_server_answers_in_detail(
    packages: Path, places: Path, mark: Path, rubato_chip: Path, tmp_path: Path, chip: str
) -> None:
    fill(tmp_path / "place")
    lines = NGINX.splitlines()
    script = "\n".join([*lines[:3], f"{mark} begin; get http://127.0.0.1:8080/; {mark} end", QUIT])
    said = in_region(rubato_chip, packages, places, script, tmp_path / "place", CHIPS[chip])
    assert said.split("\n") == ["hello", "1", "2", ""]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_data_base_answers_in_detail(
    packages: Path, places: Path, cluster: Path, mark: Path, rubato_chip: Path, tmp_path: Path, chip: str
) -> None:
    place = copy_of(cluster, tmp_path / "place")
    query = "ask -c 'select count(*), sum(i) from generate_series(1, 100) i'"
    script = f"{SERVER}{mark} begin; {query}; {mark} end\n{END}"
    said = in_region(rubato_chip, packages, places, script, place, CHIPS[chip])
    assert said == "1\n100|5050\n1\n"


# --- memcached

MEMCACHED = r"""memcached -l 127.0.0.1 -p 11311 -t 2 -U 0 & sleep 0.1
exec 3<>/dev/tcp/127.0.0.1/11311
for i in 1 2 3 4 5; do printf "set k$i 0 0 5\r\nval0$i\r\n" >&3; read -r answer <&3; done
printf 'get k1 k5\r\nincr none 1\r\nquit\r\n' >&3; cat <&3
kill %1; wait; echo ended
"""


@pytest.mark.parametrize("mode", ["--fast-forward", "--no-ff"])
def test_a_cache_server_answers(packages: Path, places: Path, rubato_chip: Path, tmp_path: Path, mode: str) -> None:
    said = in_shell(rubato_chip, packages, places, MEMCACHED, tmp_path / "place", mode)
    values = ["VALUE k1 0 5", "val01", "VALUE k5 0 5", "val05", "END", "NOT_FOUND", "ended"]
    assert said.split() == " ".join(values).split()

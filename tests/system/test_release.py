"""What tools/release makes, installed and used in fresh minimal systems: Debian 12, where it is made, and Debian 13."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
SUITES = ["bookworm", "trixie"]
INSTALL = "apt-get -q install -y --no-install-recommends"
# A program for the native engine, by CMake.
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(user CXX)
find_package(rubato REQUIRED)
add_executable(hello /usr/share/doc/librubato-dev/examples/hello_task.cpp)
target_link_libraries(hello rubato::rubato)
"""
# Two threads add; without transactions the sum would be too small.
ADDING = r"""#include <cstdio>
#include <thread>
long sum;
void add() { for (int i = 0; i < 100000; ++i) __transaction_atomic { ++sum; } }
int main() { std::thread other(add); add(); other.join(); std::printf("%ld\n", sum); }
"""


def call(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_all_files_say_the_same_version() -> None:
    def version(file: str, pattern: str) -> str:
        return re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)[1]

    assert version("CMakeLists.txt", r"project\(rubato VERSION (\S+)") == VERSION
    assert version("CHANGELOG.md", r"^## (\d\S*)") == VERSION
    assert version("CITATION.cff", r"^version: (\S+)") == VERSION


@pytest.mark.skipif(not shutil.which("help2man"), reason="help2man is not installed")
@pytest.mark.parametrize("name", ["rubato-chip", "rubato-cached", "rubato-load", "rubato"])
def test_a_manual_page_has_every_option_of_the_help(name: str, build: Path, tmp_path: Path) -> None:
    program = ROOT / ".venv/bin/rubato" if name == "rubato" else build / "bin" / name
    if not program.exists():
        pytest.skip(f"{name} is not built")
    call("tools/man", "--out", tmp_path, "--programs", build / "bin", name)
    page = (tmp_path / f"{name}.1").read_text().replace("\\-", "-")
    assert page.count(".SH NAME") == 1 and ".SH SYNOPSIS" in page and ".SH \"SEE ALSO\"" in page
    options = re.findall(r"^ +(?:-\w, ?)?(--[\w-]+)", call(program, "--help"), re.MULTILINE)
    assert options and not [option for option in options if option not in page]


def needs_fresh_systems() -> None:
    if os.geteuid() != 0 or not shutil.which("debootstrap") or not shutil.which("help2man"):
        pytest.skip("fresh systems need root and debootstrap, the packages help2man")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_fresh_systems()
    out = tmp_path_factory.mktemp("dist")
    call("tools/release", "--dirty", "--out", out)
    call("sh", "-c", f"cd {out} && sha256sum --check --quiet SHA256SUMS")
    return out


def in_fresh_system(suite: str, files: list[Path], *commands: str) -> str:
    options = [option for file in files for option in ("--copy", str(file))]
    return call("tools/fresh_system", "--suite", suite, *options, "apt-get -q update >/dev/null", *commands)


def packages(folder: Path, *names: str) -> list[Path]:
    return [next(folder.glob(f"{name}_*.deb")) for name in names]


@pytest.mark.long
@pytest.mark.parametrize("suite", SUITES)
def test_the_server_is_installed_upgraded_and_removed(suite: str, release: Path,
                                                      tmp_path_factory: pytest.TempPathFactory) -> None:
    later = tmp_path_factory.mktemp("later")
    call("tools/release", "--dirty", "--only", "debs", "--package-version", f"{VERSION}+1", "--out", later)
    names = ("rubato-cached", "librubato-itm")
    old, new = packages(release, *names), packages(later, *names)
    serve = ("rubato-cached -d -l 127.0.0.1 -u rubato-cached -P /tmp/pid -o discipline={0} && sleep 1 && "
             "rubato-load --requests 20000 --keys 1000 | tee /tmp/load && grep -q \"0 wrong, 0 errors\" /tmp/load && "
             "kill $(cat /tmp/pid) && while pgrep -x rubato-cached; do sleep 0.1; done")
    in_fresh_system(
        suite, old + new,
        f"{INSTALL} procps /srv/{old[0].name} /srv/{old[1].name} >/dev/null",
        *(serve.format(discipline) for discipline in ("locks", "tm", "tasks")),
        "dpkg -L rubato-cached | grep -q man1/rubato-cached.1.gz",
        "grep -q /usr/bin/rubato-cached /usr/lib/systemd/system/rubato-cached.service",
        "echo OPTIONS=-m\\ 128 > /etc/default/rubato-cached",
        f"{INSTALL} /srv/{new[0].name} /srv/{new[1].name} >/dev/null && dpkg-query -W rubato-cached | grep -q +1",
        "grep -q 128 /etc/default/rubato-cached",  # an upgrade keeps what the user wrote
        "apt-get -q purge -y rubato-cached librubato-itm >/dev/null",
        "test ! -e /etc/default/rubato-cached && test ! -e /usr/bin/rubato-cached && ! getent passwd rubato-cached")


@pytest.mark.long
@pytest.mark.parametrize("suite", SUITES)
def test_programs_are_made_with_the_libraries(suite: str, release: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "adding.cpp").write_text(ADDING)
    debs = packages(release, "librubato-itm", "librubato-dev")
    in_fresh_system(
        suite, [*debs, tmp_path / "CMakeLists.txt", tmp_path / "adding.cpp"],
        f"{INSTALL} g++ cmake make pkg-config libc6-dev {' '.join(f'/srv/{deb.name}' for deb in debs)} >/dev/null",
        "cmake -S /srv -B project >/dev/null && cmake --build project >/dev/null && project/hello",
        "g++ -std=c++20 /usr/share/doc/librubato-dev/examples/hello_task.cpp $(pkg-config --cflags --libs rubato) "
        "-o by_hand && ./by_hand",
        "g++ -std=c++20 -O2 /srv/adding.cpp $(pkg-config --cflags --libs rubato-itm) -o adding && "
        "test $(./adding) = 200000 && ldd adding | grep -q rubato/libitm.so.1",
        "rubato-native-info")


@pytest.mark.long
@pytest.mark.parametrize("suite", SUITES)
def test_the_wheel_simulates_a_chip(suite: str, release: Path) -> None:
    wheel, = release.glob("*.whl")
    in_fresh_system(
        suite, [wheel],
        f"{INSTALL} python3 python3-venv >/dev/null && python3 -m venv venv",
        f"venv/bin/pip install --quiet --disable-pip-version-check --retries 5 /srv/{wheel.name}",
        "venv/bin/rubato run sssp --cores 16 -- --generate road:40x40")


@pytest.mark.long
def test_the_source_archive_is_the_commit(release: Path, tmp_path: Path) -> None:
    call("tar", "-xf", release / f"rubato-{VERSION}.tar.xz", "-C", tmp_path)
    files = call("git", "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    folder = tmp_path / f"rubato-{VERSION}"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()) == sorted(files)


@pytest.mark.long
def test_the_steps_of_the_container_recipe_work(tmp_path: Path) -> None:
    """Both stages by hand, in fresh systems: what the recipe copies is copied by --copy, what it runs is run."""
    needs_fresh_systems()
    first, second = (ROOT / "packaging/Containerfile").read_text().split("\nFROM ")[1:]
    run = re.compile(r"^RUN (.+)$", re.MULTILINE)
    packages_of_build, make = run.findall(first)
    install = run.findall(second)
    bundle, dist = tmp_path / "rubato.bundle", tmp_path / "dist.tar"
    call("git", "bundle", "create", "--quiet", bundle, "HEAD")
    call("tools/fresh_system", "--keep", "--dir", tmp_path / "build", "--copy", bundle, packages_of_build,
         "git clone --quiet /srv/rubato.bundle /rubato", f"cd /rubato && {make}")
    system, = (tmp_path / "build").glob("run-*")
    call("tar", "-C", system / "rubato/build", "-cf", dist, "dist")
    shutil.rmtree(tmp_path / "build")
    call("tools/fresh_system", "--dir", tmp_path / "use", "--copy", dist, "tar -C /srv -xf /srv/dist.tar", *install,
         "/opt/rubato/bin/rubato run sssp --cores 16 -- --generate road:40x40", "rubato-cached -V")

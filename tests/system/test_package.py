"""The native engine as a package: installed into a fresh prefix, static and shared, found by CMake and pkg-config, and
as a subproject. Run when CMake files, public headers or examples change."""
# SPDX-License-Identifier: MIT

import heapq
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ["hello_task", "parallel_tree", "ordered_program", "algorithms", "server"]


def call(*command, **options) -> str:
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                            **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


def configure(source: Path, build: Path, *options: str) -> None:
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    call("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *launcher, *options)


def install(folder: Path, *options: str) -> Path:
    prefix = folder / "prefix"
    configure(ROOT, folder / "build", "-DRUBATO_LIBRARY_ONLY=ON", f"-DCMAKE_INSTALL_PREFIX={prefix}", *options)
    call("ninja", "-j2", "-C", folder / "build")
    call("cmake", "--install", folder / "build")
    return prefix


@pytest.fixture(scope="module")
def static(tmp_path_factory) -> Path:
    return install(tmp_path_factory.mktemp("static"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Path:
    return install(tmp_path_factory.mktemp("shared"), "-DBUILD_SHARED_LIBS=ON")


def shortest_way(side: int = 100) -> int:
    """What examples/ordered_program.cpp computes, by a heap."""
    distance, heap = {}, [(0, 0)]
    while heap:
        d, here = heapq.heappop(heap)
        if here in distance:
            continue
        distance[here] = d
        row, column = divmod(here, side)
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if 0 <= r < side and 0 <= c < side:
                low, high = sorted((here, r * side + c))
                heapq.heappush(heap, (d + 1 + (low * 31 + high * 17) % 16, r * side + c))
    return distance[side * side - 1]


def check_examples(folder: Path, **environment: str) -> None:
    env = os.environ | environment
    assert call(folder / "hello_task", env=env).splitlines() == [f"hello from timestamp {i}" for i in range(3)]
    assert call(folder / "parallel_tree", env=env) == "10000 keys, in order\n"
    assert call(folder / "algorithms", env=env) == "500 primes, the last is 3571\n"
    assert call(folder / "ordered_program", env=env) == f"the way is {shortest_way()} long\n"
    names = ["ann", "bob", "cid"]
    requests = [(names[i % 3], i) for i in range(300)]
    answers = call(folder / "server", env=env, input="".join(f"{n} {a}\n" for n, a in requests)).splitlines()
    assert len(answers) == 300
    for name in names:
        balances = [int(line.split()[1]) for line in answers if line.startswith(name)]
        expected = sum(a for n, a in requests if n == name)
        assert max(balances) == expected and len(balances) == 100
    done = subprocess.run([folder / "server"], env=env, input="ann 1\nbob ten\nann 2\n", capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and done.stdout.splitlines()[-1] == "ann 3", done.stdout
    assert done.stderr == "server: 'bob ten' is no request: NAME AMOUNT was expected\n"


def build_by_cmake(prefix: Path, build: Path) -> Path:
    configure(ROOT / "examples", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("ninja", "-j2", "-C", build)
    return build


def build_by_pkg_config(prefix: Path, out: Path) -> Path:
    out.mkdir()
    path = next(prefix.glob("lib*/**/rubato.pc")).parent
    call("make", "-s", "-j2", "-C", ROOT / "examples", f"PKG_CONFIG_PATH={path}", f"OUT={out}")
    return out


def test_examples_build_and_run_against_the_installed_library_by_cmake(static, tmp_path):
    check_examples(build_by_cmake(static, tmp_path / "b"))


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config here")
def test_examples_build_and_run_against_the_installed_library_by_pkg_config(static, tmp_path):
    check_examples(build_by_pkg_config(static, tmp_path / "b"))


def test_examples_run_with_the_shared_library(shared, tmp_path):
    library = next(shared.glob("lib*/**/librubato.so")).parent
    check_examples(build_by_cmake(shared, tmp_path / "cmake"))
    if shutil.which("pkg-config"):
        check_examples(build_by_pkg_config(shared, tmp_path / "pkg"), LD_LIBRARY_PATH=str(library))


def test_the_shared_library_shows_its_public_interface_only(shared):
    library = next(shared.glob("lib*/**/librubato.so"))
    dynamic = call("readelf", "-d", library)
    assert "[librubato.so.0.1]" in dynamic
    symbols = [line.split(maxsplit=2)[2] for line in call("nm", "-DC", "--defined-only", library).splitlines()]
    ours = [s for s in symbols if s.startswith("rubato::")]
    assert any(s.startswith("rubato::v0::engine::run(") for s in ours)
    assert not [s for s in ours if not s.startswith("rubato::v0::")], "not in the versioned namespace"


def test_as_a_subproject_only_the_library_is_built(tmp_path):
    (tmp_path / "main.cpp").write_text((ROOT / "examples" / "hello_task.cpp").read_text())
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(rubato SOURCE_DIR {ROOT})
FetchContent_MakeAvailable(rubato)
add_executable(user main.cpp)
target_link_libraries(user PRIVATE rubato::rubato)
""")
    configure(tmp_path, tmp_path / "build")
    call("ninja", "-j2", "-C", tmp_path / "build")
    assert call(tmp_path / "build" / "user").startswith("hello from timestamp 0")
    targets = call("ninja", "-C", tmp_path / "build", "-t", "targets", "all")
    built = {line.split(":")[0] for line in targets.splitlines() if "LINKER" in line}
    assert {Path(b).name for b in built} == {"user", "librubato.a"}
    assert not (tmp_path / "build" / "install_manifest.txt").exists()
    call("cmake", "--install", tmp_path / "build", "--prefix", tmp_path / "prefix")
    assert not list((tmp_path / "prefix").rglob("*rubato*")), "a subproject installs nothing of its own"

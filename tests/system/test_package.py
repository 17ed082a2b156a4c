"""The host engines as a package: installed into a fresh prefix, static and shared, found by CMake and pkg-config, and
as a subproject. Run when CMake files, public headers or examples change."""
# SPDX-License-Identifier: MIT

import heapq
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from rubato.process.preload import preloadable

ROOT = Path(__file__).resolve().parents[2]


def call(*command, **options) -> str:
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                            **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


def launcher() -> list[str]:
    """Paths inside the tree count as relative ones, as for the tree's own objects."""
    if not shutil.which("ccache"):
        return []
    return [f"-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_BASEDIR={ROOT};CCACHE_NOHASHDIR=1;ccache"]


def configure(source: Path, build: Path, *options: str) -> None:
    call("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *launcher(), *options)


@contextmanager
def folder_beside_builds(name: str) -> Iterator[Path]:
    """An empty folder as deep in the tree as build/release: what is compiled there has the same command lines, so
    ccache has it, be it the library's objects or what an earlier session compiled here."""
    folder = ROOT / "build" / f"package-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def install(folder: Path, *options: str) -> Path:
    """Builds in a folder of folder_beside_builds()."""
    prefix = folder / "prefix"
    configure(ROOT, folder, "-DRUBATO_LIBRARY_ONLY=ON", f"-DCMAKE_INSTALL_PREFIX={prefix}", *options)
    call("ninja", "-j2", "-C", folder)
    call("cmake", "--install", folder)
    return prefix


@cache
def compiles_transactions() -> bool:
    """Whether GCC and its libitm are here."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["g++", "-fgnu-tm", "-xc++", "-", "-o", Path(folder) / "probe"], capture_output=True,
                              input="int main() { __transaction_atomic {} }", text=True, check=False)
    return done.returncode == 0


@pytest.fixture(scope="module")
def static() -> Iterator[Path]:
    with folder_beside_builds("static") as folder:
        yield install(folder, *(["-DRUBATO_TM=ON"] if compiles_transactions() else []))


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    with folder_beside_builds("shared") as folder:
        yield install(folder, "-DBUILD_SHARED_LIBS=ON")


@pytest.fixture
def user_folder() -> Iterator[Path]:
    """Folder of a program that uses the library, to be built."""
    with folder_beside_builds("user") as folder:
        yield folder


@pytest.fixture
def transactional(static) -> Path:
    if not compiles_transactions():
        pytest.skip("there is no compiler for transactions here")
    return static


def shortest_way(side: int = 100) -> int:
    """Result of examples/ordered_program.cpp, computed by a heap."""
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
    assert call(folder / "requests", env=env).splitlines() == [
        "request 0: 3", "request 1: error, 'x4' is no number", "request 2: 18"]
    assert call(folder / "outside_events", env=env).splitlines() == [
        "apple: value of apple", "lost: no answer in time", "pear: value of pear"]
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
    check_actor_examples(folder, env)


def check_two_examples(folder: Path, **environment: str) -> None:
    """One of tasks and one of actors, where only the way to the library is new: all are linked alike."""
    env = os.environ | environment
    assert call(folder / "hello_task", env=env).splitlines() == [f"hello from timestamp {i}" for i in range(3)]
    assert call(folder / "ping_pong", env=env) == "done\n"


def check_actor_examples(folder: Path, env: dict[str, str]) -> None:
    assert call(folder / "ping_pong", env=env) == "done\n"
    words = [f"{letter}{i % 7}" for i in range(5000) for letter in "xyzab"]
    counted = "".join(f"{word} {count}\n" for word, count in sorted(Counter(words).items()))
    assert call(folder / "pipeline", env=env, input=" ".join(words)) == counted
    assert call(folder / "streams", env=env, input="25 10 21 alarm 30 alarm") == (
        "mean 25.0\nmean 23.0\n4 temperatures, 2 alarms\n")
    requests = [("ann" if i % 3 else "bob", i) for i in range(200)]
    balances: Counter[str] = Counter()
    answers = []
    for name, amount in requests:
        balances[name] += amount
        answers.append(f"{name} {balances[name]}")
    lines = "".join(f"{n} {a}\n" for n, a in requests)
    assert call(folder / "actor_server", env=env, input=lines).splitlines() == answers
    done = subprocess.run([folder / "actor_server"], env=env, input="ann 1\nann 2 3\nann 2\n", capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "ann 1\nann 3\n")
    assert done.stderr == "actor_server: 'ann 2 3' is no request: NAME AMOUNT was expected\n"


def build_by_cmake(prefix: Path, build: Path, *programs: str) -> Path:
    configure(ROOT / "examples", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("ninja", "-j2", "-C", build, *programs)
    return build


def build_by_pkg_config(prefix: Path, out: Path, *programs: str) -> Path:
    out.mkdir()
    path = next(prefix.glob("lib*/**/rubato.pc")).parent
    targets = [out / program for program in programs] or ["all"]
    call("make", "-s", "-j2", "-C", ROOT / "examples", f"PKG_CONFIG_PATH={path}", f"OUT={out}", *targets)
    return out


def test_examples_build_and_run_against_the_installed_library_by_cmake(static, user_folder):
    check_examples(build_by_cmake(static, user_folder))


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config here")
def test_examples_build_and_run_against_the_installed_library_by_pkg_config(static, tmp_path):
    check_two_examples(build_by_pkg_config(static, tmp_path / "b", "hello_task", "ping_pong"))


TIE = """
#include <cstdio>
#include <rubato/rubato.hpp>
rubato::tracked<int> value = 1;
void twice() { value *= 2; }
void more() { value += 3; }
int main() {
  rubato::create<rubato::nonspec>(twice, {.at = 1, .on = 0});
  rubato::create<rubato::nonspec>(more, {.at = 1, .on = 0});
  rubato::run();
  std::printf("%d %llu\\n", value.get(), static_cast<unsigned long long>(rubato::serial::tasks_run()));
}
"""


def test_a_program_gets_the_installed_serial_engine(static, tmp_path):
    """By CMake and by pkg-config; one project has programs of both engines."""
    (tmp_path / "main.cpp").write_text(TIE)
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
find_package(rubato REQUIRED)
add_executable(user main.cpp)
target_link_libraries(user PRIVATE rubato::serial)
add_executable(native {ROOT}/examples/hello_task.cpp)
target_link_libraries(native PRIVATE rubato::rubato)
""")
    configure(tmp_path, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={static}")
    call("ninja", "-j2", "-C", tmp_path / "build")
    assert call(tmp_path / "build" / "native").startswith("hello from timestamp 0")
    programs = [tmp_path / "build" / "user"]
    if shutil.which("pkg-config"):
        path = next(static.glob("lib*/**/rubato-serial.pc")).parent
        flags = call("pkg-config", "--cflags", "--libs", "rubato-serial",
                     env=os.environ | {"PKG_CONFIG_PATH": str(path)})
        call("g++", "-std=c++20", tmp_path / "main.cpp", "-o", tmp_path / "user", *flags.split())
        programs.append(tmp_path / "user")
    for program in programs:
        seen = {call(program, env=os.environ | {"RUBATO_SEED": str(seed)}) for seed in range(1, 9)}
        assert seen == {"5 2\n", "8 2\n"}


def test_examples_run_with_the_shared_library(shared, user_folder, tmp_path):
    library = next(shared.glob("lib*/**/librubato.so")).parent
    check_examples(build_by_cmake(shared, user_folder))  # all: each needs other symbols that must be visible
    if shutil.which("pkg-config"):
        check_two_examples(build_by_pkg_config(shared, tmp_path / "pkg", "hello_task", "ping_pong"),
                           LD_LIBRARY_PATH=str(library))


def test_the_shared_library_shows_its_public_interface_only(shared):
    library = next(shared.glob("lib*/**/librubato.so"))
    dynamic = call("readelf", "-d", library)
    assert "[librubato.so.0.1]" in dynamic
    symbols = [line.split(maxsplit=2)[2] for line in call("nm", "-DC", "--defined-only", library).splitlines()]
    ours = [s for s in symbols if s.startswith("rubato::")]
    assert any(s.startswith("rubato::v0::engine::run(") for s in ours)
    assert not [s for s in ours if not s.startswith("rubato::v0::")], "not in the versioned namespace"


PLUGIN = """
#include <atomic>
#include <rubato/algorithms.hpp>
extern "C" int work() {
  std::atomic<int> sum = 0;
  rubato::parallel_for(0, 9, [&](int i) { sum += i; });
  return sum;
}
"""


@pytest.mark.parametrize("engine", ["rubato", "serial"])
def test_the_static_library_goes_into_a_plugin(static, tmp_path, engine):
    """A module that a program loads: a plugin, or a Python extension."""
    (tmp_path / "plugin.cpp").write_text(PLUGIN)
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
find_package(rubato REQUIRED)
add_library(plugin MODULE plugin.cpp)
target_link_libraries(plugin PRIVATE rubato::{engine})
""")
    configure(tmp_path, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={static}")
    call("ninja", "-j2", "-C", tmp_path / "build")
    loads = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).work())"
    assert call(sys.executable, "-c", loads, tmp_path / "build" / "libplugin.so") == "36\n"


def test_the_installed_headers_are_the_trees_and_whole(shared, tmp_path):
    """Each is that of the tree, which include.headers.host (CTest) compiles alone; together they lack none that one of
    them includes. The package is without transactions: their headers are left out."""
    installed = shared / "include"
    names = {header.relative_to(installed) for header in installed.rglob("*.hpp")}
    tree = {header.relative_to(ROOT / "include") for header in (ROOT / "include").rglob("*.hpp")}
    assert names == {name for name in tree if "tm" not in name.parts} != tree
    for name in names:
        assert (installed / name).read_bytes() == (ROOT / "include" / name).read_bytes(), name
    program = tmp_path / "all.cpp"
    # A program has one engine; those of the chip are for the guest compiler.
    others = [name for name in sorted(names) if "engine" not in name.parts and not name.name.startswith("chip")]
    program.write_text("".join(f"#include <{name}>\n" for name in others))
    call("g++", "-std=c++20", "-fsyntax-only", "-DRUBATO_ENGINE_NATIVE=1", f"-I{installed}", program)


@pytest.mark.skipif(not shutil.which("clang++"), reason="no clang here")
def test_clang_compiles_the_library(tmp_path):
    """Also one before 19, which has no sized deallocation."""
    flags = ["-std=c++20", "-fsyntax-only", "-DRUBATO_ENGINE_NATIVE=1", f"-I{ROOT}", f"-I{ROOT / 'include'}"]
    for source in (ROOT / "native/memory/resource_heap.cpp", ROOT / "native/engine.cpp"):
        call("clang++", *flags, source)


def test_as_a_subproject_only_the_library_is_built(user_folder, tmp_path):
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
    configure(tmp_path, user_folder, "-DRUBATO_WERROR=ON")  # the compiler's options are the tree's own then
    call("ninja", "-j2", "-C", user_folder)
    assert call(user_folder / "user").startswith("hello from timestamp 0")
    targets = call("ninja", "-C", user_folder, "-t", "targets", "all")
    linked = {line.split(":")[0] for line in targets.splitlines() if "LINKER" in line}
    built = {Path(name).name for name in linked if (user_folder / name).exists()}
    assert built == {"user", "librubato.a"}
    assert not (user_folder / "install_manifest.txt").exists()
    call("cmake", "--install", user_folder, "--prefix", tmp_path / "prefix")
    assert not list((tmp_path / "prefix").rglob("*rubato*")), "a subproject installs nothing of its own"


def test_a_transactional_example_gets_the_installed_library(transactional, tmp_path):
    """By CMake and by pkg-config, without any variable, dynamically and statically."""
    line = "100000 in all, 0 wrong audits, on librubato_itm 0.1.0\n"
    assert call(build_by_cmake(transactional, tmp_path / "cmake", "transactions") / "transactions") == line
    if shutil.which("pkg-config"):
        out = build_by_pkg_config(transactional, tmp_path / "pkg", str(tmp_path / "pkg" / "transactions"))
        assert call(out / "transactions") == line
        path = next(transactional.glob("lib*/**/rubato-itm.pc")).parent
        flags = call("pkg-config", "--cflags", "--libs", "rubato-itm", env=os.environ | {"PKG_CONFIG_PATH": str(path)})
        source = ROOT / "examples" / "transactions.cpp"
        call("g++", "-std=c++20", "-static", source, "-o", tmp_path / "static", *shlex.split(flags))
        assert call(tmp_path / "static") == line


def library_of(program: Path) -> str:
    """The library of transactions that the loader finds, by its path as it is searched."""
    (line,) = [line for line in call("ldd", program).splitlines() if "libitm.so.1" in line]
    return line.split(" => ")[1].rpartition(" (0x")[0]


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config here")
def test_the_run_path_of_pkg_config_is_a_plain_one_and_an_installation_can_be_moved(transactional, tmp_path):
    first, second = tmp_path / "first place", tmp_path / "second place"
    call("cmake", "--install", transactional.parent, "--prefix", first)
    out = build_by_pkg_config(first, tmp_path / "a", str(tmp_path / "a" / "transactions"))
    library = next(first.glob("lib*/rubato/libitm.so.1"))
    assert library_of(out / "transactions") == str(library)
    first.rename(second)
    out = build_by_pkg_config(second, tmp_path / "b", str(tmp_path / "b" / "transactions"))
    found = Path(library_of(out / "transactions")).resolve()
    assert found == (second / library.relative_to(first)).resolve()
    assert "on librubato_itm" in call(out / "transactions")


def test_the_libraries_of_transactions_are_built_and_installed_alone(tmp_path):
    if not compiles_transactions():
        pytest.skip("there is no compiler for transactions here")
    with folder_beside_builds("tm") as folder:
        prefix = folder / "prefix"
        configure(ROOT, folder, "-DRUBATO_TM_ONLY=ON", f"-DCMAKE_INSTALL_PREFIX={prefix}")
        call("ninja", "-j2", "-C", folder)
        objects = [path.relative_to(folder).parts[0] for path in folder.rglob("*.o")]
        assert set(objects) == {"tm"} and len(objects) < 50
        call("cmake", "--install", folder)
        installed = {path.name for path in prefix.rglob("*") if not path.is_dir()}
        assert {"libitm.so.1", "libitm.a", "librubato_tm.a", "rubato-itm.pc", "rubato-tm.pc", "library.h"} <= installed
        assert not installed & {"librubato.a", "librubato_serial.a", "rubato.pc", "rubato.hpp"}
        (tmp_path / "main.c").write_text(C_PROGRAM)
        (tmp_path / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(rubato 0.1 REQUIRED)
add_executable(user main.c)
target_link_libraries(user PRIVATE rubato::itm rubato::tm)
""")
        configure(tmp_path, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        call("ninja", "-C", tmp_path / "build")
        assert call(tmp_path / "build" / "user").startswith("One:3 5\nlibrubato_itm")


def test_a_compiler_without_transactions_is_refused_in_one_sentence(tmp_path):
    command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path, "-DRUBATO_TM_ONLY=ON", "-DRUBATO_HAS_FGNU_TM=OFF"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "need GCC with -fgnu-tm" in " ".join(result.stderr.split())


def test_threads_of_the_example_wait_for_transactions(transactional, tmp_path):
    lines = [f"{form}: 3000 handled, 0 left" for form in ("semaphore", "condition", "retry")]
    assert call(build_by_cmake(transactional, tmp_path / "cmake", "waiting") / "waiting").splitlines() == lines
    if shutil.which("pkg-config"):
        out = build_by_pkg_config(transactional, tmp_path / "pkg", str(tmp_path / "pkg" / "waiting"))
        assert call(out / "waiting").splitlines() == lines


def test_a_transactional_program_that_is_not_rebuilt_gets_it_by_a_preload(transactional, tmp_path):
    source = ROOT / "examples" / "transactions.cpp"
    call("g++", "-std=c++20", "-fgnu-tm", source, "-o", tmp_path / "plain", "-pthread")
    assert "on GNU libitm" in call(tmp_path / "plain")
    preload = next(transactional.glob("lib*/rubato/librubato_itm.so"))
    with preloadable(preload) as path:
        assert "on librubato_itm" in call(tmp_path / "plain", env=os.environ | {"LD_PRELOAD": str(path)})


@pytest.mark.skipif(not Path("/sbin/ldconfig").exists(), reason="no ldconfig here")
def test_the_library_of_transactions_does_not_become_the_systems(transactional, tmp_path):
    """ldconfig makes links by SONAME in the folders that it scans: this library's is libitm.so.1 (T9)."""
    libraries = next(transactional.glob("lib*/rubato")).parent
    (tmp_path / "conf").write_text(f"{libraries}\n")
    before = sorted(libraries.iterdir())
    call("/sbin/ldconfig", "-C", tmp_path / "cache", "-f", tmp_path / "conf")
    assert sorted(libraries.iterdir()) == before
    known = call("/sbin/ldconfig", "-C", tmp_path / "cache", "-p")
    assert not [line for line in known.splitlines() if "itm" in line and f"=> {libraries}/" in line]


C_PROGRAM = """
#include <rubato/tm/library.h>
const char *_ITM_libraryVersion(void);
char name[16] = "one";
int main(void) {
  char line[32];
  int size;
  __transaction_atomic {
    name[0] = 'O';
    size = tm_snprintf(line, sizeof line, "%s:%zu", name, tm_strlen(name));
    tm_fprintf(stdout, "%s %d\\n", line, size);
  }
  puts(_ITM_libraryVersion());
  return 0;
}
"""


def test_functions_for_transactions_run_on_either_library(transactional, tmp_path):
    """librubato_tm by pkg-config, in C, and by CMake; on GCC's library, and on ours if that is asked for, too."""
    (tmp_path / "main.c").write_text(C_PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C CXX)
find_package(rubato REQUIRED)
add_executable(user main.c)
target_link_libraries(user PRIVATE rubato::tm)
add_executable(both main.c)
target_link_libraries(both PRIVATE rubato::itm rubato::tm)
""")
    configure(tmp_path, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={transactional}")
    call("ninja", "-C", tmp_path / "build")
    assert call(tmp_path / "build" / "user").startswith("One:3 5\nGNU libitm")
    assert call(tmp_path / "build" / "both").startswith("One:3 5\nlibrubato_itm")
    if shutil.which("pkg-config"):
        path = next(transactional.glob("lib*/**/rubato-tm.pc")).parent
        flags = call("pkg-config", "--cflags", "--libs", "rubato-tm", env=os.environ | {"PKG_CONFIG_PATH": str(path)})
        call("gcc", tmp_path / "main.c", "-o", tmp_path / "program", *flags.split())
        assert call(tmp_path / "program").startswith("One:3 5\nGNU libitm")

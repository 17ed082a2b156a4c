"""tools/litmus cycle and suite: verdicts that the literature has, each test's condition is its cycle's outcome, no chip
shows what RVWMO forbids, and a chip with a bug of the memory order does."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from test_litmus import NEEDS_COMPILER, litmus

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "litmus"))
from cycle_code import text_of  # noqa: E402
from cycle_edges import parse_edge  # noqa: E402
from cycle_suite import UP_TO, cycles  # noqa: E402
from litmus_cycle import COHERENCE_FAMILIES, FAMILIES, Cycle, parse_cycle  # noqa: E402
from litmus_file import LitmusError, parse  # noqa: E402
from suite_run import CORE_MODELS, PROTOCOLS, batches, judge, shard  # noqa: E402

CHIPS = len(PROTOCOLS) * len(CORE_MODELS)

#: RVWMO's word for tests of the RISC-V manual's appendix and of the literature on weak memory, by name.
VERDICTS = {
    "SB": ("PodWR Fre PodWR Fre", "Allowed"),
    "SB+fence.rw.rws": ("Fence.rw.rwdWR Fre Fence.rw.rwdWR Fre", "Forbidden"),
    "SB+fence.rw.rw+po": ("PodWR Fre Fence.rw.rwdWR Fre", "Allowed"),
    "SB+fence.tsos": ("Fence.tsodWR Fre Fence.tsodWR Fre", "Allowed"),
    "SB+porlaqs": ("PodWRRlAq Fre PodWRRlAq Fre", "Forbidden"),  # rule 7
    "SB+porlps": ("PodWRRlP Fre PodWRRlP Fre", "Allowed"),
    "SB+rfi-addrs": ("Rfi DpAddrdR Fre Rfi DpAddrdR Fre", "Allowed"),
    "SB+rfi-fence.r.rs": ("Rfi Fence.r.rdRR Fre Rfi Fence.r.rdRR Fre", "Allowed"),
    "SB+rfiamop-addrs": ("RfiAmoP DpAddrdR Fre RfiAmoP DpAddrdR Fre", "Forbidden"),  # rule 3
    "SB+rfixp-addrs": ("RfiXP DpAddrdR Fre RfiXP DpAddrdR Fre", "Forbidden"),
    "MP": ("PodWW Rfe PodRR Fre", "Allowed"),
    "MP+fence.w.w+addr": ("Fence.w.wdWW Rfe DpAddrdR Fre", "Forbidden"),  # rules 4 and 9
    "MP+fence.w.w+ctrl": ("Fence.w.wdWW Rfe DpCtrldR Fre", "Allowed"),
    "MP+fence.w.w+ctrlfencei": ("Fence.w.wdWW Rfe DpCtrlFenceIdR Fre", "Allowed"),
    "MP+fence.w.w+fence.r.r": ("Fence.w.wdWW Rfe Fence.r.rdRR Fre", "Forbidden"),
    "MP+fence.w.w+po": ("Fence.w.wdWW Rfe PodRR Fre", "Allowed"),
    "MP+po+addr": ("PodWW Rfe DpAddrdR Fre", "Allowed"),
    "MP+fence.tsos": ("Fence.tsodWW Rfe Fence.tsodRR Fre", "Forbidden"),
    "MP+poprl+poaqp": ("PodWWPRl RfeRlAq PodRRAqP Fre", "Forbidden"),  # rules 5 and 6
    "MP+porlp+poaqp": ("PodWWRlP Rfe PodRRAqP Fre", "Allowed"),
    "MP+fence.w.w+data-rfi-addr": ("Fence.w.wdWW Rfe DpDatadW Rfi DpAddrdR Fre", "Forbidden"),  # rule 12
    "MP+fence.w.w+addr-rfi-addr": ("Fence.w.wdWW Rfe DpAddrdW Rfi DpAddrdR Fre", "Forbidden"),
    "MP+fence.w.w+ctrl-rfi-addr": ("Fence.w.wdWW Rfe DpCtrldW Rfi DpAddrdR Fre", "Allowed"),  # PPOCA
    "MP+fence.w.w+fri-rfi-addr": ("Fence.w.wdWW Rfe Fri Rfi DpAddrdR Fre", "Allowed"),
    "MP+fence.w.w+addr-pos-addr": ("Fence.w.wdWW Rfe DpAddrdR PosRR DpAddrdR Fre", "Allowed"),  # RSW
    "LB": ("PodRW Rfe PodRW Rfe", "Allowed"),
    "LB+addrs": ("DpAddrdW Rfe DpAddrdW Rfe", "Forbidden"),
    "LB+datas": ("DpDatadW Rfe DpDatadW Rfe", "Forbidden"),  # rule 10
    "LB+ctrls": ("DpCtrldW Rfe DpCtrldW Rfe", "Forbidden"),  # rule 11
    "LB+data+po": ("DpDatadW Rfe PodRW Rfe", "Allowed"),
    "LB+addr-po+data": ("DpAddrdR PodRW Rfe DpDatadW Rfe", "Forbidden"),  # rule 13
    "LB+addr.w-po+data": ("DpAddrdW PodWW Rfe DpDatadW Rfe", "Forbidden"),
    "LB+data+data.w-po": ("DpDatadW PodWW Rfe DpDatadW Rfe", "Allowed"),
    "S": ("PodWW Rfe PodRW Wse", "Allowed"),
    "S+fence.w.w+data": ("Fence.w.wdWW Rfe DpDatadW Wse", "Forbidden"),
    "S+fence.w.w+ctrl": ("Fence.w.wdWW Rfe DpCtrldW Wse", "Forbidden"),
    "R": ("PodWW Wse PodWR Fre", "Allowed"),
    "R+fence.rw.rws": ("Fence.rw.rwdWW Wse Fence.rw.rwdWR Fre", "Forbidden"),
    "R+fence.w.w+fence.w.r": ("Fence.w.wdWW Wse Fence.w.rdWR Fre", "Forbidden"),
    "R+po+fence.rw.rw": ("PodWW Wse Fence.rw.rwdWR Fre", "Allowed"),
    "2+2W": ("PodWW Wse PodWW Wse", "Allowed"),
    "2+2W+fence.w.ws": ("Fence.w.wdWW Wse Fence.w.wdWW Wse", "Forbidden"),
    "WRC": ("Rfe PodRW Rfe PodRR Fre", "Allowed"),
    "WRC+data+addr": ("Rfe DpDatadW Rfe DpAddrdR Fre", "Forbidden"),
    "WRC+po+addr": ("Rfe PodRW Rfe DpAddrdR Fre", "Allowed"),
    "WRC+data+po": ("Rfe DpDatadW Rfe PodRR Fre", "Allowed"),
    "WWC+data+addr": ("Rfe DpDatadW Rfe DpAddrdW Wse", "Forbidden"),
    "RWC+addr+fence.rw.rw": ("Rfe DpAddrdR Fre Fence.rw.rwdWR Fre", "Forbidden"),
    "RWC+addr+po": ("Rfe DpAddrdR Fre PodWR Fre", "Allowed"),
    "ISA2+fence.w.w+data+addr": ("Fence.w.wdWW Rfe DpDatadW Rfe DpAddrdR Fre", "Forbidden"),
    "ISA2+poprl+amo.swap+poaqp": ("PodWWPRl Rfe Amo.Swap Rfe PodRRAqP Fre", "Forbidden"),  # a release sequence
    "W+RWC+fence.w.w+addr+fence.rw.rw": ("Fence.w.wdWW Rfe DpAddrdR Fre Fence.rw.rwdWR Fre", "Forbidden"),
    "W+RWC+fence.w.w+addr+po": ("Fence.w.wdWW Rfe DpAddrdR Fre PodWR Fre", "Allowed"),
    "Z6.0+fence.rw.rw+data+fence.rw.rw": ("Fence.rw.rwdWW Rfe DpDatadW Wse Fence.rw.rwdWR Fre", "Forbidden"),
    "Z6.3+fence.w.w+fence.w.w+addr": ("Fence.w.wdWW Wse Fence.w.wdWW Rfe DpAddrdR Fre", "Forbidden"),
    "Z6.3+fence.w.w+po+addr": ("Fence.w.wdWW Wse PodWW Rfe DpAddrdR Fre", "Allowed"),
    "3.SB": ("PodWR Fre PodWR Fre PodWR Fre", "Allowed"),
    "3.LB+datas": ("DpDatadW Rfe DpDatadW Rfe DpDatadW Rfe", "Forbidden"),
    "3.2W+fence.w.ws": ("Fence.w.wdWW Wse Fence.w.wdWW Wse Fence.w.wdWW Wse", "Forbidden"),
    "IRIW": ("Rfe PodRR Fre Rfe PodRR Fre", "Allowed"),
    "IRIW+addrs": ("Rfe DpAddrdR Fre Rfe DpAddrdR Fre", "Forbidden"),
    "IRIW+addr+po": ("Rfe PodRR Fre Rfe DpAddrdR Fre", "Allowed"),
    "IRRWIW+addr+data": ("Rfe DpAddrdR Fre Rfe DpDatadW Wse", "Forbidden"),
    "CoRR": ("Rfe PosRR Fre", "Forbidden"),
    "CoRW": ("Rfe PosRW Wse", "Forbidden"),
    "CoWR": ("PosWR Fre Wse", "Forbidden"),
    "CoWW": ("PosWW Wse Wse", "Forbidden"),
}

PLAIN = {"RR": "PodRR", "RW": "PodRW", "WR": "PodWR", "WW": "PodWW"}


@pytest.fixture(scope="module")
def suite() -> list[Cycle]:
    return cycles()


def plainer(cycle: Cycle, at: int) -> Cycle:
    """The cycle, whose edge at `at` becomes plain program order between plain accesses."""
    edges = [parse_edge(str(edge)) for edge in cycle.edges]
    before, after = edges[at - 1], edges[(at + 1) % len(edges)]
    edges[at - 1] = before.with_atoms(before.atoms[0], "")
    edges[(at + 1) % len(edges)] = after.with_atoms("", after.atoms[1])
    edges[at] = parse_edge(PLAIN["".join(edges[at].ends)])
    return Cycle(edges)


# ---- The generator ----


@pytest.mark.parametrize("name", VERDICTS)
def test_classical_tests_have_their_names_and_verdicts(name: str) -> None:
    cycle, word = VERDICTS[name]
    _, verdict = judge(parse_cycle(cycle))
    assert (verdict.name, verdict.word) == (name, word)


def test_the_suite_has_the_classical_tests(suite: list[Cycle]) -> None:
    assert set(VERDICTS) <= {cycle.name for cycle in suite}
    assert len(suite) >= 1100
    assert {cycle.threads for cycle in suite} == {2, 3, 4}
    assert len({cycle.name for cycle in suite}) == len(suite)
    families = {cycle.name.partition("+")[0] for cycle in suite}
    whole = {name for name in {*FAMILIES.values(), *COHERENCE_FAMILIES.values()} if not name.startswith("4.")}
    assert {name.partition("+")[0] for name in whole} <= families


def test_the_suite_has_every_kind_of_edge(suite: list[Cycle]) -> None:
    kinds = {edge.kind for cycle in suite for edge in cycle.edges}
    fences = {f"Fence.{a}.{b}" for a in ("r", "w", "rw") for b in ("r", "w", "rw")} | {"Fence.tso"}
    assert kinds >= fences | {"Po", "DpAddr", "DpData", "DpCtrl", "DpCtrlFenceI", "LxSx", "Amo.Swap", "Amo.Add"}
    marks = {(access.direction, access.atom) for cycle in suite for access in cycle.accesses}
    assert marks >= {("R", a) for a in ("Aq", "AR")} | {("W", a) for a in ("Aq", "Rl", "AR", "X", "Amo")}
    inside = {edge.kind for cycle in suite for edge in cycle.edges if edge.is_communication and not edge.is_external}
    assert inside == {"Rf", "Fr", "Ws"}


def test_no_order_of_whole_accesses_has_the_outcome_of_a_cycle(suite: list[Cycle]) -> None:
    """So each condition is the outcome of its cycle, and of no other execution."""
    allowed = [cycle.name for cycle in suite if judge(cycle, rvwmo=False)[1].target]
    assert not allowed


def test_a_forbidden_cycle_is_allowed_without_any_one_of_its_orders(suite: list[Cycle]) -> None:
    tried = 0
    for cycle in suite:
        if any(len(segment) > 1 or any(e.is_same for e in segment) for segment in cycle.segments):
            continue
        if judge(cycle)[1].target:
            continue
        for at, edge in enumerate(cycle.edges):
            if not edge.is_external:
                assert judge(plainer(cycle, at))[1].target, f"{cycle.name} without {edge}"
                tried += 1
    assert tried > 2000


@pytest.mark.parametrize(("words", "family"), FAMILIES.items())
def test_each_family_is_allowed_in_plain_order_and_forbidden_with_fences(words: tuple[str, ...], family: str) -> None:
    for order, word in (("Po", "Allowed"), ("Fence.rw.rw", "Forbidden")):
        edges = []
        for thread, after in zip(words, [*words[1:], words[0]], strict=True):
            edges += [f"{order}d{thread}"] if len(thread) > 1 else []
            edges.append({"WR": "Rfe", "RW": "Fre", "WW": "Wse"}[thread[-1] + after[0]])
        _, verdict = judge(parse_cycle(" ".join(edges)))
        assert (verdict.name.removesuffix("+fence.rw.rws"), verdict.word) == (family, word)


def test_all_rotations_of_a_cycle_are_one_test(suite: list[Cycle]) -> None:
    for cycle in suite[::17]:
        words = str(cycle).split()
        for at in range(len(words)):
            turned = parse_cycle(" ".join(words[at:] + words[:at]))
            assert (turned.name, text_of(turned)) == (cycle.name, text_of(cycle))


def test_each_text_is_a_test_of_its_own(suite: list[Cycle]) -> None:
    bodies = {text_of(cycle).partition("{")[2] for cycle in suite}
    assert len(bodies) == len(suite)


def test_the_text_is_as_expected() -> None:
    done = litmus("cycle", "DpCtrldW Rfi DpAddrdR Fre PodWWPRl Rfe")
    assert done.returncode == 0
    assert done.stdout == (
        "RISCV MP+poprl+ctrl-rfi-addr\n"
        '"PodWWPRl RfeRlP DpCtrldW Rfi DpAddrdR Fre"\n'
        "{\n"
        "0:x5=x; 0:x6=1; 0:x7=y;\n"
        "1:x5=y; 1:x7=z; 1:x8=1; 1:x10=x;\n"
        "}\n"
        " P0                      | P1              ;\n"
        " sw x6,0(x5)             | lw x6,0(x5)     ;\n"
        " amoswap.w.rl x0,x6,(x7) | bne x6,x0,LC10  ;\n"
        "                         | LC10:           ;\n"
        "                         | sw x8,0(x7)     ;\n"
        "                         | lw x9,0(x7)     ;\n"
        "                         | xor x11,x9,x9   ;\n"
        "                         | add x12,x10,x11 ;\n"
        "                         | lw x13,0(x12)   ;\n"
        "exists (1:x6=1 /\\ 1:x9=1 /\\ 1:x13=0)\n"
    )
    assert len(parse(done.stdout).threads) == 2


@pytest.mark.parametrize(
    ("cycle", "sentence"),
    [
        ("PodWX Fre", "'PodWX' is no edge"),
        ("PodWW Rfe PodWR Fre", "Rfe ends with a read, and PodWR begins with a write"),
        ("Rfi PodRW", "has 0 edges between threads"),
        ("PodWR Fre", "has 1 edges between threads"),
        ("PodWW Rfe PosRR Fre", "one edge goes to another location, and none comes back"),
        ("PodWWPRl RfePAq PodRRAqP Fre", "two annotations"),
        ("PodRRRlP Fre PodWW Rfe", "a read has no annotation Rl"),
        ("DpDatadR Fre PodWW Rfe", "data goes to a write"),
        ("LxSxPX PodWW Rfe PodRW Rfe", "the write of LxSx is P, Rl or AR, not X"),
        ("LxSx RfiXP PodRW Rfe PodRW Rfe", "the write of LxSx is P, Rl or AR, not X"),
        ("Wse Wse Wse", "needs an edge like PosRR within a thread"),
    ],
)
def test_a_cycle_that_is_none_is_refused_in_a_sentence(cycle: str, sentence: str) -> None:
    with pytest.raises(LitmusError, match=re.escape(sentence)):
        parse_cycle(cycle)
    done = litmus("cycle", cycle)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert sentence in done.stderr


# ---- The suite ----


def test_shards_are_the_suite_and_programs_have_tests_of_as_many_threads(suite: list[Cycle]) -> None:
    parts = [shard(suite, i, 7) for i in range(1, 8)]
    assert sorted(c.name for part in parts for c in part) == sorted(c.name for c in suite)
    for batch in batches(suite):
        assert len({c.threads for c in batch}) == 1 and len(batch) <= 40
    assert sum(map(len, batches(suite))) == len(suite)


def test_it_runs_on_every_protocol_that_there_is() -> None:
    row = next(r for r in (ROOT / "docs" / "parameters.md").read_text().splitlines() if "`coherence.protocol`" in r)
    assert tuple(re.findall(r"`(\w+)`", row.split("|")[4])) == PROTOCOLS


def test_smaller_suites_are_parts_of_larger_ones() -> None:
    names = [{c.name for c in cycles(n)} for n in (3, 4, 5, UP_TO)]
    assert names[0] < names[1] < names[2] < names[3]


def test_verdicts_without_a_run() -> None:
    done = litmus("suite", "--model-only", "--up-to", "4", "--only", "SB+fence.rw.rw*")
    assert done.returncode == 0
    assert 'Test SB+fence.rw.rws Forbidden "Fence.rw.rwdWR Fre Fence.rw.rwdWR Fre"' in done.stdout.splitlines()
    assert 'Test SB+fence.rw.rw+po Allowed "Fence.rw.rwdWR Fre PodWR Fre"' in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--only", "XY*"], "has no test of up to 6 edges like 'XY*'"),
        (["--shard", "3/2"], "'3/2' is no part like 1/50"),
        (["--protocols", "mesi,moesi"], "'moesi' is none of mesi, sparse"),
        (["--rounds", "0"], "'0' is no number from 1 on"),
    ],
)
def test_a_wrong_option_is_refused(words: list[str], sentence: str) -> None:
    done = litmus("suite", *words)
    assert done.returncode == 2
    assert sentence in done.stderr


@NEEDS_COMPILER
def test_no_chip_shows_what_rvwmo_forbids(build: Path, rubato_chip: Path) -> None:
    """A part of the suite, on every protocol and core model."""
    done = litmus("suite", "--shard", "5/80", "--rounds", "12", build=build)
    assert done.returncode == 0, done.stdout + done.stderr
    tests = int(re.search(r"^Tests +(\d+):", done.stdout, flags=re.MULTILINE)[1])
    assert tests > 20
    assert re.search(rf"^Runs +{tests * CHIPS}, with {tests * CHIPS * 12} rounds", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^Forbidden +outcomes of 0 tests came$", done.stdout, flags=re.MULTILINE)
    assert len(re.findall(r"^ +\d+  coherence.protocol=\w+ core.model=\w+", done.stdout, flags=re.MULTILINE)) == CHIPS


@NEEDS_COMPILER
def test_a_generated_test_runs_as_a_file(tmp_path: Path, build: Path, rubato_chip: Path) -> None:
    file = tmp_path / "a.litmus"
    file.write_text(litmus("cycle", "Fence.rw.rwdWR Fre PodWR Fre").stdout)
    done = litmus(file, "--rounds", "20", build=build)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Test SB+fence.rw.rw+po Allowed\n")


@NEEDS_COMPILER
def test_a_stricter_model_finds_what_came(build: Path, rubato_chip: Path) -> None:
    done = litmus("suite", "--only", "SB", "--model", "sc", "--protocols", "flask", build=build)
    assert done.returncode == 1, done.stdout
    assert re.search(r"^Forbidden +outcomes of 1 tests came$", done.stdout, flags=re.MULTILINE)
    finding = (r"^litmus: SC forbids what came \d+ times in SB on coherence.protocol=flask .*, seed 1: "
               r'0:x8=0; 1:x8=0; The cycle is "PodWR Fre PodWR Fre"$')  # fmt: skip
    assert re.search(finding, done.stderr, flags=re.MULTILINE)


#: Bugs of the memory order, the tests that find each, and where.
FAULTS = {
    "fence_passes_deferred": ("SB+fence.*", "inorder"),
    "fence_passes_stores": ("SB+fence.*", "window"),
    "atomic_passes_stores": ("MP+po*rl+*", "window"),
}


@NEEDS_COMPILER
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bug_of_the_memory_order_is_found(fault: str, build: Path, rubato_chip: Path, tmp_path: Path) -> None:
    pattern, model = FAULTS[fault]
    for name, status in (("none", 0), (fault, 1)):
        simulator = tmp_path / name
        simulator.write_text(f'#!/bin/sh\nexec {build / "bin" / "faulty-chip"} {name} "$@"\n')
        simulator.chmod(0o755)
        words = ["--up-to", "4", "--only", pattern, "--protocols", "flask", "--core-models", model, "--rounds", "40"]
        done = litmus("suite", *words, "--chip", simulator, build=build)
        assert done.returncode == status, done.stdout + done.stderr
        assert ("RVWMO forbids what came" in done.stderr) == (status == 1)


@NEEDS_COMPILER
@pytest.mark.long
def test_no_chip_shows_what_rvwmo_forbids_long(build: Path, rubato_chip: Path) -> None:
    """The whole suite, a quarter of an hour."""
    done = litmus("suite", build=build)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(rf"^Runs +{len(cycles()) * CHIPS}, ", done.stdout, flags=re.MULTILINE)

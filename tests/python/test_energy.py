"""Energy as reports compute it (K77 to K79): the simulator's function, other keys, the report's card, and what
bench/coherence concludes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.machinery
import importlib.util
import math
import re
import sys
from pathlib import Path

import pytest

import rubato
from rubato import report
from rubato.errors import UsageError
from rubato.home import locate
from rubato.report import energy as card
from rubato.results import energy
from rubato.results.run import Stats

BENCH = Path(__file__).resolve().parents[2] / "bench" / "coherence"
ARGUMENTS = ["--generate", "road:20x20"]
needs_the_chip = pytest.mark.skipif(
    locate.find_chip() is None or locate.program("sssp", "chip") is None,
    reason="needs rubato-chip and sssp (make build)",
)


def configuration(protocol: str) -> dict[str, object]:
    """A tile of one core at 1 GHz; roots are short, as in tests/chip/coherence/energy."""
    return {
        "chip.cores": 1, "chip.cores_per_tile": 1, "chip.frequency_mhz": 1000, "coherence.protocol": protocol,
        "coherence.capacity": 1.0, "coherence.ways": 8, "coherence.directory_ways": 4, "coherence.filter": "dlcbf",
        "l1i.size": 16 << 10, "l1i.ways": 8, "l1d.size": 16 << 10, "l1d.ways": 8, "l2.size": 64 << 10, "l2.ways": 8,
        "llc.size": 256 << 10, "llc.ways": 16, "net.link_bytes": 16,
        "energy.sram_pj": 1.0, "energy.flit_hop_pj": 1.0, "energy.leakage_mw_per_mib": 0.0, "energy.memory_nj": 1.0,
    }  # fmt: skip


#: What tells protocols' directories apart.
DIRECTORY = {"mesi": ["directory.rows_read"], "tokenb": [], "sparse": ["directory.rows_read", "directory.hits"],
             "flask": ["directory.rows_read", "directory.hits", "filter.rows_read"]}  # fmt: skip


def energy_of(counts: dict[str, int], protocol: str = "mesi", **keys: float) -> energy.Energy:
    none = {f"tile.0.{kind}": 0 for kind in ["l2.lookups", *DIRECTORY[protocol]]}
    stats = Stats({"roi": {**none, **counts}})
    found = energy.energy(stats, configuration(protocol), {f"energy.{k}": v for k, v in keys.items()})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("protocol", "part", "path", "pj"),
    [
        ("mesi", "l1", "core.0.l1d.hits", 4),  # 16 KiB
        ("mesi", "l1", "core.0.l1i.fills", 4 * math.sqrt(8) * 1.1),  # a line is eight words
        ("mesi", "l1", "core.0.l1d.probes", 2),  # 256 tags, 1 KiB; a set has 256 bits
        ("mesi", "l2", "tile.0.l2.lookups", 4),  # 1024 tags, 4 KiB
        ("mesi", "llc", "tile.0.llc.writes", 16 * math.sqrt(8) * 1.1),  # 256 KiB
        ("mesi", "directory", "tile.0.directory.rows_read", math.sqrt(32)),  # 8 bytes a line
        ("sparse", "directory", "tile.0.directory.rows_read", 2),  # 128 rows of 16 bytes, 128 bits
        ("flask", "filter", "tile.0.filter.rows_written", 2.2),
        ("mesi", "network", "tile.0.link.east.flits", 1),
    ],
)
def test_one_access_takes_what_it_does_by_hand(protocol, part, path, pj):
    assert energy_of({path: 1}, protocol).dynamic[part] == pytest.approx(pj / 1000)


@pytest.mark.parametrize(
    ("protocol", "part", "path", "pj"),
    [
        ("mesi", "llc", "tile.0.llc.reads", 8 * math.sqrt(8)),  # 64 KiB of 256 KiB
        ("mesi", "llc", "tile.0.llc.lookups", 2 * math.sqrt(8)),
        ("mesi", "l2", "tile.0.l2.lookups", 4),  # an L2 has no banks
        ("mesi", "directory", "tile.0.directory.rows_read", math.sqrt(8)),
        ("flask", "filter", "tile.0.filter.rows_read", 1),
    ],
)
def test_a_bank_takes_what_an_array_of_its_size_does(protocol, part, path, pj):
    none = {f"tile.0.{kind}": 0 for kind in ["l2.lookups", *DIRECTORY[protocol]]}
    found = energy.energy(Stats({"roi": {**none, path: 1}}), {**configuration(protocol), "llc.banks": 4})
    assert found is not None and found.dynamic[part] == pytest.approx(pj / 1000)


def test_leakage_is_of_capacity_and_time_and_memory_is_apart():
    found = energy_of({"chip.cycles": 1_000_000, "mem.0.reads": 3, "mem.1.writes": 1}, leakage_mw_per_mib=1.0)
    assert found.leakage["l1"] == pytest.approx(34 / 1024 * 1000), "a millisecond, 34 KiB with tags"
    assert found.memory == 4 and found.seconds == 1e-3
    assert found.total == pytest.approx(sum(found.leakage.values()))
    assert found.edp == pytest.approx(found.total * 1e-3)


@pytest.mark.parametrize(("protocol", "kib"), [("mesi", 32), ("tokenb", 0), ("sparse", 16), ("flask", 8)])
def test_a_protocol_has_the_directory_that_its_statistics_tell_of(protocol, kib):
    found = energy_of({"chip.cycles": 1_000_000}, protocol, leakage_mw_per_mib=1.0)
    assert found.leakage["directory"] == pytest.approx(kib / 1024 * 1000)
    assert found.leakage["filter"] == pytest.approx((8 if protocol == "flask" else 0) / 1024 * 1000)


def test_a_run_of_before_has_no_energy():
    assert energy.energy(Stats({"roi": {"chip.cycles": 5}}), {}) is None


def test_a_report_takes_only_keys_of_energy_and_only_numbers():
    assert card.keys_of({"energy.flit_hop_pj": "50"}) == {"energy.flit_hop_pj": 50}
    for settings, said in (
        ({"l2.size": "1"}, "computes nothing anew but energy"),
        ({"energy.sram_pj": "much"}, "energy.sram_pj is much, expected a number"),
        ({"energy.sram_pj": "-1"}, "expected a number from 0"),
    ):
        with pytest.raises(UsageError, match=re.escape(said)):
            card.keys_of(settings)


@needs_the_chip
@pytest.mark.parametrize("protocol", ["mesi", "sparse", "tokenb", "mosaic", "flask"])
def test_the_simulator_computes_the_same(protocol, tmp_path, monkeypatch):
    monkeypatch.delenv("RUBATO_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    settings = {"coherence.protocol": protocol, "chip.cores_per_tile": 1, "coherence.capacity": 0.4, "l2.size": "16KiB",
                "l1d.size": "1KiB", "energy.sram_pj": 2.5, "net.link_bytes": 8, "llc.banks": 2}  # fmt: skip
    run = rubato.run("sssp", cores=4, arguments=ARGUMENTS, set=settings)
    for stats in (run.stats, run.stats.whole_run):
        found = energy.energy(stats, run.configuration)
        for part in energy.PARTS:
            assert stats[f"energy.{part}.dynamic"] == pytest.approx(found.dynamic[part], rel=1e-12)
            assert stats[f"energy.{part}.leakage"] == pytest.approx(found.leakage[part], rel=1e-12)
        assert stats["energy.total"] == pytest.approx(found.total, rel=1e-12)
        assert stats["energy.edp"] == pytest.approx(found.edp, rel=1e-12)
        assert stats["energy.memory"] == found.memory
        assert all(found.dynamic[part] > 0 for part in ("l1", "l2", "llc", "network"))
        assert (found.dynamic["directory"] > 0) == (protocol != "tokenb")
        assert (found.dynamic["filter"] > 0) == (protocol == "flask")
    assert run.stats.describe("energy.l2.dynamic")["unit"] == "nJ"


@needs_the_chip
def test_other_keys_need_no_other_run(tmp_path, monkeypatch):
    monkeypatch.delenv("RUBATO_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    first = rubato.run("sssp", cores=4, arguments=ARGUMENTS, out="a/one", set={"chip.cores_per_tile": 1})
    keys = {"energy.flit_hop_pj": 50, "energy.leakage_mw_per_mib": 15}
    again = rubato.run("sssp", cores=4, arguments=ARGUMENTS, out="b", set={"chip.cores_per_tile": 1, **keys})
    assert energy.of(first, keys) == energy.of(again)
    assert first.stats["chip.cycles"] == again.stats["chip.cycles"], "nothing but energy depends on them"

    rubato.run("sssp", cores=4, arguments=ARGUMENTS, out="a/two",
               set={"chip.cores_per_tile": 1, "coherence.protocol": "tokenb"})  # fmt: skip

    def cells(keys: dict[str, float]) -> dict[str, list[str]]:
        report.write(["a"], Path("report.html"), energy_keys=keys)
        page = Path("report.html").read_text()
        found = page[page.index('id="energy-0"') :].partition("</section>")[0]
        rows = re.findall(r"<tr><td[^>]*>([^<]*)</td>(.*?)</tr>", found)
        return {name: re.findall(r"<td class=n>([^<]*)</td>", rest) for name, rest in rows}

    as_run, anew = cells({}), cells(keys)
    assert [name.split("=")[-1] for name in as_run] == ["mesi", "tokenb"], "side by side"
    network, total, edp, over = 6, 7, 9, 10
    for name, run in (("mesi", first), ("tokenb", rubato.load("a/two"))):
        row = next(r for n, r in as_run.items() if n.endswith(name))
        of_run = energy.of(run)
        assert row[network] == card.joules(of_run.dynamic["network"])
        assert row[total] == card.joules(of_run.total) and row[edp] == card.joules(of_run.edp) + " s"
        assert row[over] == f"{of_run.edp / energy.of(first).edp:.3f}"
        row = next(r for n, r in anew.items() if n.endswith(name))
        assert row[network] == card.joules(of_run.dynamic["network"] / 2)


# ---- bench/coherence ----


@pytest.fixture
def bench():
    loader = importlib.machinery.SourceFileLoader("bench_coherence", str(BENCH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # dataclasses look there
    loader.exec_module(module)
    yield module
    del sys.modules[loader.name]


def results(bench, network: dict[tuple[str, float], float], rest: dict[tuple[str, float], float]):
    """Results of a program whose EDP is network x its key + rest."""

    def edp(variant: tuple[str, float], factors: dict[str, float]) -> float:
        return network.get(variant, 1.0) * factors.get("energy.flit_hop_pj", 1) + rest.get(variant, 1.0)

    made_up = {"cycles": 1, "flit_hops": 1, "probes": 0, "false_positives": 0, "retries": 0, "mips": 1,
               "energy_nj": 1, "leakage_nj": 0}  # fmt: skip
    return [
        bench.Result("p", *variant, **made_up, edp={varied: edp(variant, f) for varied, f in bench.VARIED.items()})
        for variant in bench.VARIANTS
    ]


def test_a_conclusion_is_held_against_each_key_halved_and_doubled(bench):
    assert len(bench.VARIED) == 7
    # flask 40 %: 1 + 3 of tokenb's 2 + 1.8: more, unless the network's half of it counts double.
    found = results(bench, {("flask", 0.4): 1.0, ("tokenb", 1.0): 2.0}, {("flask", 0.4): 3.0, ("tokenb", 1.0): 1.8})
    what, ratio, holds, others = bench.conclusions(found)[0]
    assert what == "flask 40 % takes less than tokenb"
    assert (ratio, holds) == (pytest.approx(4 / 3.8), False)
    assert others == [f"flit_hop_pj doubled: {5 / 5.8:.3f}"]
    # Twice as much of everything: whatever the keys are.
    found = results(bench, {("tokenb", 1.0): 2.0}, {("tokenb", 1.0): 2.0})
    assert bench.conclusions(found)[0] == (what, 0.5, True, [])


def test_means_are_over_programs(bench):
    def of(program: str, factor: float):
        return [r.__class__(**{**vars(r), "program": program})
                for r in results(bench, {("flask", 0.4): factor}, {("flask", 0.4): factor})]  # fmt: skip

    both = of("a", 2.0) + of("b", 0.5)
    assert bench.edp_ratio(both, ("flask", 0.4), ("tokenb", 1.0), bench.AS_CONFIGURED) == pytest.approx(1)

"""Programs behave the same under every coherence protocol: threads, atomics, and tasks that speculate."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest

BY_MESSAGES = ["sparse", "tokenb", "mosaic", "flask"]
CONFIGS = Path(__file__).resolve().parents[2] / "configs"
LATER = ["late", *BY_MESSAGES]  # accesses perform in a later event
# Directories and filters so small that entries are evicted and probes err all the time.
SCARCE = ["chip.cores=8", "chip.cores_per_tile=1", "coherence.capacity=0.05", "coherence.ways=2",
          "coherence.directory_ways=1", "coherence.check=true"]  # fmt: skip


def run(rubato_chip: Path, settings: list[str], command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    options = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run([rubato_chip, *options, *command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("protocol", LATER)
@pytest.mark.parametrize("program", ["pthreads", "reservations", "openmp", "threads", "deferred", "thread_signals"])
def test_threads_print_what_they_print_under_mesi(
    program: str, protocol: str, guests: Path, rubato_chip: Path
) -> None:
    command: list[str | Path] = ["--no-ff", guests / program]
    expected = run(rubato_chip, ["chip.cores=8"], command)
    assert expected.returncode == 0
    done = run(rubato_chip, [*SCARCE, f"coherence.protocol={protocol}"], command)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == expected.stdout


@pytest.mark.parametrize("protocol", LATER)
def test_tasks_speculate_and_their_replay_agrees(
    protocol: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    command = ["--check-replay", "--out", tmp_path, guests / "sssp", "--generate", "road:20x20"]
    done = run(rubato_chip, [*SCARCE, f"coherence.protocol={protocol}"], command)
    assert done.returncode == 0, done.stderr[-2000:]
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert ("coherence.messages.tokens" in json.dumps(stats)) == (protocol != "late")


@pytest.mark.parametrize(
    ("program", "protocol"),
    # Long: TokenB has no entries, and asks all 256 tiles for each line of many threads.
    [pytest.param(n, p, marks=pytest.mark.long if (n, p) == ("threads", "tokenb") else ())
     for n in ("threads", "reservations", "sssp") for p in BY_MESSAGES],
)  # fmt: skip
def test_entries_may_have_fewer_bits_than_there_are_tiles(
    program: str, protocol: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    """256 tiles, so that a bit is four tiles'; then three bits for eight tiles, with entries that come and go."""
    command: list[str | Path] = ["--no-ff", guests / program]
    if program == "sssp":
        command = ["--check-replay", guests / program, "--generate", "road:20x20"]
    many = ["chip.cores=256", "chip.cores_per_tile=1", "coherence.check=true"]
    for number, settings in enumerate((many, [*SCARCE, "coherence.sharer_bits=3"])):
        out = tmp_path / str(number)
        done = run(rubato_chip, [*settings, f"coherence.protocol={protocol}"], ["--out", out, *command])
        assert done.returncode == 0, done.stderr[-2000:]
        if program != "sssp":
            assert done.stdout == run(rubato_chip, [settings[0]], command).stdout
        # Tiles of a group that have nothing of a line are asked all the same, and say so.
        if protocol == "sparse" and program != "sssp":
            assert json.loads((out / "stats.json").read_text())["run"]["coherence.messages.tally"] > 0


@pytest.mark.parametrize("protocol", BY_MESSAGES)
@pytest.mark.parametrize("program", ["reservations", "openmp", "deferred", "sssp"])
def test_tiles_that_may_ask_for_one_line_at_a_time_get_there_later(
    program: str, protocol: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    """Four cores of a tile share its only entry, and their spills and rollbacks do."""
    command: list[str | Path] = ["--no-ff", guests / program]
    if program == "sssp":
        command = ["--check-replay", guests / program, "--generate", "road:20x20"]
    cycles, refusals, printed = [], [], set()
    for mshrs in (0, 1):
        settings = ["chip.cores=8", "coherence.check=true", f"coherence.protocol={protocol}", f"l2.mshrs={mshrs}"]
        out = tmp_path / str(mshrs)
        done = run(rubato_chip, settings, ["--max-cycles", "50000000", "--out", out, *command])
        assert done.returncode == 0, done.stderr[-2000:]
        cycles.append(json.loads((out / "summary.json").read_text())["cycles"])
        refusals.append(re.search(r'l2\.refusals": [1-9]', (out / "stats.json").read_text()) is not None)
        printed.add(done.stdout)
    assert len(printed) == 1 or program == "sssp"
    assert cycles[1] > cycles[0] and refusals == [False, True]


@pytest.mark.parametrize("protocol", ["mesi", *LATER])
@pytest.mark.parametrize("lookahead", [0, 32])
@pytest.mark.parametrize("per_tile", [1, 2])
def test_no_litmus_test_sees_what_the_memory_model_forbids(
    per_tile: int, lookahead: int, protocol: str, guests: Path, rubato_chip: Path
) -> None:
    settings = ["chip.cores=4", f"chip.cores_per_tile={per_tile}", f"run.lookahead_cycles={lookahead}",
                f"coherence.protocol={protocol}", "coherence.check=true"]  # fmt: skip
    done = run(rubato_chip, settings, ["--no-ff", "--max-cycles", "20000000", guests / "litmus"])
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 24
    assert all(": 0 forbidden, several outcomes" in line for line in lines), done.stdout


@pytest.mark.parametrize("program", ["threads", "deferred", "openmp_more"])
def test_threads_print_the_same_while_the_split_moves(
    program: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    """On two homes, so that each has many epochs; threads share some lines and go through others."""
    command: list[str | Path] = ["--no-ff", guests / program]
    expected = run(rubato_chip, ["chip.cores=2"], command)
    settings = ["chip.cores=2", "chip.cores_per_tile=1", "coherence.protocol=flask", "coherence.partition=adaptive",
                "coherence.capacity=0.05", "l2.size=32KiB", "coherence.ways=4", "coherence.directory_ways=2",
                "coherence.check=true"]  # fmt: skip
    done = run(rubato_chip, settings, ["--out", tmp_path, *command])
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == expected.stdout
    stats = json.loads((tmp_path / "stats.json").read_text())["run"]
    assert stats["tile.0.split.epochs"] + stats["tile.1.split.epochs"] > 0


@pytest.mark.parametrize("protocol", LATER)
def test_threads_that_go_on_past_a_miss_take_less_time(
    protocol: str, guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    """The core's own work takes as long as before; a wait of several accesses together is charged to the one that
    brings the line. Threads that write each other's lines would not do: a core that goes on meets others more often.
    """
    cycles, own = [], []
    for defers in ("true", "false"):
        settings = ["chip.cores=4", "chip.cores_per_tile=1", f"coherence.protocol={protocol}", f"core.defers={defers}"]
        out = tmp_path / defers
        done = run(rubato_chip, settings, ["--no-ff", "--out", out, guests / "openmp_more"])
        assert done.returncode == 0, done.stderr[-2000:]
        cycles.append(json.loads((out / "summary.json").read_text())["cycles"])
        own.append(json.loads((out / "stats.json").read_text())["run"]["chip.core_cycles.nonspeculative.core"])
    # Under late most of a miss is mesi's, of which cores go on past as much without.
    assert cycles[0] < (1.0 if protocol == "late" else 0.95) * cycles[1]
    if protocol in BY_MESSAGES:
        assert own[0] < 1.01 * own[1]


@pytest.mark.parametrize("protocol", LATER)
@pytest.mark.parametrize("forwarding", ["stall", "abort"])
def test_a_capsule_that_misses_goes_on_when_its_messages_are_there(
    forwarding: str, protocol: str, guests: Path, rubato_chip: Path
) -> None:
    """A miss that waits for messages is none that waits for another task, which would doom the capsule's task."""
    command: list[str | Path] = ["--max-cycles", "3000000", guests / "random_tasks", "5", "60", "unique", "2", "1", "c"]
    settings = ["chip.cores=4", "chip.cores_per_tile=1", "task.mayspec=spec"]
    done = run(
        rubato_chip, [*settings, f"conflict.forwarding={forwarding}", f"coherence.protocol={protocol}"], command
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == run(rubato_chip, settings, command).stdout


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["chip.cores=256", "chip.cores_per_tile=1", "coherence.profile=true"], "works on 64 tiles at most"),
        (["coherence.tokens=3", "chip.cores_per_tile=1"], "each of the 4 tiles"),
        (["coherence.directory_ways=8"], "leaves the filter none of coherence.ways = 8"),
        (["coherence.ways=64", "coherence.directory_ways=4"], "a filter has 8 at most"),
        (["coherence.directory_assoc=3"], "does not divide the 2048 entries of a tile's directory"),
        (["coherence.partition=adaptive", "coherence.filter=cbf"],
         "coherence.partition is adaptive, which moves the cells of coherence.filter = dlcbf, but that is cbf"),
        (["coherence.partition=adaptive", "coherence.filter=exact"], "but that is exact"),
        (["coherence.partition=adaptive", "coherence.filter=none"], "but that is none"),
        (["coherence.partition=adaptive", "coherence.directory_assoc=4"], "takes coherence.partition = fixed"),
        (["coherence.capacity=0.05", "l2.size=16KiB"], "fewer than 4 sets of entries a tile"),
        (["l2.size=64MiB"], "makes 131072 rows of entries a tile, but coherence.filter = dlcbf has 65536 at most"),
        (["l2.size=4MiB", "coherence.filter=cbf"], "8192 rows of entries a tile, but coherence.filter = cbf has 2048"),
        (["l2.inclusion=exclusive"], "takes tiles of one core, but chip.cores_per_tile is 4"),
        (["l2.inclusion=exclusive", "chip.cores_per_tile=1", "l2.size=4KiB"], "no fewer than an L1 has"),
        (["l2.inclusion=exclusive", "coherence.protocol=mesi"], "choose sparse, tokenb, mosaic or flask"),
        (["llc.interleave=low", "coherence.protocol=late"], "choose sparse, tokenb, mosaic or flask"),
        (["llc.interleave=low", "chip.cores=12"], "takes a power of two of tiles"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    settings: list[str], sentence: str, guests: Path, rubato_chip: Path
) -> None:
    done = run(rubato_chip, ["chip.cores=4", "coherence.protocol=flask", *settings], [guests / "hello"])
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("protocol", BY_MESSAGES)
@pytest.mark.parametrize("program", ["threads", "deferred", "openmp"])
def test_the_machine_of_the_publication_prints_the_same(
    program: str, protocol: str, guests: Path, rubato_chip: Path
) -> None:
    command: list[str | Path] = ["--no-ff", guests / program]
    machine = ["--config", CONFIGS / "flask-16-inorder.toml"]
    done = run(rubato_chip, [f"coherence.protocol={protocol}", "coherence.check=true"], [*machine, *command])
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == run(rubato_chip, ["chip.cores=16"], command).stdout


def test_an_exclusive_l2_holds_more(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    """192 KB of lines, in use again and again: more than the L2 or the L1 has room for, less than both. Other misses
    are of lines that the other thread has written."""
    misses = []
    for inclusion in ("inclusive", "exclusive"):
        settings = ["chip.cores=2", "chip.cores_per_tile=1", "coherence.protocol=flask", f"l2.inclusion={inclusion}",
                    "l1d.size=128KiB", "l1d.ways=8", "l2.size=128KiB", "l2.ways=8"]  # fmt: skip
        done = run(rubato_chip, settings, ["--no-ff", "--out", tmp_path / inclusion, guests / "deferred"])
        assert done.returncode == 0, done.stderr[-2000:]
        stats = json.loads((tmp_path / inclusion / "stats.json").read_text())["run"]
        misses.append(sum(stats[f"tile.{t}.l2.misses"] for t in (0, 1)))
    assert misses[1] < 0.9 * misses[0]


def test_statistics_say_what_is_in_use_and_who_shares(guests: Path, rubato_chip: Path, tmp_path: Path) -> None:
    settings = ["chip.cores=4", "chip.cores_per_tile=1", "coherence.protocol=flask", "coherence.profile=true"]
    done = run(rubato_chip, settings, ["--no-ff", "--out", tmp_path, guests / "deferred"])
    assert done.returncode == 0, done.stderr[-2000:]
    stats = json.loads((tmp_path / "stats.json").read_text())["run"]
    entries = sum(stats[f"tile.{t}.directory.entries"] for t in range(4))
    lines = sum(stats[f"tile.{t}.filter.lines"] for t in range(4))
    assert 0 < entries <= lines <= 4 * 5120
    assert stats["chip.sharing.active"] > 3000, "both threads write to each of the 3000 lines"
    assert stats["chip.sharing.active"] <= stats["chip.sharing.shared_misses"] <= stats["chip.sharing.misses"]


def test_the_profile_says_why_the_filter_errs_and_changes_no_result(
    guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    runs = {}
    for profile in ("true", "false"):
        settings = ["chip.cores=4", "chip.cores_per_tile=1", "coherence.protocol=flask", "coherence.capacity=0.05",
                    f"coherence.profile={profile}"]  # fmt: skip
        done = run(rubato_chip, settings, ["--no-ff", "--out", tmp_path / profile, guests / "deferred"])
        assert done.returncode == 0, done.stderr[-2000:]
        runs[profile] = json.loads((tmp_path / profile / "stats.json").read_text())["run"]
    stats = runs["true"]

    def total(name: str) -> float:
        return float(sum(stats[f"tile.{t}.{name}"] for t in range(4)))

    assert total("directory.false_positives") == total("filter.vain_alike") + total("filter.vain_shared") > 0
    assert total("filter.vain_regular") <= total("filter.vain_alike")
    added = stats.keys() - runs["false"].keys()
    assert all(".filter.vain_" in name or name.startswith("chip.sharing.") for name in added)
    assert {name: value for name, value in stats.items() if name not in added} == runs["false"]


def test_the_trace_draws_a_transaction_from_the_requester_over_its_home(
    guests: Path, rubato_chip: Path, tmp_path: Path
) -> None:
    settings = ["chip.cores=4", "chip.cores_per_tile=1", "coherence.protocol=flask"]
    window = ["--trace", "--trace-cycles", "20000"]
    done = run(rubato_chip, settings, ["--no-ff", "--out", tmp_path, *window, guests / "deferred"])
    assert done.returncode == 0, done.stderr[-2000:]
    with gzip.open(tmp_path / "trace.json.gz", "rt") as file:
        events = [e for e in json.load(file)["traceEvents"]]
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    steps: dict[int, list[tuple[float, str, str]]] = {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") == "coherence":
            step = (e["args"]["cycle"], lanes[e["tid"]], e["name"])
            steps.setdefault(e["args"]["transaction"], []).append(step)
    ended = [sorted(s, key=lambda step: step[0]) for s in steps.values() if any(n == "unblock" for _, _, n in s)]
    by_memory = [s for s in ended if any(node == "memory" for _, node, _ in s)]
    assert by_memory
    for transaction in by_memory:
        assert [step[1:] for step in transaction][:2] == [
            ("caches", f"asks: {transaction[1][2]}"), ("home", transaction[1][2])]  # fmt: skip
        assert ("memory", "memory_read") in [step[1:] for step in transaction]
        assert ("caches", "tokens") in [step[1:] for step in transaction]
        assert transaction[-1][1:] == ("home", "unblock")
    flows = [e for e in events if e.get("name") == "transaction"]
    assert {e["ph"] for e in flows} == {"s", "t"}


def test_a_command_names_the_protocols_that_there_are(guests: Path, rubato_chip: Path) -> None:
    done = run(rubato_chip, ["coherence.protocol=dragon"], [guests / "hello"])
    assert done.returncode == 2
    assert "mesi" in done.stderr and "flask" in done.stderr


@pytest.mark.parametrize("threads", [16, 64])
def test_contended_lines_cost_about_as_much_by_messages(threads: int, guests: Path, rubato_chip: Path) -> None:
    """Readers of a line join each other, and contenders under tokenb wait for one round of messages a turn."""

    def cycles(protocol: str) -> list[int]:
        settings = [f"chip.cores={threads}", "chip.cores_per_tile=1", f"coherence.protocol={protocol}"]
        done = run(rubato_chip, settings, [guests / "barriers", str(threads)])
        assert done.returncode == 0, done.stderr[-2000:]
        return [int(line.split()[-2]) for line in done.stdout.splitlines()]

    of = {protocol: cycles(protocol) for protocol in ("mesi", *BY_MESSAGES)}
    barrier, readers = ({protocol: at[i] for protocol, at in of.items()} for i in (0, 1))
    assert barrier["tokenb"] <= 2 * barrier["flask"]
    for protocol in BY_MESSAGES:
        assert readers[protocol] <= 1.5 * readers["mesi"], protocol

"""A report's part on a protocol by messages: traffic, directories and filters, kinds of messages."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import rubato
from rubato import report
from rubato.report import coherence


def with_statistics(run: rubato.Run, statistics: dict[str, int]) -> None:
    file = run.directory / "stats.json"
    document = json.loads(file.read_text())
    document["roi"] |= statistics
    document["stats"] |= {
        re.sub(r"\.\d+\.", ".*.", path): {"unit": "flits", "description": "of a test"} for path in statistics
    }
    file.write_text(json.dumps(document))


def test_sums_over_tiles_and_only_what_the_protocol_has(home):
    run = rubato.run("sssp", cores=16, seed=1, out="runs/flask")
    with_statistics(
        run,
        {
            "coherence.messages.get_shared": 40, "coherence.messages.tally": 0, "coherence.messages.tokens": 41,
            "coherence.flit_hops.memory": 300, "coherence.flit_hops.coherence": 70,
            "tile.0.directory.probes": 3, "tile.1.directory.probes": 4, "tile.0.directory.false_positives": 2,
            "tile.0.filter.lines": 11, "tile.0.split.moves": 5, "tile.1.split.moves": 1,
        },
    )  # fmt: skip
    run = rubato.load(run.directory)
    assert coherence.messages(run) == {"get_shared": 40, "tokens": 41}
    assert coherence.flit_hops(run) == {"memory": 300, "coherence": 70}
    assert coherence.homes(run) == {
        "probes": 7, "false positives": 2, "lines in filters": 11, "moves of the split": 6,
    }  # fmt: skip

    report.write([Path("runs")], Path("report.html"))
    page = Path("report.html").read_text()
    card = page[page.index('id="coherence-0"') :].partition("</section>")[0]
    assert re.search(r"<td class=n>370</td><td class=n>81</td>", card), "all flit-hops, all messages"
    assert "false positives" in card
    assert "retries" not in re.sub(r"<h3>.*?</h3>", "", card), "flask has none"


def test_a_run_without_messages_has_no_such_section(home):
    rubato.run("sssp", cores=16, seed=1, out="runs/mesi")
    report.write([Path("runs")], Path("report.html"))
    assert "coherence-0" not in Path("report.html").read_text()

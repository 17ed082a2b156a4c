"""A report's part on capsules: a row for each, of the largest chip."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import rubato
from rubato import report


def with_capsules(run: rubato.Run, *rows: tuple[str, int, int, int, int]) -> None:
    file = run.directory / "stats.json"
    keys = ("capsule", "calls", "cycles", "doomed_calls", "doomed_cycles")
    document = json.loads(file.read_text()) | {"capsules": [dict(zip(keys, row, strict=True)) for row in rows]}
    file.write_text(json.dumps(document))


def test_the_capsule_that_took_longest_is_the_first(home):
    with_capsules(rubato.run("sssp", cores=4, seed=1, out="runs/four"), ("small", 1, 1, 0, 0))
    run = rubato.run("sssp", cores=16, seed=1, out="runs/sixteen")
    with_capsules(run, ("take", 2000, 3000, 0, 0), ("give", 10, 2500, 3, 1234))
    report.write([Path("runs")], Path("report.html"))
    page = Path("report.html").read_text()
    card = page[page.index('id="capsules-0"') :].partition("</section>")[0]
    rows = re.findall(r"<tr><td[^>]*>(\w+)</td>(.*?)</tr>", card)
    assert [name for name, _ in rows] == ["give", "take"]
    assert re.findall(r"<td class=n>([^<]*)</td>", rows[0][1]) == ["16", "10", "2,500", "250", "3", "1,234"]


def test_a_run_without_capsules_has_no_such_section(home):
    rubato.run("sssp", cores=16, seed=1, out="runs/plain")
    report.write([Path("runs")], Path("report.html"))
    assert "capsules-0" not in Path("report.html").read_text()

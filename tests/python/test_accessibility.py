"""axe-core finds nothing in any page of a report, in light and in dark, wide and narrow."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

import browser
import rubato
from rubato import report

axe_core = pytest.importorskip("axe_core_python", reason="needs axe-core-python, which tools/bootstrap installs")
pytestmark = pytest.mark.skipif(
    not (browser.CHROMIUM and browser.DRIVER), reason="needs chromium and chromedriver (apt install chromium-driver)"
)

#: What it finds as "rule: element", and how many rules passed, so that a page that is not judged does not pass.
JUDGE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then((r) => done(
  [r.violations.flatMap((v) => v.nodes.map((n) => `${v.id} (${v.impact}): ${n.html.slice(0, 160)}`)),
   r.passes.length]));
"""


@pytest.fixture
def page_with_everything(home) -> Path:
    """Two programs, modes, cores, a swept key, seeds, a trace, time series, a failed run."""
    guest = Path("other")
    guest.write_bytes((home / "guest/sssp").read_bytes())
    plan = {"cores": [1, 16], "mode": ["spec", "nonspec"], "set": {"l2.size": [65536, 262144]}, "seeds": 2}
    rubato.sweep({**plan, "program": ["sssp", str(guest)]}, out="study/swept")
    rubato.run("sssp", cores=16, seed=1, trace=True, interval=50_000, out="study/traced")
    rubato.run("sssp", cores=16, arguments=["--fail-check"], check=False, out="study/broken")
    report.write(["study"], Path("r.html"))
    return Path("r.html")


def test_axe_core_finds_nothing_in_a_report(page_with_everything):
    source = (resources.files(axe_core) / "axe.min.js").read_text(encoding="utf-8")
    with browser.Browser() as page:
        for dark, width in ((False, 1280), (True, 1280), (False, 390), (True, 390)):
            page.size(width, 900, dark=dark)
            page.load(page_with_everything)
            page.run("for (const d of document.querySelectorAll('details')) d.open = true")
            page.run(source)
            found, passed = page.wait_for(JUDGE)
            assert found == [] and passed > 20, f"dark={dark}, {width} px"

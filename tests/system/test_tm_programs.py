"""Our own transactional programs have no access without a barrier (T17)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from rubato.tm import check as tm_check


def test_the_conformance_tests_have_no_access_without_a_barrier(build: Path) -> None:
    program = build / "bin/test_tm_conformance"
    if not program.exists():
        pytest.skip(f"{program} was not built: there is no compiler for transactions")
    objects = sorted((build / "tests/tm").rglob("*.o"))
    transactional = [file for file in [program, *objects] if b"_ITM_beginTransaction" in file.read_bytes()]
    checked = [tm_check.check(file) for file in transactional]
    # Tests look at memory without barriers on purpose: by hand, and in structures that are passed by value.
    findings = [finding for result in checked for finding in result.findings]
    assert [finding for finding in findings if not finding.what.startswith(("plain load", "plain store"))] == []
    assert sum(result.transactions for result in checked) > 50

"""Systems that `make test` leaves out (tools/systems.py): unchanged since their tests passed, no others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The module, on a small repository of its own."""
    spec = importlib.util.spec_from_file_location("systems", ROOT / "tools" / "systems.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "systems", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    for file in ("tm/a.cpp", "chip/b.cpp", "tests/tm/c.cpp", "base/d.cpp", "tests/system/test_tm_x.py",
                 "tests/system/test_other.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("1\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RECORD", tmp_path / ".git" / "passed.json")
    return module


def changed(systems) -> set[str]:
    return set(systems.SYSTEMS) - systems.unchanged()


def passes(systems) -> None:
    systems.record({name: systems.fingerprint(system) for name, system in systems.SYSTEMS.items()})


def test_all_is_tested_where_nothing_has_passed(systems) -> None:
    assert changed(systems) == set(systems.SYSTEMS)
    systems.RECORD.write_text("not JSON")
    assert changed(systems) == set(systems.SYSTEMS)


@pytest.mark.parametrize(("file", "tested"), [
    ("tm/a.cpp", {"tm", "cached"}), ("tm/new.cpp", {"tm", "cached"}), ("tests/tm/c.cpp", {"tm"}),
    ("chip/b.cpp", {"chip"}), ("docs/e.md", set()),
    ("base/d.cpp", {"native", "chip", "actors", "tm", "cached"}),
])  # fmt: skip
def test_what_changed_is_tested_with_what_stands_on_it(file: str, tested: set[str], systems) -> None:
    passes(systems)
    assert changed(systems) == set()
    (systems.ROOT / file).parent.mkdir(exist_ok=True)
    (systems.ROOT / file).write_text("2\n")
    assert changed(systems) == tested


def test_a_removed_file_is_a_change(systems) -> None:
    passes(systems)
    (systems.ROOT / "chip" / "b.cpp").unlink()
    assert changed(systems) == {"chip"}


def test_the_files_of_a_system_are_left_out_and_no_others(systems) -> None:
    assert systems.pytest_files({"tm"}) == ["tests/system/test_tm_x.py"]
    assert systems.pytest_files(set()) == []


def test_each_system_has_tests_of_both_kinds(build: Path, systems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "ROOT", ROOT)
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True)
    labels = {label for test in json.loads(listing.stdout)["tests"] for each in test.get("properties", [])
              if each["name"] == "LABELS" for label in each["value"]}
    absent = set() if (build / "bin" / "rubato-cached").exists() else {"cached"}  # its libraries are not everywhere
    assert set(systems.SYSTEMS) - absent <= labels
    for name, system in systems.SYSTEMS.items():
        assert all(systems.pytest_files({name})), name
        missing = [folder for folder in system.folders if not (ROOT / folder).exists()]
        assert not missing, f"{name}: {missing}"
        unused = [p for p in system.pytest if not any((ROOT / "tests").glob(p + ("" if p.endswith(".py") else ".py")))]
        assert not unused, f"{name}: {unused}"

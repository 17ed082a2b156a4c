"""The configuration's keys, as rubato-chip declares them: the only place that knows them is the simulator."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rubato.errors import ExitCode, UsageError
from rubato.home import locate
from rubato.process.child import ask
from rubato.suggest import did_you_mean


@dataclass(frozen=True)
class Key:
    """One configuration key: what `rubato config explain` prints."""

    key: str
    type: str
    unit: str = ""
    default: Any = None
    range: Any = None
    choices: list[Any] | None = None
    description: str = ""
    source: str = ""  # where the default comes from
    automatic: bool = False  # whether it may be left to other keys


@functools.lru_cache(maxsize=4)
def _keys(chip: str, changed: float) -> dict[str, Key]:
    result = ask([chip, "--help-config", "--json"])
    if result.returncode != 0:
        raise UsageError(f"{chip} --help-config failed: {last_line(result.stderr)}")
    document = json.loads(result.stdout)
    if isinstance(document, dict):
        document = document["keys"]
    known = {f.name for f in fields(Key)}
    return {k["key"]: Key(**{name: v for name, v in k.items() if name in known}) for k in document}


def keys() -> dict[str, Key]:
    """Every key by name, in the order in which rubato-chip lists them."""
    chip = locate.chip()
    return _keys(str(chip), Path(chip).stat().st_mtime)


def key(name: str) -> Key:
    """@raises UsageError with near misses if there is no such key."""
    known = keys()
    if name in known:
        return known[name]
    hint = did_you_mean(name, known) or " `rubato config show` lists all keys."
    raise UsageError(f"there is no configuration key {name}.{hint}")


def check_settings(settings: list[str]) -> None:
    """Refuses KEY=VALUE pairs that are malformed or name no key; values are rubato-chip's to judge."""
    for setting in settings:
        name, equals, _ = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, such as l2.size=512KiB, not {setting}.")
        key(name)


def check_values(settings: Iterable[str], configs: Iterable[Path]) -> None:
    """Refuses KEY=VALUE pairs and chip descriptions that no chip can have: out of range, or no TOML. Whether a shape
    can be built is known only of all keys together: that a run says."""
    chip = str(locate.chip())
    for options in [*(["--set", setting] for setting in settings), *(["--config", str(c)] for c in configs)]:
        said = ask([chip, *options, "--show-config"])
        sentence = last_line(said.stderr)
        if said.returncode == ExitCode.USAGE and sentence.startswith(("--set ", f"{options[1]}:")):
            raise UsageError(sentence)


def last_line(text: str) -> str:
    """The last line that says something, without the program's name in front."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Run with --help ")]
    if not lines:
        return ""
    line = lines[-1]
    for prefix in ("rubato-chip: ", "error: "):
        line = line.removeprefix(prefix)
    return line

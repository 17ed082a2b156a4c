"""Reading TOML with errors that name file and line, its values as text, and tables with dotted keys."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rubato.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def load(path: Path) -> dict[str, Any]:
    """@raises UsageError naming the file, and the line where it is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist.") from None
    except OSError as e:
        raise UsageError(f"{path} cannot be read: {e.strerror or e}.") from None
    except UnicodeDecodeError as e:
        raise UsageError(f"{path} cannot be read: byte {e.start + 1} is not UTF-8, which TOML is written in.") from None
    except tomllib.TOMLDecodeError as e:
        raise UsageError(f"{path}: {e}.") from None


def text(value: Any) -> str:
    """A value as configurations and command lines have it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def flatten(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"l2": {"size": 1}} becomes {"l2.size": 1}."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat

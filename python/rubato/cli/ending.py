"""How a command ends, whichever it is: one sentence and the right exit code for every error, silence for a closed pipe.

Imports nothing that takes time.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import json
import os
import sys

from rubato.errors import ExitCode, RubatoError
from rubato.process.child import interrupts

TYPE_CHECKING = False  # as typing's, whose import takes time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


#: Folders that commands make in the current one.
_OURS = ("runs",)


def interrupt(number: int, _: Any) -> None:
    """The handler while a command runs: what was started is stopped, what is half written is marked."""
    interrupts.append(number)
    raise KeyboardInterrupt


def ended(command: Callable[[], object], *, wants_json: bool) -> int:
    """Calls `command`: its exit code. `wants_json`: what fails is told as an object on standard output, too."""
    try:
        result = command()
    except RubatoError as e:
        return _fail(str(e), e.exit_code, wants_json)
    except KeyboardInterrupt:
        return _fail("interrupted.", ExitCode.INTERRUPTED, wants_json)
    except BrokenPipeError:
        return _end_quietly()
    except SystemExit as e:  # typer and rich make this of a closed pipe
        if isinstance(e.__context__, BrokenPipeError):
            return _end_quietly()
        raise
    except Exception as e:
        if os.environ.get("RUBATO_TRACEBACK"):
            raise
        if isinstance(e, OSError):
            what = e.filename if e.filename is not None else "the output cannot be written"
            hint = "; name another folder by --out" if isinstance(e, PermissionError) and str(what) in _OURS else ""
            return _fail(f"{what}: {e.strerror or e}{hint}.", ExitCode.USAGE, wants_json)
        sentence = f"a fault of Rubato itself: {type(e).__name__}: {e} (RUBATO_TRACEBACK=1 shows where)."
        return _fail(sentence, ExitCode.INTERNAL, wants_json)
    return int(result) if isinstance(result, int) else 0


def _end_quietly() -> int:
    """Whoever read our output has enough: ends as other tools do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _fail(sentence: str, code: int, wants_json: bool) -> int:
    """Says why. Where nobody can be told, the exit code remains."""
    if wants_json:
        with contextlib.suppress(OSError):
            print(json.dumps({"error": sentence, "exit_code": int(code)}), flush=True)
    is_coloured = sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    name = "\x1b[1;31mrubato:\x1b[0m" if is_coloured and os.environ.get("TERM") != "dumb" else "rubato:"
    with contextlib.suppress(OSError):
        print(f"{name} {sentence}", file=sys.stderr, flush=True)
    return int(code)

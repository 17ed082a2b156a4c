"""What `rubato --help` prints: a page that teaches, at once. Importing the parser and every command takes ten times as
long as printing it, so it is text; a test compares it with what the parser knows.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

PURPOSE = "Run task-parallel programs on simulated many-core chips, and see what the chips did."
EXAMPLES = """\
  rubato apps                                 the applications
  rubato run sssp --cores 64                  shortest paths on a 64-core chip
  rubato sweep --program sssp --cores 1,4,16,64 --mode nonspec,mayspec --out study
  rubato report study                         one HTML file with speed-up curves and breakdowns
"""
EXIT_CODES = """\
Exit codes: 0 success, 1 the program's check failed, 2 wrong usage or configuration, 3 the simulated program
faulted, 4 no progress or out of time, 130 interrupted.
"""
#: The first words of each command's own help.
COMMANDS = {
    "run": "Run one program on a simulated chip, or on this machine, and summarize what happened.",
    "repeat": "Run again what a run directory says, where it ran, and say whether the results are the same.",
    "sweep": "Run every combination of cores, modes, seeds and settings; finished runs are never lost or repeated.",
    "report": "Write one self-contained HTML file: speed-up, cycles, traffic, queues, timeline.",
    "export": "Write results as a table, CSV or Parquet: a row a run with what differs between runs and its numbers.",
    "compare": "Show what differs between two runs: configuration, metrics, then statistics by size of change.",
    "apps": "List the applications, or show one's inputs, options and source.",
    "config": "Show, check and explain chip configurations.",
    "doctor": "Check what is installed, what is missing, and how to get it.",
    "tm": "Check and profile transactional programs.",
}
OPTIONS = {
    "--version": "Print the version.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the installation.",
    "-h, --help": "Show this message and exit.",
}


def _listed(rows: dict[str, str], width: int) -> str:
    """Two columns, the second wrapped at `width`."""
    import textwrap

    first = max(map(len, rows))
    lines = []
    for name, text in rows.items():
        wrapped = textwrap.wrap(text, max(20, width - first - 4))
        lines.append(f"  {name:{first}}  {wrapped[0]}")
        lines += [" " * (first + 4) + line for line in wrapped[1:]]
    return "\n".join(lines) + "\n"


def text(width: int) -> str:
    """The page, for a terminal of `width` columns; lines that are to be typed are not broken."""
    import textwrap

    purpose = textwrap.fill(PURPOSE, width)
    codes = textwrap.fill(EXIT_CODES.replace("\n", " "), width)
    return (
        f"Usage: rubato [OPTIONS] COMMAND [ARGS]...\n\n{purpose}\n\nStart here:\n{EXAMPLES}\n"
        f"Commands (each has --help):\n{_listed(COMMANDS, width)}\nOptions:\n{_listed(OPTIONS, width)}\n{codes}\n"
    )


def show() -> None:
    import shutil

    print(text(min(shutil.get_terminal_size((100, 24)).columns, 120)), end="", flush=True)


def show_version() -> None:
    import rubato

    print(f"rubato {rubato.__version__}", flush=True)

"""The command line. Commands are thin over the Python API: they parse, call, and print."""

# SPDX-License-Identifier: MIT
from rubato.cli import inspect_commands, report_commands, run_command, sweep_command  # noqa: F401 (they register)
from rubato.cli.app import app, call, main

__all__ = ["app", "call", "main"]

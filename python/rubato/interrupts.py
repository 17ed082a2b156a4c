"""The signals that end a command or a run as Ctrl-C does. Imports nothing slow: see rubato/cli/__init__.py."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import signal

#: Batch systems send SIGTERM; SIGHUP is a lost connection.
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

"""What this machine has for new processes, within the limits of a container."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import platform
from pathlib import Path

MB = 1 << 20


def available_mb() -> float:
    """MB that new processes may take: what the kernel calls available, within the limits of the container."""
    fields = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        fields[name] = value
    free = int(fields["MemAvailable"].split()[0]) / 1024
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            text = Path("/sys/fs/cgroup", limit).read_text().strip()
            if text.isdigit():
                free = min(free, (int(text) - int(Path("/sys/fs/cgroup", used).read_text())) / MB)
        except OSError:
            continue
    return free


def cpu_name() -> str:
    """The processor's model, as it calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "an unknown processor"


def processors() -> int:
    """Processors this process may use, quotas of the container included; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            count = min(count, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return max(1, count)

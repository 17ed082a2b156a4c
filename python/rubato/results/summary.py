"""The summary of a run: the stable keys of `rubato run --json` (docs/cli.md)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

#: Order and names in which every output shows them (C23, C22).
CYCLE_CLASSES = ("nonspeculative", "committed", "aborted", "spill", "stall", "idle")
#: Classes as people see them: the cycles without a task are split where the throttle held tasks back.
SHOWN_CLASSES = (*CYCLE_CLASSES, "held_back")
TRAFFIC_CLASSES = ("memory", "abort", "task", "virtual_time", "coherence")


def shown_shares(breakdown: dict[str, float], held_back: float, core_cycles: float) -> dict[str, float]:
    """Fractions by SHOWN_CLASSES, of fractions by CYCLE_CLASSES: `held_back` core cycles are taken out of `idle`."""
    share = min(held_back / core_cycles, breakdown["idle"]) if core_cycles else 0.0
    return breakdown | {"idle": breakdown["idle"] - share, "held_back": share}


class _Section(BaseModel):
    model_config = ConfigDict(extra="allow")


class Tasks(_Section):
    created: int = 0
    committed: int = 0
    aborted: int = 0
    nonspeculative: int = 0
    spilled: int = 0
    promoted: int = 0
    held_back: int = 0  #: core cycles without work while `task.throttle` kept tasks from speculating


class SuspendedAttempts(_Section):
    """Attempts, and doomed runs, that left their cores, waiting in a capsule's system call."""

    count: int = 0
    cycles: int = 0  #: that they waited, all together
    doomed: int = 0  #: attempts aborted meanwhile


class CycleBreakdown(_Section):
    """Fractions of all core cycles of the region of interest; they add to 1."""

    nonspeculative: float = 0
    committed: float = 0
    aborted: float = 0
    spill: float = 0
    stall: float = 0
    idle: float = 0


class NetworkBytes(_Section):
    memory: int = 0
    abort: int = 0
    task: int = 0
    virtual_time: int = 0
    coherence: int = 0


class Disk(_Section):
    """Requests of files on the simulated disk, in the region of interest."""

    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    busy_cycles: int = 0


class LongTask(_Section):
    """A task function, and how often its tasks kept a worker for over 10 ms."""

    function: str
    count: int
    longest_seconds: float


class LongTasks(_Section):
    """Of a native run: `count` of all, and their functions, the longest first, of very many only the first."""

    count: int = 0
    functions: list[LongTask] = Field(default_factory=list)


class Actors(_Section):
    """Of a native run with actors."""

    spawned: int = 0
    messages: int = 0
    dead_letters: int = 0


class Lagging(_Section):
    """Of a native run that waited before workers slept (`waits`) or before actors gave up a turn (`turn_waits`): the
    share of waits in which something came, their share of the workers' time, and what giving up costs."""

    waits: int = 0
    turn_waits: int = 0
    hit_share: float = 0
    time_share: float = 0
    switch_ns: float = 0
    turn_switch_ns: float = 0


class Prefetches(_Section):
    """Of the L1Ds' hardware prefetchers, in the region of interest."""

    issued: int = 0
    dropped: int = 0
    useful: int = 0
    late: int = 0
    useless: int = 0
    uncovered: int = 0
    accuracy: float = 0  #: useful / issued
    coverage: float = 0  #: useful / (useful + uncovered)


class L2Use(_Section):
    misses: int = 0


class LlcUse(_Section):
    """Of one program's lines: those that it asked for, and those that made room."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    displaced: int = 0  #: evictions that made room for another program's line
    lines: int = 0  #: in the LLC at the end

    @property
    def miss_rate(self) -> float | None:
        return self.misses / (self.hits + self.misses) if self.hits + self.misses else None


class MemoryUse(_Section):
    reads: int = 0
    writes: int = 0


class Caches(_Section):
    l2: L2Use = Field(default_factory=L2Use)
    llc: LlcUse = Field(default_factory=LlcUse)
    mem: MemoryUse = Field(default_factory=MemoryUse)


class ProgramPart(_Section):
    """One of several programs side by side, to its own end."""

    program: str
    cores: str = ""  #: such as "4-7"
    cycles: int = 0
    instructions: int = 0
    fast_forward_instructions: int = 0
    caches: Caches | None = None
    exit_code: int = 0

    @property
    def mpki(self) -> float | None:
        """LLC misses in 1000 instructions."""
        return 1000 * self.caches.llc.misses / self.instructions if self.caches and self.instructions else None


class Host(_Section):
    seconds: float = 0
    mips: float | None = None
    peak_mb: float = 0


class Summary(_Section):
    """What one run came to. On the chip `seconds` is simulated time; on host engines it was measured, and what
    only a simulator knows (cycles, instructions, their breakdown, network bytes) is null, and so is the mode of a
    program that gives its tasks their types itself; on the chip `long_tasks` is. `host` is what the run cost here."""

    program: str
    engine: Literal["chip", "native", "serial"] = "chip"
    cores: int
    mode: str | None = "mayspec"
    seed: int = 1
    cycles: int | None = None
    seconds: float = 0
    instructions: int | None = None
    tasks: Tasks = Field(default_factory=Tasks)
    suspended_attempts: SuspendedAttempts = Field(default_factory=SuspendedAttempts)
    cycle_breakdown: CycleBreakdown | None = None
    network_bytes: NetworkBytes | None = None
    prefetches: Prefetches | None = None
    disk: Disk | None = None
    check: Literal["passed", "failed", "none"] = "none"
    long_tasks: LongTasks | None = None
    actors: Actors | None = None
    lagging: Lagging | None = None
    mean_program_cycles: float | None = None
    programs: list[ProgramPart] = Field(default_factory=list)
    host: Host = Field(default_factory=Host)
    output: str = ""
    exit_code: int = 0
    complete: bool = True
    message: str = ""

    @property
    def time(self) -> float:
        """What runs of one engine are compared by: cycles on the chip, seconds natively."""
        return self.seconds if self.cycles is None else self.cycles

    @property
    def cycle_shares(self) -> dict[str, float]:
        """Fractions of all core cycles by SHOWN_CLASSES, all 0 where nothing was simulated in detail."""
        breakdown = self.cycle_breakdown or CycleBreakdown()
        fractions = {c: getattr(breakdown, c) for c in CYCLE_CLASSES}
        return shown_shares(fractions, self.tasks.held_back, self.cores * (self.cycles or 0))

    @property
    def name(self) -> str:
        """The program without its folders."""
        return Path(self.program).name

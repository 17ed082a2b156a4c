// The chip's parts in the order of their construction, and the course of a run: which part is asked when.
// Running is in chip.cpp, and task regions are in chip_regions.cpp. The ways of programs to their regions and
// out of them are in chip_programs.cpp. Interfaces to cores, task units and programs are in chip_sides.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "chip/capsule/capsule_calls.hpp"
#include "chip/chip.hpp"
#include "chip/chip_debug.hpp"
#include "chip/chip_sides.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/conflict/conflict_scheme.hpp"
#include "chip/core/core.hpp"
#include "chip/core/line_blocks.hpp"
#include "chip/core/line_contention.hpp"
#include "chip/isa/task_instructions.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/os/fault_report.hpp"
#include "chip/program/heap_bridge.hpp"
#include "chip/program/markers.hpp"
#include "chip/program/program.hpp"
#include "chip/program/programs.hpp"
#include "chip/program/task_region.hpp"
#include "chip/program/tasks_outside.hpp"
#include "chip/program/threads_on_cores.hpp"
#include "chip/program/timeouts.hpp"
#include "chip/replay/run_checkers.hpp"
#include "chip/task/task_observers.hpp"
#include "chip/task/task_units.hpp"
#include "chip/time/call_clock.hpp"
#include "chip/time/run_clock.hpp"
#include "chip/time/timeline.hpp"

namespace rubato::chip {

/// Undo logs lie behind the spill areas, which lie behind the guest's memory: 1 Mi entries a core.
inline constexpr std::uint64_t kLogBytes = 1 << 24;
inline constexpr Addr kLogBase = HandlerArea::kBase - kMaxCores * kLogBytes;

struct Chip::Impl final : EventHandler {
  /// The payload of the last two is a program's number.
  enum Event : std::uint32_t { kRegionEnd, kEnterRegion, kMarkedEnd, kProgramOver };

  Impl(const Config& c, std::vector<ProgramPlace> places);
  void add_checkers();
  void make_cores();
  void register_stats();

  // ---- Running ----

  RunOutcome run();
  /// Detailed simulation until the region or the run ends.
  void simulate();
  /// Nothing can proceed any longer: ends the waits of doomed runs, which hold workers and the region's end
  /// (P40), lets tasks start beside suspended ones, or ends the run.
  void resolve_standstill();
  /// A look at the run is due at `now`.
  void look(RunClock::Look due, Cycle now);
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t number) override;

  /// Fast-forward until the region of interest, the next task instruction or the end.
  void skip_ahead(Program& program);
  void task_instruction(Program& program, Thread& thread, const isa::Insn& insn);

  /// `program` is at its region of interest, which `caller` may just have called. When no program is on the
  /// way to its region any longer, detail begins.
  void arrive(Program& program, const Thread* caller = nullptr);
  /// From here on every thread of the programs that are there runs on a core; if it just called the region
  /// of interest, until that returns.
  void begin_detail();
  /// Its threads leave their cores; the last one to leave ends the detail.
  void leave_detail_of(Program& program, Cycle now);

  // ---- Its end ----

  void end(RunOutcome o) {
    if (!outcome) outcome = std::move(o);
  }
  /// The program has ended so; the run does when all have.
  void finish(Program& program, RunOutcome o);
  /// @param task of the thread, if it runs one
  void report_fault(Program& program, const Thread& thread, const Fault& fault,
                    const TaskDescriptor* task = nullptr) {
    finish(program, {ExitCode::guest_fault,
                     128 + signal_of(fault.kind),
                     describe(fault, thread, program.process, task),
                     {}});
  }
  /// Nothing will ever happen again: to those in detail, or in fast-forward to this program.
  void no_progress();
  void no_progress(Program& program);
  std::string describe_waiting() const;
  void finish_account();

  // ---- Looks ----

  Progress progress() const;
  void report_progress();
  /// Brings every statistic up to date at a cycle that all cores have reached or wait at.
  void settle(Cycle now);
  /// The debugger's answer to a fault of `thread`. True: the thread goes on with its registers, or the run
  /// has ended.
  bool is_debugged(Thread& thread, const Fault& fault);
  void attach(GdbServer& server);
  void observe_instructions(InstructionObserver& watcher);
  void observe_tasks(TaskObserver& watcher) {
    observers.add(watcher);
    task_units.observe(&observers);
  }

  // ---- System calls ----

  /// Waits of `program` for a time that has come end.
  void expire_timeouts(Program& program, Cycle now);
  /// Pages that were unmapped or changed rights leave the caches: what hits an L1 is not checked again.
  void forget_changed_pages(Program& program);

  // ---- Task regions (C7) ----

  void region_instruction(Thread& thread, bool worker, Cycle now);
  /// Waits while workers are missing that others may still become.
  void enter_region(Thread& thread, Cycle now);
  void begin_region(Thread& thread, Cycle now);
  void finish_region(Cycle now);

  const Config config;
  CoreSide core_side{*this};
  TaskSide task_side{*this};
  ProgramSide program_side{*this};
  Timeline timeline;
  RunClock clock{timeline};
  CallClock call_clock{timeline};
  CapsuleCalls capsule_calls;
  CycleAccount account;
  StatRegistry registry;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<ConflictScheme> conflicts;
  std::unique_ptr<MemoryHierarchy> hierarchy;
  Programs programs;
  TaskUnits task_units;
  TaskObservers observers;
  RunCheckers checkers;
  std::optional<LineContention> contention;  // run.contention
  std::optional<LineBlocks> line_blocks;     // the same
  std::optional<ChipDebug> debug;
  std::optional<InstructionObservers> instructions;
  Cores cores;
  ThreadsOnCores threads{cores,
                         programs,
                         account,
                         timeline,
                         call_clock,
                         config.run.time_slice,
                         [this](Core& core, const Program& program, const GuestSpace* space) {
                           hierarchy->enter_program(core.id(),
                                                    space != nullptr ? space->number : program.number);
                           if (contention) contention->leave_out(core.id(), space != nullptr);
                         }};
  TaskRegion region{config, programs.sole().memory, *hierarchy};
  TasksOutside tasks_outside{config, task_units, region.wanted_workers(), programs.is_shared()};
  HeapBridge heap{checkers};
  Markers markers;
  Timeouts timeouts{timeline, programs, config.chip.frequency_mhz,
                    [this](Program& program, Cycle now) { expire_timeouts(program, now); }};
  std::optional<RunOutcome> outcome;  // unset: the run goes on
  std::string_view untasked_mode;     // see Program
  bool detailed = false;              // else fast-forward
  std::uint64_t cycles = 0;
};

}  // namespace rubato::chip

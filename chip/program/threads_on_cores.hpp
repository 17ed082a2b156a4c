// Threads of ordinary programs on the cores of a chip in detail (C3): which thread a free core is given, what
// becomes of it at the end of its slice, and what the profile of threads sees of that. ThreadScheduler
// chooses the next of the waiting threads; Programs says when a program is in detail at all.
//
// Invariant: a runnable thread of a program in detail is on one core, or waits in the program's scheduler
// once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chip/core/core.hpp"
#include "chip/os/guest_space.hpp"
#include "chip/os/lock_tickets.hpp"
#include "chip/program/programs.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/time/call_clock.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

using Cores = std::vector<std::unique_ptr<Core>>;

class ThreadsOnCores {
 public:
  /// Before `core` runs a process in `space`, null: in the program's own memory.
  using EnterSpace = std::function<void(Core& core, const Program&, const GuestSpace* space)>;

  /// All outlive it. `slice`: run.time_slice.
  ThreadsOnCores(const Cores& cores, const Programs& programs, const CycleAccount& account,
                 const Timeline& timeline, CallClock& call_clock, Latency slice, EnterSpace enter_space = {})
      : cores_(cores),
        programs_(programs),
        account_(account),
        timeline_(timeline),
        call_clock_(call_clock),
        slice_(slice),
        enter_space_(std::move(enter_space)) {}

  std::span<const std::unique_ptr<Core>> of(const Program& program) const {
    return std::span(cores_).subspan(program.place.first_core, program.place.cores);
  }

  // ---- A program in detail ----

  /// Detail begins for `program`. If a thread has just called the region of interest, its cores watch for the
  /// return of that call.
  void enter(Program& program);
  /// Its blocked threads wait from `now` on, as far as the profile knows.
  void begin_profile(Program& program, Cycle now);
  /// Its threads leave its cores. @returns the cycle that those have come to; of a program alone, that all
  /// have.
  Cycle leave(Program& program, Cycle now);
  void stop_profile(Program& program, Cycle now);

  // ---- Dispatch ----

  bool is_on_core(const Thread& thread) const;
  /// `thread` may run: it waits for a core, and one that is idle looks for it.
  void add(Program& program, Thread& thread);

  enum class Given : std::uint8_t { thread, none, program_exited };
  /// The idle `core` is given a thread of its program, which is in detail. Signals are delivered to it first,
  /// which may end the program.
  Given give(Core& core, Cycle now);

  /// The slice of the thread on `core` has ended: it stays if no other may run there, and else takes turns.
  void end_slice(Core& core, Cycle now);
  /// Something is due that only a switch serves: the slice of `thread`, if it is on a core, ends now.
  void cut_slice(const Thread& thread);

  /// `thread` has left `core`: its call waits or has ended it.
  void left(Core& core, const Thread& thread, Cycle now);
  /// The same, for a task region.
  void left_for_region(Core& core, const Thread& thread, Cycle now);

  /// The thread goes on in other memory: it waits for a core again.
  void moved(Core& core, Thread& thread, Cycle now);
  /// A thread that may be on a core, or wait for one, has ended by what another did.
  void ended(Program& program, Thread& thread);

  // ---- Processes ----

  /// The process whose memory `core` has: null: the first.
  GuestSpace* space_of(CoreId core) const { return spaces_.empty() ? nullptr : spaces_[core.value]; }
  /// No core keeps `space`, which no thread is in.
  void forget(Program& program, const GuestSpace& space);

  // ---- What cores are at ----

  /// For the profile: where every core is that runs a thread or a task.
  void sample();
  LockTickets::Runner runner_of(CoreId core) const;
  /// A line for each core that runs a thread or a guest task.
  std::string describe() const;
  std::uint64_t instructions() const;
  std::uint64_t instructions(const Program& program) const;
  /// The latest cycle that a core, or the timeline, has come to.
  Cycle reached() const;

 private:
  /// The cycles of `core` that the profile of threads divides.
  const ThreadProfile::Parts& parts_of(CoreId core) const {
    return account_.of_core(core).cells[static_cast<unsigned>(CycleClass::nonspeculative)];
  }
  void wake_idle(const Program& program);
  void enter_space(Core& core, Program& program, GuestSpace* space);

  const Cores& cores_;
  const Programs& programs_;
  const CycleAccount& account_;
  const Timeline& timeline_;
  CallClock& call_clock_;
  const Latency slice_;
  const EnterSpace enter_space_;
  std::vector<GuestSpace*> spaces_;  // by core; empty: all null
};

}  // namespace rubato::chip

// The owner of the tasks, as conflict detection sees it: it aborts attempts and knows what the arbiter is
// about to decide. Implemented by the task units. Espresso, Sec. V-A, V-B "Conflicts"; C12, C14.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "chip/speculation/attempt.hpp"

namespace rubato::chip {

/// Why a task was aborted (C25).
enum class AbortCause : std::uint8_t {
  conflict,      ///< an earlier or non-speculative access met its read or write set
  parent,        ///< its parent was aborted
  dependence,    ///< it used data of a task that was aborted
  locale,        ///< an earlier task needed its locale
  preempted,     ///< an earlier task needed its core
  commit_queue,  ///< an earlier finished task needed its commit-queue entry
  task_queue,    ///< an earlier task needed its task-queue entry
  forwarding,    ///< it met an earlier task's uncommitted write (conflict.forwarding=abort)
  exception,     ///< it stopped at what only a non-speculative task may do
  mapping,       ///< a system call changed the mapping of pages it had accessed
};
inline constexpr unsigned kAbortCauses = 10;
constexpr std::string_view name_of(AbortCause cause) {
  constexpr std::string_view names[] = {"conflict",     "parent",     "dependence", "locale",    "preempted",
                                        "commit_queue", "task_queue", "forwarding", "exception", "mapping"};
  return names[static_cast<unsigned>(cause)];
}

struct AbortReason {
  AbortCause cause = AbortCause::conflict;
  LineAddr line{};                ///< of a conflict
  CoreId by{};                    ///< the core whose action aborts
  const Task* by_task = nullptr;  ///< the task it runs; null: none
  Timestamp speculates_from = 0;  ///< the victims' Task::speculates_from
};

class Aborter {
 public:
  virtual ~Aborter() = default;
  /// Aborts `victims` (running, finished or exceptioned attempts, none later decided to commit), their
  /// children and all that depended on them; memory is restored when this returns.
  virtual void abort(std::span<Attempt* const> victims, const AbortReason& reason, Cycle now) = 0;
  /// True if the attempt has finished and the arbiter may be deciding that it commits: a non-speculative
  /// access waits.
  virtual bool is_fate_pending(const Attempt& attempt) const = 0;
  /// True if the last round decided that the attempt commits. Its tile may not know that yet, and no part of
  /// the chip knows it earlier. For effects that the model applies at once and that cannot wait (C18).
  virtual bool is_decided(const Attempt& attempt) const = 0;
  /// `core`'s access was blocked by an attempt whose fate is pending or (conflict.forwarding=stall) by an
  /// earlier writer: it is woken when attempts commit or abort.
  virtual void wait_for_fate(CoreId core) = 0;
  /// The GVT as `tile` knows it: older canaries are void.
  virtual VirtualTime gvt_at(TileId tile) const = 0;
};

}  // namespace rubato::chip

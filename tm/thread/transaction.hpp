// The life of a transaction: begin, commit, cancel, restart, and the change to irrevocable (section 3 of the
// rules).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tm/thread/thread.hpp"

namespace rubato::tm {

/// The compiler's statements about a transaction (T13).
struct Property {
  static constexpr std::uint32_t kInstrumented = 0x1, kUninstrumented = 0x2, kNoAbort = 0x8,
                                 kGoesIrrevocable = 0x40, kUndoLogCode = 0x400;
};
/// The answer of begin.
struct Answer {
  static constexpr std::uint32_t kRunInstrumented = 1, kRunUninstrumented = 2, kSaveLive = 4,
                                 kRestoreLive = 8, kCancelled = 16;
};
/// Why a program aborts (T22).
struct AbortReason {
  static constexpr std::uint32_t kCancel = 1, kRetry = 2, kOuter = 16;
};

/// Starts an attempt of the outermost transaction: enters the gate or takes the serial lock.
void start_attempt(Thread& thread);
/// The code that runs, without the bits of a restart.
std::uint32_t choose_path(const Thread& thread, std::uint32_t properties);
/// The barriers of irrevocable code: with an undo log where a nested transaction can be cancelled.
void choose_irrevocable_barriers(Thread& thread);

/// Ends the innermost transaction. `exception`: which leaves it, or null.
void commit(Thread& thread, void* exception);

/// Undoes everything and runs the outermost transaction again. `subject`: a function without a clone, or
/// null.
[[noreturn]] void restart(Thread& thread, Cause cause, const void* subject = nullptr);
/// Undoes the innermost transaction, or with AbortReason::kOuter all, and goes on behind it.
[[noreturn]] void cancel(Thread& thread, std::uint32_t reason);
/// Restores memory that was written in place, down to a savepoint or to the beginning.
void restore_memory(Thread& thread, const Savepoint* savepoint);

/// From here on the transaction cannot be undone; restarts it serially if that is not possible where it is
/// (T27). `subject`: the function without a clone that is called, or null.
void become_irrevocable(Thread& thread, const void* subject = nullptr);

/// Shows what the transaction has read to those that write. False: that is not valid any more, or is nothing.
bool watch_reads(Thread& thread);
/// Wakes those that wait for what the transaction has written, which ran as `mode`.
void wake_watchers(Thread& thread, Mode mode);

/// May a nested transaction, or the whole, be cancelled by the program from here on?
bool can_cancel(const Thread& thread);
/// May anything that follows be undone?
bool can_be_undone(const Thread& thread);

/// Lets go of gate or serial lock.
void leave_transaction(Thread& thread);
/// Empties all logs.
void clear_logs(Thread& thread);

}  // namespace rubato::tm

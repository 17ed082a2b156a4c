// SPDX-License-Identifier: MIT
#include "tm/algorithm/rtm.hpp"
#include "tm/choice/adaptive.hpp"
#include "tm/failure.hpp"
#include "tm/profile/profile.hpp"
#include "tm/thread/options.hpp"
#include "tm/thread/records.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {
namespace {

/// At every 1,024th commit, with a profile at each, and as often as adapt() asks for.
[[gnu::noinline]] void keep_up(Thread& thread, Mode mode) {
  if (thread.profile != nullptr) thread.profile->commit(thread, mode);
  if (options.is_adaptive) adapt(thread);
  if (__builtin_expect(clock_of_commits.is_era_over(), false)) begin_era(thread);
  if ((thread.committed.load(std::memory_order_relaxed) & kUpkeepMask) != 0) return;
  if (thread.profile != nullptr) profile::note_time();
  thread.undo.shrink();
  thread.reads.shrink();
  thread.locked.shrink();
  thread.values.shrink();
  thread.writes.shrink();
}

[[gnu::always_inline]] inline void end_attempt(Thread& thread) {
  thread.nesting = 0;
  thread.mode = Mode::outside;
  thread.id = 0;
  add_one(thread.committed);
}

/// Actions may run transactions: nothing of the ended one is left when they run.
[[gnu::noinline]] void run_commit_actions(Thread& thread) {
  RunningActions actions(thread.commit_actions);
  Allocations frees = thread.allocations.take();
  actions.run_in_order();
  frees.commit();
  frees.destroy();
}

}  // namespace

void leave_transaction(Thread& thread) {
  if (shared.gate.is_inside(thread.line)) {  // concurrent, or alone with the gate biased to it
    shared.gate.leave(thread.line);
  } else {
    if (thread.has_closed_gate) {
      thread.has_closed_gate = false;
      shared.gate.open();
    }
    shared.gate.unlock();
  }
}

void clear_logs(Thread& thread) {
  thread.undo.clear();
  thread.reads.clear();
  thread.locked.clear();
  thread.values.clear();
  thread.writes.clear();
  thread.has_locked_stack = false;
  thread.savepoints.clear();
  thread.next_checkpoint = thread.checkpoints;
}

/// The same for a transaction that has no logs and holds nothing.
void commit_in_hardware(Thread& thread) {
  const std::uint64_t time = hybrid.pass();
  const bool is_watched = shared.watches.any();
  Hardware::commit();
  thread.hardware.committed();
  end_attempt(thread);
  thread.algorithm = thread.algorithms[Regime::kHardware];
  thread.has_tail = false;
  thread.undo_actions.clear();
  if (__builtin_expect(time != 0, false)) {  // software transactions may still read what it made private
    thread.commit_time = time;
    thread.was_read_only = false;
    thread.algorithm->quiesce(thread);
  }
  if (__builtin_expect(is_watched, false)) wake_watchers(thread, Mode::hardware);
  if (__builtin_expect((thread.committed.load(std::memory_order_relaxed) & thread.upkeep_mask) == 0, false))
    keep_up(thread, Mode::hardware);
  if (__builtin_expect(!thread.commit_actions.empty() || !thread.allocations.empty(), false))
    run_commit_actions(thread);
}

/// Whether the commit only has to publish the writes and let others in. False if actions, allocations or
/// threads that wait for a condition need care, or upkeep is due.
[[gnu::always_inline]] inline bool is_simple(const Thread& thread) {
  const std::uint64_t committed = thread.committed.load(std::memory_order_relaxed) + 1;
  return thread.nesting == 1 && (committed & thread.upkeep_mask) != 0 && !shared.watches.any() &&
         !thread.has_tail;
}

[[gnu::noinline]] void commit_generally(Thread& thread, void* exception) {
  if (thread.mode == Mode::hardware && thread.nesting == 1) return commit_in_hardware(thread);
  if (__builtin_expect(thread.nesting != 1, false)) {
    if (thread.nesting == 0) fatal("a transaction is committed, but none has begun");
    if (thread.has_open_savepoint() &&
        thread.savepoints.back().nesting == thread.nesting) {  // it becomes part of the outer
      const Savepoint& savepoint = thread.savepoints.back();
      thread.properties = savepoint.properties;
      thread.id = savepoint.id;
      const std::size_t mark = savepoint.writes;
      thread.savepoints.pop();
      thread.next_checkpoint = thread.checkpoints + thread.savepoints.size() + 1;
      if (thread.mode == Mode::concurrent) thread.algorithm->close_savepoint(thread, mark);
      if (thread.mode == Mode::irrevocable) {
        // The nested transaction's writes are part of an irrevocable transaction now, unless another
        // savepoint is open.
        choose_irrevocable_barriers(thread);
        if (thread.barriers == &kPlainBarriers) thread.undo.clear();
      }
    }
    --thread.nesting;
    return;
  }
  // 1. The writes become visible, or the transaction has to run again.
  const Mode mode = thread.mode;
  const bool is_concurrent = mode == Mode::concurrent;
  if (exception != nullptr && is_concurrent) thread.exceptions.note(exception);  // the commit may fail
  if (is_concurrent && !thread.algorithm->commit(thread)) restart(thread, Cause::invalid_commit);
  // 2. Others may go on.
  const bool has_logs = thread.is_undoable();
  leave_transaction(thread);
  end_attempt(thread);
  thread.next_checkpoint = thread.checkpoints;
  thread.barriers = &kPlainBarriers;
  thread.start_as_usual();
  thread.aborts_in_a_row = 0;
  if (__builtin_expect(shared.watches.any(), false)) wake_watchers(thread, mode);
  if (has_logs) clear_logs(thread);
  thread.exceptions.commit();
  if (thread.holds_hourglass) {
    thread.holds_hourglass = false;
    shared.gate.release();
  }
  // 3. After this no other transaction can touch memory that became private.
  if (is_concurrent) thread.algorithm->quiesce(thread);
  // 4. Before actions, which may run transactions of their own.
  if (__builtin_expect((thread.committed.load(std::memory_order_relaxed) & thread.upkeep_mask) == 0, false))
    keep_up(thread, mode);
  // 5. Actions, then frees.
  thread.has_tail = false;
  thread.undo_actions.clear();
  if (__builtin_expect(!thread.commit_actions.empty(), false)) {
    run_commit_actions(thread);
  } else {
    thread.allocations.commit();
  }
}

/// A simple one that is not in hardware.
[[gnu::noinline]] void commit_alone(Thread& thread) {
  // With the serial lock, or the gate that is biased to it, and nothing else.
  const bool is_just_alone = thread.mode == Mode::irrevocable && !thread.has_closed_gate &&
                             !thread.holds_hourglass && (thread.start | thread.aborts_in_a_row) == 0 &&
                             thread.exceptions.is_clean();
  if (!is_just_alone) return commit_generally(thread, nullptr);
  end_attempt(thread);
  thread.next_checkpoint = thread.checkpoints;
  shared.gate.end_alone(thread.line);
}

void commit(Thread& thread, void* exception) {
  if (exception != nullptr || !is_simple(thread)) return commit_generally(thread, exception);
  if (thread.mode != Mode::hardware) return commit_alone(thread);
  if (!thread.hardware.trusts_all() || hybrid.has_software()) return commit_generally(thread, nullptr);
  Hardware::commit();
  end_attempt(thread);
}

void become_irrevocable(Thread& thread, const void* subject) {
  if (thread.mode == Mode::irrevocable && thread.barriers == &kPlainBarriers) return;
  if (thread.mode == Mode::hardware) Rtm::abort<AbortCode::kNeedsSoftware>();
  if (thread.mode == Mode::concurrent) {
    // The closer of the gate would wait for this transaction: no waiting for it in turn. Nor can the gate be
    // closed while those inside wait for what this transaction holds.
    if (thread.holds_sequence || !shared.gate.try_lock()) restart(thread, Cause::mode_change, subject);
    shared.gate.close(&thread.line);
    if (!thread.algorithm->become_exclusive(thread)) {
      shared.gate.open();
      shared.gate.unlock();
      restart(thread, Cause::mode_change, subject);
    }
    shared.gate.leave(thread.line);
    thread.has_closed_gate = true;
    count_serialization(thread, Serialization::in_flight, subject);
  }
  for (Savepoint& savepoint : thread.savepoints) savepoint.is_final = true;
  thread.undo.clear();
  thread.mode = Mode::irrevocable;
  thread.barriers = &kPlainBarriers;
}

}  // namespace rubato::tm

// SPDX-License-Identifier: MIT
#include "tm/choice/adaptive.hpp"
#include "tm/failure.hpp"
#include "tm/fault.hpp"
#include "tm/profile/profile.hpp"
#include "tm/thread/options.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {
namespace {

/// The algorithm may be the reason why nothing commits.
constexpr std::uint32_t kLossesToAdapt = 64;

/// Frames that are gone when the checkpoint's function goes on. A page more than this frame, for what it
/// calls.
Range dead_frames(const Checkpoint& checkpoint) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return {here - 4096, checkpoint.stack};
}

/// Everything as it was before the outermost transaction, gate and lock included.
void roll_back_all(Thread& thread) {
  if (thread.mode == Mode::concurrent) {
    thread.algorithm->roll_back(thread, nullptr);
  } else {
    restore_memory(thread, nullptr);
  }
  thread.exceptions.roll_back();
  thread.allocations.roll_back_to(0);
  thread.commit_actions.clear();
  clear_logs(thread);
  leave_transaction(thread);
  thread.barriers = &kPlainBarriers;
  thread.nesting = 0;
  thread.mode = Mode::outside;
  thread.id = 0;
  thread.makes_nothing_private = 0;
}

/// Undo actions may run transactions, which use the descriptor: what the next attempt needs is kept aside.
[[gnu::noinline]] void run_undo_actions(Thread& thread) {
  const Checkpoint checkpoint = thread.checkpoints[0];
  const std::uint32_t properties = thread.properties;
  const std::uint32_t aborts = thread.aborts_in_a_row;
  const std::uint8_t start = thread.start;
  thread.start_as_usual();
  RunningActions(thread.undo_actions).run_in_reverse();
  thread.checkpoints[0] = checkpoint;
  thread.properties = properties;
  thread.aborts_in_a_row = aborts;
  thread.start = start;
}

[[noreturn]] void refuse_cancel() {
  fatal(
      "an irrevocable transaction is cancelled: unsafe code before the cancel has effects that cannot be "
      "undone");
}

[[noreturn]] void cancel_outermost(Thread& thread) {
  if (thread.mode == Mode::irrevocable) {
    refuse_cancel();
  }
  if (thread.profile != nullptr) thread.profile->cancel();
  roll_back_all(thread);
  thread.start_as_usual();
  thread.aborts_in_a_row = 0;
  if (thread.holds_hourglass) {
    thread.holds_hourglass = false;
    shared.gate.release();
  }
  if (!thread.undo_actions.empty()) run_undo_actions(thread);
  rubato_tm_resume(&thread.checkpoints[0], Answer::kCancelled | Answer::kRestoreLive);
}

/// Values that the nested transaction has read are compared until the outermost one ends, also those in
/// memory that it has allocated itself.
void roll_back_allocations(Thread& thread, const Savepoint& savepoint) {
  if (has_fault(Fault::savepoint_keeps_frees)) return;
  if (thread.mode == Mode::concurrent && !thread.values.empty()) {
    thread.allocations.roll_back_late(savepoint.allocations);
  } else {
    thread.allocations.roll_back_to(savepoint.allocations);
  }
}

[[noreturn]] void cancel_nested(Thread& thread) {
  Savepoint savepoint = thread.savepoints.back();
  if (savepoint.is_final) {
    refuse_cancel();
  }
  if (thread.mode == Mode::concurrent) {
    thread.algorithm->roll_back(thread, &savepoint);
  } else {
    restore_memory(thread, &savepoint);
  }
  if (thread.profile != nullptr) thread.profile->cancel_nested();
  thread.exceptions.roll_back_to(savepoint.exceptions);
  roll_back_allocations(thread, savepoint);
  if (!has_fault(Fault::savepoint_keeps_actions)) thread.commit_actions.resize_down(savepoint.commit_actions);
  const std::size_t depth = thread.savepoints.size();  // its checkpoint's place
  thread.savepoints.pop();
  thread.properties = savepoint.properties;
  thread.id = savepoint.id;
  thread.nesting = savepoint.nesting - 1;
  if (thread.mode == Mode::irrevocable) choose_irrevocable_barriers(thread);
  const Checkpoint checkpoint = thread.checkpoints[depth];  // actions may begin transactions of their own
  thread.next_checkpoint = thread.checkpoints + thread.savepoints.size() + 1;
  while (thread.undo_actions.size() > savepoint.undo_actions) {
    const Action action = thread.undo_actions.back();
    thread.undo_actions.pop();
    action.function(action.argument);
  }
  rubato_tm_resume(&checkpoint, Answer::kCancelled | Answer::kRestoreLive);
}

}  // namespace

void restore_memory(Thread& thread, const Savepoint* savepoint) {
  const Checkpoint& checkpoint =
      savepoint != nullptr ? thread.checkpoints[thread.savepoints.size()] : thread.checkpoints[0];
  if (has_fault(Fault::no_undo)) return;
  thread.undo.restore(savepoint != nullptr ? savepoint->undo : 0, dead_frames(checkpoint));
}

void restart(Thread& thread, Cause cause, const void* subject) {
  if (thread.profile != nullptr) thread.profile->abort(cause, thread.conflict_address, thread.conflict_with);
  thread.conflict_address = 0;
  thread.conflict_with = nullptr;
  roll_back_all(thread);
  add_one(thread.aborted);
  thread.losses.count(thread.aborts_in_a_row == 0);
  if (!thread.undo_actions.empty()) run_undo_actions(thread);
  if (cause == Cause::mode_change || cause == Cause::memory) {
    count_serialization(thread, cause == Cause::memory ? Serialization::memory : Serialization::in_flight,
                        subject);
    thread.start_serial();
  } else {
    ++thread.aborts_in_a_row;
    if (options.is_adaptive && thread.aborts_in_a_row % kLossesToAdapt == 0) adapt(thread);
    timed(thread, Profile::Wait::manager, [&thread] {
      options.manager->after_abort(thread, options.manager_parameter);
      if (options.manager->gives_way) thread.losses.give_way();
    });
    if (thread.starts_serial()) count_serialization(thread, Serialization::aborts);
  }
  thread.nesting = 1;
  thread.next_checkpoint = thread.checkpoints + 1;
  start_attempt(thread);
  rubato_tm_resume(&thread.checkpoints[0], choose_path(thread, thread.properties) | Answer::kRestoreLive);
}

void restart_without_memory() {
  Thread& thread = *rubato_tm_current;
  if (thread.mode != Mode::concurrent) fatal("no memory for the logs of a serial transaction");
  restart(thread, Cause::memory);
}

void cancel(Thread& thread, std::uint32_t reason) {
  if (thread.nesting == 0) fatal("a transaction is cancelled, but none has begun");
  if ((reason & AbortReason::kRetry) != 0) {
    if (thread.mode == Mode::irrevocable) fatal("an irrevocable transaction cannot be retried");
    restart(thread, Cause::retry);
  }
  if ((reason & AbortReason::kOuter) == 0) {
    if (thread.has_open_savepoint() && thread.savepoints.back().nesting == thread.nesting)
      cancel_nested(thread);
    if (thread.nesting != 1)
      fatal("a nested transaction is cancelled that was begun as one that does not cancel");
  }
  cancel_outermost(thread);
}

}  // namespace rubato::tm

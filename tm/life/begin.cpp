// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "tm/algorithm/rtm.hpp"
#include "tm/failure.hpp"
#include "tm/profile/profile.hpp"
#include "tm/thread/options.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {
namespace {

constexpr int kPausesAfterConflict = 4;
/// Up to this many threads it is cheaper to run one transaction alone, without barriers, while the others
/// wait.
constexpr std::uint32_t kFewThreads = 4;

bool is_declared_serial(const Thread& thread) {
  return (thread.properties & Property::kGoesIrrevocable) != 0 ||
         (thread.properties & Property::kInstrumented) == 0;
}

void run_serially(Thread& thread) {
  // If aborts are excluded no old values need to be kept; with ITM_DEFAULT_METHOD=serial that makes no
  // difference.
  const bool can_abort =
      (thread.properties & Property::kNoAbort) == 0 || (options.undo_always && !thread.starts_serial());
  thread.algorithm = &kSerial;
  if (can_abort && !is_declared_serial(thread)) {
    thread.mode = Mode::serial_undoable;
    thread.exceptions.start_outermost();
    thread.barriers = &kUndoBarriers;
  } else {
    thread.mode = Mode::irrevocable;
    thread.barriers = &kPlainBarriers;
  }
}

/// No other thread is inside afterwards, although the regime may be concurrent.
void exclude_others(Thread& thread) {
  timed(thread, Profile::Wait::gate, [&thread] {
    shared.gate.lock();
    if (Regime::takes_lock(shared.gate.regime())) return;
    shared.gate.close(&thread.line);
    thread.has_closed_gate = true;
  });
}

void start_serial(Thread& thread) {
  exclude_others(thread);
  if (!thread.starts_serial())
    count_serialization(thread, Serialization::start);  // else the restart has done it
  run_serially(thread);
}

/// Without a cancel, with code that has no barriers, not declared serial, and not one that has lost by
/// another algorithm and may hold the hourglass.
bool suits_hardware(const Thread& thread) {
  constexpr std::uint32_t kNeeded = Property::kInstrumented | Property::kNoAbort | Property::kUninstrumented;
  return Regime::tries_hardware(shared.gate.regime()) &&
         (thread.properties & (kNeeded | Property::kGoesIrrevocable)) == kNeeded &&
         thread.aborts_in_a_row == 0;
}

void pause_after_conflict(unsigned conflicts) {
  for (int i = 0; i < kPausesAfterConflict << conflicts; ++i) Atomics::pause();
}

/// Before the hardware transaction begins, since each line that is written inside costs two nanoseconds.
[[gnu::always_inline]] inline void enter_hardware(Thread& thread) {
  thread.nesting = 1;
  thread.mode = Mode::hardware;
}
/// No hardware transaction has begun.
void step_back_from_hardware(Thread& thread) {
  thread.mode = Mode::outside;
  add_one(thread.without_hardware);
}

/// False: it has to do without.
bool try_hardware(Thread& thread) {
  enter_hardware(thread);
  thread.next_checkpoint = thread.checkpoints;
  if (begin_in_hardware<Hardware>(hybrid, thread.hardware, thread.checkpoints[0].return_to,
                                  thread.hardware_aborts, pause_after_conflict))
    return true;
  step_back_from_hardware(thread);
  thread.next_checkpoint = thread.checkpoints + 1;
  return false;
}

void wait_for_opening(Thread& thread, std::uint32_t regime) {
  using Wait = Profile::Wait;
  timed(thread, (regime & Regime::kClosed) == 0 ? Wait::hourglass : Wait::gate,
        [regime] { shared.gate.wait_for_opening(regime); });
}

void push_savepoint(Thread& thread, std::uint32_t properties) {
  const std::size_t needed = thread.savepoints.size() + 3;  // outermost, this one, room for the next
  if (needed > thread.checkpoint_room) {
    const std::size_t room = 2 * thread.checkpoint_room;
    auto* const grown = static_cast<Checkpoint*>(std::realloc(thread.checkpoints, room * sizeof(Checkpoint)));
    if (grown == nullptr) restart_without_memory();
    thread.checkpoints = grown;
    thread.checkpoint_room = room;
  }
  thread.savepoints.push({thread.nesting, thread.properties, thread.id, false, thread.undo.size(),
                          thread.writes.mark(), thread.allocations.size(), thread.commit_actions.size(),
                          thread.undo_actions.size(), thread.exceptions.mark()});
  thread.next_checkpoint = thread.checkpoints + thread.savepoints.size() + 1;
  thread.properties = properties;
  thread.id = 0;
}

/// Not one inside which the transaction has become irrevocable.
bool has_cancellable_savepoint(const Thread& thread) {
  return thread.has_open_savepoint() && !thread.savepoints.back().is_final;
}

std::uint32_t begin_nested(Thread& thread, std::uint32_t properties) {
  const bool is_instrumented = (properties & Property::kInstrumented) != 0;
  if (!is_instrumented || (properties & Property::kGoesIrrevocable) != 0) become_irrevocable(thread);
  ++thread.nesting;
  if (is_instrumented && (properties & Property::kNoAbort) == 0) {
    if (thread.mode == Mode::hardware) Rtm::abort<AbortCode::kNeedsSoftware>();
    push_savepoint(thread, properties);
    if (thread.mode == Mode::irrevocable) choose_irrevocable_barriers(thread);
    return Answer::kRunInstrumented | Answer::kSaveLive;
  }
  return choose_path(thread, properties);
}

}  // namespace

// T20.
std::uint32_t choose_path(const Thread& thread, std::uint32_t properties) {
  const bool is_plain = thread.mode == Mode::hardware ||
                        (thread.mode == Mode::irrevocable && thread.barriers == &kPlainBarriers);
  const bool is_instrumented = (properties & Property::kInstrumented) != 0;
  if ((properties & Property::kUninstrumented) != 0 && (is_plain || !is_instrumented))
    return Answer::kRunUninstrumented;
  return Answer::kRunInstrumented;
}

void choose_irrevocable_barriers(Thread& thread) {
  thread.barriers = has_cancellable_savepoint(thread) ? &kUndoBarriers : &kPlainBarriers;
}

bool can_cancel(const Thread& thread) {
  if (thread.has_open_savepoint()) return has_cancellable_savepoint(thread);
  return thread.mode != Mode::irrevocable && (thread.properties & Property::kNoAbort) == 0;
}
bool can_be_undone(const Thread& thread) { return thread.is_undoable() || has_cancellable_savepoint(thread); }

namespace {

void start_alone(Thread& thread) {
  exclude_others(thread);
  run_serially(thread);
}

/// The software side of rtm keeps stores until commit: without the user's leave it is not run.
bool must_be_alone(std::uint32_t regime) {
  return Regime::tries_hardware(regime) && !options.may_keep_stores;
}

/// By the algorithm that runs.
void start_in_software(Thread& thread) {
  using How = Gate<Atomics>::Entry::How;
  if (must_be_alone(shared.gate.regime())) return start_alone(thread);
  Gate<Atomics>::Entry entry;
  const auto around = [&thread](auto wait) { timed(thread, Profile::Wait::gate, wait); };
  while ((entry = shared.gate.start(thread.line, thread.holds_hourglass, around)).how == How::kept_out)
    wait_for_opening(thread, entry.regime);
  if (entry.how == How::alone) {
    run_serially(thread);
    return;
  }
  if (__builtin_expect(must_be_alone(entry.regime), false)) {  // the algorithm has changed meanwhile
    shared.gate.leave(thread.line);
    return start_alone(thread);
  }
  thread.algorithm = thread.algorithms[Regime::algorithm(entry.regime)];
  thread.barriers = &thread.algorithm->barriers;
  thread.mode = Mode::concurrent;
  thread.exceptions.start_outermost();
  thread.algorithm->begin(thread);
}

/// Starts a transaction that hardware has given up, or is not trusted with.
void start_without_hardware(Thread& thread) {
  const bool is_alone = registered_threads.load(std::memory_order_relaxed) <= kFewThreads &&
                        Regime::tries_hardware(shared.gate.regime()) && !Hardware::prefers_software();
  if (!is_alone) return start_in_software(thread);
  start_alone(thread);
}

}  // namespace

void start_attempt(Thread& thread) {
  if (thread.start != 0 || is_declared_serial(thread)) {
    if (thread.profile != nullptr) thread.profile->begin(thread);
    if (thread.starts_serial() || is_declared_serial(thread)) {
      start_serial(thread);
      return;
    }
  }
  if (!suits_hardware(thread)) return start_in_software(thread);
  if (!try_hardware(thread)) start_without_hardware(thread);
}

namespace {

void open_outermost(Thread& thread, std::uint32_t properties) {
  thread.nesting = 1;
  thread.properties = properties;
  thread.next_checkpoint = thread.checkpoints + 1;
}

std::uint32_t answer_to_begin(const Thread& thread) {
  const std::uint32_t path = choose_path(thread, thread.properties);
  const bool is_final = thread.mode == Mode::irrevocable || thread.mode == Mode::hardware;
  return is_final ? path : path | Answer::kSaveLive;
}

[[gnu::noinline]] std::uint32_t begin_generally(std::uint32_t properties, Thread& thread) {
  if ((properties & Property::kUndoLogCode) != 0) {
    fatal(
        "a transaction was compiled for an undo log of the program's own (property 0x400), which is not "
        "supported");
  }
  if (thread.nesting != 0) return begin_nested(thread, properties);
  open_outermost(thread, properties);
  start_attempt(thread);
  return answer_to_begin(thread);
}

/// Starts a transaction that was tried in hardware once.
[[gnu::noinline]] std::uint32_t begin_after_abort(std::uint32_t properties, Thread& thread, unsigned status) {
  thread.hardware.look_up(thread.checkpoints[0].return_to);
  if (retry_in_hardware<Hardware>(hybrid, thread.hardware, thread.hardware_aborts, pause_after_conflict,
                                  status))
    return Answer::kRunUninstrumented;
  step_back_from_hardware(thread);
  open_outermost(thread, properties);
  start_without_hardware(thread);
  return answer_to_begin(thread);
}

/// A simple one where hardware is not tried.
[[gnu::noinline]] std::uint32_t begin_alone(std::uint32_t properties, Thread& thread) {
  if (!shared.gate.try_start_alone(thread.line)) return begin_generally(properties, thread);
  open_outermost(thread, properties);
  thread.algorithm = &kSerial;
  thread.mode = Mode::irrevocable;
  return Answer::kRunUninstrumented;
}

/// With code that has no barriers, no cancel, nothing declared serial, and nothing left of what was before.
[[gnu::always_inline]] inline bool is_simple(const Thread& thread, std::uint32_t properties) {
  constexpr std::uint32_t kNeeded = Property::kInstrumented | Property::kNoAbort | Property::kUninstrumented;
  return (properties & (kNeeded | Property::kGoesIrrevocable | Property::kUndoLogCode)) == kNeeded &&
         (thread.nesting | thread.aborts_in_a_row | thread.start) == 0;
}

}  // namespace
}  // namespace rubato::tm

/// Called by _ITM_beginTransaction, which has saved the checkpoint in *thread->next_checkpoint.
extern "C" [[gnu::visibility("hidden")]] std::uint32_t rubato_tm_begin(std::uint32_t properties,
                                                                       rubato::tm::Thread* thread) {
  using namespace rubato::tm;
  static_assert(offsetof(Thread, next_checkpoint) == 8, "x86_64.S");
  if (!is_simple(*thread, properties)) return begin_generally(properties, *thread);
  const std::uint32_t regime = shared.gate.regime();
  if (Regime::takes_lock(regime)) return begin_alone(properties, *thread);
  if (!Regime::tries_hardware(regime)) return begin_generally(properties, *thread);
  if (!thread->hardware.trusts_all()) return begin_generally(properties, *thread);
  enter_hardware(*thread);
  const unsigned status = attempt_in_hardware<Hardware>(hybrid);
  if (__builtin_expect(status != RtmStatus::kStarted, false))
    return begin_after_abort(properties, *thread, status);
  return Answer::kRunUninstrumented;
}

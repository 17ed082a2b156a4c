// Commit, abort, actions, queries: what the program calls besides begin (x86_64.S) and barriers.
// SPDX-License-Identifier: MIT
#include "tm/thread/transaction.hpp"
#include "tm/abi/types.hpp"
#include "tm/failure.hpp"

namespace {

using rubato::tm::Mode;
using rubato::tm::Thread;

constexpr std::uint64_t kNoTransactionId = 1;
constexpr int kAbiVersion = 90;

Thread& inside(const char* what) {
  Thread* const thread = rubato_tm_current;
  if (thread == nullptr || thread->nesting == 0) rubato::tm::fatal("%s outside a transaction", what);
  return *thread;
}

/// Ids by blocks a thread would be cheaper, but programs seldom ask.
std::atomic<std::uint64_t> next_id{kNoTransactionId + 1};

}  // namespace

RUBATO_TM_EXPORT void _ITM_commitTransaction() {
  rubato::tm::commit(inside("_ITM_commitTransaction"), nullptr);
}
RUBATO_TM_EXPORT void _ITM_commitTransactionEH(void* exception) {
  rubato::tm::commit(inside("_ITM_commitTransactionEH"), exception);
}
RUBATO_TM_EXPORT void _ITM_abortTransaction(std::uint32_t reason) {
  rubato::tm::cancel(inside("_ITM_abortTransaction"), reason);
}
RUBATO_TM_EXPORT void _ITM_changeTransactionMode(std::uint32_t mode) {
  if (mode != 0)
    rubato::tm::fatal("_ITM_changeTransactionMode(%u), expected 0, serial and irrevocable", mode);
  rubato::tm::become_irrevocable(inside("_ITM_changeTransactionMode"));
}

RUBATO_TM_EXPORT void _ITM_addUserCommitAction(void (*function)(void*), std::uint64_t id, void* argument) {
  if (id != kNoTransactionId) {
    rubato::tm::fatal(
        "_ITM_addUserCommitAction for transaction %llu, expected 1: resuming transactions are not supported",
        static_cast<unsigned long long>(id));
  }
  Thread* const thread = rubato_tm_current;
  if (thread == nullptr || thread->nesting == 0) {
    function(argument);
  } else {
    thread->commit_actions.push({function, argument});
    thread->has_tail = true;
  }
}
RUBATO_TM_EXPORT void _ITM_addUserUndoAction(void (*function)(void*), void* argument) {
  Thread* const thread = rubato_tm_current;
  if (thread == nullptr || thread->nesting == 0) return;
  thread->undo_actions.push({function, argument});
  thread->has_tail = true;
}

RUBATO_TM_EXPORT void _ITM_dropReferences(void* pointer, std::size_t bytes) {
  Thread& thread = inside("_ITM_dropReferences");
  // A store that is still buffered cannot survive a rollback: the serial attempt writes in place.
  if (thread.mode == rubato::tm::Mode::concurrent && thread.algorithm->keeps_stores())
    restart(thread, rubato::tm::Cause::mode_change);
  if (thread.barriers != &rubato::tm::kPlainBarriers) thread.undo.drop(pointer, bytes);
}

/// The outermost transaction makes no shared memory private, now or in what it goes on to do (T38).
RUBATO_TM_EXPORT void rubato_tm_no_privatization() {
  Thread* const thread = rubato_tm_current;
  if (thread == nullptr || (thread->mode != Mode::concurrent && thread->mode != Mode::hardware))
    return;  // others do not quiesce anyway
  thread->era = rubato::tm::shared.era.load(std::memory_order_relaxed);
  thread->makes_nothing_private = thread->committed.load(std::memory_order_relaxed) + 1;
}

/// Inside a transaction that is about to be cancelled: true if rubato_tm_sleep() is to be called behind it,
/// which returns when another has written what this one has read (T56).
RUBATO_TM_EXPORT int rubato_tm_watch() {
  Thread* const thread = rubato_tm_current;
  return thread != nullptr && rubato::tm::watch_reads(*thread);
}
RUBATO_TM_EXPORT void rubato_tm_sleep() { rubato::tm::shared.watches.sleep(rubato_tm_current->watch); }

RUBATO_TM_EXPORT int _ITM_inTransaction() {
  const Thread* const thread = rubato_tm_current;
  if (thread == nullptr || thread->nesting == 0) return 0;
  return thread->mode == Mode::irrevocable ? 2 : 1;
}
RUBATO_TM_EXPORT std::uint64_t _ITM_getTransactionId() {
  Thread* const thread = rubato_tm_current;
  if (thread == nullptr || thread->nesting == 0) return kNoTransactionId;
  if (thread->id == 0) thread->id = next_id.fetch_add(1, std::memory_order_relaxed);
  return thread->id;
}
RUBATO_TM_EXPORT int _ITM_versionCompatible(int version) { return version == kAbiVersion; }
RUBATO_TM_EXPORT const char* _ITM_libraryVersion() { return "librubato_itm " RUBATO_VERSION; }

/// As the ABI declares it; GCC never calls it.
struct _ITM_srcLocation {
  std::int32_t reserved_1, flags, reserved_2, reserved_3;
  const char* source;
};
RUBATO_TM_EXPORT void _ITM_error(const _ITM_srcLocation* location, int code) {
  rubato::tm::fatal(
      "error %d in a transaction at %s", code,
      location != nullptr && location->source != nullptr ? location->source : "an unknown place");
}

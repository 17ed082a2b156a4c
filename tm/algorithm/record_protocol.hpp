// Common code of the algorithms on ownership records (T41, T42): the snapshot, loads between two looks
// at the record, the validation of reads, locking. Invariant: all loads so far were valid together at
// `snapshot`; a newer version moves the snapshot forward if they still are (opacity, T39).
// SPDX-License-Identifier: MIT
#pragma once

#include "tm/algorithm/quiescence.hpp"
#include "tm/fault.hpp"
#include "tm/thread/options.hpp"
#include "tm/thread/records.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {

inline void take_snapshot(Thread& thread, std::uint64_t now) {
  thread.snapshot = now;
  thread.line.limit.store(RecordWord::limit(now), std::memory_order_relaxed);
}

/// Are all reads as they were? What this thread has locked since was not newer than the snapshot when it did.
inline bool are_reads_valid(Thread& thread) {
  const std::uint64_t own = RecordWord::locked_by(&thread);
  for (const ReadRecord& read : thread.reads) {
    const std::uint64_t word = read.record->load(std::memory_order_acquire);
    if (word == own) continue;
    // Another incarnation: a thread wrote there and undid it, so the value that this thread read is there
    // again.
    if (RecordWord::is_locked(word) || RecordWord::time(word) != RecordWord::time(read.seen)) return false;
  }
  return true;
}

/// Moves the snapshot to now, and that to the time of the version that was met, or restarts. The clock moves
/// before the reads are looked at: an update that takes the same time has locked its records before, and that
/// is seen.
[[gnu::noinline]] inline void extend(Thread& thread, Cause cause, std::uint64_t met) {
  const bool was_seen_early = has_fault(Fault::clock_moved_late) && are_reads_valid(thread);
  if (was_seen_early) let_others_in();
  const std::uint64_t now = clock_of_commits.move_to(met);
  if (!was_seen_early && !has_fault(Fault::extends_blindly) && !are_reads_valid(thread))
    restart(thread, cause);
  take_snapshot(thread, now);
  shared.gate.extend(thread.line, now);
}

/// A record that cannot be read or locked as it is: waits a moment for its owner, or extends the snapshot;
/// else restarts.
[[gnu::noinline]] inline void make_way(const Record& record, std::uintptr_t address, Thread& thread,
                                       Cause locked, Cause invalid) {
  for (int i = 0; i < Atomics::kSpins; ++i) {
    const std::uint64_t word = record.load(std::memory_order_acquire);
    if (!RecordWord::is_locked(word)) {
      extend(thread, invalid, RecordWord::time(word));
      return;
    }
    Atomics::pause();
  }
  thread.conflict_address = address;
  Thread* const owner = RecordWord::owner<Thread>(record.load(std::memory_order_acquire));
  thread.conflict_with = owner;
  if (owner != nullptr) thread.losses.meet(owner->line);
  restart(thread, locked);
}

inline void log_read(const Record& record, std::uint64_t seen, Thread* thread) {
  if (!thread->reads.empty() && thread->reads.back().record == &record) return;
  thread->reads.push({&record, seen});
}

/// Calls copy() until it has copied a consistent state of the record's stripe.
template <bool is_logged, class Copy>
[[gnu::always_inline]] inline auto read_stripe(std::uintptr_t address, Thread* thread, Copy copy) {
  const Record& record = records.of(address);
  while (true) {
    const std::uint64_t word = record.load(std::memory_order_acquire);
    if (__builtin_expect(word >= thread->line.limit.load(std::memory_order_relaxed), false)) {
      if (word == RecordWord::locked_by(thread)) return copy();
      make_way(record, address, *thread, Cause::conflict_load, Cause::invalid_load);
      continue;
    }
    let_others_in();
    const auto value = copy();
    let_others_in();
    Atomics::fence(std::memory_order_acquire);
    if (__builtin_expect(record.load(std::memory_order_relaxed) != word, false) &&
        !has_fault(Fault::no_second_look)) {
      continue;
    }
    if constexpr (is_logged) log_read(record, word, thread);
    return value;
  }
}

[[gnu::noinline]] inline void lock(Record& record, std::uintptr_t address, Thread* thread) {
  thread->locked.extend(1);  // before there is a lock that a restart without memory would miss
  thread->locked.pop();
  while (true) {
    std::uint64_t word = record.load(std::memory_order_relaxed);
    if (word >= thread->line.limit.load(std::memory_order_relaxed)) {
      make_way(record, address, *thread, Cause::conflict_store, Cause::invalid_load);
      continue;
    }
    // The release makes this thread's descriptor visible to those that meet the lock.
    if (record.compare_exchange_strong(word, RecordWord::locked_by(thread), std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
      thread->locked.push({&record, word});
      Atomics::fence(std::memory_order_release);  // a reader of our values then finds the lock
      return;
    }
  }
}

inline void begin_at_clock(Thread& thread) {
  const std::uint64_t now = clock_of_commits.now.load(std::memory_order_seq_cst);
  take_snapshot(thread, now);
  thread.line.snapshot.store(now, std::memory_order_release);
}

/// For an update that has locked its records: its time, or 0 if what it read is not valid any more.
inline std::uint64_t take_time(Thread& thread) {
  if (__builtin_expect(options.is_clock_deferred, false)) {
    // Others may take the same time, so that nothing follows from it being the next.
    Atomics::fence(std::memory_order_seq_cst);  // the locks before the look at the clock
    const std::uint64_t time = clock_of_commits.now.load(std::memory_order_seq_cst) + 1;
    return are_reads_valid(thread) || has_fault(Fault::no_commit_validation) ? time : 0;
  }
  const std::uint64_t time = clock_of_commits.now.fetch_add(1, std::memory_order_seq_cst) + 1;
  const bool is_valid =
      time == thread.snapshot + 1 || are_reads_valid(thread) || has_fault(Fault::no_commit_validation);
  return is_valid ? time : 0;
}

inline void unlock_all(Thread& thread, std::uint64_t word) {
  for (const LockedRecord& lock : thread.locked) lock.record->store(word, std::memory_order_release);
}

/// With all others outside: the records' values are as after a commit.
inline void unlock_exclusively(Thread& thread) {
  unlock_all(thread, RecordWord::of_time(clock_of_commits.now.fetch_add(1, std::memory_order_seq_cst) + 1));
  thread.locked.clear();
}

/// After stores that were made in place and undone: another incarnation, so that a reader notices them.
inline void unlock_undone(Thread& thread) {
  for (const LockedRecord& lock : thread.locked) {
    std::uint64_t next = lock.before + (has_fault(Fault::no_incarnation) ? 0 : 1);
    if (next % RecordWord::kIncarnations == 0 && !has_fault(Fault::no_incarnation))
      next = RecordWord::of_time(clock_of_commits.now.fetch_add(1, std::memory_order_seq_cst) + 1);
    lock.record->store(next, std::memory_order_release);
  }
}

inline void forget_locks() { records.forget_locks(clock_of_commits.now.load(std::memory_order_relaxed)); }

/// Commits a transaction that has locked nothing.
inline void commit_read_only(Thread& thread) {
  // The transaction may have seen memory that an update made private. It waits for transactions that may
  // still touch that, unless all of them have ended (T37).
  thread.commit_time = 0;
  thread.was_read_only = true;
  if (thread.snapshot <= clock_of_commits.quiesced.load(std::memory_order_relaxed)) return;
  thread.era = shared.era.load(std::memory_order_relaxed);
  for (const ReadRecord& read : thread.reads) {
    const std::uint64_t time = RecordWord::time(read.seen);
    if (time > thread.commit_time) thread.commit_time = time;
  }
  if (thread.commit_time <= clock_of_commits.quiesced.load(std::memory_order_relaxed)) thread.commit_time = 0;
}

}  // namespace rubato::tm

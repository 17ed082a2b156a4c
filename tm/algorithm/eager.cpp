// Write-through: a store locks its record, keeps the old value and writes in place; a load is valid if its
// record was unlocked and not newer than the snapshot, before and after (rule T41; GCC's ml_wt is of this
// kind). Invariant: all loads so far were valid together at `snapshot`; a newer version moves the snapshot
// forward if they still are (opacity, T39).
// SPDX-License-Identifier: MIT
#include <cstring>

#include "tm/algorithm/algorithm.hpp"
#include "tm/algorithm/own_stack.hpp"
#include "tm/algorithm/records.hpp"
#include "tm/algorithm/word.hpp"
#include "tm/begin/transaction.hpp"
#include "tm/fault.hpp"

namespace rubato::tm {
namespace {

void take_snapshot(Thread& thread, std::uint64_t now) {
  thread.snapshot = now;
  thread.line.limit.store(RecordWord::limit(now), std::memory_order_relaxed);
}

/// Are all reads as they were? What this thread has locked since was not newer than the snapshot when it did.
bool are_reads_valid(Thread& thread) {
  const std::uint64_t own = RecordWord::locked_by(&thread);
  for (const ReadRecord& read : thread.reads) {
    const std::uint64_t word = read.record->load(std::memory_order_acquire);
    if (word == own) continue;
    // Another incarnation: somebody wrote there and undid it; what this thread read is there again.
    if (RecordWord::is_locked(word) || RecordWord::time(word) != RecordWord::time(read.seen)) return false;
  }
  return true;
}

/// Moves the snapshot to now, or restarts.
[[gnu::noinline]] void extend(Thread& thread, Cause cause) {
  const std::uint64_t now = clock_of_commits.now.load(std::memory_order_seq_cst);
  if (!has_fault(Fault::extends_blindly) && !are_reads_valid(thread)) restart(thread, cause);
  take_snapshot(thread, now);
  shared.gate.extend(thread.line, now);
}

/// A record that cannot be read or locked as it is: waits a moment for its owner, or extends the snapshot;
/// else restarts.
[[gnu::noinline]] void make_way(const Record& record, Thread& thread, Cause locked, Cause invalid) {
  for (int i = 0; i < Atomics::kSpins; ++i) {
    if (!RecordWord::is_locked(record.load(std::memory_order_acquire))) {
      extend(thread, invalid);
      return;
    }
    Atomics::pause();
  }
  restart(thread, locked);
}

void log_read(const Record& record, std::uint64_t seen, Thread* thread) {
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
      make_way(record, *thread, Cause::conflict_load, Cause::invalid_load);
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

[[gnu::noinline]] void lock(Record& record, Thread* thread) {
  thread->locked.extend(1);  // before there is a lock that a restart without memory would miss
  thread->locked.pop();
  while (true) {
    std::uint64_t word = record.load(std::memory_order_relaxed);
    if (word >= thread->line.limit.load(std::memory_order_relaxed)) {
      make_way(record, *thread, Cause::conflict_store, Cause::invalid_load);
      continue;
    }
    if (record.compare_exchange_strong(word, RecordWord::locked_by(thread), std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      thread->locked.push({&record, word});
      Atomics::fence(std::memory_order_release);  // who reads a value of ours then finds the lock
      return;
    }
  }
}

/// True: the stripe of `p` is locked, and the old value has to be kept. False: the store is plain.
[[gnu::always_inline]] inline bool prepare_store(const void* p, Thread* thread) {
  Record& record = records.of(reinterpret_cast<std::uintptr_t>(p));
  if (__builtin_expect(record.load(std::memory_order_relaxed) != RecordWord::locked_by(thread), false)) {
    if (is_dead_on_restart(p, thread)) return false;
    lock(record, thread);
  }
  return true;
}

struct EagerAccess {
  template <Load kind, class T>
  static T load(const void* p, Thread* thread) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if constexpr (kind == Load::after_write) {
      return peek<T>(p);
    } else if constexpr (kind == Load::for_write) {
      if (has_fault(Fault::unlogged_read_for_write)) return load<Load::plain, T>(p, thread);
      // The store that follows comes as one after a write: record and old value are taken care of here.
      if (__builtin_expect(Records::is_in_one_stripe(address, sizeof(T)), true)) {
        if (prepare_store(p, thread)) thread->undo.save(p, sizeof(T));
      } else {
        prepare_stores(p, sizeof(T), thread);
      }
      return peek<T>(p);
    } else if (__builtin_expect(Records::is_in_one_stripe(address, sizeof(T)), true)) {
      return read_stripe<kind != Load::after_read>(address, thread, [p] { return peek<T>(p); });
    } else {
      T value;
      read(&value, p, sizeof(T), kind, thread);
      return value;
    }
  }

  template <Store kind, class T>
  static void store(void* p, T value, Thread* thread) {
    // With a savepoint open an inner cancel has to restore what an outer transaction wrote (T21).
    if (kind == Store::after_write &&
        (thread->savepoints.empty() || has_fault(Fault::unlogged_after_write))) {
      poke(p, value);
    } else if (__builtin_expect(Records::is_in_one_stripe(reinterpret_cast<std::uintptr_t>(p), sizeof(T)),
                                true)) {
      if (prepare_store(p, thread)) thread->undo.save(p, sizeof(T));
      poke(p, value);
    } else {
      write(p, &value, sizeof(T), kind, thread);
    }
  }

  /// Calls piece(offset, bytes) stripe by stripe.
  template <class F>
  static void by_stripes(const void* p, std::size_t bytes, F piece) {
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t left = Records::left_in_stripe(reinterpret_cast<std::uintptr_t>(p) + done);
      const std::size_t n = left < bytes - done ? left : bytes - done;
      piece(done, n);
      done += n;
    }
  }

  static void prepare_stores(const void* p, std::size_t bytes, Thread* thread) {
    by_stripes(p, bytes, [=](std::size_t offset, std::size_t n) {
      const char* const part = static_cast<const char*>(p) + offset;
      if (prepare_store(part, thread)) thread->undo.save(part, n);
    });
  }

  static void read(void* to, const void* from, std::size_t bytes, Load kind, Thread* thread) {
    if (kind == Load::for_write) prepare_stores(from, bytes, thread);
    if (kind == Load::after_write || kind == Load::for_write) {
      std::memcpy(to, from, bytes);
      return;
    }
    by_stripes(from, bytes, [=](std::size_t offset, std::size_t n) {
      const char* const in = static_cast<const char*>(from) + offset;
      read_stripe<true>(reinterpret_cast<std::uintptr_t>(in), thread, [=] {
        peek_bytes(static_cast<char*>(to) + offset, in, n);
        return true;
      });
    });
  }
  static void write(void* to, const void* from, std::size_t bytes, Store, Thread* thread) {
    by_stripes(to, bytes, [=](std::size_t offset, std::size_t n) {
      char* const out = static_cast<char*>(to) + offset;
      if (prepare_store(out, thread)) thread->undo.save(out, n);
      poke_bytes(out, static_cast<const char*>(from) + offset, n);
    });
  }
  static void fill(void* to, int byte, std::size_t bytes, Store, Thread* thread) {
    by_stripes(to, bytes, [=](std::size_t offset, std::size_t n) {
      char* const out = static_cast<char*>(to) + offset;
      if (prepare_store(out, thread)) thread->undo.save(out, n);
      std::memset(out, byte, n);
    });
  }
  static void save(const void* address, std::size_t bytes, Thread* thread) {
    thread->undo.save(address, bytes);
  }
};

void begin(Thread& thread) {
  const std::uint64_t now = clock_of_commits.now.load(std::memory_order_seq_cst);
  take_snapshot(thread, now);
  thread.line.snapshot.store(now, std::memory_order_release);
}

void unlock_all(Thread& thread, std::uint64_t word) {
  for (const LockedRecord& lock : thread.locked) lock.record->store(word, std::memory_order_release);
}

bool commit(Thread& thread) {
  if (thread.locked.empty()) {
    // It has seen what an update made private, perhaps: it waits for who may still touch that, unless all is
    // over (T37).
    thread.commit_time = 0;
    thread.was_read_only = true;
    if (thread.snapshot <= clock_of_commits.quiesced.load(std::memory_order_relaxed)) return true;
    for (const ReadRecord& read : thread.reads) {
      const std::uint64_t time = RecordWord::time(read.seen);
      if (time > thread.commit_time) thread.commit_time = time;
    }
    if (thread.commit_time <= clock_of_commits.quiesced.load(std::memory_order_relaxed))
      thread.commit_time = 0;
    return true;
  }
  const std::uint64_t time = clock_of_commits.now.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (time > thread.snapshot + 1 && !are_reads_valid(thread) && !has_fault(Fault::no_commit_validation))
    return false;
  unlock_all(thread, RecordWord::of_time(time));
  thread.commit_time = time;
  thread.was_read_only = false;
  return true;
}

void roll_back(Thread& thread, const Savepoint* savepoint) {
  if (has_fault(Fault::unlocks_before_undo) && savepoint == nullptr) {
    for (const LockedRecord& lock : thread.locked)
      lock.record->store(lock.before + 1, std::memory_order_release);
    restore_memory(thread, savepoint);
    return;
  }
  restore_memory(thread, savepoint);
  if (savepoint != nullptr) return;  // records locked inside stay locked: their values are the outer's
  for (const LockedRecord& lock : thread.locked) {
    std::uint64_t next = lock.before + (has_fault(Fault::no_incarnation) ? 0 : 1);
    if (next % RecordWord::kIncarnations == 0 && !has_fault(Fault::no_incarnation)) {
      next = RecordWord::of_time(clock_of_commits.now.fetch_add(1, std::memory_order_seq_cst) + 1);
    }
    lock.record->store(next, std::memory_order_release);
  }
}

bool become_exclusive(Thread& thread) {
  if (!are_reads_valid(thread)) return false;
  if (!thread.locked.empty()) {
    unlock_all(thread, RecordWord::of_time(clock_of_commits.now.fetch_add(1, std::memory_order_seq_cst) + 1));
  }
  thread.locked.clear();
  thread.reads.clear();
  return true;
}

void wait_for_others(Thread& thread) {
  const std::uint64_t time = thread.commit_time;
  if (time == 0) return;
  quiesce(shared.lines, &thread.line, time);
  std::uint64_t seen = clock_of_commits.quiesced.load(std::memory_order_relaxed);
  if (thread.was_read_only) {
    while (seen < time && !clock_of_commits.quiesced.compare_exchange_weak(
                              seen, time, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
}

bool prepare() { return records.make(); }

}  // namespace

constinit const Algorithm kEager = {"eager",   barriers_of<EagerAccess>(), begin,           commit,
                                    roll_back, become_exclusive,           wait_for_others, prepare};

}  // namespace rubato::tm

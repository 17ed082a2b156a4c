// Reads that are validated by value under one sequence lock: of norec, tml and rtm's software transactions.
// And stores that are kept until commit, of all but tml (T43, T45; Dalessandro, Spear and Scott, PPoPP 2010).
// Invariant: all values read so far were in memory together at `snapshot`; when the sequence has moved, they
// are compared once more before anything else is read.
// SPDX-License-Identifier: MIT
#pragma once

#include "tm/algorithm/buffered_access.hpp"
#include "tm/algorithm/quiescence.hpp"
#include "tm/thread/options.hpp"
#include "tm/thread/sequence_lock.hpp"

namespace rubato::tm::by_value {

[[gnu::visibility("hidden")]] extern SequenceLock<Atomics> sequence;
/// Before this value of the sequence no transaction is under way any more (T37).
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> quiesced;

inline void take_snapshot(Thread& thread, std::uint64_t now) {
  thread.snapshot = now;
  thread.line.snapshot.store(now, std::memory_order_release);
}

/// With two threads each commit of the other one asks this for all that was read: mostly words.
inline bool is_as_read(const ValueRead& read) {
  if (__builtin_expect(read.is_word(), true)) return peek<std::uint64_t>(read.address()) == read.value;
  return peek_part(read.address(), read.bytes()) == read.value;
}
inline bool are_values_valid(Thread& thread) {
  if (has_fault(Fault::extends_blindly)) return true;
  for (const ValueRead& read : thread.values) {
    if (!is_as_read(read)) return false;
  }
  return true;
}

/// Moves the snapshot to now, or restarts.
[[gnu::noinline]] inline void extend(Thread& thread, Cause cause) {
  const std::uint64_t now = sequence.validate([&thread] { return are_values_valid(thread); });
  if (now == 0) restart(thread, cause);
  thread.snapshot = now;
  shared.gate.extend(thread.line, now);
}

/// Locks the sequence before the commit: what was read stays valid until the end. The snapshot is odd as the
/// sequence is, so that loads find that it has not moved.
[[gnu::noinline]] inline void hold_sequence(Thread& thread) {
  let_others_in();
  while (!sequence.try_lock(thread.snapshot)) extend(thread, Cause::invalid_load);
  thread.snapshot += 1;
  thread.holds_sequence = thread.has_locked_stack = true;
}
inline void release_sequence(Thread& thread) {
  sequence.unlock();
  thread.snapshot -= 1;
  thread.holds_sequence = false;
}

struct ValueReads {
  /// An exception of the transaction is its own until the commit, and may be over before that.
  static void log(const void* p, unsigned bytes, std::uint64_t value, Thread* thread) {
    if (!thread->exceptions.holds(p, 0) || has_fault(Fault::exception_logged))
      thread->values.push(ValueRead(p, bytes, value));
  }
  static void lock(const void*, unsigned, Thread* thread) {
    if (!thread->holds_sequence) hold_sequence(*thread);
  }
  template <bool is_logged>
  [[gnu::always_inline]] static std::uint64_t read(const void* p, unsigned bytes, Thread* thread) {
    while (true) {
      const std::uint64_t value = peek_part(p, bytes);
      let_others_in();
      Atomics::fence(std::memory_order_acquire);
      if (__builtin_expect(sequence.now() == thread->snapshot, true) || has_fault(Fault::no_second_look)) {
        if constexpr (is_logged) log(p, bytes, value, thread);
        return value;
      }
      extend(*thread, Cause::invalid_load);
    }
  }
};

/// The way of most loads, without a frame for calls: no memory of the transaction alone, the log has room,
/// the sequence has not moved. False: `value` is not to be used.
template <bool is_logged, class T>
[[gnu::always_inline]] inline bool try_load(const void* p, T& value, Thread* thread) {
  if (__builtin_expect(may_be_own(p, thread) || (is_logged && !thread->values.has_room()), false))
    return false;
  value = peek<T>(p);
  let_others_in();
  Atomics::fence(std::memory_order_acquire);
  if (__builtin_expect(sequence.now() != thread->snapshot, false)) return false;
  if constexpr (is_logged) thread->values.push_in_room(ValueRead(p, sizeof(T), value));
  return true;
}

struct Access : BufferedAccess<ValueReads> {
  template <Load kind, class T>
  static T load(const void* p, Thread* thread) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    T value;
    if (__builtin_expect(thread->writes.surely_lacks(address, sizeof(T)), true) &&
        try_load<kind != Load::after_read>(p, value, thread))
      return value;
    return load_slowly<kind, T>(p, thread);
  }
  template <Load kind, class T>
  [[gnu::noinline]] static T load_slowly(const void* p, Thread* thread) {
    return BufferedAccess<ValueReads>::load<kind, T>(p, thread);
  }
};

inline void begin(Thread& thread) {
  note_stack(thread);
  note_own_frames(thread);
  take_snapshot(thread, sequence.wait_at_begin(thread.line));
}

/// At the commit of a transaction that wrote nothing: whom it has to wait for (T37).
inline void note_reads(Thread& thread) {
  thread.commit_time = thread.snapshot > quiesced.load(std::memory_order_relaxed) ? thread.snapshot : 0;
  thread.era = shared.era.load(std::memory_order_relaxed);
}

inline bool commit(Thread& thread) {
  if (__builtin_expect(thread.holds_sequence, false)) {
    thread.was_read_only = false;
    write_back(thread);
    release_sequence(thread);
    thread.commit_time = thread.snapshot + 2;
    return true;
  }
  thread.was_read_only = thread.writes.empty();
  if (thread.was_read_only) {
    note_reads(thread);
    return true;
  }
  let_others_in();
  while (!sequence.try_lock(thread.snapshot)) extend(thread, Cause::invalid_commit);
  write_back(thread);
  sequence.unlock();
  thread.commit_time = thread.snapshot + 2;
  return true;
}

inline void roll_back(Thread& thread, const Savepoint* savepoint) {
  roll_back_stores(thread, savepoint);
  if (savepoint == nullptr && thread.holds_sequence) release_sequence(thread);
}

inline bool become_exclusive(Thread& thread) {
  if (!are_values_valid(thread)) return false;
  write_back(thread);
  thread.writes.clear();
  thread.values.clear();
  return true;
}

inline bool is_valid(Thread& thread) {
  if (thread.holds_sequence) return true;
  const std::uint64_t now = sequence.wait_until_free();
  if (now == thread.snapshot) return true;
  if (!are_values_valid(thread)) return false;
  Atomics::fence(std::memory_order_acquire);
  return sequence.now() == now;
}

inline void wait_for_others(Thread& thread) {
  if (!options.trusts_values) wait_for_older(thread, quiesced);
}

}  // namespace rubato::tm::by_value

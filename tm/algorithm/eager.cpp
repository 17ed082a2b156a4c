// Write-through: a store locks its record, keeps the old value and writes in place; a load is valid if its
// record was unlocked and not newer than the snapshot, before and after (T41; GCC's ml_wt is of this
// kind).
// SPDX-License-Identifier: MIT
#include <cstring>

#include "tm/algorithm/own_stack.hpp"
#include "tm/algorithm/record_protocol.hpp"
#include "tm/fault.hpp"
#include "tm/log/word.hpp"
#include "tm/thread/algorithm.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {
namespace {

/// True: the stripe of `p` is locked, and the old value has to be kept. False: the store is plain.
[[gnu::always_inline]] inline bool prepare_store(const void* p, Thread* thread) {
  Record& record = records.of(reinterpret_cast<std::uintptr_t>(p));
  if (__builtin_expect(record.load(std::memory_order_relaxed) != RecordWord::locked_by(thread), false)) {
    if (is_dead_on_restart(p, thread)) return false;
    lock(record, reinterpret_cast<std::uintptr_t>(p), thread);
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
      if (__builtin_expect(records.is_in_one_stripe(address, sizeof(T)), true)) {
        if (prepare_store(p, thread)) thread->undo.save(p, sizeof(T));
      } else {
        prepare_stores(p, sizeof(T), thread);
      }
      return peek<T>(p);
    } else if (__builtin_expect(records.is_in_one_stripe(address, sizeof(T)), true)) {
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
    } else if (__builtin_expect(records.is_in_one_stripe(reinterpret_cast<std::uintptr_t>(p), sizeof(T)),
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
      const std::size_t left = records.left_in_stripe(reinterpret_cast<std::uintptr_t>(p) + done);
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
      overwrite_with(out, byte, n);
    });
  }
  static void save(const void* address, std::size_t bytes, Thread* thread) {
    thread->undo.save(address, bytes);
  }
};

bool commit(Thread& thread) {
  if (thread.locked.empty()) {
    commit_read_only(thread);
    return true;
  }
  const std::uint64_t time = take_time(thread);
  if (time == 0) return false;
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
  unlock_undone(thread);
}

bool become_exclusive(Thread& thread) {
  if (!are_reads_valid(thread)) return false;
  if (!thread.locked.empty()) unlock_exclusively(thread);
  thread.reads.clear();
  return true;
}

void wait_for_others(Thread& thread) { wait_for_older(thread, clock_of_commits.quiesced); }

bool is_valid(Thread& thread) { return are_reads_valid(thread); }

bool prepare() { return records.make(); }

}  // namespace

constinit const Algorithm kEager = {.barriers = barriers_of<EagerAccess>(),
                                    .begin = begin_at_clock,
                                    .commit = commit,
                                    .roll_back = roll_back,
                                    .become_exclusive = become_exclusive,
                                    .is_valid = is_valid,
                                    .quiesce = wait_for_others,
                                    .prepare = prepare,
                                    .reset_after_fork = forget_locks,
                                    .close_savepoint = keep_nothing};

}  // namespace rubato::tm

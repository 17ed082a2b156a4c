// Write-through under one lock of all writers: the transactional mutex lock of Dalessandro, Dice, Scott,
// Shavit and Spear (Euro-Par 2010; GCC's gl_wt is of this kind). A transaction reads beside others until it
// stores for the first time. Then it takes the sequence lock, and goes on with plain accesses and an undo
// log. Reads are validated by value, as norec's, so that a writer's commit need not abort those that read
// beside it (T100). Invariant: memory holds all that the transaction with the lock has read, until its end.
// SPDX-License-Identifier: MIT
#include "tm/algorithm/by_value.hpp"

namespace rubato::tm {
namespace {

using by_value::sequence;

/// From here on the transaction is the only writer.
[[gnu::noinline]] void become_writer(Thread* thread) {
  let_others_in();
  while (!sequence.try_lock(thread->snapshot)) by_value::extend(*thread, Cause::conflict_store);
  thread->snapshot += 1;  // odd as the sequence is, so that loads find that it has not moved
  thread->holds_sequence = thread->has_locked_stack = true;
  // Its loads need no look at the sequence any more. A profile's barriers go on counting.
  if (thread->barriers == &kTml.barriers) thread->barriers = &kUndoBarriers;
}

/// Keeps the old value, and others out, before a store.
[[gnu::always_inline]] inline void prepare_store(const void* p, std::size_t bytes, Thread* thread) {
  if (!thread->holds_sequence) {
    if (is_dead_on_restart(p, thread)) return;
    become_writer(thread);
  }
  thread->undo.save(p, bytes);
}

struct Access {
  /// After a write the old value is kept already; but what an outer transaction wrote, an inner one that is
  /// cancelled has to restore (T21).
  static void prepare(Store kind, const void* p, std::size_t bytes, Thread* thread) {
    if (kind != Store::after_write ||
        (thread->has_open_savepoint() && !has_fault(Fault::unlogged_after_write)))
      prepare_store(p, bytes, thread);
  }

  template <Load kind, class T>
  static T load(const void* p, Thread* thread) {
    if constexpr (kind == Load::after_write) {
      return peek<T>(p);
    } else if constexpr (kind == Load::for_write) {
      if (has_fault(Fault::unlogged_read_for_write)) return load<Load::plain, T>(p, thread);
      prepare_store(p, sizeof(T), thread);
      return peek<T>(p);
    } else {
      T value;
      if (by_value::try_load<kind != Load::after_read>(p, value, thread)) return value;
      return load_slowly<T>(p, thread);
    }
  }
  template <class T>
  [[gnu::noinline]] static T load_slowly(const void* p, Thread* thread) {
    if (thread->holds_sequence || is_own_frame(p, thread) || is_in_own_exception(p, thread))
      return peek<T>(p);
    return static_cast<T>(by_value::ValueReads::read<true>(p, sizeof(T), thread));
  }
  template <Store kind, class T>
  static void store(void* p, T value, Thread* thread) {
    prepare(kind, p, sizeof(T), thread);
    poke(p, value);
  }
  static void read(void* to, const void* from, std::size_t bytes, Load kind, Thread* thread) {
    if (kind == Load::for_write) prepare_store(from, bytes, thread);
    if (thread->holds_sequence || kind == Load::after_write || kind == Load::for_write) {
      peek_bytes(to, from, bytes);
      return;
    }
    BufferedAccess<by_value::ValueReads>::read(to, from, bytes, kind, thread);
  }
  static void write(void* to, const void* from, std::size_t bytes, Store kind, Thread* thread) {
    prepare(kind, to, bytes, thread);
    poke_bytes(to, from, bytes);
  }
  static void fill(void* to, int byte, std::size_t bytes, Store kind, Thread* thread) {
    prepare(kind, to, bytes, thread);
    overwrite_with(to, byte, bytes);
  }
  static void save(const void* address, std::size_t bytes, Thread* thread) {
    thread->undo.save(address, bytes);
  }
};

void begin(Thread& thread) {
  note_own_frames(thread);
  by_value::take_snapshot(thread, sequence.wait_at_begin(thread.line));
}

bool commit(Thread& thread) {
  thread.was_read_only = !thread.holds_sequence;
  if (thread.was_read_only) {
    by_value::note_reads(thread);
    return true;
  }
  by_value::release_sequence(thread);
  thread.commit_time = thread.snapshot + 2;
  return true;
}

void roll_back(Thread& thread, const Savepoint* savepoint) {
  const bool is_writer_no_more = savepoint == nullptr && thread.holds_sequence;
  if (is_writer_no_more && has_fault(Fault::unlocks_before_undo)) {
    by_value::release_sequence(thread);
    let_others_in();
  }
  restore_memory(thread, savepoint);
  if (is_writer_no_more && thread.holds_sequence) by_value::release_sequence(thread);
}

bool become_exclusive(Thread& thread) {
  if (!by_value::are_values_valid(thread)) return false;
  thread.values.clear();
  return true;
}
bool is_valid(Thread& thread) { return by_value::is_valid(thread); }

bool prepare() { return true; }
void reset_after_fork() {}  // the sequence is norec's, too, which resets it

}  // namespace

constinit const Algorithm kTml = {.barriers = barriers_of<Access>(),
                                  .begin = begin,
                                  .commit = commit,
                                  .roll_back = roll_back,
                                  .become_exclusive = become_exclusive,
                                  .is_valid = is_valid,
                                  .quiesce = by_value::wait_for_others,
                                  .prepare = prepare,
                                  .reset_after_fork = reset_after_fork,
                                  .close_savepoint = keep_nothing};

}  // namespace rubato::tm

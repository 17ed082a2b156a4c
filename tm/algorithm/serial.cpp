// Serial algorithm: one transaction after another. The serial lock is taken at begin (begin.cpp), and
// accesses are plain. If the transaction may be cancelled, old values are kept (T44).
// SPDX-License-Identifier: MIT
#include <cstring>

#include "tm/fault.hpp"
#include "tm/log/word.hpp"
#include "tm/thread/algorithm.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {
namespace {

struct PlainAccess {
  template <Load, class T>
  static T load(const void* p, Thread*) {
    return peek<T>(p);
  }
  template <Store, class T>
  static void store(void* p, T value, Thread*) {
    poke(p, value);
  }
  static void read(void* to, const void* from, std::size_t bytes, Load, Thread*) {
    std::memcpy(to, from, bytes);
  }
  static void write(void* to, const void* from, std::size_t bytes, Store, Thread*) {
    std::memcpy(to, from, bytes);
  }
  static void fill(void* to, int byte, std::size_t bytes, Store, Thread*) { std::memset(to, byte, bytes); }
  static void save(const void*, std::size_t, Thread*) {}
};

struct UndoableAccess : PlainAccess {
  /// After a write the old value is in the log already; but what an outer transaction wrote, an inner one
  /// that is cancelled has to restore, and GCC calls both "after a write" (T21).
  static bool must_save(Store kind, const Thread* thread) {
    return kind != Store::after_write ||
           (thread->has_open_savepoint() && !has_fault(Fault::unlogged_after_write));
  }
  /// The store that follows a read for writing comes as one after a write: the value is kept here.
  template <Load kind, class T>
  static T load(const void* p, Thread* thread) {
    if (kind == Load::for_write && !has_fault(Fault::unlogged_read_for_write))
      thread->undo.save(p, sizeof(T));
    return peek<T>(p);
  }
  static void read(void* to, const void* from, std::size_t bytes, Load kind, Thread* thread) {
    if (kind == Load::for_write) thread->undo.save(from, bytes);
    std::memcpy(to, from, bytes);
  }
  template <Store kind, class T>
  static void store(void* p, T value, Thread* thread) {
    if (must_save(kind, thread)) thread->undo.save(p, sizeof(T));
    poke(p, value);
  }
  static void write(void* to, const void* from, std::size_t bytes, Store kind, Thread* thread) {
    if (must_save(kind, thread)) thread->undo.save(to, bytes);
    overwrite(to, from, bytes);
  }
  static void fill(void* to, int byte, std::size_t bytes, Store kind, Thread* thread) {
    if (must_save(kind, thread)) thread->undo.save(to, bytes);
    overwrite_with(to, byte, bytes);
  }
  static void save(const void* address, std::size_t bytes, Thread* thread) {
    thread->undo.save(address, bytes);
  }
};

// A serial transaction is never inside the gate: begin.cpp, commit.cpp and abort.cpp do all there is.
void begin(Thread&) {}
bool commit(Thread&) { return true; }
void roll_back(Thread& thread, const Savepoint* savepoint) { restore_memory(thread, savepoint); }
bool become_exclusive(Thread&) { return true; }
bool is_valid(Thread&) { return true; }
void quiesce(Thread&) {}
bool prepare() { return true; }
void reset_after_fork() {}

}  // namespace

constinit const Barriers kPlainBarriers = barriers_of<PlainAccess>();
constinit const Barriers kUndoBarriers = barriers_of<UndoableAccess>();
constinit const Algorithm kSerial = {.barriers = kUndoBarriers,
                                     .begin = begin,
                                     .commit = commit,
                                     .roll_back = roll_back,
                                     .become_exclusive = become_exclusive,
                                     .is_valid = is_valid,
                                     .quiesce = quiesce,
                                     .prepare = prepare,
                                     .reset_after_fork = reset_after_fork,
                                     .close_savepoint = keep_nothing};

}  // namespace rubato::tm

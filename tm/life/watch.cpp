// Waiting for a condition (T56): the signature of the reads, and the threads that a commit wakes.
// SPDX-License-Identifier: MIT
#include "tm/fault.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {
namespace {

/// Places are records where the algorithm has them, else words of memory. A log that the algorithm does not
/// have is empty.
std::uintptr_t place(const std::atomic<std::uint64_t>* record) {
  return reinterpret_cast<std::uintptr_t>(record);
}
constexpr std::uintptr_t kWord = 8;

Signature reads_of(Thread& thread) {
  Signature reads;
  if (thread.mode != Mode::concurrent ||
      thread.holds_sequence) {  // without a log of reads: serial, or tml's writer
    reads.add_all();
    return reads;
  }
  for (const ReadRecord& read : thread.reads) reads.add(place(read.record));
  for (const LockedRecord& locked : thread.locked) reads.add(place(locked.record));  // a load for writing
  for (const ValueRead& read : thread.values) {
    const auto address = reinterpret_cast<std::uintptr_t>(read.address());
    reads.add(address / kWord * kWord);
    reads.add((address + read.bytes() - 1) / kWord * kWord);
  }
  return reads;
}

Signature writes_of(Thread& thread, Mode mode) {
  Signature writes;
  if (mode != Mode::concurrent) {
    writes.add_all();
    return writes;
  }
  if (thread.has_locked_stack && thread.locked.empty()) {
    writes.add_all();  // by value: no log says where
    return writes;
  }
  for (const LockedRecord& locked : thread.locked) writes.add(place(locked.record));
  if (thread.locked.empty()) {
    for (const WriteSet::Word& word : thread.writes) writes.add(word.address);
  }
  return writes;
}

std::uintptr_t kind_of(const Thread& thread) { return reinterpret_cast<std::uintptr_t>(thread.algorithm); }

}  // namespace

bool watch_reads(Thread& thread) {
  if (!thread.is_undoable()) return false;
  const Signature reads = reads_of(thread);
  if (reads.empty()) return false;
  shared.watches.set(thread.watch, reads, kind_of(thread));
  if (thread.algorithm->is_valid(thread) || has_fault(Fault::watch_not_rechecked)) return true;
  shared.watches.clear(thread.watch);
  return false;
}

void wake_watchers(Thread& thread, Mode mode) {
  if (mode == Mode::concurrent && thread.was_read_only) return;
  shared.watches.wake(writes_of(thread, mode), kind_of(thread));
}

}  // namespace rubato::tm

// Write-back: stores are kept until commit, which locks their records, validates the reads, and writes
// (T42; with the moving snapshot this is TL2 with extension: Dice, Shalev and Shavit, DISC 2006).
// SPDX-License-Identifier: MIT
#include "tm/algorithm/buffered_access.hpp"
#include "tm/algorithm/record_protocol.hpp"

namespace rubato::tm {
namespace {

struct RecordReads {
  [[gnu::noinline]] static void lock(const void* p, unsigned bytes, Thread* thread) {
    const auto first = reinterpret_cast<std::uintptr_t>(p);
    for (const std::uintptr_t address : {first, first + bytes - 1}) {  // of at most two stripes
      Record& record = records.of(address);
      if (record.load(std::memory_order_relaxed) != RecordWord::locked_by(thread))
        tm::lock(record, address, thread);
    }
    thread->has_locked_stack = true;
  }
  template <bool is_logged>
  [[gnu::always_inline]] static std::uint64_t read(const void* p, unsigned bytes, Thread* thread) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (__builtin_expect(records.is_in_one_stripe(address, bytes), true))
      return read_stripe<is_logged>(address, thread, [p, bytes] { return peek_part(p, bytes); });
    return read_across(p, bytes, thread);
  }
  /// Over the end of a stripe: in two parts, which later reads validate together.
  [[gnu::noinline]] static std::uint64_t read_across(const void* p, unsigned bytes, Thread* thread) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto first = static_cast<unsigned>(records.left_in_stripe(address));
    const auto* const second = static_cast<const char*>(p) + first;
    const std::uint64_t low = read_stripe<true>(address, thread, [p, first] { return peek_part(p, first); });
    const std::uint64_t high =
        read_stripe<true>(address + first, thread, [=] { return peek_part(second, bytes - first); });
    return low | high << (8 * first);
  }
};

void begin(Thread& thread) {
  note_stack(thread);
  begin_at_clock(thread);
}

bool commit(Thread& thread) {
  if (thread.writes.empty() && !thread.has_locked_stack) {
    commit_read_only(thread);
    return true;
  }
  let_others_in();
  for (const WriteSet::Word& word : thread.writes) {
    if (word.mask == 0) continue;
    Record& record = records.of(word.address);
    if (record.load(std::memory_order_relaxed) != RecordWord::locked_by(&thread))
      lock(record, word.address, &thread);
  }
  let_others_in();
  const std::uint64_t time = take_time(thread);
  if (time == 0) return false;
  write_back(thread);
  unlock_all(thread, RecordWord::of_time(time));
  thread.commit_time = time;
  thread.was_read_only = false;
  return true;
}

void roll_back(Thread& thread, const Savepoint* savepoint) {
  roll_back_stores(thread, savepoint);
  if (savepoint != nullptr) return;
  if (thread.has_locked_stack) return unlock_undone(thread);
  // Nothing was written under these locks: the versions are what they were.
  for (const LockedRecord& locked : thread.locked)
    locked.record->store(locked.before, std::memory_order_release);
}

bool become_exclusive(Thread& thread) {
  if (!are_reads_valid(thread)) return false;
  write_back(thread);
  if (!thread.locked.empty()) unlock_exclusively(thread);
  thread.writes.clear();
  thread.reads.clear();
  return true;
}

void wait_for_others(Thread& thread) { wait_for_older(thread, clock_of_commits.quiesced); }

bool is_valid(Thread& thread) { return are_reads_valid(thread); }

bool prepare() { return records.make(); }

}  // namespace

constinit const Algorithm kLazy = {.barriers = barriers_of<BufferedAccess<RecordReads>>(),
                                   .begin = begin,
                                   .commit = commit,
                                   .roll_back = roll_back,
                                   .become_exclusive = become_exclusive,
                                   .is_valid = is_valid,
                                   .quiesce = wait_for_others,
                                   .prepare = prepare,
                                   .reset_after_fork = forget_locks,
                                   .close_savepoint = settle_private};

}  // namespace rubato::tm

// SPDX-License-Identifier: MIT
#include "tm/thread/records.hpp"

#include <cstdlib>

#include "tm/thread/thread.hpp"

namespace rubato::tm {

constinit Records records;
constinit Clock clock_of_commits;

bool Records::make() {
  if (table_ == nullptr) table_ = static_cast<Record*>(std::calloc(count(), sizeof(Record)));
  return table_ != nullptr;
}

void Records::forget_locks(std::uint64_t now) {
  if (table_ == nullptr) return;
  for (std::size_t i = 0; i < count(); ++i) {
    if (RecordWord::is_locked(table_[i].load(std::memory_order_relaxed)))
      table_[i].store(RecordWord::of_time(now), std::memory_order_relaxed);
  }
}

void Records::reset() {
  if (table_ == nullptr) return;
  for (std::size_t i = 0; i < count(); ++i) table_[i].store(0, std::memory_order_relaxed);
}

void begin_era(const Thread& thread) {
  Gate<Atomics>& gate = shared.gate;
  if (!gate.try_lock()) return;
  const bool is_closed = !has_fault(Fault::era_begun_unclosed);
  if (is_closed) gate.close(&thread.line);
  if (clock_of_commits.is_era_over()) {
    records.reset();
    // A thread that has committed in the old era, and now notes that what is older is over, compares the era
    // and the old value: a later era begins earlier, so that none of its values was one of the old era's.
    const std::uint64_t era = shared.era.load(std::memory_order_relaxed) + 1;
    shared.era.store(era, std::memory_order_seq_cst);
    clock_of_commits.quiesced.store(Clock::kFirst - era, std::memory_order_seq_cst);
    clock_of_commits.now.store(Clock::kFirst - era + 1, std::memory_order_seq_cst);
  }
  if (is_closed) gate.open();
  gate.unlock();
}

}  // namespace rubato::tm

// SPDX-License-Identifier: MIT
#include "tm/algorithm/records.hpp"

#include <cstdlib>

namespace rubato::tm {

constinit Records records;
constinit Clock clock_of_commits;

bool Records::make() {
  if (table_ == nullptr) table_ = static_cast<Record*>(std::calloc(std::size_t{1} << kBits, sizeof(Record)));
  return table_ != nullptr;
}

void Records::forget_locks(std::uint64_t now) {
  if (table_ == nullptr) return;
  for (std::size_t i = 0; i < std::size_t{1} << kBits; ++i) {
    if (RecordWord::is_locked(table_[i].load(std::memory_order_relaxed)))
      table_[i].store(RecordWord::of_time(now), std::memory_order_relaxed);
  }
}

}  // namespace rubato::tm

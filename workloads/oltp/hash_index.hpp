// Rows by key, in one table of slots with linear probing. Filled by one thread, then read by all: no latch.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"

namespace rubato::workloads::oltp {

template <class R>
class HashIndex {
 public:
  explicit HashIndex(std::uint64_t rows) : slots_(std::bit_ceil(2 * rows + 2)), mask_(slots_.size() - 1) {}

  /// `key` is not there yet.
  void insert(std::uint64_t key, R* row) {
    std::uint64_t at = mix64(key) & mask_;
    while (slots_[at].row != nullptr) at = (at + 1) & mask_;
    slots_[at] = {key, row};
  }
  /// The row, or null.
  [[nodiscard]] R* find(std::uint64_t key) const {
    std::uint64_t at = mix64(key) & mask_;
    while (slots_[at].row != nullptr && slots_[at].key != key) at = (at + 1) & mask_;
    return slots_[at].row;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    R* row = nullptr;
  };
  std::vector<Slot> slots_;
  std::uint64_t mask_;
};

}  // namespace rubato::workloads::oltp

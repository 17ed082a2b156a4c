// An item's bits, read and changed by code in transactions and outside: the same for both branches.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::cached {

struct TmBits {
  /// Outside of a transaction too what is read has been committed: a bit that a rollback takes away is never
  /// seen.
  static std::uint16_t peek(const std::uint16_t& bits) {
    std::uint16_t value = 0;
    __transaction_atomic { value = bits; }
    return value;
  }
  static void set(std::uint16_t& bits, std::uint16_t bit) { bits = static_cast<std::uint16_t>(bits | bit); }
  static void clear(std::uint16_t& bits, std::uint16_t bit) {
    bits = static_cast<std::uint16_t>(bits & ~bit);
  }
};

}  // namespace rubato::cached

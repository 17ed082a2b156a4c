// Requirements of branches IP and IT on the stage they are at (T85). This is the last stage, with
// onCommit handlers, which is the product: all blocks are atomic.
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "cached/discipline/access.hpp"
#include "rubato/tm/library.h"

namespace rubato::cached {

struct OnCommit : Access {
  static constexpr const char* kIpName = "tm";
  static constexpr const char* kItName = "tm-it";
  /// Whether the table is looked through in transactions in branch IP, too.
  static constexpr bool kHasCacheSection = false;

  /// A transaction that may hold all that the stage leaves in transactions.
  template <class F>
  static auto block(F&& f) {
    return safe_block(f);
  }
  /// A block that holds nothing unsafe once variables are transactional.
  template <class F>
  static auto safe_block(F&& f) {
    if constexpr (std::is_void_v<decltype(f())>) {
      __transaction_atomic { f(); }
    } else {
      decltype(f()) result{};
      __transaction_atomic { result = f(); }
      return result;
    }
  }
  static bool equal(const char* a, const char* b, std::size_t n) { return tm_memcmp(a, b, n) == 0; }
  static void copy(char* to, const char* from, std::size_t n) { tm_memcpy(to, from, n); }
};

}  // namespace rubato::cached

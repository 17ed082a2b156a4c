// The explorer's atomics with futexes, and the faults that its tests put in.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "tests/base/explorer.hpp"
#include "tm/fault.hpp"

namespace rubato::tm {

using test::ExploredAtomics;
using test::Explorer;

/// The policy of the explorer, with futexes: a sleeping thread can go on after a wake() of the word.
struct Explored : ExploredAtomics {
  static constexpr int kSpins = 0, kLongSpins = 0, kYields = 0;
  using Word = atomic<std::uint32_t>;

  static std::map<const Word*, int>& wakes() {
    static std::map<const Word*, int> counts;
    return counts;
  }
  static void heavy_fence() {}
  static bool has_heavy_fence() { return true; }
  static void light_fence() {}
  static void yield() {}
  static void sleep(Word& word, std::uint32_t seen, std::uint32_t microseconds) {
    Explorer::step();
    if (word.now() != seen) return;
    if (microseconds != 0) {  // it looks again by itself: as good as when there is something new
      Explorer::block([&word, seen] { return word.now() != seen; });
      return;
    }
    const int before = wakes()[&word];
    Explorer::block([&word, before] { return wakes()[&word] != before; });
  }
  static void wake(Word& word, int) {
    Explorer::step();
    ++wakes()[&word];
  }
};

/// The fault that the protocols have now.
extern Fault fault;

}  // namespace rubato::tm

// The part that the programs of bench/contended with kinds share.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "rubato/rubato.hpp"

namespace contended {

/// A MAYSPEC task each for the timestamps 0 to `count` - 1, which other tasks create.
template <class Work>
void run_in_order(std::uint64_t count, Work) {
  rubato::create<rubato::mayspec>(
      [](std::uint64_t tasks) {
        rubato::create_all<rubato::mayspec>(std::uint64_t{0}, tasks, [](std::uint64_t at) {
          rubato::create<rubato::mayspec>(Work{}, {.at = at}, at);
        });
      },
      {.at = 0}, count);
  rubato::run();
}

}  // namespace contended

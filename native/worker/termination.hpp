// When a run has ended: two equal sums of what the workers created and finished, one after the other, while
// all of them are idle. No counter is shared. Rule R10.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::runtime {

/// Over all workers. `finished` is summed first, by loads that acquire what was released with it: what was
/// finished had been created.
struct Sums {
  std::uint64_t created = 0;
  std::uint64_t finished = 0;
  bool operator==(const Sums&) const = default;
};

/// `sum` adds up anew at each call.
template <class Sum>
bool is_everything_finished(Sum sum) {
  const Sums first = sum();
  return first.created == first.finished && sum() == first;
}

}  // namespace rubato::runtime

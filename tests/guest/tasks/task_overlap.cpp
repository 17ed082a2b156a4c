// Two long tasks of successive timestamps: the later one begins beside the earlier one, and goes on long
// after it.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/rubato.hpp"

namespace {
struct alignas(64) Sum {
  std::uint64_t value = 0;
};
Sum sums[2];

void add_up(std::uint64_t which, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    sums[which].value += i;
    asm volatile("" ::: "memory");
  }
}
}  // namespace

int main() {
  rubato::create<rubato::mayspec>([] { add_up(0, 3000); }, {.at = 1, .on = 0});
  rubato::create<rubato::mayspec>([] { add_up(1, 9000); }, {.at = 2, .on = 1});
  rubato::run();
  std::printf("%llu %llu\n", static_cast<unsigned long long>(sums[0].value),
              static_cast<unsigned long long>(sums[1].value));
}

// A long task writes what eight later ones read, again and again; three more of timestamps between them run
// one after another when it has ended. The eight need not wait for those.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/rubato.hpp"

namespace {
constexpr std::uint64_t kReaders = 8;
struct alignas(64) Cell {
  std::uint64_t value = 0;
};
Cell written, between, readers[kReaders];

void add_up(Cell& cell, std::uint64_t first, std::uint64_t steps) {
  cell.value += first;
  for (std::uint64_t i = 1; i < steps; ++i) {
    cell.value += 1;
    asm volatile("" ::: "memory");
  }
}
void step(std::uint64_t at) {
  add_up(between, at, 4000);
  if (at < 3) rubato::create<rubato::nonspec>(step, {.at = at + 1, .on = 1}, at + 1);
}
}  // namespace

int main() {
  rubato::create<rubato::nonspec>([] { add_up(written, 1, 4000); }, {.at = 0, .on = 0});
  rubato::create<rubato::nonspec>(step, {.at = 1, .on = 1}, std::uint64_t{1});
  for (std::uint64_t i = 0; i < kReaders; ++i) {
    rubato::create<rubato::mayspec>([](std::uint64_t which) { add_up(readers[which], written.value, 8000); },
                                    {.at = 9 + i, .on = 2 + i}, i);
  }
  rubato::run();
  std::uint64_t sum = 0;
  for (const Cell& cell : readers) sum += cell.value;
  std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(written.value),
              static_cast<unsigned long long>(between.value), static_cast<unsigned long long>(sum));
}

// Shortest paths on a grid of 100 x 100 crossings, as a program of ordered tasks (Espresso, Listing 1): a
// task's timestamp is the length of the way so far, so that the first task to reach a crossing came the
// shortest way. Prints the length of the way from corner to corner; on every engine.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rubato/rubato.hpp"

constexpr std::uint64_t kSide = 100;
constexpr std::uint64_t kUnset = ~std::uint64_t{0};

struct Crossing {
  rubato::tracked<std::uint64_t> distance = kUnset;
};

/// From 1 to 16, the same in both directions.
std::uint64_t length(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t low = a < b ? a : b;
  const std::uint64_t high = a < b ? b : a;
  return 1 + (low * 31 + high * 17) % 16;
}

void visit(Crossing* crossings, std::uint64_t here) {
  const std::uint64_t now = rubato::timestamp();
  if (crossings[here].distance != kUnset) return;
  crossings[here].distance = now;
  const std::uint64_t row = here / kSide;
  const std::uint64_t column = here % kSide;
  const auto go = [&](std::uint64_t there) {
    if (crossings[there].distance != kUnset) return;
    rubato::create<rubato::nonspec>(visit, {.at = now + length(here, there), .on = there}, crossings, there);
  };
  if (row > 0) go(here - kSide);
  if (row + 1 < kSide) go(here + kSide);
  if (column > 0) go(here - 1);
  if (column + 1 < kSide) go(here + 1);
}

int main() {
  std::vector<Crossing> crossings(kSide * kSide);
  rubato::create<rubato::nonspec>(visit, {.at = 0, .on = 0}, crossings.data(), std::uint64_t{0});
  rubato::run();
  std::printf("the way is %llu long\n", static_cast<unsigned long long>(crossings.back().distance.get()));
}

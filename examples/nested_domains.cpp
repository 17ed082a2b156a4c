// Nested domains: operations run in order, and each is an ordered, parallel algorithm of its own. An
// operation owns an interval of timestamps, so its steps are ordered among themselves, and all of them lie
// between the operations before and after it. Every other operation closes or opens crossings of a grid; the
// others search the grid breadth-first. docs/ordered-patterns.md explains it; on every engine.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rubato/rubato.hpp"

using rubato::create;
using rubato::mayspec;
using rubato::timestamp;

constexpr std::uint64_t kSide = 16;
constexpr std::uint64_t kCrossings = kSide * kSide;
constexpr std::uint64_t kOperations = 16;
constexpr unsigned kStepBits = 16;  // low bits of a timestamp: the step within an operation

constexpr std::uint64_t first_of(std::uint64_t operation) { return operation << kStepBits; }
constexpr std::uint64_t last_of(std::uint64_t operation) { return first_of(operation + 1) - 1; }
static std::uint64_t this_operation() { return timestamp() >> kStepBits; }
static std::uint64_t this_step() { return timestamp() - first_of(this_operation()); }

struct Grid {
  rubato::tracked<std::uint64_t> is_closed[kCrossings];
  rubato::tracked<std::uint64_t> distance[kOperations][kCrossings];  // from the corner, and 1; 0: not reached
  rubato::tracked<std::uint64_t> reached[kOperations];
};
static Grid grid;

/// Calls f for each crossing beside `here`.
template <class F>
static void for_neighbours(std::uint64_t here, F f) {
  const std::uint64_t row = here / kSide;
  const std::uint64_t column = here % kSide;
  if (row > 0) f(here - kSide);
  if (row + 1 < kSide) f(here + kSide);
  if (column > 0) f(here - 1);
  if (column + 1 < kSide) f(here + 1);
}

/// The crossings that an operation toggles; those of the first row stay open.
constexpr std::uint64_t kToggled = 12;
constexpr std::uint64_t toggled(std::uint64_t operation, std::uint64_t i) {
  return kSide + 1 + (operation * 101 + i * 37) % (kCrossings - kSide - 1);
}

static void visit(std::uint64_t here) {
  rubato::tracked<std::uint64_t>& distance = grid.distance[this_operation()][here];
  if (grid.is_closed[here] != 0 || distance != 0) return;
  distance = this_step() + 1;
  for_neighbours(
      here, [](std::uint64_t there) { create<mayspec>(visit, {.at = timestamp() + 1, .on = there}, there); });
}

/// The last step of a search: it sees all others.
static void count() {
  std::uint64_t reached = 0;
  for (const auto& distance : grid.distance[this_operation()]) reached += distance != 0 ? 1 : 0;
  grid.reached[this_operation()] = reached;
}

static void toggle(std::uint64_t here) { grid.is_closed[here] = 1 - grid.is_closed[here]; }

/// The first step of an operation creates the others, all within its interval.
static void operate() {
  const std::uint64_t operation = this_operation();
  if (operation % 2 == 0) {
    for (std::uint64_t i = 0; i < kToggled; ++i) {
      const std::uint64_t here = toggled(operation, i);
      create<mayspec>(toggle, {.at = timestamp() + 1, .on = here}, here);
    }
  } else {
    create<mayspec>(visit, {.at = timestamp(), .on = 0}, std::uint64_t{0});
    create<mayspec>(count, {.at = last_of(operation)});
  }
}

/// The crossings that each search reaches, computed one operation after another.
static std::vector<std::uint64_t> expected() {
  std::vector<std::uint64_t> reached(kOperations);
  std::vector<bool> is_closed(kCrossings);
  for (std::uint64_t operation = 0; operation < kOperations; ++operation) {
    if (operation % 2 == 0) {
      for (std::uint64_t i = 0; i < kToggled; ++i) {
        is_closed[toggled(operation, i)] = !is_closed[toggled(operation, i)];
      }
      continue;
    }
    std::vector<bool> is_reached(kCrossings);
    std::vector<std::uint64_t> waiting{0};
    while (!waiting.empty()) {
      const std::uint64_t here = waiting.back();
      waiting.pop_back();
      if (is_closed[here] || is_reached[here]) continue;
      is_reached[here] = true;
      ++reached[operation];
      for_neighbours(here, [&](std::uint64_t there) { waiting.push_back(there); });
    }
  }
  return reached;
}

int main() {
  for (std::uint64_t operation = 0; operation < kOperations; ++operation) {
    create<mayspec>(operate, {.at = first_of(operation)});
  }
  rubato::run();

  const std::vector<std::uint64_t> right = expected();
  bool is_right = true;
  for (std::uint64_t operation = 1; operation < kOperations; operation += 2) {
    const std::uint64_t reached = grid.reached[operation];
    std::printf("search %llu reaches %llu\n", static_cast<unsigned long long>(operation),
                static_cast<unsigned long long>(reached));
    is_right = is_right && reached == right[operation];
  }
  std::printf("check: %s\n", is_right ? "passed" : "failed");
  return is_right ? 0 : 1;
}

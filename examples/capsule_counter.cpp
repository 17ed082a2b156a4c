// The smallest capsule: tasks count themselves in tracked memory, which speculation undoes, and by a capsule
// in untracked memory, where an abort handler does. docs/capsules.md explains it.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

RUBATO_UNTRACKED static rubato::untracked<std::uint64_t> taken;

RUBATO_CAPSULE(std::uint64_t, take_ticket, (std::uint64_t count)) {
  const std::uint64_t first = __atomic_fetch_add(&*taken, count, __ATOMIC_RELAXED);
  rubato::capsule::on_abort([](std::uint64_t n) { __atomic_fetch_sub(&*taken, n, __ATOMIC_RELAXED); }, count);
  return first;
}

static rubato::tracked<std::uint64_t> tasks;

static void work() {
  take_ticket(1);
  tasks += 1;  // every task: so they conflict, and many are aborted
}

int main() {
  for (std::uint64_t t = 0; t < 1000; ++t) rubato::create<rubato::spec>(work, {.at = t});
  rubato::run();
  const auto counted = static_cast<std::uint64_t>(tasks);
  std::printf("%llu tasks, %llu tickets\n", static_cast<unsigned long long>(counted),
              static_cast<unsigned long long>(*taken));
  return counted == 1000 && *taken == 1000 ? 0 : 1;
}

// Tasks wait for a group of tasks with their own timestamp, and ask again and again whether it is complete.
// Meanwhile other cores of the tile start such tasks, too: what is read back of the group must not be spilled
// before it has run. Arguments: the members' type; how many members, and how many wait; the type of those
// that wait (spec).
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

TaskGroup group;
alignas(64) std::uint64_t members_done = 0;
alignas(64) std::uint64_t waiters_done = 0;

void member() { __atomic_fetch_add(&members_done, 1, __ATOMIC_RELAXED); }
void after() { __atomic_fetch_add(&waiters_done, 1, __ATOMIC_RELAXED); }

/// A task of the type that the program was called with.
void create_as(std::string_view type, void (*function)(), Annotations annotations) {
  type == "spec"      ? create<spec>(function, annotations)
  : type == "mayspec" ? create<mayspec>(function, annotations)
                      : create<nonspec>(function, annotations);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string_view type = argv[1];
  const std::uint64_t members = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t waiters = std::strtoull(argv[3], nullptr, 10);
  const std::string_view waiting_type = argc > 4 ? argv[4] : "spec";
  for (std::uint64_t i = 0; i < waiters; ++i) create_as(waiting_type, after, {.at = 1, .after = &group});
  for (std::uint64_t i = 0; i < members; ++i) create_as(type, member, {.at = 1, .group = &group});
  run();
  const bool passed = members_done == members && waiters_done == waiters;
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

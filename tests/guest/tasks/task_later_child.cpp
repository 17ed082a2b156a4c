// A later task, speculative, leaves children without a timestamp on the tile of a timestamped task that waits
// for a group, of which most members are spilled there: what is read back is the members, though such tasks
// are there already. Arguments: the types of the children, of the members and of the waiting task; its
// locale, and that of the later task; how many children (6).
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

constexpr std::uint64_t kMembers = 300, kLater = 150, kChildren = 8;

struct alignas(64) Cell {
  std::uint64_t value = 0;
};
Cell members_done, child_cells[kChildren], later_cells[kLater];
TaskGroup group;
bool is_complete = false;
std::string_view child_type, member_type, waiting_type;
Locale place, elsewhere;
std::uint64_t children = 6;

/// A task of the type that the program was called with.
template <class... Arguments>
void create_as(std::string_view type, void (*function)(Arguments...), Annotations annotations,
               Arguments... arguments) {
  type == "spec"      ? create<spec>(function, annotations, arguments...)
  : type == "mayspec" ? create<mayspec>(function, annotations, arguments...)
                      : create<nonspec>(function, annotations, arguments...);
}

void child(std::uint64_t i) { ++child_cells[i].value; }
void parent() {
  for (std::uint64_t i = 0; i < children; ++i) create_as(child_type, child, {.on = place}, i);
}
void later(std::uint64_t i) { ++later_cells[i].value; }
void member() { __atomic_fetch_add(&members_done.value, 1, __ATOMIC_RELAXED); }
void after() { is_complete = members_done.value == kMembers; }

void first() {
  create<spec>(parent, {.at = 10, .on = elsewhere});
  for (int i = 0; i < 20000; ++i) asm volatile("");  // until it has run
  for (std::uint64_t i = 0; i < kMembers; ++i) create_as(member_type, member, {.on = place, .group = &group});
  create_as(waiting_type, after, {.at = 1, .on = place, .after = &group});
  for (std::uint64_t i = 0; i < kLater; ++i) create_as(member_type, later, {.at = 20, .on = place}, i);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  child_type = argv[1];
  member_type = argv[2];
  waiting_type = argv[3];
  place = std::strtoull(argv[4], nullptr, 10);
  elsewhere = std::strtoull(argv[5], nullptr, 10);
  if (argc > 6) children = std::strtoull(argv[6], nullptr, 10);
  create<nonspec>(first, {.at = 0, .on = elsewhere});
  run();
  std::uint64_t sum = 0;
  for (const Cell& cell : later_cells) sum += cell.value;
  for (const Cell& cell : child_cells) sum += cell.value;
  const bool passed = is_complete && sum == kLater + children;
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

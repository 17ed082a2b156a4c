// A timestamped task waits for many tasks, and looks again and again, while even more later ones, and what
// those create, fill the task queues: some of those it waits for are spilled, and must be read back although
// the queues stay full and its tile never runs out of tasks. Arguments: the types of the members and of the
// later tasks; where the waiting task is (a locale); whether the tasks are created before run() or by a task;
// whether members have its timestamp or none; the type of the later tasks' children, or none.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

constexpr std::uint64_t kMembers = 200, kLate = 600, kChildren = 6;

TaskGroup group;
Locale locale = 0;
alignas(64) std::uint64_t members_done = 0;
alignas(64) std::uint64_t late_done = 0;
bool have_timestamps = false, is_complete = false;

struct alignas(64) Cell {
  std::uint64_t value = 0;
};
Cell cells[kLate], child_cells[kLate * kChildren];
std::string_view child_type;

void child(std::uint64_t cell) { ++child_cells[cell].value; }

void late(std::uint64_t cell) {
  ++cells[cell].value;
  for (std::uint64_t c = cell * kChildren; c < (cell + 1) * kChildren; ++c) {
    if (child_type == "spec") create<spec>(child, {.at = 20, .on = kLate + c}, c);
    if (child_type == "nonspec") create<nonspec>(child, {.at = 20, .on = kLate + c}, c);
    if (child_type == "mayspec") create<mayspec>(child, {.at = 20, .on = kLate + c}, c);
  }
}

void member() {
  for (int i = 0; i < 30; ++i) asm volatile("");
  __atomic_fetch_add(&members_done, 1, __ATOMIC_RELAXED);
}

void after() { is_complete = __atomic_load_n(&members_done, __ATOMIC_RELAXED) == kMembers; }

template <TaskType members, TaskType later>
void all() {
  for (std::uint64_t i = 0; i < kMembers; ++i) {
    have_timestamps ? create<members>(member, {.at = 1, .group = &group})
                    : create<members>(member, {.group = &group});
    if (i == 0) create<nonspec>(after, {.at = 1, .on = locale, .after = &group});
  }
  for (std::uint64_t i = 0; i < kLate; ++i) create<later>(late, {.at = 10 + i % 3, .on = i}, i);
}

template <TaskType members, TaskType later>
void start(bool before) {
  before ? all<members, later>() : create<nonspec>(all<members, later>, {.at = 0, .on = locale});
}

template <TaskType members>
void start(std::string_view later, bool before) {
  later == "spec"      ? start<members, spec>(before)
  : later == "mayspec" ? start<members, mayspec>(before)
                       : start<members, nonspec>(before);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const std::string_view members = argv[1], later = argv[2];
  locale = std::strtoull(argv[3], nullptr, 10);
  const bool before = argv[4] == std::string_view("before");
  child_type = argv[6];
  have_timestamps = argv[5] == std::string_view("timestamp");
  members == "spec"      ? start<spec>(later, before)
  : members == "mayspec" ? start<mayspec>(later, before)
                         : start<nonspec>(later, before);
  run();
  for (const Cell& cell : cells) late_done += cell.value;
  for (const Cell& cell : child_cells) late_done += cell.value;
  const bool passed = is_complete && late_done == kLate * (child_type == "none" ? 1 : 1 + kChildren);
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

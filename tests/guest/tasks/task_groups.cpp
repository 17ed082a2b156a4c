// A timestamped task waits for tasks without a timestamp, while attempts of later tasks fill every core and
// commit queue. Arguments: the type of the members, a locale, which decides where the waiting task is, and
// whether members and later tasks have a locale in common.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

constexpr std::uint64_t kMembers = 6, kLate = 20;

TaskGroup group;
Locale locale = 0;
constexpr Locale kCommon = 100;
bool has_common = false;
std::uint64_t members_done = 0;
bool is_complete = false;

struct alignas(64) Cell {
  std::uint64_t value = 0;
};
Cell cells[kLate];

void linger(int turns) {
  for (int i = 0; i < turns; ++i) asm volatile("");
}

void late(std::uint64_t cell) {
  linger(20);
  ++cells[cell].value;
}

void member() {
  linger(30);
  __atomic_fetch_add(&members_done, 1, __ATOMIC_RELAXED);
}

void after() { is_complete = __atomic_load_n(&members_done, __ATOMIC_RELAXED) == kMembers; }

template <TaskType type>
void first() {
  for (std::uint64_t i = 0; i < kLate; ++i)
    has_common ? create<spec>(late, {.at = 5 + i, .on = kCommon}, i) : create<spec>(late, {.at = 5 + i}, i);
  linger(20000);  // until they wait
  for (std::uint64_t i = 0; i < kMembers; ++i)
    has_common ? create<type>(member, {.on = kCommon, .group = &group})
               : create<type>(member, {.group = &group});
  create<nonspec>(after, {.at = 1, .on = locale, .after = &group});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  has_common = argv[3] == std::string_view("common");
  locale = std::strtoull(argv[2], nullptr, 10);
  const std::string_view type = argv[1];
  if (type == "spec") {
    create<nonspec>(first<spec>, {.at = 0, .on = locale});
  } else {
    create<nonspec>(first<nonspec>, {.at = 0, .on = locale});
  }
  run();
  std::printf("check: %s\n", is_complete ? "passed" : "failed");
  return is_complete ? 0 : 1;
}

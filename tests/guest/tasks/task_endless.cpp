// Speculative tasks go on until an earlier task has written the word that they wait for. They hold every core
// of the tiles they are on, while that task creates more tasks than the task queues hold: tiles must spill.
// Or the word is written after a group of tasks without a timestamp, which need cores and locales. Arguments:
// the type of the endless tasks and that of the others, how many endless tasks, their creator's locale (999:
// the others have the locales of the endless ones), and `timestamps`, `group`, or `children`: the endless
// ones are SPEC children of the creator, of its timestamp.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

constexpr std::uint64_t kOthers = 600;

struct alignas(64) Cell {
  std::uint64_t value = 0;
};
Cell flag, cells[kOthers], endless_done[64];

void endless(std::uint64_t cell) {
  while (__atomic_load_n(&flag.value, __ATOMIC_RELAXED) == 0) asm volatile("");
  ++endless_done[cell].value;
}

void other(std::uint64_t cell) { ++cells[cell].value; }

TaskGroup group;
bool is_group = false;
std::uint64_t children = 0;
void set_flag() { __atomic_store_n(&flag.value, 1, __ATOMIC_RELAXED); }

template <TaskType type>
void creator(std::uint64_t locale) {
  for (std::uint64_t i = 0; i < children; ++i) create<spec>(endless, {.at = 0, .on = 1000 + i}, i);
  for (int i = 0; i < 20000; ++i) asm volatile("");  // until they run
  for (std::uint64_t i = 0; i < kOthers; ++i)
    is_group ? create<type>(other, {.on = locale + 1 + i, .group = &group}, i)
             : create<type>(other, {.at = 100 + i % 3, .on = locale + 1 + i}, i);
  is_group ? create<nonspec>(set_flag, {.at = 1, .after = &group}) : set_flag();
}

template <TaskType others>
void start(std::string_view endless_type, std::uint64_t count, std::uint64_t locale) {
  create<nonspec>(creator<others>, {.at = 0, .on = locale}, locale);
  if (children != 0) return;  // the creator makes them
  for (std::uint64_t i = 0; i < count; ++i)
    endless_type == "spec" ? create<spec>(endless, {.at = 5, .on = 1000 + i}, i)
                           : create<mayspec>(endless, {.at = 5, .on = 1000 + i}, i);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  is_group = argv[5] == std::string_view("group");
  const std::string_view others = argv[2];
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10),
                      locale = std::strtoull(argv[4], nullptr, 10);
  if (count > std::size(endless_done)) return 2;
  if (argv[5] == std::string_view("children")) children = count;
  others == "spec"      ? start<spec>(argv[1], count, locale)
  : others == "mayspec" ? start<mayspec>(argv[1], count, locale)
                        : start<nonspec>(argv[1], count, locale);
  run();
  std::uint64_t sum = 0;
  for (const Cell& cell : cells) sum += cell.value;
  for (const Cell& cell : endless_done) sum += cell.value;
  std::printf("check: %s\n", sum == kOthers + count ? "passed" : "failed");
  return sum == kOthers + count ? 0 : 1;
}

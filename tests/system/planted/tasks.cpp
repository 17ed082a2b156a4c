// Programs of tasks, each with one reason why few of them run at a time; the first argument chooses.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "rubato/rubato.hpp"

namespace {

using rubato::create;
using rubato::mayspec;
using rubato::run;

// About ten cycles a step, in memory of its own.
[[gnu::noinline]] void spend(long steps) {
  volatile long sum = 0;
  for (long i = 0; i < steps; ++i) sum = sum + i;
}

void work(long steps) { spend(steps); }
void huge(long steps) { spend(steps); }
void link(long left, long steps) {
  spend(steps);
  if (left != 0) create<mayspec>(link, {}, left - 1, steps);
}

void one_locale() {
  for (long i = 0; i < 400; ++i) create<mayspec>(work, {.on = 7}, 200L);
}
void three_locales() {
  for (long i = 0; i < 900; ++i) create<mayspec>(work, {.on = static_cast<std::uint64_t>(i % 3)}, 200L);
}
void many_locales() {
  for (long i = 0; i < 2000; ++i) create<mayspec>(work, {.on = static_cast<std::uint64_t>(i % 500)}, 200L);
}
void long_task() {
  create<mayspec>(huge, {}, 60000L);
  for (long i = 0; i < 100; ++i) create<mayspec>(work, {}, 50L);
}
// All that is busy beside it lasts as long.
void long_task_beside_others() {
  create<mayspec>(huge, {}, 30000L);
  for (long i = 0; i < 2400; ++i) create<mayspec>(work, {}, 200L);
}
void order() {
  for (long i = 0; i < 400; ++i) create<mayspec>(work, {.at = static_cast<std::uint64_t>(i)}, 200L);
}
void order_on_one_locale() {
  for (long i = 0; i < 400; ++i) create<mayspec>(work, {.at = static_cast<std::uint64_t>(i), .on = 7}, 200L);
}
void chain() { create<mayspec>(link, {}, 400L, 200L); }
void balanced() {
  for (long i = 0; i < 2000; ++i) create<mayspec>(work, {}, 200L);
}
void rounds() {
  for (long i = 0; i < 20; ++i) {
    create<mayspec>(work, {}, 4000L);
    run();
  }
}

constexpr struct {
  const char* name;
  void (*plant)();
} kSituations[] = {
    {"one_locale", one_locale},
    {"three_locales", three_locales},
    {"many_locales", many_locales},
    {"long_task", long_task},
    {"long_task_beside_others", long_task_beside_others},
    {"order", order},
    {"order_on_one_locale", order_on_one_locale},
    {"chain", chain},
    {"balanced", balanced},
    {"rounds", rounds},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& situation : kSituations) {
    if (argc != 2 || std::strcmp(argv[1], situation.name) != 0) continue;
    situation.plant();
    run();
    return EXIT_SUCCESS;
  }
  return EXIT_FAILURE;
}

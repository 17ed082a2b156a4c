// Locales (M2): mutual exclusion, alone and with timestamps. Resources (M5) as locales.
// SPDX-License-Identifier: MIT
#include <cstdint>

#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::linger;

constexpr std::uint64_t kLocales = 5;

tracked<std::uint64_t> inside[kLocales];
tracked<std::uint64_t> total[kLocales];
std::uint64_t calls = 0;
std::uint64_t violations = 0;

void reset() {
  calls = violations = 0;
  for (auto& i : inside) i = 0;
  for (auto& t : total) t = 0;
}

/// Reads, waits and writes without any other protection than its locale.
void exclusive(std::uint64_t locale) {
  if (inside[locale] != 0) count(violations);
  inside[locale] = 1;
  const std::uint64_t before = total[locale];
  linger(20);
  total[locale] = before + 1;
  inside[locale] = 0;
  count(calls);
}

TYPED_CASE(tasks_of_one_locale_exclude_each_other) {
  reset();
  for (std::uint64_t i = 0; i < 150; ++i) create<type>(exclusive, {.on = i % kLocales}, i % kLocales);
  run();
  CHECK(calls == 150);
  CHECK(violations == 0);
  for (const auto& t : total) CHECK(t == 30);
}

TYPED_CASE(locales_exclude_within_a_timestamp) {
  reset();
  for (std::uint64_t i = 0; i < 150; ++i) {
    create<type>(exclusive, {.at = i / 50, .on = i % kLocales}, i % kLocales);
  }
  run();
  CHECK(calls == 150);
  CHECK(violations == 0);
  for (const auto& t : total) CHECK(t == 30);
}

template <TaskType type>
void spread(std::uint64_t locale) {
  for (std::uint64_t i = 0; i < kLocales; ++i) create<type>(exclusive, {.at = timestamp(), .on = i}, i);
  exclusive(locale);
}

TYPED_CASE(children_respect_locales) {
  reset();
  for (std::uint64_t i = 0; i < 20; ++i) {
    create<type>(spread<type>, {.at = i / 10, .on = i % kLocales}, i % kLocales);
  }
  run();
  CHECK(calls == 120);
  CHECK(violations == 0);
  for (const auto& t : total) CHECK(t == 24);
}

TYPED_CASE(locales_may_be_any_number) {
  reset();
  const std::uint64_t large = 0xffff'ffff'ffff'ffffu;
  for (std::uint64_t i = 0; i < 20; ++i) create<type>(exclusive, {.on = large}, 0);
  for (int i = 0; i < 20; ++i) create<type>(exclusive, {.on = 0}, 1);
  run();
  CHECK(calls == 40);
  CHECK(violations == 0);
  CHECK(total[0] == 20);
  CHECK(total[1] == 20);
}

// ---- Resources ----

std::uint64_t destroyed = 0;

struct Counter {
  explicit Counter(std::uint64_t start) : count(start) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() { ++destroyed; }
  tracked<std::uint64_t> count;
};

void increment(resource<Counter> counter) {
  const std::uint64_t before = counter->count;
  linger(20);
  counter->count = before + 1;
}

TYPED_CASE(a_resource_is_a_locale) {
  destroyed = 0;
  const auto a = make_resource<Counter>({}, 100u);
  const auto b =
      make_resource<Counter>({.isolation = Isolation::shared_reads, .ratio = Ratio::mostly_reads}, 200u);
  CHECK(a != b);
  CHECK(b.options().isolation == Isolation::shared_reads);
  CHECK(b.options().ratio == Ratio::mostly_reads);
  CHECK(reinterpret_cast<std::uintptr_t>(a.get()) % 64 == 0);
  for (int i = 0; i < 40; ++i) {
    create<type>(increment, {.on = a}, a);
    create<type>(increment, {.on = b}, b);
  }
  run();
  CHECK(a->count == 140);
  CHECK(b->count == 240);
  CHECK(destroyed == 0);
  remove(a);
  remove(b);
  CHECK(destroyed == 2);
}

std::uint64_t sum = 0;

void add(std::uint64_t n) { __atomic_fetch_add(&sum, n, __ATOMIC_RELAXED); }
/// May be undone and run again: its result leaves it by on_commit().
void read_counter(resource<Counter> counter) { on_commit(add, counter->count.get()); }
void write_counter(resource<Counter> counter) {
  counter->count = 1'000'000;  // an intermediate value that no reader may see
  linger(20);
  counter->count = 1;
}

TYPED_CASE(readers_of_a_resource_never_see_half_a_write) {
  const auto shared = make_resource<Counter>({.isolation = Isolation::shared_reads}, 1u);
  sum = 0;
  for (int i = 0; i < 90; ++i) {
    if (i % 9 == 0) create<type>(write_counter, {.on = shared}, shared);
    if (i % 9 != 0) create<type>(read_counter, {.on = shared, .access = reads}, shared);
  }
  run();
  CHECK(sum == 80);
  remove(shared);
}

void remove_counter(resource<Counter> counter) {
  counter->count = 7;
  remove(counter);
}

void increment_removed(resource<Counter> counter) {
  if (destroyed != 0) count(violations);
  increment(counter);
}

/// Nothing is promised to other tasks that hold the handle: see remove().
CASE(a_resource_removed_by_a_task_lives_until_tasks_annotated_with_it_have_ended) {
  reset();
  destroyed = 0;
  const auto a = make_resource<Counter>({}, 0u);
  create<nonspec>(remove_counter, {.at = 0, .on = a}, a);
  for (std::uint64_t i = 1; i < 100; ++i)
    create<nonspec>(exclusive, {.at = i, .on = i % kLocales}, i % kLocales);
  create<nonspec>(increment_removed, {.at = 100, .on = a}, a);
  CHECK(destroyed == 0);
  run();
  CHECK(violations == 0);
  CHECK(destroyed == 1);
}

}  // namespace

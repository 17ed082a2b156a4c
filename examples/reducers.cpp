// Reducers: many tasks add to one sum, in three ways. In `word` all add to one tracked word, and conflict. In
// `parts` each adds to one of several partial sums, whose locale it has. In `capsule` each adds to an
// untracked word by a capsule, and a handler takes it back if the task is aborted. docs/ordered-patterns.md
// compares them.
//   reducers [word|parts|capsule]   one way; without a word all three, one after another
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

using rubato::create;

constexpr std::uint64_t kTasks = 2000;
constexpr std::uint64_t kParts = 64;

/// The number that a task adds. Computing it takes as long as a short task.
static std::uint64_t amount(std::uint64_t task) {
  std::uint64_t x = task;
  for (int i = 0; i < 32; ++i) x = x * 6364136223846793005U + 1442695040888963407U;
  return x >> 40;
}

static rubato::tracked<std::uint64_t> word;

static void add_to_word(std::uint64_t task) { word += amount(task); }

struct alignas(64) Part {
  rubato::tracked<std::uint64_t> sum;
};
static Part parts[kParts];

static void add_to_part(std::uint64_t task) { parts[task % kParts].sum += amount(task); }

RUBATO_UNTRACKED static rubato::untracked<std::uint64_t> untracked_sum;

RUBATO_CAPSULE(void, add_untracked, (std::uint64_t more)) {
  __atomic_fetch_add(&*untracked_sum, more, __ATOMIC_RELAXED);
  rubato::capsule::on_abort([](std::uint64_t n) { __atomic_fetch_sub(&*untracked_sum, n, __ATOMIC_RELAXED); },
                            more);
}

static void add_by_capsule(std::uint64_t task) { add_untracked(amount(task)); }

static std::uint64_t by_word() {
  for (std::uint64_t task = 0; task < kTasks; ++task) {
    create<rubato::spec>(add_to_word, {.at = task}, task);
  }
  rubato::run();
  return word;
}

/// No two tasks of a part run at once, so they need no order and never conflict.
static std::uint64_t by_parts() {
  for (std::uint64_t task = 0; task < kTasks; ++task) {
    create<rubato::nonspec>(add_to_part, {.on = task % kParts}, task);
  }
  rubato::run();
  std::uint64_t sum = 0;
  for (const Part& part : parts) sum += part.sum;
  return sum;
}

static std::uint64_t by_capsule() {
  for (std::uint64_t task = 0; task < kTasks; ++task) {
    create<rubato::spec>(add_by_capsule, {.at = task}, task);
  }
  rubato::run();
  return *untracked_sum;
}

int main(int argc, char** argv) {
  const std::string_view only = argc > 1 ? argv[1] : "";
  std::uint64_t right = 0;
  for (std::uint64_t task = 0; task < kTasks; ++task) right += amount(task);

  bool is_right = true;
  const auto reduce = [&](std::string_view name, std::uint64_t (*way)()) {
    if (!only.empty() && only != name) return;
    const std::uint64_t sum = way();
    std::printf("%s: %llu\n", name.data(), static_cast<unsigned long long>(sum));
    is_right = is_right && sum == right;
  };
  reduce("word", by_word);
  reduce("parts", by_parts);
  reduce("capsule", by_capsule);
  std::printf("check: %s\n", is_right ? "passed" : "failed");
  return is_right ? 0 : 1;
}

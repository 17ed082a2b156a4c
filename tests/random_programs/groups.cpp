// random_groups SEED TASKS (whole|circles): a random program of tasks in TaskGroups, which wait for groups,
// with and without timestamps and locales, of every type, with parameters of every kind. It checks itself: a
// task runs behind all members of the group it waits for, with the arguments it was given. Prints what all
// tasks together did, the same on every engine. `circles`: some tasks may wait for groups that cannot
// complete; then it ends as every program does that has no task to run, with exit code 4.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "rubato/rubato.hpp"
#include "tests/random_programs/random.hpp"

namespace {

using namespace rubato;
using random_tasks::mix;
using random_tasks::Random;

constexpr std::uint64_t kGroups = 12, kTimestamps = 5, kNone = kGroups;

std::uint64_t seed = 1;
bool has_circles = false;

struct alignas(64) Cell {
  std::uint64_t value = 0;
};
TaskGroup groups[kGroups];
Cell done[kGroups];               // members that ended
std::uint64_t expected[kGroups];  // members
Cell sum, ended, violations;

void add(Cell& cell, std::uint64_t n) { __atomic_fetch_add(&cell.value, n, __ATOMIC_RELAXED); }

/// The latest timestamp of a group's members: it does not decrease from group to group.
std::uint64_t latest_of(std::uint64_t group) {
  return group == kNone ? kTimestamps - 1 : group * kTimestamps / kGroups;
}

/// Properties and actions of a task: they follow from its key.
struct Plan {
  explicit Plan(std::uint64_t key) : random(mix(seed) ^ key) {
    constexpr TaskType types[] = {TaskType::spec, TaskType::nonspec, TaskType::mayspec};
    type = types[random.below(3)];
    form = random.below(4);
    after = random.one_in(2) ? random.below(kGroups) : kNone;
    group = random.one_in(4) ? kNone : random.below(kGroups);
    const bool is_wild = has_circles && random.one_in(16);
    // Waits go from later to earlier groups, so there is no circle.
    if (!is_wild && after != kNone && group != kNone && group <= after) group = after + 1;
    if (random.one_in(2)) {
      const std::uint64_t first = after == kNone || is_wild ? 0 : latest_of(after);
      at = first + random.below(latest_of(is_wild ? kNone : group) - first + 1);
    }
    if (random.one_in(3)) locale = random.below(5);
    children = group != kNone && random.one_in(3) ? random.below(4) : 0;
  }
  Random random;
  TaskType type{};
  std::uint64_t form = 0, after = kNone, group = kNone, children = 0;
  std::optional<std::uint64_t> at, locale;
};

void act(std::uint64_t key, bool is_child);

/// Numbers that the other arguments repeat.
double low_of(std::uint64_t key) { return static_cast<double>(key & 0xffffffff); }
float byte_of(std::uint64_t key) { return static_cast<float>(key >> 56); }

void check(bool is_right) {
  if (!is_right) add(violations, 1);
}
void words(std::uint64_t key, bool is_child) { act(key, is_child); }
void weights(double low, float byte, std::uint64_t key, bool is_child) {
  check(low == low_of(key) && byte == byte_of(key));
  act(key, is_child);
}
void five(double low, float byte, std::int32_t part, std::uint64_t key, bool is_child) {
  check(low == low_of(key) && byte == byte_of(key) && part == static_cast<std::int32_t>(key));
  act(key, is_child);
}

template <TaskType type>
void create_as(const Plan& plan, const Annotations& a, std::uint64_t key, bool is_child) {
  const auto part = static_cast<std::int32_t>(key);
  switch (plan.form) {
    case 0:
      return create<type>(words, a, key, is_child);
    case 1:
      return create<type>(weights, a, low_of(key), byte_of(key), key, is_child);
    case 2:
      return create<type>(five, a, low_of(key), byte_of(key), part, key, is_child);
    default:
      return create<type>([](float byte, std::uint64_t k, bool c) { weights(low_of(k), byte, k, c); }, a,
                          byte_of(key), key, is_child);
  }
}

void create_task(std::uint64_t key, std::uint64_t group, std::uint64_t after, std::optional<std::uint64_t> at,
                 bool is_child) {
  const Plan plan(key);
  Annotations a;
  if (at) a.at = *at;
  if (plan.locale) a.on = *plan.locale;
  if (group != kNone) a.group = &groups[group];
  if (after != kNone) a.after = &groups[after];
  switch (plan.type) {
    case TaskType::spec:
      return create_as<TaskType::spec>(plan, a, key, is_child);
    case TaskType::nonspec:
      return create_as<TaskType::nonspec>(plan, a, key, is_child);
    case TaskType::mayspec:
      return create_as<TaskType::mayspec>(plan, a, key, is_child);
  }
}

/// A child belongs to its parent's group and has its timestamp; it does nothing but end. Its key says the
/// group.
std::uint64_t child_key(std::uint64_t key, std::uint64_t child, std::uint64_t group) {
  return mix(key + child) / kGroups * kGroups + group;
}

void act(std::uint64_t key, bool is_child) {
  Plan plan(key);
  const std::uint64_t group = is_child ? key % kGroups : plan.group;
  if (!is_child) {
    if (plan.after != kNone)
      check(__atomic_load_n(&done[plan.after].value, __ATOMIC_RELAXED) == expected[plan.after]);
    for (std::uint64_t c = 0; c < plan.children; ++c)
      create_task(child_key(key, c, group), group, kNone, plan.at, true);
  }
  for (std::uint64_t turns = plan.random.below(plan.random.one_in(8) ? 3000 : 100); turns != 0; --turns)
    asm volatile("");
  if (group != kNone) add(done[group], 1);
  add(sum, mix(key));
  add(ended, 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: random_groups SEED TASKS whole|circles\n");
    return 2;
  }
  seed = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t roots = std::strtoull(argv[2], nullptr, 10);
  has_circles = std::string_view(argv[3]) == "circles";
  std::uint64_t tasks = 0;
  for (std::uint64_t i = 1; i <= roots; ++i) {
    const Plan plan(mix(i));
    if (plan.group != kNone) expected[plan.group] += 1 + plan.children;
    tasks += 1 + plan.children;
    create_task(mix(i), plan.group, plan.after, plan.at, false);
  }
#if defined(__riscv)
  run();
#else
  try {
    run();
  } catch (const TaskError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 4;
  }
#endif
  std::printf("%llu tasks, sum %016llx\n", static_cast<unsigned long long>(ended.value),
              static_cast<unsigned long long>(sum.value));
  const bool passed = violations.value == 0 && ended.value == tasks;
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

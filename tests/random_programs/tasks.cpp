// The tasks. A task's key says how many accesses it makes and how many descendants it has; what it loads says
// which types, timestamps and locales its children get.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "rubato/rubato.hpp"
#include "tests/random_programs/program.hpp"

namespace random_tasks {
namespace {

using rubato::Annotations;
using rubato::TaskType;

/// Timestamps of `unique`: a time, then a number that no other task of the program has.
constexpr unsigned kNumberBits = 20;

/// Instructions to a task, besides its key, in one argument.
struct Told {
  std::uint32_t descendants = 0;
  std::uint8_t type = 0;
  std::uint8_t locale = 0;  ///< + 1; 0: none
  std::uint8_t has_time = 0;
  std::uint8_t is_report = 0;  ///< a leaf without a timestamp that only adds to what its locale owns
};

/// `word` is a Told: an integer, so that the function itself is the task's and reports name it.
void body(std::uint64_t key, std::uint64_t word);

template <TaskType type>
void create_as(const Annotations& annotations, std::uint64_t key, Told told) {
  rubato::create<type>(&body, annotations, key, std::bit_cast<std::uint64_t>(told));
}

void create(TaskType type, std::uint64_t time, std::uint64_t key, Told told) {
  Annotations annotations;
  if (told.has_time != 0) annotations.at = options.unique ? time << kNumberBits | key : time;
  if (told.locale != 0) annotations.on = std::uint64_t{told.locale};
  told.type = static_cast<std::uint8_t>(type);
  switch (type) {
    case TaskType::spec:
      return create_as<TaskType::spec>(annotations, key, told);
    case TaskType::nonspec:
      return create_as<TaskType::nonspec>(annotations, key, told);
    case TaskType::mayspec:
      return create_as<TaskType::mayspec>(annotations, key, told);
  }
}

TaskType type_of(std::uint64_t choice) {
  // Mostly SPEC and MAYSPEC: what is NONSPEC waits for its turn.
  constexpr TaskType types[] = {TaskType::spec,    TaskType::spec,    TaskType::spec,    TaskType::mayspec,
                                TaskType::mayspec, TaskType::mayspec, TaskType::mayspec, TaskType::nonspec};
  return types[choice % 8];
}

void create_child(Random& random, std::uint64_t key, std::uint32_t descendants, const Told& parent,
                  std::uint64_t time, std::uint64_t seen) {
  Told told;
  told.descendants = descendants;
  const TaskType type = type_of(seen ^ random.next());
  told.has_time = parent.has_time != 0 && (options.unique || !random.one_in(4)) ? 1 : 0;
  const bool needs_locale = !options.unique && type != TaskType::spec;
  if (needs_locale || random.one_in(3))
    told.locale = static_cast<std::uint8_t>(1 + (seen ^ random.next()) % options.locales);
  create(type, time + (seen ^ random.next()) % 3, key, told);
}

void create_report(Random& random, std::uint64_t key) {
  Told told;
  told.is_report = 1;
  told.locale = static_cast<std::uint8_t>(1 + random.below(options.locales));
  create(random.one_in(2) ? TaskType::nonspec : TaskType::mayspec, 0, key ^ 0xabcdef, told);
}

Reach reach_of(const Told& told) {
  Reach reach;
  reach.has_locale = told.locale != 0;
  reach.locale = reach.has_locale ? told.locale - 1u : 0;
  reach.everything = options.unique || static_cast<TaskType>(told.type) == TaskType::spec;
  // With unique timestamps reports, which have none, own what locales own.
  if (options.unique || (reach.everything && !options.shared_locales)) reach.has_locale = false;
  return reach;
}

void promote() {
#if defined(__riscv)
  asm volatile(".insn i 0x0b, 2, x0, x0, 0");
#endif
}

void act(Random& random, const Reach& reach, std::uint64_t key, std::uint64_t& seen) {
  if (options.disasters && random.one_in(3)) {
    if (random.one_in(2)) {
      update_pair(random, reach, seen);
    } else if (!is_pair_whole(random, reach, seen)) {
      disaster(mix(key ^ seen));
    }
  } else if (random.one_in(60)) {
    promote();
  } else if (options.system_calls && random.one_in(60)) {
    system_call(random, reach, seen);
  } else if (options.heap && random.one_in(6)) {
    exchange_block(random, reach, seen);
  } else if (options.capsules && random.one_in(5)) {
    use_ledger(random, reach, seen);
  } else if (options.waits && random.one_in(60)) {
    wait(random);
  } else {
    access(random, reach, seen);
  }
}

void report(std::uint64_t key, const Told& told) { memory.owned[key % 2][told.locale - 1] += mix(key); }

void body(std::uint64_t key, std::uint64_t word) {
  const Told told = std::bit_cast<Told>(word);
  if (told.is_report != 0) return report(key, told);
  Random random(key ^ mix(options.seed));
  const Reach reach = reach_of(told);
  const std::uint64_t time = rubato::timestamp() >> (options.unique ? kNumberBits : 0);
  std::uint64_t seen = random.next();
  if (options.disasters && static_cast<TaskType>(told.type) == TaskType::spec && random.one_in(8))
    remember_stack();

  std::uint64_t children = std::min<std::uint64_t>(told.descendants, random.below(6));
  if (random.one_in(40)) children = std::min<std::uint64_t>(told.descendants, 9 + random.below(4));
  if (children == 0 && told.descendants != 0) children = 1;
  std::uint64_t left = told.descendants - children;
  std::uint64_t next_key = key + 1;

  std::uint64_t actions = random.below(random.one_in(10) ? 40 : 8);
  while (children != 0 || actions != 0) {
    if (children != 0 && random.below(children + actions) < children) {
      --children;
      const std::uint64_t share = children == 0 ? left : random.below(left + 1);
      left -= share;
      create_child(random, next_key, static_cast<std::uint32_t>(share), told, time, seen);
      next_key += 1 + share;
    } else {
      --actions;
      act(random, reach, key, seen);
    }
  }
  if (random.one_in(8)) create_report(random, key);
}

}  // namespace

void create_roots() {
  Random random(mix(options.seed) + 1);
  std::uint64_t left = options.tasks, key = 1;
  while (left != 0) {
    Told told;
    told.descendants =
        static_cast<std::uint32_t>(random.below(std::min<std::uint64_t>(left, options.tasks / 3 + 1)));
    told.has_time = options.unique || !random.one_in(4) ? 1 : 0;
    const TaskType type = type_of(random.next());
    if ((!options.unique && type != TaskType::spec) || random.one_in(3))
      told.locale = static_cast<std::uint8_t>(1 + random.below(options.locales));
    create(type, random.below(20), key, told);
    key += 1 + told.descendants;
    left -= 1 + told.descendants;
  }
}

}  // namespace random_tasks
